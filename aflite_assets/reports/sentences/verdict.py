"""The verdict of a filtering in words: one line, reasons (such as drops in accuracy or removed rows), and advice."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.differences import Lack
from aflite_assets.analysis.comparisons.edited_copies import EDITS
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, fallen_sets
from aflite_assets.analysis.comparisons.filtering_verdict import AgainstAllRows, FilteringVerdict, StatedDifference
from aflite_assets.analysis.inputs.cues import CUES, RemovedCue, telling
from aflite_assets.analysis.rules.bias_excess import Excess
from aflite_assets.analysis.rules.dataset_verdict import LEAST, Code, Comparison
from aflite_assets.analysis.rules.leaning import LEAST_NAMED
from aflite_assets.analysis.rules.verdicts import WIDEST_SAID
from aflite_assets.analysis.tidy import JsonValue, to_json
from aflite_assets.reports.sentences.chance import chance_text
from aflite_assets.reports.sentences.falls import LONGEST, MOST_NAMED, alike_text, edits_text, falls_text
from aflite_assets.reports.sentences.filtering import class_text, cue_name, numbered_cue
from aflite_assets.reports.sentences.finding_cues import REBALANCE, UNREAD, column_advice, cue_text, is_unread
from aflite_assets.reports.sentences.leaning import (
    cue_leaning,
    is_about,
    judgement_text,
    leaning_text,
    mending,
    untold_text,
)
from aflite_assets.reports.sentences.wording import answers_text, bounds_text, needed_text, present_text, side_text
from aflite_assets.reports.tables.cells import bounds, property_name
from aflite_assets.scan.cues import Cue
from aflite_assets.text import count, listed, percent, short, signed_points
from aflite_assets.wording import counted

NO_SHORTCUT = "no shortcut shown"

_OPENINGS: dict[Code, str] = {
    "cannot_tell": "Cannot tell",
    "nothing_found": "Nothing found",
    "class_balance_only": "Class balance only",
    "shortcut_found_helps": "Shortcut found, and filtering helps",
    "shortcut_found_mixed": "Shortcut found, and filtering helps on one set and harms on another",
    "shortcut_found_harms": "Shortcut found, and filtering harms",
    "shortcut_found": "Shortcut found",
    "leans_on": "A shortcut or the task",
    "artefact_tells": "An artefact tells the label",
    "helps_no_shortcut_named": "Filtering helps, no shortcut named",
    "easy": f"Easy, {NO_SHORTCUT}",
    "learnable_no_shortcut_shown": f"Learnable, {NO_SHORTCUT}",
}
_LACKS: dict[Lack, str] = {
    "set not available": "the challenge sets are not available",
    "no challenge set": "there is no challenge set; add one in which a shortcut is absent or misleads",
    "collected adversarially": "all challenge sets were collected adversarially, and any other model gains on them",
    "same make": "every evaluator that could judge is of the same kind as the model that filtered; add one of "
    "another kind",
    "nothing learnt": "no evaluator learnt enough to judge by, as the checks report",
    "not trained": "no training can be compared",
}
_USES: dict[Code, str] = {
    "nothing_found": "there is no reason to use fewer rows than all. If models should learn from this, check its "
    "labels and features first.",
    "class_balance_only": "all rows, with balanced classes or weights where shares matter. Filtering does no more.",
    "cannot_tell": "all rows, until there are enough data to tell.",
}


@dataclass(frozen=True)
class Detail:
    """One sentence below the verdict, and the section of the page whose table supports the sentence."""

    text: str
    section: str


@dataclass(frozen=True)
class VerdictText:
    """The verdict of one filtering in words, with at most six `details`."""

    representation: str
    code: Code
    sentence: str
    details: tuple[Detail, ...]


def verdict_texts(analysis: Analysis) -> tuple[VerdictText, ...]:
    """Return a verdict in words for every filtering, the most informative verdict first."""
    return tuple(VerdictWords(analysis, one).text() for one in analysis.verdicts)


def verdict_json(analysis: Analysis) -> JsonValue:
    """Return the most informative verdict as `code`, `sentence`, `details` and `evidence`; None without a filter."""
    if not analysis.verdicts:
        return None
    verdict, text = analysis.verdicts[0].verdict, verdict_texts(analysis)[0]
    beside = {"lacking": verdict.shortfalls, "evidence": verdict.evidence}
    return to_json({**vars(text), "details": [detail.text for detail in text.details], **beside})


def undecided_text(analysis: Analysis) -> str:
    """Return why no comparison of a filtering can decide; if those of another filtering can, only its make is left."""
    return _LACKS[analysis.undecided or "same make"]


class VerdictWords:
    """Builder of the texts of one verdict. Each method returns one text, or nothing if the text does not apply to the
    verdict.
    """

    def __init__(self, analysis: Analysis, one: FilteringVerdict) -> None:
        self.analysis, self.facts, self.one, self.verdict = analysis, analysis.facts, one, one.verdict
        self.filtering = self.facts.filtering[one.representation]
        self.comparisons, self.effect = one.verdict.evidence.comparisons, one.verdict.evidence.effect
        self.first, self.leaning = next(iter(self.comparisons), None), one.verdict.evidence.leaning
        kept = ((test.filtered_rows.get(one.representation, 0), test.rows) for test in self.facts.test_sets)
        self.has_filtered_test_rows = any(0 < left < rows for left, rows in kept)
        bias, untold = one.verdict.evidence.bias, one.verdict.code == "cannot_tell" and not one.verdict.shortfalls
        self.is_unlearnt = untold and bias is not None and bias.labels_moved  # learnt nothing beyond class shares

    def text(self) -> VerdictText:
        """Return the verdict of one filtering in words, with its details."""
        sentence = f"{self.opening()}: {self.because()}"
        uses = Detail(f"Use: {self.use()}", "paired")
        details = (self.beside(), self.cues(), self.removed(), self.cost(), self.gain(), uses)
        return VerdictText(self.one.representation, self.verdict.code, sentence, tuple(filter(None, details)))

    def opening(self) -> str:
        """Return the verdict in a few words. The words "no shortcut shown" do not appear if a cue predicts a class by
        itself.
        """
        opening, scan = _OPENINGS[self.verdict.code], self.analysis.scan
        if scan is None or not (scan.cues or scan.tells_without_question):
            return opening
        judged = bool(scan.candidates) or scan.tells_without_question
        return opening.replace(NO_SHORTCUT, "a cue is yours to judge" if judged else "but an artefact tells the label")

    def because(self, *, with_effect: bool = True) -> str:
        """Return the reasons for the verdict.

        `with_effect`: whether to state the effect of filtering even if no shortcut was found.
        """
        verdict, bias = self.verdict, self.verdict.evidence.bias
        effect = "" if self.effect is None or not with_effect else f" {self.helps()}."
        if self.leaning is not None:
            said = f" {self.helps()}." if verdict.shortcut else f" {judgement_text(self.leaning)}.{effect}"
            return f"{leaning_text(self.leaning)}.{said}"
        if verdict.code == "artefact_tells":
            return f"{self.artefact()}{effect}"
        if bias is None:
            return "the filter's result does not say what shuffled labels give; materialise filtered_sets again."
        if not bias.labels_moved:
            return "groups of similar sizes share labels, so shuffling moves too few labels to show what chance gives."
        predicted = f"linear classifiers predict the label of {percent(bias.rows.bias)} % of the rows"
        beside_chance = f"{predicted}, and of {percent(bias.rows.shuffled_labels)} % if labels are shuffled."
        less, gains = f"less than {LEAST:g} points more", self.changes("gains")
        besides = f" `filtered` is nevertheless better than its control: {gains}." if gains else ""
        if verdict.code == "nothing_found":
            if bias.rows.low <= 0 and not besides:
                return f"{beside_chance} They learn nothing from these features, neither a shortcut nor the task."
            return f"{beside_chance} That is {less if bias.rows.low > 0 else 'no significant difference'}.{besides}"
        if verdict.code == "class_balance_only":
            within = f"within a class {'no more' if bias.classes.low <= 0 else less} than with shuffled labels."
            return f"{predicted}, but {within}{besides or ' The class explains what was removed.'}"
        if verdict.code == "helps_no_shortcut_named":
            return f"{self.helps()}. The property that those challenge rows change is not among the tested ones."
        if verdict.shortfalls:
            return self.lacking(bias.rows)
        if self.is_unlearnt:
            given = f"On average over classes a row's label gets {percent(bias.learnt.bias)} %"
            beside = f"{given}, and with shuffled labels {percent(bias.learnt.shuffled_labels)} %."
            return f"this encoder learnt nothing beyond class shares. {beside}{besides}"
        if (skill := verdict.evidence.skill) is not None and verdict.code == "easy":
            learnt = f"“{skill.evaluator}” gets {percent(skill.skill)} % of the way from chance to always right"
            return f"{beside_chance} {learnt}{self.kept_elsewhere(skill.evaluator)}. {self.explained()}{effect}"
        return f"{beside_chance} {self.giveaway()}{effect}"

    def artefact(self) -> str:
        """Return sentences on the strongest artefact that the scan found, and on whether models rely on it."""
        if (cue := self.artefact_cue()) is None:
            return (
                "no single artefact does, but a linear model of all of them does. It was not tested whether models "
                "lean on them."
            )
        unread = f"{UNREAD} " if is_unread(self.analysis, cue) else ""
        return f"{cue_text(cue)} balanced accuracy by itself, where chance is 50 %. {unread}{self.leaning_on(cue)}"

    def artefact_cue(self) -> Cue | None:
        """Return the strongest artefact that models see in a row, or None if only all artefacts together predict."""
        scan, names = self.analysis.scan, self.verdict.evidence.artefacts[:1]
        return None if scan is None else next((one for one in scan.artefacts if one.name in names), None)

    def leaning_on(self, cue: Cue, *, advise: bool = True) -> str:
        """Return sentences on whether models rely on a cue, and with `advise` on how to test a cue."""
        known, of_answers = self.verdict.evidence.leanings, bool(self.facts.split_questions)
        return cue_leaning(cue, known, of_answers=of_answers, advise=advise)

    def cues(self) -> Detail | None:
        """Return a list of the scan's strongest single cues, except cues that the verdict names already."""
        if (scan := self.analysis.scan) is None:
            return None
        leanings, first = self.verdict.evidence.leanings, self.verdict.evidence.artefacts[:1]
        by_itself = (one for one in scan.cues if one.explained_by is None and one.name not in first)
        found = [one for one in by_itself if not any(is_about(one, leaning) for leaning in leanings)]
        artefacts, others = ([cue_text(one) for one in found if one.is_artefact is is_so] for is_so in (True, False))
        parts = {"No part of any task": artefacts, "Yours to judge": others}
        said = [f"{whose}: {listed(cues, MOST_NAMED)}." for whose, cues in parts.items() if cues]
        lead = "These single properties tell a class (balanced accuracy, where chance is 50 %)"
        return Detail(f"{lead}. {' '.join(said)}", "cues") if said else None

    def changes(self, which: Literal["gains", "losses"]) -> str:
        """Return the most significant gain, or loss, on each challenge set, such as "“linear” gains 5.2 points on
        “clean”".
        """
        surest: dict[str, str] = {}
        verb = "gains" if which == "gains" else "loses"
        for one in getattr(self.verdict.evidence, which):
            points = f"{signed_points(abs(one.difference))} points"
            surest.setdefault(one.test_set, f"“{one.evaluator}” {verb} {points} on “{one.test_set}”")
        return listed(list(surest.values()), MOST_NAMED)

    def giveaway(self) -> str:
        """Return a sentence on the property that a person must judge. The property is the scan's first candidate, or a
        cue that occurs almost only in one class.
        """
        cue, names, scan = self.one.giveaway, self.fallen_sets(), self.analysis.scan
        fallen = f"But models fall on {names}. " if names else ""
        if cue is None:
            return f"{fallen}{self.explained()}"
        named = None if scan is None else next((one for one in scan.candidates if one.explained_by is None), None)
        if named is not None:
            by_itself = f"{cue_text(named)} balanced accuracy by itself, where chance is 50 %"
            return f"{fallen}Yours to judge: {by_itself}. {self.leaning_on(named, advise=False)}"
        return f"{fallen}Yours to judge: {cue_name(cue)}, {class_text(cue)}."

    def fallen_sets(self) -> str:
        """Return the names of challenge sets on which models have a large, significant drop in accuracy."""
        return listed([f"“{name}”" for name in fallen_sets(self.analysis.of(CHALLENGE_FALLS))], MOST_NAMED)

    def edited(self) -> str:
        """Return what was edited in the first challenge set of edited copies on which models fall, in brackets, or an
        empty string.
        """
        falls = self.analysis.of(CHALLENGE_FALLS)
        first = next((one.test_set for one in falls if one.named and one.edited), "")
        named = edits_text(self.analysis.of(EDITS), first)
        return f" ({named})" if named else ""

    def kept_elsewhere(self, evaluator: str) -> str:
        """Return a clause on an evaluator's largest fall on challenge sets, if no fall is named: how large the fall is,
        and whether the fall is significant.
        """
        falls = [one for one in self.analysis.of(CHALLENGE_FALLS) if one.evaluator == evaluator]
        most = max(falls, key=lambda one: one.fall, default=None)
        if most is None or round(most.fall, 1) <= 0:
            return " and does not fall on challenge sets"
        where = f"“{short(most.test_set, LONGEST)}”"
        points = f"{signed_points(most.fall)} points, 95 % {bounds(most.low, most.high)}"
        if most.low > 0:
            return f", and falls by less than {LEAST_NAMED:g} points on challenge sets (most on {where}: {points})"
        return f", and does not fall significantly on challenge sets (most on {where}: {points})"

    def explained(self) -> str:
        """Return a sentence on whether a tested property explains the accuracy of models. If no property was tested,
        return the result of `single_property`.
        """
        leanings = self.verdict.evidence.leanings
        tested = [one for one in leanings if one.leans is not None]
        if leanings and not tested:
            return f"It cannot be told whether {listed(list(map(property_name, leanings)), MOST_NAMED)} explains it."
        if not tested:
            return self.single_property()
        if leant := [property_name(one) for one in tested if one.leans]:
            return f"Models lean on {listed(leant, MOST_NAMED)}, which may be the task itself."
        named = listed(list(map(property_name, tested)), MOST_NAMED)
        return (
            f"Models are not shown to lean on a tested property ({named}); such a property may still make rows harder."
        )

    def single_property(self) -> str:
        """Return a sentence on the single property that best predicts a class in the scan."""
        scan = self.analysis.scan
        if scan is None or not scan.can_tell:
            return "No property was tested that could explain it."
        if (cue := next((one for one in scan.candidates if one.explained_by is None), None)) is not None:
            return f"Of single properties {cue_text(cue)}, tells most; you decide whether it belongs to the task."
        if scan.artefacts:
            return f"Of single properties {cue_text(scan.artefacts[0])}, tells most; it is no part of the task."
        return f"None of {count(scan.properties)} single properties tells a class by itself."

    def helps(self) -> str:
        """Return a clause on whether filtering helps, and by how much, without a full stop."""
        if not self.comparisons:
            return f"Whether filtering helps cannot be judged: {undecided_text(self.analysis)}"
        if self.effect is None and self.verdict.evidence.gains:
            gained = list(dict.fromkeys(f"“{one.test_set}”" for one in self.verdict.evidence.gains))
            declare = f"say in the file how {listed(gained, MOST_NAMED)} came about (`collected`)"
            how = f"{declare}, because on rows that were chosen against one model any other model gains"
            return f"Whether filtering helps is open: {self.changes('gains')}; {how}"
        if self.effect is None:
            one = next((each for each in self.comparisons if each.verdict.side is not None), self.comparisons[0])
            if one.verdict.side is None or one.difference is None:
                return f"Whether filtering helps cannot be judged ({one.verdict.why or 'not run'})"
            why = "" if one.verdict.why is None else f", {one.verdict.why}"
            points = f"{signed_points(one.difference)} points {bounds(one.low, one.high)}"
            return f"Whether filtering helps is not shown: {one.evaluator} on {one.test_set}, {points}{why}"
        changes = filter(None, (self.changes("gains"), self.changes("losses")))
        text = f"Trained on filtered instead of {self.filtering.control}, {', but '.join(changes)}"
        changed = {one.test_set for one in self.comparisons if one.verdict.side in ("above", "below")}
        unsettled = dict.fromkeys(one.test_set for one in self.comparisons if one.is_unsettled)
        names = [f"“{name}”" for name in unsettled if name not in changed]
        return f"{text}; it is undecided on {listed(names, MOST_NAMED)}" if names else text

    def lacking(self, bias: Excess) -> str:
        """Return a phrase on how many rows, seeds or other results are missing for a decision."""
        shortfalls = self.verdict.shortfalls
        present = listed(list(map(present_text, shortfalls)))
        needed = listed(list(map(needed_text, shortfalls)))
        if shortfalls[0].what in ("rows", "groups"):
            interval = f"95 % interval {signed_points(bias.low)} to {signed_points(bias.high)} points"
            chance = f"{percent(bias.shuffled_labels)} % if labels are shuffled (the difference: {interval})"
            predicted = f"linear classifiers predict the label of {percent(bias.bias)} % of {present}, and of {chance}"
            return f"{predicted}. About {needed} in all would settle it."
        where = "" if self.first is None else f" ({self.first.evaluator} on {self.first.test_set})"
        text = f"the rows are predictable, no shortcut is shown, and the comparison with random rows{where}"
        return f"{text} has {present}. At least {needed} would settle it."

    def beside(self) -> Detail | None:
        """Return sentences on drops in accuracy of models trained on all rows, and on untested properties."""
        falls, leanings = self.analysis.of(CHALLENGE_FALLS), self.verdict.evidence.leanings
        untold = [(property_name(one), why) for one in leanings if (why := untold_text(one))]
        whether = [f"It cannot be told whether models lean on {name}: {why}" for name, why in untold]
        said = falls_text(falls, self.analysis.of(EDITS)), alike_text(falls), *whether
        return Detail(f"Independent of the filter: {'. '.join(filter(None, said))}.", "leanings") if any(said) else None

    def removed(self) -> Detail:
        """Return sentences on the number of removed rows, on the class whose share changed most, and on the cues of the
        removed rows.
        """
        all_rows, tested = self.filtering.train_rows, self.analysis.of(CUES, self.one.representation)
        gone, rows = all_rows - self.filtering.kept_rows, counted(all_rows, "train row")
        if not gone:
            return Detail(f"Nothing was removed; filtered is the whole set of {rows}.", "filtering")
        of = f"{rows}{answers_text(self.filtering.train_questions)}"
        text = f"Removed: {count(gone)} of {of} ({percent(gone / all_rows)} %)"
        if self.one.moved_class is not None:
            name, before, after = self.one.moved_class
            text += f"; {short(name, LONGEST)} went from {percent(before)} to {percent(after)} % of the rows"
        cues = self.removal_cues([cue for cue in tested if cue.shown]) if tested else ""
        return Detail(f"{text}{cues}.", "details")

    def removal_cues(self, cues: Sequence[RemovedCue]) -> str:
        """Return a text on the cues of the removed rows, which continues the sentence on the number of removed rows."""
        if not cues:
            return "; none of the tested words, lengths, attributes and inputs goes with removal"
        named = telling(cues)
        first = named[:MOST_NAMED]
        if not any(
            cue.kind == "word" for cue in first
        ):  # a word explains why a length or a text alone predicts the class
            first += [cue for cue in named if cue.kind == "word"][:1]
        shown, left = listed([numbered_cue(cue, self.facts.label_names) for cue in first]), len(named) - len(first)
        others = f". {count(left)} more {'cue is' if left == 1 else 'cues are'} in the table" if left else ""
        lead = "Removed more often than random rows of their classes"
        return f". {lead}: {shown}. This alone shows no shortcut{others}"

    def cost(self) -> Detail | None:
        """Return a sentence that compares training on filtered rows with training on all rows, on the dataset's own
        test rows.
        """
        stated = self.one.on_natural
        if not self.facts.natural_sets or not self.facts.judging_evaluators:
            return None
        if not self.comparisons and not self.analysis.judging.judges:
            return Detail("Against all rows: no evaluator learnt enough to compare, as the checks report.", "checks")
        return None if stated is None else Detail(f"Against all rows: {self.difference(stated)}.", "accuracy")

    def gain(self) -> Detail | None:
        """Compare training on filtered rows with training on random rows, on the challenge set of the first decisive
        comparison.
        """
        stated, full = self.one.on_first, self.one.on_first_full
        if stated is None:
            return None
        matched = " of its class sizes" if self.filtering.control == "random_matched" else ""
        beside = "" if full is None else f". Instead of all rows: {self.points(full)}"
        weighed = " Each gold label weighs the same." if stated.by_label else ""
        text = f"Against as many random rows{matched}: {self.difference(stated)}{beside}.{weighed}"
        return Detail(f"{text}{chance_text(self.analysis.judging, stated)}", "paired")

    def difference(self, stated: StatedDifference) -> str:
        """Return a text on a difference in accuracy, which names the compared train sets, the evaluator and the test
        set.
        """
        where, said = f"on “{stated.test_set}”", self.points(stated)
        pool = " (these test rows were filtered too)" if self.facts.test_set[stated.test_set].pooled else ""
        if stated.lacking is None:
            return f"trained on filtered instead of {stated.against}, “{stated.evaluator}” is {said} {where}{pool}"
        return f"{where}{pool}, “{stated.evaluator}” is {said}"

    def points(self, stated: StatedDifference) -> str:
        """Return a difference in accuracy with its interval. If the interval includes zero and is too wide to be
        informative, return its width, and the number of rows or seeds that would make it narrow enough.
        """
        if (few := stated.lacking) is None:
            return f"{side_text(stated.interval.difference, 'as good')} ({bounds_text(stated.interval)})"
        what = f"{self.facts.test_set[stated.test_set].unit}s" if few.what == "rows" else few.what
        width = signed_points(stated.interval.high - stated.interval.low)
        wide = f"with {count(few.present)} {what}, the interval includes zero and is {width} points wide"
        return f"not shown to differ ({wide}; about {count(few.needed)} would make it {WIDEST_SAID:g} points wide)"

    def use(self) -> str:
        """Return advice on which rows to use. If models rely on a shortcut, the advice begins with fixing the data."""
        if self.leaning is None or not self.leaning.shortcut:
            asks = "" if self.verdict.code == "artefact_tells" else column_advice(self.analysis, self.one)
            return " ".join(filter(None, [self.use_rows(), asks]))
        return f"first {mending(self.leaning, property_name(self.leaning))}. Then {self.use_rows()}"

    def all_rows(self) -> str:
        """Return the phrase "all rows for training". For questions, which may be used only to test models, the phrase
        is "all questions, if you train on them".
        """
        return "all questions, if you train on them" if self.facts.split_questions else "all rows for training"

    def use_rows(self) -> str:
        """Return advice on which rows to use, without advice on fixing the data."""
        code = self.verdict.code
        if code in ("nothing_found", "class_balance_only") and self.effect:
            gains = self.changes("gains")
            return f"all rows. Against as many random rows, {gains}." if gains else "all rows."
        if self.is_unlearnt:
            return "all rows. Train the encoder longer or on more warm-up rows, or take other features."
        if code in _USES:
            return _USES[code]
        if self.filtering.kept_rows == self.filtering.train_rows:
            return "all rows. Nothing was removed, so there is no other train set to compare."
        leading, whole = self.verdict.evidence.leading, self.one.against_all_rows
        if self.effect == "helps" and leading is not None and whole is not None:
            return self.use_if_it_helps(leading, whole)
        if code == "artefact_tells":
            if (cue := self.artefact_cue()) is not None and is_unread(self.analysis, cue):
                return f"all rows. {REBALANCE}"
            return (
                "first remove it from the source, then run again. Until then use all rows; no accuracy shows that "
                "the task was learnt."
            )
        if code == "learnable_no_shortcut_shown" and (where := self.fallen_sets()):
            cues = "and at the cues of the removed rows."
            return f"{self.all_rows()}, but look first at what {where} changes{self.edited()}, {cues}"
        if code in ("learnable_no_shortcut_shown", "easy"):
            return f"{self.all_rows()}. The kept rows are harder for this representation, not more correct."
        if self.effect == "mixed":
            if self.one.prefers_all_rows and leading is not None:
                return f"{self.all_rows()}, since they are better still on “{leading.test_set}”."
            where = listed([f"“{one.test_set}”" for one in self.verdict.evidence.gains], MOST_NAMED)
            return f"{self.all_rows()}, unless rows like those of {where} are what matters to you."
        test = f" To see how much a model leans on {self.leant_on()}, test it on the filtered test rows too."
        test = test if self.has_filtered_test_rows else ""
        if self.effect == "harms":
            return f"{self.all_rows()}.{test}"
        if self.comparisons:
            return f"{self.all_rows()}, since the filtered rows are not shown to be better.{test}"
        return (
            f"{self.all_rows()}. Whether other rows are better cannot be judged: {undecided_text(self.analysis)}.{test}"
        )

    def leant_on(self) -> str:
        """Return a name for the property on which models rely: "the shortcut" only if it is proven to be a shortcut."""
        if self.verdict.shortcut:
            return "the shortcut"
        return "what was removed" if self.leaning is None else property_name(self.leaning)

    def use_if_it_helps(self, first: Comparison, whole: AgainstAllRows) -> str:
        """Return advice on which rows to use, for a filtered set that is better than its control. The advice depends on
        whether the filtered set is also better than all rows.
        """
        name, side = f"“{first.test_set}”", whole.side
        as_good = " The same number of plain random rows is not shown to be worse there: try it first."
        random = as_good if first.test_set in whole.random_as_good else ""
        if side == "above":
            lost = listed([f"“{one}” ({signed_points(-points)} points)" for one, points in whole.worse], MOST_NAMED)
            elsewhere = f" On {lost} all rows are better too." if lost else ""
            others = "if the shortcut holds where you apply it" if self.verdict.shortcut else "elsewhere"
            return f"filtered to train for rows like those of {name}, all rows {others}.{random}{elsewhere}"
        if whole.best is not None:
            best, points = whole.best
            random = as_good if best in whole.random_as_good else ""
            still = f"Use all rows elsewhere: on {name} they are better still."
            rest = still if side == "below" else f"On {name} no difference from all rows is shown."
            misleads = "if the shortcut is misleading in your application" if self.verdict.shortcut else "for some rows"
            above = f"as on “{best}” ({signed_points(points)} points above all rows)"
            return f"filtered {misleads}, {above}.{random} {rest}"
        if side == "below":
            has_use = self.verdict.shortcut and self.has_filtered_test_rows
            tests = ", and to test models that lean on the shortcut" if has_use else ""
            better = f"{self.all_rows()}, since they are better still on {name}"
            return f"{better}. Use filtered only if you cannot train on more rows than that{tests}.{random}"
        better = f"filtered rather than as many random rows, since it is better on {name}"
        return f"{better}. No difference from all rows is shown there.{random}"
