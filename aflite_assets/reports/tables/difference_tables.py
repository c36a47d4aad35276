"""The tables of differences between trainings on the same test rows, and of what a fall in accuracy is made of."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.comparisons.falls import FALLS, FallTerm
from aflite_assets.analysis.comparisons.rankings import RANKING_OVERLAP, RankingOverlap
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.rules.verdicts import FEWEST_GROUPS, FEWEST_ROWS
from aflite_assets.analysis.scores.accuracies import ACCURACIES, Accuracy
from aflite_assets.analysis.train_sets import is_filtered_set
from aflite_assets.reports.tables.cells import (
    count_cell,
    difference_cell,
    part_name,
    part_text,
    score_cell,
    short,
    text_cell,
    units_text,
    verdict_text,
)
from aflite_assets.reports.tables.spec import Cells, TableSpec
from aflite_assets.reports.tables.table import NOTHING, Column, Heading, TableCell
from aflite_assets.text import listed, percent


def _end(facts: DatasetFacts, one: FallTerm) -> TableCell:
    return NOTHING if one.accuracy is None else TableCell(percent(one.accuracy), value=one.accuracy, strong=True)


def _term(facts: DatasetFacts, one: FallTerm) -> TableCell:
    """The change that a step makes: what falls is below zero."""
    if one.difference is None or one.low is None or one.high is None:
        return difference_cell(one)
    return difference_cell(replace(one, difference=-one.difference, low=-one.high, high=-one.low))


_ENDS = {"start": "full on all rows", "end": "filtered on filtered rows"}

FALL_TABLE = TableSpec(
    "falls_{representation}",
    "{test_set}",
    "Steps from full to filtered on {test_set}, in points, representation {representation}",
    ("evaluator",),
    (
        Cells(
            FALLS,
            rows=lambda facts, one: (one.evaluator,),
            column=lambda facts, one: (
                Column(Heading(one.change))
                if one.change not in _ENDS
                else Column(Heading(_ENDS[one.change], ("%",)), line=True)
            ),
            value=lambda facts, one: (_end if one.change in _ENDS else _term)(facts, one),
        ),
    ),
    each=("representation",),
    when=lambda facts, records: any(one.change == "start" and one.accuracy is not None for one in records),
    caption="They add up from the first accuracy to the last. Below zero is a fall, above zero a rise. In brackets the "
    "joint 95 % interval: all steps of an evaluator hold together. Test rows: the same model, asked about the filtered "
    "rows alone. Fewer train rows: random in place of full. Class sizes: random_matched in its place. Which train "
    "rows: filtered in place of that.",
    ruled=False,
)


def _listed(
    column: Callable[[DatasetFacts], Column], value: Callable[[DatasetFacts, Difference], TableCell]
) -> Cells[Difference]:
    """A column of the table of comparisons on whole sets."""
    return Cells(
        DIFFERENCES,
        rows=lambda facts, one: (one.evaluator, _pair_text(one), f"{one.test_set}, {one.tested_on} rows"),
        where=lambda facts, one: one.comparison == "control" and one.whole,
        column=lambda facts, one: column(facts),
        value=value,
    )


def _pair_text(one: Difference) -> str:
    return f"{one.train_set} minus {one.against}"


def _verdict_cell(facts: DatasetFacts, one: Difference) -> TableCell:
    words = f"primary: {verdict_text(one)}" if one.primary else verdict_text(one)
    return text_cell(words, strong=one.primary, shaded=one.found)


_NO_CONTROL = ("not the control", "about weights")


def _paired_note(facts: DatasetFacts, records: Sequence[Difference]) -> tuple[str, ...]:
    """How the intervals and verdicts of differences are to be read."""
    against = list(dict.fromkeys(one.against for one in records if one.why not in _NO_CONTROL))
    weighted = (
        " weighted minus full is what the weights do on the same rows; against the control it has more rows as well. "
        "Verdicts are about removal, so there is none on weights."
        if any(one.train_set == "weighted" for one in records)
        else ""
    )
    return (
        f"Points of accuracy on the same test rows, against as many random rows ({listed(against)}). The 95 % "
        "intervals count test groups and trainings as samples (crossed, t quantiles). They hold for this warm-up and "
        "this filter run, which another seed would draw anew. The primary comparison is judged by itself, all others "
        "on whole sets together (Holm 1979), and so are parts of sets. No verdict: rows that the filter chose or that "
        f"took part in it, one seed, under {FEWEST_ROWS} rows or {FEWEST_GROUPS} groups. On a challenge set the mean "
        f"over gold labels, each weighing the same, must surely lie on the same side: else it is open.{weighted}",
    )


PAIRED = TableSpec(
    "paired_{representation}",
    "",
    "Filtered minus its control, representation {representation}",
    ("evaluator", "trained on", "tested on"),
    (
        _listed(lambda facts: Column(Heading(units_text(facts))), lambda facts, one: count_cell(one.test_rows or 0)),
        _listed(
            lambda facts: Column(Heading("difference", ("points",))),
            lambda facts, one: difference_cell(one, test_rows=one.test_rows),
        ),
        _listed(lambda facts: Column(Heading("verdict"), kind="text"), _verdict_cell),
        _listed(
            lambda facts: Column(Heading("seeds")), lambda facts, one: TableCell(f"{one.seeds} and {one.seeds_against}")
        ),
    ),
    each=("representation",),
    notes=_paired_note,
    ruled=False,
)


def _is_compared_part(facts: DatasetFacts, one: Difference) -> bool:
    return one.comparison == "control" and not one.whole


def _part(facts: DatasetFacts, one: Difference) -> tuple[str]:
    return (short(part_text(one.column, one.category, one.label)),)


PAIRED_PARTS = TableSpec(
    "paired_{representation}",
    "{test_set}, {train_set} minus {against}",
    "{test_set} by part: {train_set} minus {against}, representation {representation}",
    ("part",),
    (
        Cells(
            DIFFERENCES,
            rows=_part,
            where=_is_compared_part,
            row_key=part_name,
            column=lambda facts, one: Column(Heading("rows")),
            value=lambda facts, one: count_cell(one.test_rows or 0),
        ),
        Cells(
            DIFFERENCES,
            rows=_part,
            where=_is_compared_part,
            row_key=part_name,
            column=lambda facts, one: Column(Heading(one.evaluator, ("points",)), line=True),
            value=lambda facts, one: difference_cell(one, judged=True),
        ),
    ),
    each=("representation", "test_set", "train_set", "against"),
    when=lambda facts, records: any(one.difference is not None for one in records),
    caption="Points of accuracy on the rows of each part, with the 95 % interval as above. Shaded where there is a "
    "difference by the verdict, which counts all parts of the report. Gold labels that go in opposite directions are a "
    "shift of answers, which the whole set hides.",
    ruled=False,
)


# Two rankings of one representation (Mishra and Sachdeva, SustaiNLP 2020, Table 3 beside Table 2, which have one
# training of each and so no interval)


def _part_text(one: Difference | Accuracy) -> str:
    whole = one.column is None and one.label is None
    return one.test_set if whole else f"{one.test_set}: {short(part_text(one.column, one.category, one.label))}"


NOT_SHOWN = "no difference was shown"


def better_ranking(facts: DatasetFacts, one: Difference) -> str | None:
    """The ranking on whose side the whole interval lies; None where it holds zero, or there is none."""
    if one.difference is None or one.low is None or one.high is None or one.low <= 0 <= one.high:
        return None
    return facts.rankings[str(one.representation)].rankings[0 if one.difference > 0 else 1]


def ranking_text(facts: DatasetFacts, one: Difference) -> str:
    """Which ranking is better, in words, or that no difference was shown."""
    if one.difference is None:
        return "not run" if one.test_rows else "no rows"
    better = better_ranking(facts, one)
    if better is None:
        return NOT_SHOWN
    return f"{better} is better" if one.found else f"{better} was better here, no finding: {one.why}"


def _ranked(
    column: Callable[[DatasetFacts], Column], value: Callable[[DatasetFacts, Difference], TableCell]
) -> Cells[Difference]:
    """A column of the table of two rankings."""
    return Cells(
        DIFFERENCES,
        rows=lambda facts, one: (one.evaluator, one.train_set, _part_text(one)),
        where=lambda facts, one: one.comparison == "ranking",
        column=lambda facts, one: column(facts),
        value=value,
        row_key=part_name,
    )


def _pair(facts: DatasetFacts, one: Accuracy, side: int) -> str | None:
    """The filtering of whose pair the score is the first or the second side; None of neither."""
    if side == 0:
        return one.representation if one.representation in facts.rankings else None
    return next((name for name, pair in facts.rankings.items() if pair.against == one.representation), None)


def _has_rank(facts: DatasetFacts, one: Accuracy, side: int) -> bool:
    if _pair(facts, one, side) is None or not is_filtered_set(one.train_set) or one.top > 1:
        return False
    if one.evaluator not in facts.plain_evaluators or one.tested_on not in ("full", "all"):
        return False
    return one.whole or facts.test_set[one.test_set].part[part_name(one)].by_size


def _by_ranking(side: int) -> Cells[Accuracy]:
    """The column of one side's accuracies."""

    def column(facts: DatasetFacts, one: Accuracy) -> Column:
        return Column(Heading(f"by {facts.rankings[str(_pair(facts, one, side))].rankings[side]}", ("per cent",)))

    return Cells(
        ACCURACIES,
        rows=lambda facts, one: (one.evaluator, one.train_set, _part_text(one)),
        where=lambda facts, one: _has_rank(facts, one, side),
        column=column,
        value=lambda facts, one: score_cell(one, short=True),
        row_key=part_name,
    )


def _pairs(facts: DatasetFacts, one: Accuracy | Difference) -> list[tuple[str]]:
    """The pairs that a record stands with."""
    if isinstance(one, Difference):
        return [(str(one.representation),)]
    return [(name,) for side in (0, 1) if (name := _pair(facts, one, side)) is not None]


def _rankings(facts: DatasetFacts, records: Sequence[Difference]) -> tuple[str, str]:
    return facts.rankings[str(records[0].representation)].rankings


def _ranking_note(facts: DatasetFacts, records: Sequence[Difference]) -> tuple[str, ...]:
    """How differences are to be read, and what else than the ranking may explain one."""
    first, second = _rankings(facts, records)
    differing = facts.rankings[str(records[0].representation)].differing
    return (
        f"Each evaluator was trained on the rows kept by {first} and on those kept by {second}. The difference is "
        f"{first} minus {second} in points, on the same test rows. Its 95 % interval counts test groups and trainings "
        "as samples, for this warm-up and this filter run. A ranking is better where the interval leaves out zero. It "
        "is no finding where one seed, few rows, a small effect or the number of comparisons stand against it. Whole "
        "sets are judged together, and so are parts (Holm 1979). No difference was shown: there may be none, or one "
        "too small to see."
        + (f" The two sets differ in size ({', '.join(differing)}), which may explain a difference." * bool(differing)),
    )


RANKINGS = TableSpec(
    "rankings_{representation}",
    "",
    lambda facts, records: (
        f"Ranked by {_rankings(facts, records)[0]} and by {_rankings(facts, records)[1]}, representation "
        f"{records[0].representation}"
    ),
    ("evaluator", "trained on", "tested on"),
    (
        _ranked(lambda facts: Column(Heading(units_text(facts))), lambda facts, one: count_cell(one.test_rows or 0)),
        _by_ranking(0),
        _by_ranking(1),
        _ranked(
            lambda facts: Column(Heading("difference", ("points",))),
            lambda facts, one: replace(difference_cell(one, test_rows=one.test_rows), shaded=one.found),
        ),
        _ranked(
            lambda facts: Column(Heading("what it says"), kind="text"),
            lambda facts, one: text_cell(ranking_text(facts, one), strong=one.found),
        ),
        _ranked(
            lambda facts: Column(Heading("seeds")), lambda facts, one: TableCell(f"{one.seeds} and {one.seeds_against}")
        ),
    ),
    each=_pairs,
    notes=_ranking_note,
    ruled=False,
)


def _kept(heading: Callable[[tuple[str, str]], Heading], name: str) -> Cells[RankingOverlap]:
    """A column of the table of rows kept."""

    def value(facts: DatasetFacts, one: RankingOverlap) -> TableCell:
        number = getattr(one, name)
        if isinstance(number, int):
            return count_cell(number)
        return NOTHING if number is None else TableCell(f"{number:.3f}", value=number)

    return Cells(
        RANKING_OVERLAP,
        rows=lambda facts, one: (one.train_set,),
        column=lambda facts, one: Column(heading(facts.rankings[one.representation].rankings)),
        value=value,
    )


RANKING_OVERLAPS = TableSpec(
    "rankings_{representation}",
    "rows kept",
    lambda facts, records: (
        f"Train rows kept by {facts.rankings[records[0].representation].rankings[0]} and by "
        f"{facts.rankings[records[0].representation].rankings[1]}, representation {records[0].representation}"
    ),
    ("kept",),
    (
        _kept(lambda names: Heading("rows", ("that both filtered",)), "rows"),
        _kept(lambda names: Heading(f"by {names[0]}"), "first_rows"),
        _kept(lambda names: Heading(f"by {names[1]}"), "second_rows"),
        _kept(lambda names: Heading("by both"), "shared"),
        _kept(lambda names: Heading("overlap", ("Jaccard",)), "jaccard"),
        _kept(lambda names: Heading("by chance", ("Jaccard",)), "jaccard_by_chance"),
    ),
    each=("representation",),
    caption="Overlap: rows that both kept over rows that either kept, from 0 to 1. By chance: its mean over two random "
    "sets of these sizes. Neither ranking takes rows under the threshold, and many such rows alone make it more than "
    "chance.",
    ruled=False,
)
