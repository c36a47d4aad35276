"""What a fall or rise in accuracy from full to filtered is made of: terms that add up, each with its interval."""

from collections.abc import Iterator
from dataclasses import replace

from aflite_assets.analysis.comparisons.falls import Fall, FallStep, falls
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.cells import NOTHING, difference_cell
from aflite_assets.reports.tables.long_form import LongForm, Record
from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell
from aflite_assets.text import percent


def fall_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """A table per representation that filtered natural test rows: a row per evaluator, a column per term."""
    return tuple(
        _table(name, found)
        for name in data.representations
        if (found := falls(data, name)) and any(fall.start is not None for fall in found)
    )


def _table(representation: str, found: tuple[Fall, ...]) -> Table:
    steps = [Column(Heading(step.what)) for step in found[0].steps]
    ends = [Column(Heading(text, ("%",)), line=True) for text in ("full on all rows", "filtered on filtered rows")]
    return Table(
        f"falls_{representation}",
        found[0].test_set,
        f"Steps from full to filtered on {found[0].test_set}, in points, representation {representation}",
        ("evaluator",),
        (ends[0], *steps, ends[1]),
        tuple(Row((fall.evaluator,), (_end(fall.start), *map(_term, fall.steps), _end(fall.end))) for fall in found),
        "They add up from the first accuracy to the last. Below zero is a fall, above zero a rise. In "
        "brackets the joint 95 % interval: all steps of an evaluator hold together. Test rows: the same model, asked "
        "about the filtered rows alone. Fewer train rows: random in place of full. Class sizes: random_matched in its "
        "place. Which train rows: filtered in place of that.",
    )


def _term(step: FallStep) -> TableCell:
    """The change that the step makes: what falls is below zero."""
    if step.fall is None:
        return difference_cell(None)
    return difference_cell(
        replace(step.fall, difference=-step.fall.difference, low=-step.fall.high, high=-step.fall.low)
    )


def _end(share: float | None) -> TableCell:
    return NOTHING if share is None else TableCell(percent(share), value=share, strong=True)


def _records(data: BenchmarkData) -> Iterator[Record]:
    for name in data.representations:
        for fall in falls(data, name):
            for step in fall.steps:
                where = {"representation": name, "evaluator": fall.evaluator, "test_set": fall.test_set}
                numbers = {} if step.fall is None else {one: getattr(step.fall, one) for one in _NUMBERS}
                yield where | {"change": step.what, "after": step.after} | numbers


_NUMBERS = ("difference", "low", "high", "counts_training")
FALLS = LongForm("falls", ("representation", "evaluator", "test_set", "change", "after", *_NUMBERS), _records)
"""By how many points the accuracy falls with each change; a rise is under 0."""
