"""The verdict in words: one line, and at most four sentences: what went, what it costs and gains, what to use."""

from collections.abc import Sequence
from dataclasses import dataclass

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.filtering_verdict import AgainstAllRows, FilteringVerdict, StatedDifference
from aflite_assets.analysis.comparisons.paired import Lack
from aflite_assets.analysis.inputs.cues import CUES, Cue, telling
from aflite_assets.analysis.json_values import JsonValue, to_json
from aflite_assets.analysis.rules.bias_excess import Excess
from aflite_assets.analysis.rules.dataset_verdict import LEAST, Code, Comparison
from aflite_assets.analysis.rules.verdicts import NOT_BY_LABEL
from aflite_assets.reports.sentences.filtering import class_text, cue_name, cue_text, marked_text
from aflite_assets.reports.sentences.wording import answers_text, bounds_text, short, side_text
from aflite_assets.text import count, listed, percent, signed_points
from aflite_assets.wording import counted

_MOST_NAMED = 2

_OPENINGS: dict[Code, str] = {
    "cannot_tell": "Cannot tell",
    "nothing_found": "Nothing found",
    "class_balance_only": "Class balance only",
    "shortcut_found_helps": "Shortcut found, and filtering helps",
    "shortcut_found_harms": "Shortcut found, and filtering harms",
    "shortcut_found": "Shortcut found",
    "learnable_no_shortcut_shown": "Learnable, no shortcut shown",
}
_LACKS: dict[Lack, str] = {
    "took part in the filter": "all test rows took part in the filter",
    "nothing learnt": "no evaluator learnt enough to judge by, as the checks say",
    "not trained": "nothing was trained that could be compared",
}
_USES: dict[Code, str] = {
    "nothing_found": "nothing speaks for fewer rows. If models should learn from this, check its labels and features "
    "first.",
    "class_balance_only": "all rows, with balanced classes or weights where shares matter. Filtering does no more.",
    "cannot_tell": "all rows until it can be told.",
}
_THAN_ALL_ROWS = {"above": ", and than all rows", "below": "; all rows are better still"}


@dataclass(frozen=True)
class Detail:
    """One sentence under the verdict, and the section of the page that has its table."""

    text: str
    section: str


@dataclass(frozen=True)
class VerdictText:
    """The verdict of one filtering in words; `details` are at most four."""

    representation: str
    code: Code
    sentence: str
    details: tuple[Detail, ...]


def verdict_texts(analysis: Analysis) -> tuple[VerdictText, ...]:
    """Word the verdict on every filtering, the one that says most first."""
    return tuple(_Words(analysis, one).text() for one in analysis.verdicts)


def verdict_json(analysis: Analysis) -> JsonValue:
    """The verdict that says most as `code`, `sentence`, `details` and `evidence`; None if nothing was filtered."""
    if not analysis.verdicts:
        return None
    verdict, text = analysis.verdicts[0].verdict, verdict_texts(analysis)[0]
    beside = {"lacking": verdict.shortfalls, "gains": verdict.gains, "evidence": verdict.evidence}
    return to_json({**vars(text), "details": [detail.text for detail in text.details], **beside})


def no_primary(analysis: Analysis) -> str:
    """Say why there is no primary comparison."""
    primary = analysis.primary
    if primary.lack == "set not available" and primary.chosen is not None:
        return f"the primary comparison is on {primary.chosen[1]}, which is not available"
    return _LACKS[primary.lack]


def passed_over_text(analysis: Analysis) -> str:
    """Name the evaluators that the primary comparison would be made with first; empty if it is made with the first."""
    names = [f"“{name}”" for name in analysis.primary.passed_over]
    verbs = "comes first and has" if len(names) == 1 else "come first and have"
    return f" {listed(names)} {verbs} no result of filtered or of its control." if names else ""


class _Words:
    """The words of one verdict; each method has those of one clause or sentence, empty if there is nothing to say."""

    def __init__(self, analysis: Analysis, one: FilteringVerdict) -> None:
        self.analysis, self.facts, self.one, self.verdict = analysis, analysis.facts, one, one.verdict
        self.filtering = self.facts.filtering[one.representation]
        self.primary, self.cue = one.verdict.evidence.primary, next(iter(telling(one.verdict.evidence.cues)), None)

    def text(self) -> VerdictText:
        sentence = f"{_OPENINGS[self.verdict.code]}: {self.because()}{self.reservation()}"
        details = (self.removed(), self.cost(), self.gain(), Detail(f"Use: {self.use()}", "paired"))
        present = tuple(detail for detail in details if detail is not None)
        return VerdictText(self.one.representation, self.verdict.code, sentence, present)

    def because(self) -> str:
        verdict, bias = self.verdict, self.verdict.evidence.bias
        if bias is None:
            return "the filter's result does not say what shuffled labels give; materialise filtered_sets again."
        predicted = f"linear classifiers predict {percent(bias.rows.bias)} % of the rows"
        beside_chance = f"{predicted}, and with shuffled labels {percent(bias.rows.shuffled_labels)} %."
        less, besides = f"less than {LEAST:g} points more", self.shown_all_the_same()
        if verdict.code == "nothing_found":
            if bias.rows.low <= 0 and not besides:
                return f"{beside_chance} They learn nothing from these features, neither a shortcut nor the task."
            return f"{beside_chance} That is {less if bias.rows.low > 0 else 'not surely more'}.{besides}"
        if verdict.code == "class_balance_only":
            within = f"within a class {'no more' if bias.classes.low <= 0 else less} than with shuffled labels."
            return f"{predicted}, but {within}{besides or ' What was removed is explained by class.'}"
        if verdict.shortcut:
            better = f"models trained on filtered are better than their control on {self.gains()}"
            shortcut = cue_text(self.cue) if self.cue else f"{better}, and more so than on test rows"
            return f"{shortcut}. {self.helps()}."
        return self.lacking(bias.rows) if verdict.shortfalls else f"{beside_chance} {self.giveaway()}"

    def shown_all_the_same(self) -> str:
        """What is shown though the bias shows nothing: a cue that counts, else a gain."""
        if self.cue is not None:
            return f" Though {cue_name(self.cue)} marks removed rows beyond chance; see what marks them."
        if self.verdict.gains:
            return f" Though filtered is better than its control on {self.gains()}; see the comparisons."
        return ""

    def gains(self) -> str:
        return listed([f"“{one.test_set}” (evaluator “{one.evaluator}”)" for one in self.verdict.gains], _MOST_NAMED)

    def giveaway(self) -> str:
        """The hint that stands with one class almost alone, which may be a shortcut as well."""
        cue = self.one.giveaway
        if cue is None:
            return "The task may simply be easy."
        doubt = f"if {'one of them' if cue.alike else 'it'} should not matter, it is a shortcut."
        return f"But look at {cue_name(cue)}, {class_text(cue)}: {doubt}"

    def helps(self) -> str:
        primary = self.primary
        if primary is None:
            return f"Whether filtering helps cannot be judged, as {no_primary(self.analysis)}"
        side, why = primary.verdict.side, primary.verdict.why
        if side in ("above", "below") and primary.difference is not None:
            same = ", which has the same shortcut, so nothing follows for the task" if primary.shares_the_cost else ""
            where = f"{side} {self.filtering.control} on “{primary.test_set}”{same}"
            return f"“{primary.evaluator}” is {signed_points(abs(primary.difference))} points {where}"
        if side == "open":
            shift = "; answers may just have moved between classes" if why == NOT_BY_LABEL else ""
            return f"Whether filtering helps is open ({primary.evaluator} on {primary.test_set}{shift})"
        return f"Whether filtering helps cannot be judged ({why or 'not run'})"

    def lacking(self, bias: Excess) -> str:
        shortfalls, primary = self.verdict.shortfalls, self.primary
        present = listed([counted(one.present, one.what.removesuffix("s")) for one in shortfalls])
        needed = listed([f"{count(one.needed)} {one.what}" for one in shortfalls])
        if shortfalls[0].what in ("rows", "groups"):
            over = f"{signed_points(bias.low)} to {signed_points(bias.high)} points over what shuffled labels give"
            predicted = f"of {present} linear classifiers predict {percent(bias.bias)} %, which lies {over}"
            return f"{predicted}. About {needed} would settle it."
        where = "" if primary is None else f" ({primary.evaluator} on {primary.test_set})"
        text = f"the rows are predictable, no shortcut is shown, and the primary comparison{where} has {present}"
        return f"{text}. At least {needed} would settle it."

    def reservation(self) -> str:
        """What speaks against the evaluator of the primary comparison."""
        against = self.analysis.judging.caveats.get(self.primary.evaluator) if self.primary is not None else None
        if self.primary is None or self.primary.shares_the_cost or against is None:
            return ""
        name, little = f" But “{self.primary.evaluator}”", "so the primary comparison says little."
        if against.behind is not None:
            rival = f"{against.behind.rival} on “{against.behind.test_set}”"
            return f"{name} is not surely better than {rival}, {little}"
        if against.one_answer:
            return f"{name} gives nearly all rows one class when trained on {listed(against.one_answer)}, {little}"
        if against.made_of and self.verdict.shortcut:
            make = f"has the make of the model that filtered (as {listed(against.made_of)})"
            return f"{name} {make}, so rows were chosen against it: judge by an evaluator of another make."
        return ""

    def removed(self) -> Detail:
        all_rows, tested = self.filtering.train_rows, self.analysis.of(CUES, self.one.representation)
        gone, rows = all_rows - self.filtering.kept_rows, counted(all_rows, "train row")
        if not gone:
            return Detail(f"Removed: nothing; filtered is the whole set of {rows}.", "filtering")
        questions = answers_text(self.filtering.train_questions)
        text = f"Removed: {count(gone)} of {rows}{questions} ({percent(gone / all_rows)} %)"
        if self.one.moved_class is not None:
            name, before, after = self.one.moved_class
            text += f"; {short(name)} went from {percent(before)} to {percent(after)} % of the rows"
        marks = self.marks([cue for cue in tested if cue.shown]) if tested else ""
        return Detail(f"{text}{marks}.", "evidence")

    def marks(self, cues: Sequence[Cue]) -> str:
        if not cues:
            return "; no word, length, attribute or input that was tested marks them"
        cues = [cue for cue in cues if cue.counts] or cues
        named = telling(cues)
        first = named[:_MOST_NAMED]
        if not any(cue.kind == "word" for cue in first):  # a word says why a length or a text alone tells the class
            first += [cue for cue in named if cue.kind == "word"][:1]
        shown, left = listed([marked_text(cue, self.facts.label_names) for cue in first]), len(named) - len(first)
        others = f". {count(left)} more {'mark is' if left == 1 else 'marks are'} in the table" if left else ""
        hints = "" if cues[0].counts or self.verdict.gains else ". That may be the task itself"
        return f". More frequent among them than among random rows: {shown}{others}{hints}"

    def cost(self) -> Detail | None:
        """Filtered against all train rows, on the dataset's own test rows."""
        if not self.facts.natural_sets or not self.facts.judging_evaluators:
            return None
        if self.primary is None and not self.analysis.judging.judges:
            return Detail("Against all rows: no evaluator learnt enough to compare, as the checks say.", "checks")
        stated = self.one.on_natural
        return None if stated is None else Detail(f"Against all rows: {self.difference(stated)}.", "accuracy")

    def gain(self) -> Detail | None:
        """Filtered against its control where the primary comparison is made."""
        primary, stated, full = self.primary, self.one.on_primary, self.one.on_primary_full
        if primary is None or stated is None:
            return None
        beside = "" if full is None else f". Instead of all rows: {self.points(full)}"
        matched = " of its class sizes" if self.filtering.control == "random_matched" else ""
        further = f"{self.mean_over_labels(primary)}{self.at_chance(stated)}{passed_over_text(self.analysis)}"
        random = f"Against as many random rows{matched}"
        return Detail(f"{random}: {self.difference(stated)}{beside}.{further}", "paired")

    def mean_over_labels(self, primary: Comparison) -> str:
        """Say that a difference on all rows is open because it is not there in the mean over gold labels."""
        if primary.verdict.why != NOT_BY_LABEL or primary.label_mean is None:
            return ""
        points, low, high = map(signed_points, primary.label_mean)
        mean = f"{points} points (95 % [{low}, {high}])"
        return f" Where each gold label weighs the same it is {mean}, so nothing follows."

    def at_chance(self, stated: StatedDifference) -> str:
        """Say that no difference means little if the model is no better than the largest class after all rows."""
        margins = {(one.evaluator, one.test_set): one for one in self.analysis.judging.challenge_margins}
        over = margins.get((stated.evaluator, stated.test_set))
        if over is None or not stated.interval.low <= 0 <= stated.interval.high:
            return ""
        right = f"{percent(over.accuracy)} %"
        if over.too_few:
            return f" Trained on all rows it cannot be told there from {over.rival} ({right}; too few {over.too_few})."
        return f" Trained on all rows it is at chance there ({right}), so that says little." if over.at_chance else ""

    def difference(self, stated: StatedDifference) -> str:
        """Filtered against a train set on a test set."""
        where, said = f"on “{stated.test_set}”", self.points(stated)
        pool = ", whose rows were in the filter's pool" if self.facts.test_set[stated.test_set].pooled else ""
        if stated.lacking is None:
            return f"trained on filtered instead of {stated.against}, “{stated.evaluator}” is {said} {where}{pool}"
        return f"{where}{f'{pool},' if pool else ''} “{stated.evaluator}” has {said}"

    def points(self, stated: StatedDifference) -> str:
        """The difference with its interval; if that says nothing, what there is too little of."""
        few = stated.lacking
        if few is None:
            return f"{side_text(stated.interval.difference, 'as good')} ({bounds_text(stated.interval)})"
        by_question = few.what == "rows" and self.facts.test_set[stated.test_set].unit == "question"
        what = "questions" if by_question else few.what
        return f"too few {what} (n = {count(few.present)}) to tell; about {count(few.needed)} would do"

    def use(self) -> str:
        verdict, code, primary = self.verdict, self.verdict.code, self.primary
        if code in ("nothing_found", "class_balance_only") and (self.cue or verdict.gains):
            all_rows = f"all rows, if {cue_name(self.cue)} should matter." if self.cue else "all rows."
            won = f" Filtered is better than as many random rows on {self.gains()}." if verdict.gains else ""
            return f"{all_rows}{won}"
        if code in _USES:
            return _USES[code]
        if self.filtering.kept_rows == self.filtering.train_rows:
            return "all rows. Nothing was removed, so there is no other train set to compare."
        if code == "learnable_no_shortcut_shown":
            return "all rows for training. What was kept is hard for this representation, not more right."
        if code == "shortcut_found_helps" and primary is not None and self.one.against_all_rows is not None:
            return self.use_if_it_helps(primary, self.one.against_all_rows)
        tests = self.has_filtered_test_rows()
        if code == "shortcut_found_harms":
            shown = "; the filtered test rows show how much a model leans on the shortcut" if tests else ""
            return f"all rows for training{shown}."
        lead = "the filtered test rows to see how much a model leans on the shortcut"
        if verdict.gains:
            won = f"for training filtered is better than as many random rows on {self.gains()}."
            return f"{lead}; {won}" if tests else won
        lead = lead if tests else "all rows"
        if primary is not None:
            return f"{lead}; for training nothing is shown."
        if any(not test.pooled for test in self.facts.test_sets):
            return f"{lead}. To judge training, add an evaluator that learns the task."
        needed = "add a challenge set or hold rows out of the filter (evaluation_rows: kept)"
        return f"{lead}. To judge training, {needed}."

    def has_filtered_test_rows(self) -> bool:
        """Return True if there are test rows that filtering kept, and others that it removed."""
        name = self.one.representation
        return any(0 < test.filtered_rows.get(name, 0) < test.rows for test in self.facts.test_sets)

    def use_if_it_helps(self, primary: Comparison, whole: AgainstAllRows) -> str:
        """Which rows to use if filtered beats its control, by what is shown against all rows."""
        name, side = f"“{primary.test_set}”", whole.side
        random = " As many plain random rows are not shown to be worse there: try them first."
        random_too = dict.fromkeys(whole.random_as_good, random)
        if not primary.challenge:
            than = _THAN_ALL_ROWS.get(side or "", "; against all rows nothing is shown")
            better = f"on {name} filtered is better than as many random rows{than}"
            return f"{better}. These rows were drawn from the same data: a challenge set would show more."
        if side == "above":
            lost = listed([f"“{one}” ({signed_points(-points)} points)" for one, points in whole.worse], _MOST_NAMED)
            elsewhere = f" On {lost} all rows are better too." if lost else ""
            where = f"filtered to train for rows like those of {name}, all rows where the shortcut holds."
            return f"{where}{random_too.get(primary.test_set, '')}{elsewhere}"
        if whole.best is not None:
            best, points = whole.best
            above = f"as on “{best}” ({signed_points(points)} points above all rows).{random_too.get(best, '')}"
            still = f"Use all rows elsewhere: on {name} they are better still."
            rest = still if side == "below" else f"On {name} nothing is shown against all rows."
            return f"filtered for training where the shortcut misleads, {above} {rest}"
        if side == "below":
            tests = ", and tests models that lean on the shortcut" if self.has_filtered_test_rows() else ""
            better = f"all rows for training, since they are better still on {name}"
            return f"{better}. Filtered is for where as few rows are all you can use{tests}."
        better = f"filtered rather than as many random rows, since it is better on {name}"
        return f"{better}. Against all rows nothing is shown there."
