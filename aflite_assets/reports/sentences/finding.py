"""The finding on the first screen of a report, in plain words: the result, its certainty, and advice."""

from collections.abc import Mapping
from typing import Literal

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, fallen_sets
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict
from aflite_assets.analysis.rules.dataset_verdict import Code
from aflite_assets.analysis.rules.leaning import LEAST_NAMED, PropertyLeaning
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy
from aflite_assets.reports.sentences.finding_cues import REBALANCE, UNREAD, changed_in, column_advice, is_unread
from aflite_assets.reports.sentences.leaning import constructed_loss_text, is_test_of, mending
from aflite_assets.reports.sentences.verdict import VerdictWords
from aflite_assets.reports.tables.cells import bounds, property_name
from aflite_assets.scan.cues import Cue, State
from aflite_assets.scan.sentences import purity_sentence, reach_sentence
from aflite_assets.text import DASH, count, percent, short, signed_points
from aflite_assets.wording import counted

Tone = Literal["found", "judge", "none", "unknown"]
"""Kinds of findings that a person must be able to distinguish at a glance."""

Badge = Literal[
    "Shortcut found", "Artefact found", "Filtering helps", "Yours to judge", "No shortcut shown", "Cannot tell"
]

BADGES: Mapping[Code, tuple[Tone, Badge]] = {
    "shortcut_found_helps": ("found", "Shortcut found"),
    "shortcut_found_mixed": ("found", "Shortcut found"),
    "shortcut_found_harms": ("found", "Shortcut found"),
    "shortcut_found": ("found", "Shortcut found"),
    "leans_on": ("judge", "Yours to judge"),
    "artefact_tells": ("found", "Artefact found"),
    "helps_no_shortcut_named": ("found", "Filtering helps"),
    "easy": ("none", "No shortcut shown"),
    "learnable_no_shortcut_shown": ("none", "No shortcut shown"),
    "class_balance_only": ("none", "No shortcut shown"),
    "nothing_found": ("none", "No shortcut shown"),
    "cannot_tell": ("unknown", "Cannot tell"),
}

SET_STATES: Mapping[State, str] = {
    "holds": "the cue is there as in the train rows",
    "weaker": "the cue tells less there",
    "gone": "the cue is unrelated to the label there",
    "reversed": "the cue comes with other labels there",
}
"""Words for how a cue is associated with its class in a test set. The state "cannot tell" has no words."""

_LONGEST, _LONGEST_CUE = 40, 160


def tone_of(one: FilteringVerdict, cues: tuple[Cue, ...], *, without_question: bool = False) -> tuple[Tone, Badge]:
    """Return the tone and the badge of a verdict.

    The badge "No shortcut shown" is never shown above a cue that predicts a class. `without_question`: whether a rule
    or model finds correct answers without the question.
    """
    tone, badge = BADGES[one.verdict.code]
    return ("judge", "Yours to judge") if tone == "none" and (cues or without_question) else (tone, badge)


def tells_without_question(analysis: Analysis) -> bool:
    """Return True if the scan reports a rule or model that finds correct answers without the question."""
    return analysis.scan is not None and analysis.scan.tells_without_question


class FindingWords:
    """Builder of the sentences of one finding, which are not escaped. `cues`: the result of `cues_of`."""

    def __init__(self, analysis: Analysis, one: FilteringVerdict, cues: tuple[Cue, ...], evaluator: str) -> None:
        self.analysis, self.facts, self.one, self.verdict, self.cues = analysis, analysis.facts, one, one.verdict, cues
        self.words, self.evaluator, self.representation = VerdictWords(analysis, one), evaluator, one.representation
        self.leaning, self.tone = (
            one.verdict.evidence.leaning,
            tone_of(one, cues, without_question=tells_without_question(analysis))[0],
        )
        falls = {(fall.evaluator, fall.test_set): fall for fall in analysis.of(CHALLENGE_FALLS) if fall.named}
        sets = [] if self.leaning is None else [self.leaning.fallen_on or "", self.leaning.broken_on or ""]
        self._fall = next((falls[evaluator, name] for name in sets if (evaluator, name) in falls), None)

    def found(self) -> str:
        """Return the finding with its numbers, in as few sentences as possible."""
        if self.leaning is not None:
            own = "" if self.verdict.shortcut else " You decide whether that is a shortcut."
            leans = f"“{self.leaning.evaluator}” leans on {self._name(self.leaning)}"
            return f"{leans}: {self._price(self.leaning)}.{own}"
        if self.verdict.code == "artefact_tells":
            if not self.cues:
                return self._all_artefacts()
            unread = f" {UNREAD}" if is_unread(self.analysis, self.cues[0]) else ""
            return f"{self._by_itself(self.cues[0])} It is no part of the task.{unread}"
        if self.verdict.code == "helps_no_shortcut_named":
            gains = f"Trained on the filtered rows instead of as many random rows, {self.words.changes('gains')}"
            return f"{gains}. None of the tested properties explains it.{self._beside()}"
        if self.tone == "judge":
            return self._beside().lstrip() or "You decide whether what finds them belongs to the task."
        if self.verdict.code in ("easy", "learnable_no_shortcut_shown"):
            return self._learnt()
        said = self.words.because(with_effect=False)
        if self.verdict.shortfalls:
            return f"Too few {self.verdict.shortfalls[0].what} to tell: {said}{self._beside()}"
        return f"{_capital(said)}{self._beside()}"

    def _beside(self) -> str:
        """Return sentences on the strongest single cue, or "" if there is no cue.

        The first screen shows rows with the strongest cue.
        """
        if not self.cues:
            return ""
        said = [self._by_itself(self.cues[0]), self._at_the_fall(self.cues[0])]
        # Otherwise `sure` says next whether models lean on the cue.
        is_last = self.tone == "unknown" or self.verdict.code == "helps_no_shortcut_named"
        leaning = [self.words.leaning_on(self.cues[0])] if is_last else []
        judged = "You decide whether it belongs to the task."
        whose = "It is no part of the task." if self.cues[0].is_artefact else judged
        return " ".join(["", *filter(None, said), *leaning, whose])

    def _at_the_fall(self, cue: Cue) -> str:
        """Return a sentence on a challenge set on which models fall, and on the cue there, or "" without such a set."""
        falls = [one for one in self.analysis.of(CHALLENGE_FALLS) if one.named]
        # A fall alone is no evidence against the cue: rows of the challenge set may be harder for any model.
        copies = {one.test_set: one for one in falls if one.edited}
        for one in changed_in(cue, fallen_sets(falls)):
            fallen = f"Models fall on “{short(one.name, _LONGEST)}”, and {SET_STATES[one.state]}"
            if (copy := copies.get(one.name)) is None:
                return f"{fallen}; harder rows can also cause a fall."
            copied = f"its rows are edited copies of rows of “{short(copy.copies_of or '', _LONGEST)}”"
            return f"{fallen}; {copied}, so harder rows cannot explain the fall."
        held = {one.name for one in cue.elsewhere if one.state == "holds"}
        if not falls or falls[0].test_set not in held:
            return ""
        first = falls[0]
        edited = f"look at what was edited there{self.words.edited()}"
        reason = edited if first.edited else "look for another reason, such as harder rows"
        return (
            f"“{first.evaluator}” falls on “{short(first.test_set, _LONGEST)}” by {signed_points(first.fall)} "
            f"points {bounds(first.low, first.high)}; the cue holds there too, so {reason}."
        )

    def sure(self) -> str:
        """Return a sentence on how certain the finding is, or "" if `found` already states the certainty."""
        one = self.leaning
        if one is not None and self._fall is not None:
            fall = self._fall
            interval = f"95 % interval {_range(fall.low, fall.high)}, for other test rows and other trainings"
            return f"The fall, as a mean over classes, is {signed_points(fall.fall)} points ({interval})."
        if one is not None and one.low is not None and one.high is not None:
            return f"The 95 % interval of the {signed_points(one.pull or 0)} points is {_range(one.low, one.high)}."
        if one is None and self.cues and self.verdict.code != "helps_no_shortcut_named" and self.tone != "unknown":
            cue = self.cues[0]
            # With questions, the finding begins with other shares than the cue's.
            whose = "The cue's " if tells_without_question(self.analysis) else ""
            interval = f"{whose}95 % interval {percent(cue.low)} to {percent(cue.high)} %, on held-out rows"
            return f"{interval}. {self.words.leaning_on(cue)}"
        return reach_sentence(self.analysis.scan) if self.tone == "none" and self.analysis.scan is not None else ""

    def carriers(self) -> str:
        """Return sentences on how many rows have the first cue, or "" if there is no cue.

        The sentences give the share of rows with the cue inside and outside the cue's class. Other cues in nearly the
        same rows are named too.
        """
        if not self.cues:
            return ""
        cue = self.cues[0]
        shares = f"{percent(cue.share_of_class)} % of “{short(cue.label, _LONGEST)}”, {percent(cue.share_of_rest)} %"
        said = f"“{short(cue.name, _LONGEST_CUE)}”: {shares} of the other rows."
        if len(self.cues) > 1:
            said += f" {counted(len(self.cues) - 1, 'more cue')} of that source: see Cues below."
        if cue.synonyms:
            others = f" and {counted(len(cue.synonyms) - 1, 'other cue')}" if len(cue.synonyms) > 1 else ""
            said += f" In nearly the same rows: “{short(cue.synonyms[0], _LONGEST_CUE)}”{others}."
        return said

    def set_notes(self) -> dict[str, str]:
        """Return one note per test set on how the finding's cue is associated with its class in this test set.

        Test sets without a known association are left out.
        """
        notes: dict[str, str] = {}
        for cue in self.cues:
            for one in cue.elsewhere:
                if one.state in SET_STATES:
                    notes.setdefault(one.name, SET_STATES[one.state])
        return notes

    def to_do(self) -> str:
        """Return advice in at most three sentences."""
        code = self.verdict.code
        if self.leaning is not None and self.verdict.shortcut:
            return f"{_capital(self._mending(self.leaning))}. {self._until_then()}"
        if self.leaning is not None:
            if self.leaning.kind in ("attribute", "column"):
                declared = f"`irrelevant: [{short(self.leaning.name, _LONGEST)}]`"
                return f"If it is no part of the task, add {declared} to the file and run again."
            return f"If it is no part of the task, {self._mending(self.leaning)}."
        if code == "artefact_tells" and self.cues and is_unread(self.analysis, self.cues[0]):
            return f"{REBALANCE} Leaving the column out changes nothing."
        if code == "artefact_tells":
            until = "Until then a high accuracy does not show that the task was learnt."
            return f"Take it out of the data and run again. {until}"
        if self.tone == "judge" and tells_without_question(self.analysis):
            return (
                "If the questions test models, report the share found without the question beside each accuracy, and "
                "rewrite the answers. If they train models, judge whether what finds the answers belongs to the task."
            )
        if self.tone == "judge" and self.cues and self.cues[0].is_artefact:
            return f"{self._first_ask()}Remove it in a copy and run again."
        if self.tone == "judge":
            fallen = self.words.fallen_sets()
            keep = (
                f"look first at what {fallen} changes{self.words.edited()}" if fallen else "keep the dataset as it is"
            )
            return f"{self._first_ask()}{self._remove()} Otherwise {keep}."
        if code == "cannot_tell" and self.verdict.shortfalls:
            what = self.verdict.shortfalls[0].what
            return f"Add {what} and run again. Until then train on all rows: there is no reason to use fewer."
        if code in ("easy", "learnable_no_shortcut_shown") and not self.words.fallen_sets():
            lost = self.words.changes("losses")
            price = f" Trained on them instead of as many random rows, {lost}." if lost else ""
            return f"Use {self.words.all_rows()}. The filtered rows are harder for models, not more correct.{price}"
        return f"Use {self.words.use_rows()}"

    def _name(self, one: PropertyLeaning) -> str:
        """Return the property's name in the finding.

        A column or attribute is called by its own name. Any other property is called by the name of the first cue.
        """
        reasons = {"declared": ", declared irrelevant", "artefact": ", which is no part of any task", None: ""}
        cue = f"the cue “{short(self.cues[0].name, _LONGEST_CUE)}”" if self._is_cue(one) else ""
        if cue and not is_test_of(self.cues[0], one):
            return f"{property_name(one)} ({cue} has nearly the same rows){reasons[one.reason]}"
        return f"{cue or property_name(one)}{reasons[one.reason]}"

    def _is_cue(self, one: PropertyLeaning) -> bool:
        """Return True if the finding shows a cue of the scan, and the property is no column or attribute."""
        return bool(self.cues) and one.kind not in ("attribute", "column")

    def _mending(self, one: PropertyLeaning) -> str:
        return mending(one, "it" if self._is_cue(one) else property_name(one))

    def _price(self, one: PropertyLeaning) -> str:
        """Return a clause on the accuracy that models lose because they rely on the property."""
        if (fall := self._fall) is not None:
            return (
                f"it is right on {self._accuracy(fall.natural_set, fall.natural)} % of "
                f"“{short(fall.natural_set, _LONGEST)}”, but on {self._accuracy(fall.test_set, fall.challenge)} % of "
                f"“{short(fall.test_set, _LONGEST)}”, where {self._there(one, fall.test_set)}"
            )
        if one.pull is not None and one.untied is not None:
            return (
                f"rows of other classes that carry it get the cue's class {signed_points(one.pull)} points too "
                f"often, but {signed_points(one.untied)} after training on rows in which the two are independent"
            )
        if one.broken_on is not None and one.loss is not None:
            return (
                f"that costs {signed_points(one.loss)} points where it misleads on “{short(one.broken_on, _LONGEST)}”"
            )
        return constructed_loss_text(one) if one.fallen_on is not None else "it tells its answers"

    def _accuracy(self, test_set: str, of_labels: float) -> str:
        """Return the accuracy that the chart shows for a test set, in per cent.

        If the chart shows no accuracy, return `of_labels`, the mean of the accuracies per gold label.
        """
        found = whole_accuracies(self.analysis, self.representation, self.evaluator).get((test_set, "full"))
        return percent(of_labels if found is None or found.accuracy is None else found.accuracy)

    def _there(self, one: PropertyLeaning, test_set: str) -> str:
        """Return a clause on how the association of the cue with its class differs in a challenge set."""
        states = {each.state for cue in self.cues for each in cue.elsewhere if each.name == test_set}
        tie = one.challenge_tie if one.broken_on == test_set else None
        if states == {"gone"}:
            return "the cue is unrelated to the label"
        if "reversed" in states or (tie is not None and tie < -LEAST_NAMED):
            return "the cue comes with other labels"
        return "the cue no longer goes with the class"

    def _by_itself(self, cue: Cue) -> str:
        name, label = short(cue.name, _LONGEST_CUE), short(cue.label, _LONGEST)
        others = [one for one in self.facts.label_names if one != cue.label]
        rest = f"“{short(others[0], _LONGEST)}”" if len(others) == 1 else "all other rows"
        return (
            f"The cue “{name}” tells “{label}” from {rest} by itself: {percent(cue.balanced)} % balanced accuracy, "
            "where chance is 50 %."
        )

    def _first_ask(self) -> str:
        """Return the advice to find out how the rows with the first cue were made.

        Return "" unless nearly all rows with the cue have one class.
        """
        if not self.cues or not purity_sentence(self.cues[0]):
            return ""
        cue = self.cues[0]
        share = f"{percent(cue.tested_precision)} % of its tested rows are “{short(cue.label, _LONGEST)}”"
        return f"Find out first how its rows and their labels were made: {share}. "

    def _remove(self) -> str:
        """Return the conditions under which the first cue is removed. A column has two: when its values were known, and
        whether it is part of the task.
        """
        return (
            column_advice(self.analysis, self.one) or "If it is no part of the task, remove it in a copy and run again."
        )

    def _all_artefacts(self) -> str:
        return _capital(self.words.artefact())

    def _learnt(self) -> str:
        """Return sentences for a dataset without a known shortcut: no single property predicts a class, and models
        learn from the whole input.
        """
        scan, natural = self.analysis.scan, next(iter(self.facts.natural_sets), "")
        tested = "" if scan is None or not scan.can_tell else f"None of {count(scan.properties)} properties tested"
        said = f"{tested} gives a class away by itself." if tested else "Single cues were not tested."
        right = {(one.evaluator, one.test_set): one for one in self.analysis.judging.margins}
        if (over := right.get((self.evaluator, natural))) is not None:
            learnt = f"{self._accuracy(natural, over.accuracy)} % of “{short(natural, _LONGEST)}”"
            said += (
                f" From the whole input, “{self.evaluator}” is right on {learnt} (chance {percent(over.largest)} %)."
            )
        if names := self.words.fallen_sets():
            said += f" But models fall on {names}."
        return f"{said} {self.words.explained()}" if self.verdict.evidence.leanings else said

    def _until_then(self) -> str:
        """Return a sentence on using filtered rows until the data are fixed.

        The sentence states gains and losses compared with training on all rows.
        """
        if self.words.effect == "harms":
            return f"Filtering does not do that for you: trained on `filtered`, {self.words.changes('losses')}."
        gains = [one for one in self.verdict.evidence.gains if one.difference is not None]
        if self.words.effect is None or not gains:
            return "Filtering does not do that for you: `filtered` is not shown to be better than as many random rows."
        gain = max(gains, key=lambda one: one.difference or 0.0)
        filtering, where = self.facts.filtering[self.representation], short(gain.test_set, _LONGEST)
        rows = f"{count(filtering.kept_rows)} of {count(filtering.train_rows)} train rows"
        natural = next(iter(self.facts.natural_sets), "")
        told = [f"“{gain.evaluator}” is right on {self._instead(gain.test_set, gain.evaluator)}"]
        if natural:
            price = self._instead(natural, gain.evaluator)
            told.append(f"at the price of {price} on “{short(natural, _LONGEST)}”")
        mixed = f" But {self.words.changes('losses')}." if self.words.effect == "mixed" else ""
        return (
            f"Until then, `filtered` ({rows}) is for applications whose rows look like “{where}”: "
            f"{', '.join(told)}.{mixed}"
        )

    def _instead(self, test_set: str, evaluator: str) -> str:
        """Return the accuracies of models trained on filtered rows and on all rows, such as "27.3 instead of 2.4 %"."""
        found = whole_accuracies(self.analysis, self.representation, evaluator)
        filtered, full = (found.get((test_set, train_set)) for train_set in ("filtered", "full"))
        numbers = [DASH if one is None or one.accuracy is None else percent(one.accuracy) for one in (filtered, full)]
        return f"{numbers[0]} instead of {numbers[1]} %"


def whole_accuracies(analysis: Analysis, representation: str, evaluator: str) -> dict[tuple[str, str], Accuracy]:
    """Return the mean accuracies of one evaluator on all rows of each test set, by test set and train set."""
    return {
        (one.test_set, one.train_set): one
        for one in analysis.of(ACCURACIES, representation)
        if one.evaluator == evaluator and one.whole and one.top == 1 and one.tested_on in ("full", "all")
    }


def _range(low: float, high: float) -> str:
    return f"{signed_points(low)} to {signed_points(high)}"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"
