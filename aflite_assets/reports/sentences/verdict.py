"""The verdict in words: one line, and at most four sentences: what went, what it costs and gains, what to use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict, StatedDifference
from aflite_assets.analysis.comparisons.paired import Lack
from aflite_assets.analysis.facts import FilteringFacts
from aflite_assets.analysis.inputs.cues import Cue, telling
from aflite_assets.analysis.json_values import JsonValue, to_json
from aflite_assets.analysis.rules.bias_excess import Excess
from aflite_assets.analysis.rules.dataset_verdict import LEAST, Code, Comparison, DatasetVerdict
from aflite_assets.analysis.rules.verdicts import NOT_BY_LABEL, Shortfall
from aflite_assets.reports.sentences.cues import class_text, cue_name, cue_text, marked_text
from aflite_assets.reports.sentences.which_rows import gains_text, use_text
from aflite_assets.reports.sentences.wording import answers_text, bounds_text
from aflite_assets.text import count, listed, one_line, percent, signed_points
from aflite_assets.wording import counted, truncate

_MOST_CUES = 2

_OPENINGS: dict[Code, str] = {
    "cannot_tell": "Cannot tell",
    "nothing_found": "Nothing found",
    "class_balance_only": "Class balance only",
    "shortcut_found_helps": "Shortcut found, and filtering helps",
    "shortcut_found_harms": "Shortcut found, and filtering harms",
    "shortcut_found": "Shortcut found",
    "learnable_no_shortcut_shown": "Learnable, no shortcut shown",
}


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
    return tuple(verdict_text(analysis, one) for one in analysis.verdicts)


def verdict_text(analysis: Analysis, one: FilteringVerdict) -> VerdictText:
    """Word one verdict: the line and the sentences under it."""
    code, filtering = one.verdict.code, analysis.facts.filtering[one.representation]
    sentence = f"{_OPENINGS[code]}: {_because(analysis, one)}{_reservation(analysis, one.verdict)}"
    details = (
        _removed(analysis, filtering, one),
        *_cost(analysis, one),
        *_gain(analysis, one, filtering.control),
        Detail(use_text(analysis.facts, one), "paired"),
    )
    return VerdictText(one.representation, code, sentence, details)


def verdict_json(analysis: Analysis) -> JsonValue:
    """The verdict that says most as `code`, `sentence`, `details` and `evidence`; None if nothing was filtered."""
    if not analysis.verdicts:
        return None
    verdict, text = analysis.verdicts[0].verdict, verdict_texts(analysis)[0]
    return to_json(
        {
            "representation": text.representation,
            "code": text.code,
            "sentence": text.sentence,
            "details": [detail.text for detail in text.details],
            "lacking": verdict.shortfalls,
            "gains": verdict.gains,
            "evidence": verdict.evidence,
        }
    )


def _because(analysis: Analysis, one: FilteringVerdict) -> str:
    verdict, bias = one.verdict, one.verdict.evidence.bias
    if bias is None:
        return "the filter's result does not say what shuffled labels give; materialise filtered_sets again."
    rows = bias.rows
    if verdict.code == "nothing_found":
        return (
            f"linear classifiers predict {percent(rows.bias)} % of the rows, and with shuffled labels "
            f"{percent(rows.shuffled_labels)} %. {_learnt(rows, verdict)}"
        )
    if verdict.code == "class_balance_only":
        within = "no more" if bias.classes.low <= 0 else f"less than {LEAST:g} points more"
        explained = "" if _beside(verdict) else " What was removed is explained by class."
        return (
            f"linear classifiers predict {percent(rows.bias)} % of the rows, but within a class {within} than with "
            f"shuffled labels.{explained}{_beside(verdict)}"
        )
    if verdict.shortcut:
        return f"{_shortcut(verdict)}. {_primary(verdict.evidence.primary, analysis, one.representation)}."
    if verdict.shortfalls:
        return _lacking(rows, verdict.shortfalls, verdict.evidence.primary)
    return (
        f"linear classifiers predict {percent(rows.bias)} % of the rows, and with shuffled labels "
        f"{percent(rows.shuffled_labels)} %. "
        f"{_giveaway(one.giveaway) or 'The task may simply be easy.'}"
    )


def _learnt(rows: Excess, verdict: DatasetVerdict) -> str:
    beside = _beside(verdict)
    if rows.low > 0:
        return f"That is less than {LEAST:g} points more.{beside}"
    return (
        f"That is not surely more.{beside}"
        if beside
        else "They learn nothing from these features, neither a shortcut nor the task."
    )


def _beside(verdict: DatasetVerdict) -> str:
    """What is shown though the bias shows nothing: a mark that counts, else a gain; empty without either."""
    if verdict.evidence.cues:
        mark = cue_name(telling(verdict.evidence.cues)[0])
        return f" Though {mark} marks removed rows beyond chance; see what marks them."
    if verdict.gains:
        return f" Though filtered is better than its control on {gains_text(verdict)}; see the comparisons."
    return ""


def _giveaway(cue: Cue | None) -> str:
    """The hint that stands with one class almost alone, which may be a shortcut as well; empty without one."""
    if cue is None:
        return ""
    which = "one of them" if cue.alike else "it"
    return f"But look at {cue_name(cue)}, {class_text(cue)}: if {which} should not matter, it is a shortcut."


def _shortcut(verdict: DatasetVerdict) -> str:
    if verdict.evidence.cues:
        return cue_text(telling(verdict.evidence.cues)[0])
    return (
        f"models trained on filtered are better than their control on {gains_text(verdict)}, and more so than on test "
        "rows"
    )


def _primary(primary: Comparison | None, analysis: Analysis, representation: str) -> str:
    """What the primary comparison adds; that help cannot be judged where there is none."""
    if primary is None:
        return f"Whether filtering helps cannot be judged, as {no_primary(analysis)}"
    if primary.verdict.side in ("above", "below") and primary.difference is not None:
        points = signed_points(abs(primary.difference))
        against = analysis.facts.filtering[representation].control
        same = ", which has the same shortcut, so nothing follows for the task" if primary.shares_the_cost else ""
        where = f"{primary.verdict.side} {against} on “{primary.test_set}”{same}"
        return f"“{primary.evaluator}” is {points} points {where}"
    if primary.verdict.side == "open":
        shift = "; answers may just have moved between classes" if primary.verdict.why == NOT_BY_LABEL else ""
        return f"Whether filtering helps is open ({primary.evaluator} on {primary.test_set}{shift})"
    return f"Whether filtering helps cannot be judged ({primary.verdict.why or 'not run'})"


_LACKS: dict[Lack, str] = {
    "took part in the filter": "all test rows took part in the filter",
    "nothing learnt": "no evaluator learnt enough to judge by, as the checks say",
    "not trained": "nothing was trained that could be compared",
}


def no_primary(analysis: Analysis) -> str:
    """Why there is no primary comparison."""
    primary = analysis.primary
    if primary.lack == "set not available" and primary.chosen is not None:
        return f"the primary comparison is on {primary.chosen[1]}, which is not available"
    return _LACKS[primary.lack]


def _reservation(analysis: Analysis, verdict: DatasetVerdict) -> str:
    """What speaks against the evaluator of the primary comparison; nothing where nothing does."""
    primary = verdict.evidence.primary
    if primary is None or primary.shares_the_cost:
        return ""
    against, name = analysis.judging.caveats.get(primary.evaluator), f"“{primary.evaluator}”"
    if against is None:
        return ""
    if against.behind is not None:
        return (
            f" But {name} is not surely better than {against.behind.rival} on “{against.behind.test_set}”, so the "
            "primary comparison says little."
        )
    if against.one_answer:
        return (
            f" But {name} gives nearly all rows one class when trained on {listed(against.one_answer)}, so the primary "
            "comparison says little."
        )
    if against.made_of and verdict.shortcut:
        return (
            f" But {name} has the make of the model that filtered (as {listed(against.made_of)}), so rows were chosen "
            "against it: judge by an evaluator of another make."
        )
    return ""


def _lacking(bias: Excess, shortfalls: Sequence[Shortfall], primary: Comparison | None) -> str:
    present = listed([counted(one.present, one.what.removesuffix("s")) for one in shortfalls])
    needed = listed([f"{count(one.needed)} {one.what}" for one in shortfalls])
    if shortfalls[0].what in ("rows", "groups"):
        return (
            f"of {present} linear classifiers predict {percent(bias.bias)} %, which lies {signed_points(bias.low)} to "
            f"{signed_points(bias.high)} points over what shuffled labels give. About {needed} would settle it."
        )
    where = "" if primary is None else f" ({primary.evaluator} on {primary.test_set})"
    return (
        f"the rows are predictable, no shortcut is shown, and the primary comparison{where} has {present}. At least "
        f"{needed} would settle it."
    )


def _removed(analysis: Analysis, filtering: FilteringFacts, one: FilteringVerdict) -> Detail:
    gone = filtering.train_rows - filtering.kept_rows
    if not gone:
        whole = f"filtered is the whole set of {counted(filtering.train_rows, 'train row')}"
        return Detail(f"Removed: nothing; {whole}.", "filtering")
    rows = f"{counted(filtering.train_rows, 'train row')}{answers_text(filtering.train_questions)}"
    text = f"Removed: {count(gone)} of {rows} ({percent(gone / filtering.train_rows)} %)"
    if one.moved_class is not None:
        name, before, after = one.moved_class
        text += f"; {truncate(one_line(name), 40)} went from {percent(before)} to {percent(after)} % of the rows"
    tested = analysis.cues.get(one.representation, ())
    shown = [cue for cue in tested if cue.shown]
    marks = _marks(shown, one.verdict, analysis.facts.label_names) if tested else ""
    return Detail(f"{text}{marks}.", "evidence")


def _marks(cues: Sequence[Cue], verdict: DatasetVerdict, label_names: tuple[str, ...]) -> str:
    if not cues:
        return "; no word, length, attribute or input that was tested marks them"
    cues = [cue for cue in cues if cue.counts] or cues
    hints = "" if cues[0].counts or verdict.gains else ". That may be the task itself"
    named = telling(cues)
    first = named[:_MOST_CUES]
    if not any(cue.kind == "word" for cue in first):  # a word says why a length or a text alone tells the class
        first += [cue for cue in named[_MOST_CUES:] if cue.kind == "word"][:1]
    shown = listed([marked_text(cue, label_names) for cue in first])
    left = len(named) - len(first)
    further = f". {count(left)} more {'mark is' if left == 1 else 'marks are'} in the table" if left else ""
    return f". More frequent among them than among random rows: {shown}{further}{hints}"


def _cost(analysis: Analysis, one: FilteringVerdict) -> Iterator[Detail]:
    """Filtered against all train rows, on the dataset's own test rows."""
    facts = analysis.facts
    if not facts.natural_sets or not facts.judging_evaluators:
        return
    if one.verdict.evidence.primary is None and not analysis.judging.judges:
        yield Detail("Against all rows: no evaluator learnt enough to compare, as the checks say.", "checks")
    elif one.on_natural is not None:
        yield Detail(f"Against all rows: {_sentence(analysis, one.on_natural)}.", "accuracy")


def _gain(analysis: Analysis, one: FilteringVerdict, control: str) -> Iterator[Detail]:
    """Filtered against its control where the primary comparison is made."""
    primary, stated, full = one.verdict.evidence.primary, one.on_primary, one.on_primary_full
    if primary is None or stated is None:
        return
    beside = "" if full is None else f". Instead of all rows: {_short(analysis, full)}"
    matched = " of its class sizes" if control == "random_matched" else ""
    further = f"{_shift(primary)}{_chance_there(analysis, stated)}{passed_over_text(analysis)}"
    yield Detail(f"Against as many random rows{matched}: {_sentence(analysis, stated)}{beside}.{further}", "paired")


def _shift(primary: Comparison) -> str:
    """That a difference on all rows is open, as it is not there in the mean over gold labels."""
    if primary.verdict.why != NOT_BY_LABEL or primary.label_mean is None:
        return ""
    points, low, high = map(signed_points, primary.label_mean)
    return f" Where each gold label weighs the same it is {points} points (95 % [{low}, {high}]), so nothing follows."


def passed_over_text(analysis: Analysis) -> str:
    """Which evaluators the primary comparison would be made with first; empty if it is made with the first."""
    names = [f"“{name}”" for name in analysis.primary.passed_over]
    verbs = "comes first and has" if len(names) == 1 else "come first and have"
    return f" {listed(names)} {verbs} no result of filtered or of its control." if names else ""


def _chance_there(analysis: Analysis, stated: StatedDifference) -> str:
    """That no difference means little where the model, trained on all rows, does no better than the largest class."""
    margins = {(one.evaluator, one.test_set): one for one in analysis.judging.challenge_margins}
    over = margins.get((stated.evaluator, stated.test_set))
    if over is None or not stated.interval.low <= 0 <= stated.interval.high:
        return ""
    if over.too_few:
        return (
            f" Trained on all rows it cannot be told there from {over.rival} ({percent(over.accuracy)} %; too few "
            f"{over.too_few})."
        )
    if not over.at_chance:
        return ""
    return f" Trained on all rows it is at chance there ({percent(over.accuracy)} %), so that says little."


def _sentence(analysis: Analysis, stated: StatedDifference) -> str:
    """Filtered against a train set on a test set."""
    said, pool = _short(analysis, stated), ""
    if analysis.facts.test_set[stated.test_set].pooled:
        pool = ", whose rows were in the filter's pool"
    if stated.lacking is not None:
        return f"on “{stated.test_set}”{pool}{',' if pool else ''} “{stated.evaluator}” has {said}"
    return (
        f"trained on filtered instead of {stated.against}, “{stated.evaluator}” is {said} on “{stated.test_set}”{pool}"
    )


def _short(analysis: Analysis, stated: StatedDifference) -> str:
    """The difference with its interval; if that says nothing, what there is too little of."""
    few, interval = stated.lacking, stated.interval
    if few is not None:
        by_question = few.what == "rows" and analysis.facts.test_set[stated.test_set].unit == "question"
        what = "questions" if by_question else few.what
        return f"too few {what} (n = {count(few.present)}) to tell; about {count(few.needed)} would do"
    difference = round(interval.difference, 1)
    if difference == 0:
        return f"as good ({bounds_text(interval)})"
    side = "above" if difference > 0 else "below"
    return f"{signed_points(abs(difference))} points {side} ({bounds_text(interval)})"
