"""The verdict in words: one line, and at most four sentences: what went, what it costs and gains, what to use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.paired import free_sets, passed_over
from aflite_assets.analysis.comparisons.verdict_evidence import (
    filtering_verdict,
    strongest_verdict,
    whole_difference,
    whole_lacking,
)
from aflite_assets.analysis.filtering import removed_train_rows
from aflite_assets.analysis.inputs.cues import Cue, telling
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.json_values import JsonValue, to_json
from aflite_assets.analysis.rules.bias_excess import Excess
from aflite_assets.analysis.rules.dataset_verdict import LEAST, Code, Comparison, DatasetVerdict, Shortfall
from aflite_assets.analysis.rules.verdicts import NOT_BY_LABEL
from aflite_assets.analysis.scores.groups import control, headline_split
from aflite_assets.analysis.scores.judges import doubts, judges, over_largest_class_elsewhere
from aflite_assets.analysis.scores.questions import answers_text
from aflite_assets.reports.sentences.cues import class_text, cue_name, cue_text, marked_text
from aflite_assets.reports.sentences.which_rows import gains_text, use_text
from aflite_assets.reports.sentences.wording import bounds_text
from aflite_assets.text import count, listed, one_line, percent, signed_points
from aflite_assets.wording import counted, truncate

_MOST_CUES = 2
_TOO_FEW = "too few"
_GIVES_AWAY = 0.9
"""A word that stands with one class in so large a share of its rows is named in the verdict's line."""

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


@cached_per_record
def verdict_text(data: BenchmarkData, representation: str) -> VerdictText:
    """The line and the sentences under it.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
    """
    verdict = filtering_verdict(data, representation)
    filtered = next(one for one in data.filtered if one.representation == representation)
    sentence = f"{_OPENINGS[verdict.code]}: {_because(data, representation, verdict)}{_reservation(data, verdict)}"
    details = (
        _removed(data, filtered, verdict),
        *_cost(data, representation, verdict),
        *_gain(data, representation, verdict),
        Detail(use_text(data, representation, verdict), "paired"),
    )
    return VerdictText(representation, verdict.code, sentence, details)


def verdict_texts(data: BenchmarkData) -> tuple[VerdictText, ...]:
    """Of every filtering, the one that says most first."""
    strongest = strongest_verdict(data)
    return tuple(verdict_text(data, name) for name in sorted(data.representations, key=lambda name: name != strongest))


def verdict_json(data: BenchmarkData) -> JsonValue:
    """The verdict that says most as `code`, `sentence`, `details` and `evidence`; None where nothing was filtered."""
    texts = verdict_texts(data)
    if not texts:
        return None
    verdict = filtering_verdict(data, texts[0].representation)
    return to_json(
        {
            "representation": texts[0].representation,
            "code": texts[0].code,
            "sentence": texts[0].sentence,
            "details": [detail.text for detail in texts[0].details],
            "lacking": verdict.shortfalls,
            "gains": verdict.gains,
            "evidence": verdict.evidence,
        }
    )


def _because(data: BenchmarkData, representation: str, verdict: DatasetVerdict) -> str:
    bias = verdict.evidence.bias
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
        return f"{_shortcut(verdict)}. {_primary(verdict.evidence.primary, data, representation)}."
    if verdict.shortfalls:
        return _lacking(rows, verdict.shortfalls, verdict.evidence.primary)
    return (
        f"linear classifiers predict {percent(rows.bias)} % of the rows, and with shuffled labels "
        f"{percent(rows.shuffled_labels)} %. "
        f"{_giveaway(data, representation) or 'The task may simply be easy.'}"
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


def _giveaway(data: BenchmarkData, representation: str) -> str:
    """The hint that stands with one class almost alone, which may be a shortcut as well; empty without one."""
    pure = [
        cue
        for cue in telling(data.cues.get(representation, ()))
        if cue.shown and not cue.counts and cue.class_share is not None and cue.class_share >= _GIVES_AWAY
    ]
    if not pure:
        return ""
    most = max(pure, key=lambda cue: cue.rows)
    which = "one of them" if most.alike else "it"
    return f"But look at {cue_name(most)}, {class_text(most)}: if {which} should not matter, it is a shortcut."


def _shortcut(verdict: DatasetVerdict) -> str:
    if verdict.evidence.cues:
        return cue_text(telling(verdict.evidence.cues)[0])
    return (
        f"models trained on filtered are better than their control on {gains_text(verdict)}, and more so than on test "
        "rows"
    )


def _primary(primary: Comparison | None, data: BenchmarkData, representation: str) -> str:
    """What the primary comparison adds; that help cannot be judged where there is none."""
    if primary is None:
        return f"Whether filtering helps cannot be judged, as {no_primary(data)}"
    if primary.verdict.side in ("above", "below") and primary.difference is not None:
        points = signed_points(abs(primary.difference))
        against = control(data, representation)
        same = ", which has the same shortcut, so nothing follows for the task" if primary.shares_the_cost else ""
        where = f"{primary.verdict.side} {against} on “{primary.test_set}”{same}"
        return f"“{primary.evaluator}” is {points} points {where}"
    if primary.verdict.side == "open":
        shift = "; answers may just have moved between classes" if primary.verdict.why == NOT_BY_LABEL else ""
        return f"Whether filtering helps is open ({primary.evaluator} on {primary.test_set}{shift})"
    return f"Whether filtering helps cannot be judged ({primary.verdict.why or 'not run'})"


def no_primary(data: BenchmarkData) -> str:
    """Why there is no primary comparison."""
    if data.primary is not None and data.primary[1] in data.missing_sets:
        return f"the primary comparison is on {data.primary[1]}, which is not available"
    if data.primary is None and data.test_sets and data.plain_evaluators:
        if not free_sets(data):
            return "all test rows took part in the filter"
        if not judges(data):
            return "no evaluator learnt enough to judge by, as the checks say"
    return "nothing was trained that could be compared"


def _reservation(data: BenchmarkData, verdict: DatasetVerdict) -> str:
    """What speaks against the evaluator of the primary comparison; nothing where nothing does."""
    primary = verdict.evidence.primary
    if primary is None or primary.shares_the_cost:
        return ""
    against, name = doubts(data, primary.evaluator), f"“{primary.evaluator}”"
    if against.learnt is not None:
        return (
            f" But {name} is not surely better than {against.learnt.rival} on “{against.learnt.test_set}”, so the "
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


def _removed(data: BenchmarkData, filtered: FilteredSet, verdict: DatasetVerdict) -> Detail:
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    gone = removed_train_rows(filtered)
    if not gone:
        return Detail(
            f"Removed: nothing; filtered is the whole set of {counted(train.num_rows, 'train row')}.", "filtering"
        )
    answers = answers_text(data, train["row_id"].to_numpy())
    rows = f"{counted(train.num_rows, 'train row')}{', ' if answers else ''}{answers}"
    text = f"Removed: {count(gone)} of {rows} ({percent(gone / train.num_rows)} %)"
    text += _moved_class(train, data.label_names)
    tested = data.cues.get(filtered.representation, ())
    marks = _marks([cue for cue in tested if cue.shown], verdict, data.label_names) if tested else ""
    return Detail(f"{text}{marks}.", "evidence")


def _moved_class(train: pa.Table, label_names: tuple[str, ...]) -> str:
    """The class whose share of the train rows moved most, where it moved by five points or more."""
    labels, kept = train["label"].to_numpy(), train["kept"].to_numpy(zero_copy_only=False).astype(bool)
    if not kept.any():
        return ""
    moves = [
        (float((labels[kept] == label).mean() - (labels == label).mean()), label) for label in range(len(label_names))
    ]
    move, label = max(moves, key=lambda pair: abs(pair[0]))
    if abs(move) < 0.05:
        return ""
    before = float((labels == label).mean())
    name = truncate(one_line(label_names[label]), 40)
    return f"; {name} went from {percent(before)} to {percent(before + move)} % of the rows"


def _marks(cues: list[Cue], verdict: DatasetVerdict, label_names: tuple[str, ...]) -> str:
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


def _cost(data: BenchmarkData, representation: str, verdict: DatasetVerdict) -> Iterator[Detail]:
    """Filtered against all train rows, on the dataset's own test rows."""
    natural = headline_split([one.name for one in data.test_sets if not one.challenge])
    evaluator = _evaluator(data, verdict)
    if natural is None or not data.judging_evaluators:
        return
    if evaluator is None:
        yield Detail("Against all rows: no evaluator learnt enough to compare, as the checks say.", "checks")
        return
    said = _sentence(data, representation, evaluator, "full", natural)
    if said is not None:
        yield Detail(f"Against all rows: {said}.", "accuracy")


def _gain(data: BenchmarkData, representation: str, verdict: DatasetVerdict) -> Iterator[Detail]:
    """Filtered against its control where the primary comparison is made."""
    primary, against = verdict.evidence.primary, control(data, representation)
    if primary is None:
        return
    said = _sentence(data, representation, primary.evaluator, against, primary.test_set)
    whole = _short(data, representation, primary.evaluator, "full", primary.test_set)
    if said is not None:
        beside = "" if whole is None else f". Instead of all rows: {whole}"
        matched = " of its class sizes" if against == "random_matched" else ""
        chance = _chance_there(data, representation, primary.evaluator, against, primary.test_set)
        further = f"{_shift(primary)}{chance}{passed_over_text(data)}"
        yield Detail(f"Against as many random rows{matched}: {said}{beside}.{further}", "paired")


def _shift(primary: Comparison) -> str:
    """That a difference on all rows is open, as it is not there in the mean over gold labels."""
    if primary.verdict.why != NOT_BY_LABEL or primary.label_mean is None:
        return ""
    points, low, high = map(signed_points, primary.label_mean)
    return f" Where each gold label weighs the same it is {points} points (95 % [{low}, {high}]), so nothing follows."


def passed_over_text(data: BenchmarkData) -> str:
    """Which evaluators the primary comparison would be made with first; empty where it is."""
    names = [f"“{name}”" for name in passed_over(data)]
    verbs = "comes first and has" if len(names) == 1 else "come first and have"
    return f" {listed(names)} {verbs} no result of filtered or of its control." if names else ""


def _chance_there(data: BenchmarkData, representation: str, evaluator: str, against: str, test_set: str) -> str:
    """That no difference means little where the model, trained on all rows, does no better than the largest class."""
    over = over_largest_class_elsewhere(data.cells, data.test_sets).get(test_set, {}).get(evaluator)
    interval = whole_difference(data, representation, evaluator, against, test_set)
    if over is None or interval is None or not interval.low <= 0 <= interval.high:
        return ""
    if over.too_few:
        return (
            f" Trained on all rows it cannot be told there from {over.rival} ({percent(over.accuracy)} %; too few "
            f"{over.too_few})."
        )
    if not over.at_chance:
        return ""
    return f" Trained on all rows it is at chance there ({percent(over.accuracy)} %), so that says little."


def _evaluator(data: BenchmarkData, verdict: DatasetVerdict) -> str | None:
    primary = verdict.evidence.primary
    return primary.evaluator if primary is not None else next(iter(judges(data)), None)


def _sentence(data: BenchmarkData, representation: str, evaluator: str, against: str, test_set: str) -> str | None:
    """Filtered against a train set on a test set; None without a result."""
    said = _short(data, representation, evaluator, against, test_set)
    if said is None:
        return None
    pooled = ", whose rows were in the filter's pool" if _is_pooled(data, test_set) else ""
    if said.startswith(_TOO_FEW):
        return f"on “{test_set}”{pooled}{',' if pooled else ''} “{evaluator}” has {said}"
    return f"trained on filtered instead of {against}, “{evaluator}” is {said} on “{test_set}”{pooled}"


def _short(data: BenchmarkData, representation: str, evaluator: str, against: str, test_set: str) -> str | None:
    """The difference with its interval; where that says nothing, what there is too little of."""
    interval = whole_difference(data, representation, evaluator, against, test_set)
    if interval is None:
        return None
    few = whole_lacking(data, representation, evaluator, against, test_set)
    if few is not None:
        what = "questions" if few.what == "rows" and _by_question(data, test_set) else few.what
        return f"{_TOO_FEW} {what} (n = {count(few.present)}) to tell; about {count(few.needed)} would do"
    difference = round(interval.difference, 1)
    if difference == 0:
        return f"as good ({bounds_text(interval)})"
    side = "above" if difference > 0 else "below"
    return f"{signed_points(abs(difference))} points {side} ({bounds_text(interval)})"


def _is_pooled(data: BenchmarkData, test_set: str) -> bool:
    return any(one.name == test_set and one.pooled for one in data.test_sets)


def _by_question(data: BenchmarkData, test_set: str) -> bool:
    return any(one.name == test_set and one.unit == "question" for one in data.test_sets)
