"""How scores and names of train sets are put into words, the same on the page and in Markdown."""

from collections.abc import Sequence
from dataclasses import dataclass

from aflite_assets.reports.inputs.published_tables import PublishedTable
from aflite_assets.reports.inputs.records import TestSet
from aflite_assets.reports.inputs.train_sets import earlier_name
from aflite_assets.reports.intervals import CrossedInterval, Interval
from aflite_assets.reports.scores.accuracy import AccuracySummary, Score
from aflite_assets.reports.scores.groups import Compared
from aflite_assets.reports.scores.verdicts import FEWEST_GROUPS, FEWEST_ROWS, Verdict
from aflite_assets.reports.tables.in_distribution import HumanAgreement
from aflite_assets.reports.tables.main_tables import ChallengePart
from aflite_assets.reports.tables.paired import PairedDifference
from aflite_assets.reports.tables.zero_shot import ZeroShotColumn
from aflite_assets.reports.text import DASH, count, counted, listed, one_line, percent, signed_points
from aflite_assets.wording import truncate

_MOST_NAMED = 8
_COLLAPSES = {
    "label": "The predicted label is mapped (collapse: label)",
    "probability": "Probabilities of labels that count as one are added up, and the largest sum is the prediction "
    "(collapse: probability)",
}

TRAIN_SET_MEANINGS = {
    "full": "all train rows; those spent on warm-up among them only where the settings say so",
    "random": "as many rows as filtered has, drawn at random from full",
    "random_matched": "like random, with the class sizes of filtered: the control for which rows were kept",
    "filtered": "the rows that filtering kept",
    "single_pass_model": "as many rows as filtered has, without those that the warm-up model is surest of",
    "single_pass_linear": "as many rows as filtered has, without those that a single pass of linear classifiers "
    "predicts most reliably",
    "weighted": "the rows of full, each row's loss multiplied by its weight: low where the features give the label "
    "away, high where they mislead",
}

STOP_REASONS = {
    "target_size": "the target size was reached",
    "threshold": "too few rows were still predictable enough to go",
    "chance": "its rows were no more predictable than with permuted labels",
}

GLOSSARY = {
    "Accuracy": "Share of test rows for which the predicted class is the right one, in per cent.",
    "Artifact": "A shortcut in the data: something that gives the label away without the task being solved.",
    "Challenge set": "A test set from elsewhere, built to fail models that use shortcuts. It is never filtered.",
    "Chance": "Accuracy of always answering the most frequent class of the rows at hand.",
    "Evaluator": "A model trained from scratch, or from its pretrained checkpoint, on one train set and then "
    "tested. It is not the model that filtered.",
    "Filtered": "The rows that AFLite kept. Where the target size ended the filter, some may still be predicted every "
    "time.",
    "Full": "All train rows; those spent on warm-up among them only where the settings say so. On the test side: all "
    "rows of the test set.",
    "Control": "What filtered is judged against: as many random rows with its class sizes (random_matched), or any as "
    "many random rows where there is no such set.",
    "Group": "Test rows that belong together (one premise, one template), as the dataset's settings say. Intervals "
    "count groups, not rows.",
    "Interval": "95 %. Of an accuracy, Wilson's: how far it could be off because the test set is a sample. Of a "
    "difference: because test groups and trainings are both samples; of one warm-up, and of one filter run unless the "
    "settings ask for several (filter_seeds).",
    "Iteration": "One pass of filtering: score all rows left, remove a slice of the most predictable. Counted from 0.",
    "Points": "Difference of two accuracies in per cent: from 80 % to 75 % is 5 points.",
    "Pool": "The rows that classifiers are trained on and that filtering removes from: the train rows left after "
    "warm-up, and the test rows too where the dataset's settings pool them.",
    "Predictability": "Of the times a row was held out from training, the share in which the linear classifier "
    "predicted it right, from 0 to 1.",
    "Random": "As many rows as filtered has, drawn at random from full: what having fewer rows does by itself.",
    "Representation": "The features of a row that the linear classifiers see, from an encoder or the data.",
    "Representation bias": "Mean predictability of the rows that entered an iteration: how much of the data a "
    "linear classifier can solve from this representation.",
    "Seeds' deviation": "Standard deviation of the accuracy over training runs that differ in their seed only.",
    "Target size": "Filtering never keeps fewer train rows than this.",
    "Verdict": "Above or below: filtered differs from its control by more than the choice of test groups and trainings "
    "explains, counting how many comparisons were made. Open: asked and not found. No verdict: it cannot be asked.",
    "Threshold": "The lowest predictability that a removed row may have. With selection gumbel any row "
    "may go, and filtering ends once none reaches the threshold.",
    "Warm-up rows": "Rows spent on training the encoder and then never used again.",
}


@dataclass(frozen=True)
class ScoreText:
    """A score in words: the accuracy in per cent or why there is none, then each spread by itself."""

    main: str
    seeds: str | None
    interval: str | None


def score_text(score: Score) -> ScoreText:
    """The words for one score; never blank."""
    if score.accuracy is None:
        return ScoreText(score.status if score.reason is None else f"{score.status}: {score.reason}", None, None)
    return ScoreText(
        percent(score.accuracy.mean),
        seeds_text(score.accuracy, score.unfinished_seeds),
        interval_text(score.accuracy.interval),
    )


def seeds_text(accuracy: AccuracySummary, unfinished: int = 0) -> str:
    """Deviation over seeds in points and how many seeds: "±0.4 over 3 seeds"."""
    planned = accuracy.seeds + unfinished
    seeds = counted(accuracy.seeds, "seed") if not unfinished else f"{accuracy.seeds} of {planned} seeds"
    if accuracy.seeds_deviation is None:
        return "one seed" if not unfinished else seeds
    return f"±{percent(accuracy.seeds_deviation)} over {seeds}"


def short_seeds_text(score: Score) -> str:
    """Deviation over seeds alone where all of them finished and there are several, else as `seeds_text`."""
    if score.accuracy is None or score.unfinished_seeds or score.accuracy.seeds_deviation is None:
        return score_text(score).seeds or score.status
    return f"±{percent(score.accuracy.seeds_deviation)}"


def interval_text(interval: Interval) -> str:
    """An interval in per cent: 61.9 and 66.3 with a dash between."""
    return f"{percent(interval.low)}{DASH}{percent(interval.high)}"


def sizes_text(sizes: Sequence[int]) -> str:
    """Train rows over seeds: one number, or the smallest and the largest, or a dash for none."""
    if not sizes:
        return DASH
    return count(sizes[0]) if sizes[0] == sizes[-1] else f"{count(sizes[0])}{DASH}{count(sizes[-1])}"


def part_text(part: ChallengePart | ZeroShotColumn | PairedDifference) -> str:
    """Heading of one part of a challenge set."""
    any_value = f"any {part.column}" if part.column is not None else None
    names = (part.category if part.category is not None else any_value, part.label)
    return ", ".join(name for name in names if name is not None)


def column_text(column: ZeroShotColumn) -> str:
    """Heading of one column of the zero-shot table, without the set's name: "all" for the whole set."""
    return part_text(column) or "all"


def compared_text(column: Compared) -> tuple[str, str]:
    """What a column was trained on, and on which rows it was tested."""
    of = f" ({column.representation})" if column.representation is not None else ""
    return f"{column.train_set}{of}", f"on {column.tested_on} rows"


def paired_text(interval: CrossedInterval) -> str:
    """A paired difference with its interval: "2.0 points above, 95 % [0.5, 3.5]"."""
    difference = round(interval.difference, 1)
    side = "no difference" if difference == 0 else f"{signed_points(abs(difference))} points "
    side += "" if difference == 0 else ("above" if difference > 0 else "below")
    return f"{side}, {bounds_text(interval)}"


def bounds_text(interval: CrossedInterval) -> str:
    """The bounds in points, and what they leave out where there is one training: "95 % [0.5, 3.5]"."""
    of = "95 %" if interval.counts_training else "95 % of test rows alone"
    return f"{of} [{signed_points(interval.low)}, {signed_points(interval.high)}]"


def interval_points(interval: CrossedInterval | None) -> str:
    """A difference in points with its interval: "2.0 [0.5, 3.5]"; a dash for none."""
    if interval is None:
        return DASH
    alone = "" if interval.counts_training else ", rows alone"
    return (
        f"{signed_points(interval.difference)} [{signed_points(interval.low)}, {signed_points(interval.high)}]{alone}"
    )


def paired_note(differences: Sequence[PairedDifference]) -> str:
    """How the intervals and verdicts of differences are to be read."""
    against = list(
        dict.fromkeys(difference.against for difference in differences if difference.verdict.why != "not the control")
    )
    return (
        f"Points of accuracy on the same test rows, against as many random rows ({listed(against)}). The 95 % "
        "intervals count test groups and trainings as samples (crossed, t quantiles); they hold for this warm-up and "
        "this filter run, which another seed would draw anew. The primary comparison is judged by itself, all others "
        "on whole sets together (Holm 1979), and so are parts of sets. No verdict: rows that the filter chose or that "
        f"took part in it, one seed, under {FEWEST_ROWS} rows or {FEWEST_GROUPS} groups."
    )


def verdict_text(verdict: Verdict) -> str:
    """A verdict in words: "above", "below", "open", "open: under 1 point", "no verdict: one seed"."""
    side = "no verdict" if verdict.side is None else verdict.side
    return side if verdict.why is None else f"{side}: {verdict.why}"


def human_text(agreement: HumanAgreement | None) -> str:
    """Agreement of single annotators in per cent with the rows that it is over, or that there is none."""
    if agreement is None:
        return "no annotators"
    return f"{percent(agreement.share)} ({counted(agreement.rows, 'row')})"


def published_text(table: PublishedTable, row: int, column: int) -> str:
    """A paper's figure as printed there, with the deviation over seeds where there is one; a dash for none."""
    value = table.rows[row][1][column]
    if value is None:
        return DASH
    deviation = "" if table.deviations is None else f" ±{table.deviations[row][column]:.1f}"
    return f"{signed_points(value)}{deviation}"


def train_set_meaning(name: str) -> str:
    """What a train set holds, in words."""
    if name in TRAIN_SET_MEANINGS:
        return TRAIN_SET_MEANINGS[name]
    earlier = earlier_name(name)
    if name.startswith("random_"):
        return f"as many rows as filtered_{earlier} has, drawn at random from full"
    return f"what the filter had left when it was down to the number of train rows that the settings give for {earlier}"


def set_notes(test_set: TestSet, label_names: Sequence[str]) -> tuple[str, ...]:
    """What to read beside a challenge set's numbers; `label_names` are the dataset's."""
    mapping = _mapping_text(test_set, label_names)
    return (*test_set.notes, *([mapping] if mapping else []))


def _mapping_text(test_set: TestSet, label_names: Sequence[str]) -> str | None:
    """How predictions were mapped; None where each label counts as the one of its name."""
    if test_set.class_map is None:
        return None
    sources: dict[int, list[str]] = {}
    for label, target in zip(label_names, test_set.class_map.tolist(), strict=True):
        sources.setdefault(target, []).append(label)
    nothing = sources.pop(-1, [])
    same = [target for target, labels in sources.items() if labels == [test_set.label_names[target]]]
    if len(same) == len(label_names):
        return None
    added = test_set.adds_probabilities
    many = len(same) > _MOST_NAMED
    parts = [f"{count(len(same))} labels count as those of the same name"] if many else []
    parts += [
        _counts_as(labels, _short(test_set.label_names[target]))
        for target, labels in sorted(sources.items())
        if not (many and target in same)
    ]
    if nothing:
        fate = f"{'is' if len(nothing) == 1 else 'are'} {'left out' if added else 'always wrong'}"
        parts.append(_counts_as(nothing, f"none of this set's labels and {fate}"))
    return f"{_COLLAPSES['probability' if added else 'label']}: {'; '.join(parts)}."


def _counts_as(labels: Sequence[str], what: str) -> str:
    shown = listed([_short(label) for label in labels], _MOST_NAMED)
    return f"{shown} {'counts' if len(labels) == 1 else 'count'} as {what}"


def _short(label: str) -> str:
    return truncate(one_line(label), 60)


def stop_text(stop_reason: str) -> str:
    """Why filtering stopped, in words."""
    return STOP_REASONS.get(stop_reason.lower().split(".")[-1], stop_reason)
