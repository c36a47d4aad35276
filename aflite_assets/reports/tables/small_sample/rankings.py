"""Two rankings of one representation compared: accuracy after training on what each kept, and how alike the rows are.

Mishra and Sachdeva, "Do We Need to Create Big Datasets to Learn a Task?" (SustaiNLP 2020), Table 3 beside Table 2,
which have one training of each and so no interval.
"""

from collections.abc import Sequence
from dataclasses import replace

from aflite_assets.analysis.cached_per_record import cached_per_record
from aflite_assets.analysis.comparisons.rankings import RankingDifference, ranking_differences
from aflite_assets.analysis.inputs.rankings import KeptOverlap, RankingPair
from aflite_assets.analysis.inputs.records import BenchmarkData, units_text
from aflite_assets.reports.tables.cells import (
    NOTHING,
    count_cell,
    difference_cell,
    part_text,
    score_cell,
    short,
    text_cell,
)
from aflite_assets.reports.tables.long_form import LongForm, Record
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot


@cached_per_record
def ranking_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per pair of rankings the differences, where an evaluator was trained, and the overlap of the rows kept.

    Nothing where no rankings are compared.

    Raises:
        DataError: predictions do not fit their test sets.
    """
    tables = []
    for pair in data.rankings:
        compared = [one for one in ranking_differences(data) if one.pair == pair]
        tables += [_differences(data, pair, compared)] if compared else []
        tables.append(_overlap(pair))
    return tuple(tables)


def _differences(data: BenchmarkData, pair: RankingPair, compared: Sequence[RankingDifference]) -> Table:
    by_first, by_second = (f"by {ranking}" for ranking in pair.rankings)

    def cell(one: RankingDifference, column: str) -> TableCell:
        if column == "rows":
            return count_cell(one.test_rows)
        if column == "difference":
            shown = difference_cell(one.interval, test_rows=one.test_rows)
            return replace(shown, shaded=one.verdict.found, form="rankings", record=_record(one))
        if column == "says":
            return text_cell(one.says, strong=one.verdict.found)
        if column == "seeds":
            return TableCell(f"{one.seeds[0]} and {one.seeds[1]}")
        return score_cell(one.scores[0 if column == "first" else 1], short=True)

    return Table(
        f"rankings_{pair.representation}",
        "",
        f"Ranked {by_first} and {by_second}, representation {pair.representation}",
        ("evaluator", "trained on", "tested on"),
        (
            Column(Heading(units_text(data.test_sets))),
            Column(Heading(by_first, ("per cent",))),
            Column(Heading(by_second, ("per cent",))),
            Column(Heading("difference", ("points",))),
            Column(Heading("what it says"), kind="text"),
            Column(Heading("seeds")),
        ),
        pivot(compared, _headings, ["rows", "first", "second", "difference", "says", "seeds"], cell),
        notes=(_note(pair),),
    )


def _headings(one: RankingDifference) -> tuple[str, ...]:
    place = one.place
    part = "" if place.whole else f": {short(part_text(place.column, place.category, place.label))}"
    return place.evaluator, place.train_set, f"{place.test_set}{part}"


def _note(pair: RankingPair) -> str:
    """How differences are to be read, and what else than the ranking may explain one."""
    first, second = pair.rankings
    differing = [one.train_set for one in pair.overlaps if one.first_kept != one.second_kept]
    return (
        f"Each evaluator was trained on the rows kept by {first} and on those kept by {second}. The difference is "
        f"{first} minus {second} in points, on the same test rows. Its 95 % interval counts test groups and trainings "
        "as samples, for this warm-up and this filter run. A ranking is better where the interval leaves out zero. It "
        "is no finding where one seed, few rows, a small effect or the number of comparisons stand against it. Whole "
        "sets are judged together, and so are parts (Holm 1979). No difference was shown: there may be none, or one "
        "too small to see."
        + (f" The two sets differ in size ({', '.join(differing)}), which may explain a difference." * bool(differing))
    )


def _overlap(pair: RankingPair) -> Table:
    first, second = pair.rankings

    def cell(one: KeptOverlap, column: str) -> TableCell:
        value = getattr(one, column)
        if isinstance(value, int):
            shown = count_cell(value)
        else:
            shown = NOTHING if value is None else TableCell(f"{value:.3f}", value=value)
        return replace(shown, form="ranking_overlap", record=_overlap_record(pair, one)) if column == "rows" else shown

    return Table(
        f"rankings_{pair.representation}",
        "rows kept",
        f"Train rows kept by {first} and by {second}, representation {pair.representation}",
        ("kept",),
        (
            Column(Heading("rows", ("that both filtered",))),
            Column(Heading(f"by {first}")),
            Column(Heading(f"by {second}")),
            Column(Heading("by both")),
            Column(Heading("overlap", ("Jaccard",))),
            Column(Heading("by chance", ("Jaccard",))),
        ),
        pivot(
            pair.overlaps,
            lambda one: (one.train_set,),
            ["rows", "first_kept", "second_kept", "both_kept", "jaccard", "by_chance"],
            cell,
        ),
        _OVERLAP_CAPTION,
    )


_OVERLAP_CAPTION = (
    "Overlap: rows that both kept over rows that either kept, from 0 to 1. By chance: its mean over two random sets of "
    "these sizes. Neither ranking takes rows under the threshold, and many such rows alone make it more than chance."
)


def _record(one: RankingDifference) -> Record:
    interval = {} if one.interval is None else vars(one.interval)
    accuracy, against = (None if side.accuracy is None else side.accuracy.mean for side in one.scores)
    numbers = {"accuracy": accuracy, "accuracy_against": against, "seeds": one.seeds[0], "seeds_against": one.seeds[1]}
    names = {"against": one.pair.against, "test_rows": one.test_rows, "better": one.better, "says": one.says}
    return one.place._asdict() | names | numbers | interval | vars(one.verdict)


def _overlap_record(pair: RankingPair, one: KeptOverlap) -> Record:
    return {
        "representation": pair.representation,
        "against": pair.against,
        "train_set": one.train_set,
        "rows": one.rows,
        "first_rows": one.first_kept,
        "second_rows": one.second_kept,
        "shared": one.both_kept,
        "jaccard": one.jaccard,
        "jaccard_by_chance": one.by_chance,
    }


RANKINGS = LongForm(
    "rankings",
    (
        "representation", "against", "evaluator", "train_set", "test_set", "tested_on", "column", "category", "label",
        "test_rows", "accuracy", "accuracy_against", "seeds", "seeds_against", "difference", "low", "high", "p_value",
        "degrees_of_freedom", "groups", "effective_groups", "counts_training", "side", "why", "family", "adjusted_p",
        "better", "says",
    ),
    ranking_tables,
)  # fmt: skip
"""Trained on what `representation` kept minus trained on what `against` kept, in points."""

RANKING_OVERLAP = LongForm(
    "ranking_overlap",
    (
        "representation", "against", "train_set", "rows", "first_rows", "second_rows", "shared", "jaccard",
        "jaccard_by_chance",
    ),
    ranking_tables,
)  # fmt: skip
"""How alike the train rows are that two rankings kept."""
