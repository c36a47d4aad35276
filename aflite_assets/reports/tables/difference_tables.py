"""The tables of differences between training runs, of drops in accuracy, and of properties that models rely on."""

from dataclasses import replace
from typing import Any

from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.comparisons.edited_copies import EDITS
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, FALLS, ChallengeFall, FallTerm
from aflite_assets.analysis.comparisons.leanings import LEANINGS
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.records import RANKING_OVERLAP
from aflite_assets.analysis.rules.leaning import FEWEST_CARRIERS, PropertyLeaning
from aflite_assets.analysis.rules.verdicts import FEWEST_GROUPS, FEWEST_ROWS
from aflite_assets.analysis.scores.score_tables import ACCURACIES, Accuracy
from aflite_assets.analysis.train_sets import is_filtered_set
from aflite_assets.reports.tables import cells
from aflite_assets.reports.tables.table import NOTHING, Cells, Column, Heading, TableCell, TableSpec, having
from aflite_assets.text import count, listed, percent, short, signed_points

NOT_SHOWN = "no difference was shown"
_MOST_VALUES, _LONGEST = 4, 30

_ENDS = ("start", "end")
_SEEDS = Cells(DIFFERENCES, "seeds", lambda facts, one: TableCell(f"{one.seeds} and {one.seeds_against}"))


def _fall_column(facts: DatasetFacts, one: FallTerm) -> str | Column:
    if one.change not in _ENDS:
        return one.change
    rows = "all rows" if one.change == "start" or facts.test_set[one.test_set].challenge else "filtered rows"
    return Column(Heading(f"{one.after} on {rows}", ("%",)), line=True)


def _fall_cell(facts: DatasetFacts, one: FallTerm) -> TableCell:
    """Return a cell for one term of a drop in accuracy: the first or last accuracy, or the change in one step.

    A drop in accuracy is shown as a negative number.
    """
    if one.change in _ENDS:
        return cells.number(one.accuracy, percent, strong=True)
    if one.difference is None or one.low is None or one.high is None:
        return cells.difference(facts, one)
    return cells.difference(facts, replace(one, difference=-one.difference, low=-one.high, high=-one.low))


FALL_TABLE = TableSpec(
    "falls_{representation}",
    "Steps from full to filtered on {test_set}, in points, representation {representation}",
    {"evaluator": "{evaluator}"},
    (Cells(FALLS, _fall_column, _fall_cell),),
    of="{test_set}",
    when=lambda facts, records: any(one.change == "start" and one.accuracy is not None for one in records),
    caption="The steps add up from the first accuracy to the last. Below zero is a fall, above zero a rise. The "
    "brackets hold the joint 95 % interval, which covers all steps of an evaluator at once. Test rows: the "
    "same model, tested on the filtered rows alone. Fewer train rows: random instead of full. Class sizes: "
    "random_matched instead of random. Which train rows: filtered instead of random_matched.",
)


def _verdict_cell(facts: DatasetFacts, one: Difference) -> TableCell:
    words = f"decides: {cells.verdict_text(one)}" if one.deciding else cells.verdict_text(one)
    return cells.value(words, strong=one.deciding, shaded=one.found)


PAIRED = TableSpec(
    "paired_{representation}",
    "Filtered minus its control, representation {representation}",
    {
        "evaluator": "{evaluator}",
        "trained on": "{train_set} minus {against}",
        "tested on": "{test_set}, {tested_on} rows",
    },
    (
        Cells(DIFFERENCES, cells.units_text, cells.test_rows),
        Cells(DIFFERENCES, Heading("difference", ("points",)), cells.difference),
        Cells(DIFFERENCES, "verdict", _verdict_cell),
        _SEEDS,
    ),
    where=having(comparison="control", whole=True),
    notes="Differences in points of accuracy on the same test rows, against as many random rows. The 95 % intervals "
    "count test groups and trainings as samples (crossed, t quantiles). They hold for this warm-up and this "
    "filter run; another seed would give another warm-up and filter run. The comparisons that decide "
    "whether filtering helps are adjusted together, by the mean over gold labels (Holm 1979); so are all "
    "others on whole sets, and those on parts. There is no verdict for test rows that the filter chose or "
    f"that took part in it, one seed, under {FEWEST_ROWS} rows or {FEWEST_GROUPS} groups. On a challenge "
    "set, the mean over gold labels (equal weights) must be significant on the same side as well; otherwise "
    "the comparison is open. Weighted minus full, if there is such a set, is the effect of the weights on "
    "the same rows. It has no verdict, since verdicts are about removal.",
)


PAIRED_PARTS = TableSpec(
    "paired_{representation}",
    "{test_set} by part: {train_set} minus {against}, representation {representation}",
    {"part": lambda facts, one: short(cells.part_text(*cells.part_name(one)))},
    (
        Cells(DIFFERENCES, "rows", cells.test_rows),
        Cells(DIFFERENCES, Column(Heading("{evaluator}", ("points",)), line=True), cells.judged),
    ),
    of="{test_set}, {train_set} minus {against}",
    where=having(comparison="control", whole=False),
    row_key=cells.part_name,
    when=lambda facts, records: any(one.difference is not None for one in records),
    caption="Differences in points of accuracy on the rows of each part, with the 95 % interval as above. Cells are "
    "shaded if the verdict, which is adjusted for all parts of the report, shows a difference. If gold "
    "labels go in opposite directions, answers have shifted between classes, which the whole set hides.",
)


def _ranked_on(facts: DatasetFacts, one: Difference | Accuracy) -> str:
    return one.test_set if one.whole else f"{one.test_set}: {short(cells.part_text(*cells.part_name(one)))}"


def better_ranking(facts: DatasetFacts, one: Difference) -> str | None:
    """Return the significantly better ranking, or None if the interval includes zero or is missing."""
    if one.low is None or one.high is None or one.low <= 0 <= one.high:
        return None
    return facts.rankings[str(one.representation)].rankings[0 if one.low > 0 else 1]


def ranking_text(facts: DatasetFacts, one: Difference) -> str:
    """Return a text that names the better ranking, or states that no difference was shown."""
    if one.difference is None:
        return "not run" if one.test_rows else "no rows"
    if (better := better_ranking(facts, one)) is None:
        return NOT_SHOWN
    return f"{better} is better" if one.found else f"{better} was better here, but this is no finding: {one.why}"


def _sides(facts: DatasetFacts) -> dict[str, tuple[str, str]]:
    """Map each filtering of a ranking comparison to the name of its pair of filterings, and to its ranking."""
    pairs = facts.rankings.items()
    against = {pair.against: (name, pair.rankings[1]) for name, pair in pairs}
    return against | {name: (name, pair.rankings[0]) for name, pair in pairs}


def _is_ranked(facts: DatasetFacts, one: Accuracy | Difference) -> bool:
    if isinstance(one, Difference):
        return one.comparison == "ranking"
    is_of_pair = one.representation in _sides(facts) and one.top == 1
    return is_of_pair and is_filtered_set(one.train_set) and cells.is_whole_or_category(facts, one)


def _ranking_heading(facts: DatasetFacts, one: Accuracy) -> Heading:
    return Heading(f"by {_sides(facts)[str(one.representation)][1]}", ("per cent",))


def _pairs(facts: DatasetFacts, one: Any) -> list[dict[str, object]]:
    """Return the placeholder values of a ranking table: the name of a pair of filterings, and the two rankings."""
    name, _ = _sides(facts)[str(one.representation)]
    first, second = facts.rankings[name].rankings
    return [{"representation": name, "first": first, "second": second}]


# Mishra and Sachdeva, SustaiNLP 2020, Table 3 beside Table 2, which have one training of each and so no interval
RANKINGS = TableSpec(
    "rankings_{representation}",
    "Ranked by {first} and by {second}, representation {representation}",
    {"evaluator": "{evaluator}", "trained on": "{train_set}", "tested on": _ranked_on},
    (
        Cells(DIFFERENCES, cells.units_text, cells.test_rows),
        Cells(ACCURACIES, _ranking_heading, cells.short_score),
        Cells(DIFFERENCES, Heading("difference", ("points",)), cells.difference),
        Cells(DIFFERENCES, "what it says", lambda facts, one: cells.value(ranking_text(facts, one), strong=one.found)),
        _SEEDS,
    ),
    each=_pairs,
    where=_is_ranked,
    row_key=cells.part_name,
    notes="Each evaluator was trained on the rows kept by {first} and on those kept by {second}. The difference is "
    "{first} minus {second} in points, on the same test rows. Its 95 % interval counts test groups and "
    "trainings as samples, for this warm-up and this filter run. A ranking is better if the interval "
    "excludes zero. It is no finding if there is one seed, few rows, a small effect, or if it is not "
    "significant among all comparisons. Whole sets are adjusted together, and so are parts (Holm 1979). No "
    "difference was shown: there may be none, or one too small to detect. If the two sets differ in size, "
    "that may explain a difference.",
)


RANKING_OVERLAPS = TableSpec(
    "rankings_{representation}",
    "Train rows kept by {first} and by {second}, representation {representation}",
    {"kept": "{train_set}"},
    (
        Cells(RANKING_OVERLAP, Heading("rows", ("that both filtered",)), cells.field("rows")),
        Cells(RANKING_OVERLAP, "by {first}", cells.field("first_rows")),
        Cells(RANKING_OVERLAP, "by {second}", cells.field("second_rows")),
        Cells(RANKING_OVERLAP, "by both", cells.field("shared")),
        Cells(RANKING_OVERLAP, Heading("overlap", ("Jaccard",)), cells.field("jaccard", cells.decimal)),
        Cells(RANKING_OVERLAP, Heading("by chance", ("Jaccard",)), cells.field("jaccard_by_chance", cells.decimal)),
    ),
    of="rows kept",
    each=_pairs,
    caption="Overlap: the rows that both kept, divided by the rows that either kept, from 0 to 1. By chance: the "
    "mean overlap of two random sets of these sizes. Neither ranking removes rows under the threshold, so "
    "many such rows raise the overlap above chance.",
)


def _points_cell(facts: DatasetFacts, one: PropertyLeaning) -> TableCell:
    points = zip(one.values, one.points_to, strict=True)
    pairs = [f"{short(value, _LONGEST)} to {short(label, _LONGEST)}" for value, label in points]
    return TableCell(listed(pairs, _MOST_VALUES), kind="text")


def _pull_cell(facts: DatasetFacts, one: PropertyLeaning) -> TableCell:
    if one.low is None or one.high is None:
        return NOTHING
    return cells.number(one.pull, signed_points, cells.bounds(one.low, one.high), shaded=bool(one.leans))


def _leaning_cell(facts: DatasetFacts, one: PropertyLeaning) -> TableCell:
    if not one.leans:
        return TableCell(f"cannot be told: {one.why}" if one.leans is None else "not shown to lean", kind="text")
    misleads = f"misleads on {short(one.broken_on, _LONGEST)}" if one.broken_on else ""
    why = [{"declared": "declared irrelevant", "artefact": "artefact by nature", None: misleads}[one.reason]]
    if one.fallen_on is not None and one.fall is not None:
        where = "where it misleads, on" if one.fall_of == "contradicting rows" else "on"
        why.append(f"{signed_points(-one.fall)} points {where} {short(one.fallen_on, _LONGEST)}")
    return TableCell("leans: shortcut" if one.shortcut else "leans", tuple(filter(None, why)), kind="text")


LEANING_TABLE = TableSpec(
    "leanings",
    "Properties that go with the label, and whether models lean on them",
    {"property": lambda facts, one: cells.property_name(one)},
    (
        Cells(LEANINGS, "points to", _points_cell),
        Cells(LEANINGS, "evaluator", cells.field("evaluator", str)),
        Cells(LEANINGS, "test rows of other classes", lambda facts, one: TableCell(count(one.carriers))),
        Cells(LEANINGS, Heading("pull", ("points",)), _pull_cell),
        Cells(LEANINGS, Heading("pull without the tie", ("points",)), cells.field("untied", signed_points)),
        Cells(LEANINGS, "verdict", _leaning_cell),
    ),
    caption="At most three properties, which significantly go with the label on train rows. Pull: among test rows "
    "of other classes, how much more often rows with the value get the class that it points to than rows "
    "without it. Rows may look like that class for other reasons, so the pull is measured again after "
    "training on as many rows in which the property goes with no class. Models lean on the property if at "
    f"least half of the pull disappears (95 %, adjusted together by Holm). With fewer than {FEWEST_CARRIERS} "
    "such test rows it cannot be told. Properties that are not in the table were not tested.",
)


def _challenge_fall_cell(facts: DatasetFacts, one: ChallengeFall) -> TableCell:
    return cells.number(-one.fall, signed_points, cells.bounds(-one.high, -one.low), shaded=one.named)


CHALLENGE_FALL_TABLE = TableSpec(
    "challenge_falls",
    "Models trained on all rows, from {natural_set} to the challenge sets",
    {"evaluator": "{evaluator}", "challenge set": "{test_set}"},
    (
        Cells(CHALLENGE_FALLS, Heading("{natural_set}", ("%",)), cells.field("natural", percent)),
        Cells(CHALLENGE_FALLS, Heading("challenge set", ("%",)), cells.field("challenge", percent)),
        Cells(CHALLENGE_FALLS, Heading("change", ("points",)), _challenge_fall_cell),
    ),
    caption="Mean accuracies over gold labels (equal weights), with the 95 % interval of the change. Cells are "
    "shaded if accuracy falls significantly and by at least 5 points. A fall does not show its cause: the "
    "rows may be of another source, harder, labelled differently, or without a shortcut. If they are edited copies of "
    "natural rows, only the edits can explain a fall from the originals to the copies.",
)

EDIT_TABLE = TableSpec(
    "edits",
    "What was edited in {test_set}, whose rows are copies of rows of {copies_of}",
    {"edited": lambda facts, one: cells.edit_name(one)},
    (
        Cells(EDITS, Heading("differs", ("% of the pairs",)), cells.field("differs", percent)),
        Cells(EDITS, Heading("added or higher", ("% of the pairs",)), cells.field("more", percent)),
        Cells(EDITS, Heading("taken out or lower", ("% of the pairs",)), cells.field("less", percent)),
    ),
    of="{test_set}",
    caption="Words, signs or feature columns that differ between a copy and its original, in at least 1 % of the "
    "pairs, the most frequent first. Words are compared in lower case; a word that is only moved is not listed.",
)
