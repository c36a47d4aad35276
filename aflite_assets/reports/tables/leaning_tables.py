"""The tables of what models do whatever the filter does: properties that they lean on, and falls on challenge sets."""

from aflite_assets.analysis.comparisons.challenge_falls import CHALLENGE_FALLS, ChallengeFall
from aflite_assets.analysis.comparisons.leanings import LEANINGS
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.rules.leaning import FEWEST_CARRIERS, PropertyLeaning
from aflite_assets.reports.tables import cells
from aflite_assets.reports.tables.table import NOTHING, Cells, Heading, TableCell, TableSpec
from aflite_assets.text import count, listed, percent, short, signed_points

_MOST_VALUES, _LONGEST = 4, 30


def _points_cell(facts: DatasetFacts, one: PropertyLeaning) -> TableCell:
    points = zip(one.values, one.points_to, strict=True)
    pairs = [f"{short(value, _LONGEST)} to {short(label, _LONGEST)}" for value, label in points]
    return TableCell(listed(pairs, _MOST_VALUES), kind="text")


def _pull_cell(facts: DatasetFacts, one: PropertyLeaning) -> TableCell:
    if one.low is None or one.high is None:
        return NOTHING
    return cells.number(one.pull, signed_points, cells.bounds(one.low, one.high), shaded=bool(one.leans))


def _verdict_cell(facts: DatasetFacts, one: PropertyLeaning) -> TableCell:
    if not one.leans:
        return TableCell(f"cannot tell: {one.why}" if one.leans is None else "not shown", kind="text")
    misleads = f"misleads on {short(one.broken_on, _LONGEST)}" if one.broken_on else ""
    why = [{"declared": "declared irrelevant", "artefact": "artefact by nature", None: misleads}[one.reason]]
    if one.fallen_on is not None and one.fall is not None:
        why.append(f"costs {signed_points(one.fall)} points on {short(one.fallen_on, _LONGEST)}")
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
        Cells(LEANINGS, "verdict", _verdict_cell),
    ),
    caption="Three properties at most, which surely go with the label on train rows. Pull: by how much more often rows "
    "get the class that their value points to, though they are of another, than rows of their class whose value points "
    "elsewhere. Rows may look like that class for other reasons, so the pull is computed again after training on as "
    "many rows in which the property goes with no class. Models lean on it where at least half of the pull goes with "
    f"the tie (95 %, judged together by Holm). With fewer than {FEWEST_CARRIERS} test rows that could be drawn away "
    "nothing is said.",
)


def _fall_cell(facts: DatasetFacts, one: ChallengeFall) -> TableCell:
    return cells.number(-one.fall, signed_points, cells.bounds(-one.high, -one.low), shaded=one.named)


CHALLENGE_FALL_TABLE = TableSpec(
    "challenge_falls",
    "Models trained on all rows, from {natural_set} to the challenge sets",
    {"evaluator": "{evaluator}", "challenge set": "{test_set}"},
    (
        Cells(CHALLENGE_FALLS, Heading("{natural_set}", ("%",)), cells.field("natural", percent)),
        Cells(CHALLENGE_FALLS, Heading("challenge set", ("%",)), cells.field("challenge", percent)),
        Cells(CHALLENGE_FALLS, Heading("change", ("points",)), _fall_cell),
    ),
    caption="Accuracies in the mean over gold labels, each weighing the same, with the 95 % interval of the change. "
    "Shaded where accuracy surely falls, and by 5 points or more. A fall alone does not say why: the rows may be of "
    "another source, harder, labelled otherwise, or without a shortcut.",
)
