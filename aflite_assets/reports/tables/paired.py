"""Filtered against its control on the same test rows: differences in accuracy, their intervals and verdicts."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from aflite_assets.analysis.comparisons.paired import PairedDifference, paired_differences
from aflite_assets.analysis.inputs.records import BenchmarkData, units_text
from aflite_assets.analysis.rules.verdicts import FEWEST_GROUPS, FEWEST_ROWS
from aflite_assets.reports.tables.cells import count_cell, difference_cell, part_text, short, text_cell, verdict_text
from aflite_assets.reports.tables.long_form import LongForm, Record
from aflite_assets.reports.tables.table import Column, Heading, Table, TableCell, pivot
from aflite_assets.text import listed


def paired_tables(data: BenchmarkData) -> tuple[Table, ...]:
    """Per representation the differences on whole test sets, then one per challenge set by its parts.

    Nothing without an evaluator; sets without any interval have no table of parts.
    """
    found = ((name, paired_differences(data, name)) for name in data.representations)
    return tuple(
        table for name, all_of in found if all_of for table in (_whole_sets(data, name, all_of), *_parts(name, all_of))
    )


def _whole_sets(data: BenchmarkData, representation: str, differences: Sequence[PairedDifference]) -> Table:
    cells: list[Callable[[PairedDifference], TableCell]] = [
        lambda one: count_cell(one.test_rows),
        lambda one: difference_cell(one.interval, test_rows=one.test_rows),
        _verdict_cell,
        lambda one: TableCell(f"{one.filtered_seeds} and {one.random_seeds}"),
    ]
    return Table(
        f"paired_{representation}",
        "",
        f"Filtered minus its control, representation {representation}",
        ("evaluator", "trained on", "tested on"),
        (
            Column(Heading(units_text(data.test_sets))),
            Column(Heading("difference", ("points",))),
            Column(Heading("verdict"), kind="text"),
            Column(Heading("seeds")),
        ),
        pivot(
            [one for one in differences if one.whole],
            lambda one: (one.evaluator, _pair_text(one), f"{one.test_set}, {one.tested_on} rows"),
            cells,
            lambda one, cell: cell(one),
        ),
        notes=(_paired_note(differences),),
    )


def _verdict_cell(one: PairedDifference) -> TableCell:
    words = f"primary: {verdict_text(one.verdict)}" if one.primary else verdict_text(one.verdict)
    return text_cell(words, strong=one.primary, shaded=one.verdict.found)


def _pair_text(one: PairedDifference) -> str:
    return f"{one.train_set} minus {one.against}"


_NO_CONTROL = ("not the control", "about weights")


def _paired_note(differences: Sequence[PairedDifference]) -> str:
    """How the intervals and verdicts of differences are to be read."""
    against = list(dict.fromkeys(one.against for one in differences if one.verdict.why not in _NO_CONTROL))
    return (
        f"Points of accuracy on the same test rows, against as many random rows ({listed(against)}). The 95 % "
        "intervals count test groups and trainings as samples (crossed, t quantiles). They hold for this warm-up and "
        "this filter run, which another seed would draw anew. The primary comparison is judged by itself, all others "
        "on whole sets together (Holm 1979), and so are parts of sets. No verdict: rows that the filter chose or that "
        f"took part in it, one seed, under {FEWEST_ROWS} rows or {FEWEST_GROUPS} groups. On a challenge set the mean "
        "over gold labels, each weighing the same, must surely lie on the same side: else it is open."
        + (_WEIGHTED_NOTE if any(one.train_set == "weighted" for one in differences) else "")
    )


_WEIGHTED_NOTE = (
    " weighted minus full is what the weights do on the same rows; against the control it has more rows as well. "
    "Verdicts are about removal, so there is none on weights."
)

_Part = tuple[str | None, str | None, str | None]


def _parts(representation: str, differences: Sequence[PairedDifference]) -> Iterator[Table]:
    """A row per part, in it one difference per evaluator."""
    sets: dict[tuple[str, str], dict[tuple[_Part, str], PairedDifference]] = {}
    for one in differences:
        if not one.whole:
            found = sets.setdefault((one.test_set, _pair_text(one)), {})
            found[(one.column, one.category, one.label), one.evaluator] = one
    for (test_set, pair), found in sets.items():
        if any(one.interval is not None for one in found.values()):
            yield _part_table(representation, test_set, pair, found)


def _part_table(
    representation: str, test_set: str, pair: str, found: Mapping[tuple[_Part, str], PairedDifference]
) -> Table:
    rows = {part: one.test_rows for (part, _), one in found.items()}
    evaluators = list(dict.fromkeys(evaluator for _, evaluator in found))

    def cell(part: _Part, evaluator: str | None) -> TableCell:
        if evaluator is None:
            return count_cell(rows[part])
        one = found[part, evaluator]
        return difference_cell(one.interval, verdict=one.verdict)

    return Table(
        f"paired_{representation}",
        f"{test_set}, {pair}",
        f"{test_set} by part: {pair}, representation {representation}",
        ("part",),
        (Column(Heading("rows")), *(Column(Heading(name, ("points",)), line=True) for name in evaluators)),
        pivot(rows, lambda part: (short(part_text(*part)),), [None, *evaluators], cell),
        _PARTS,
    )


_PARTS = (
    "Points of accuracy on the rows of each part, with the 95 % interval as above. Shaded where there is a "
    "difference by the verdict, which counts all parts of the report. Gold labels that go in opposite directions "
    "are a shift of answers, which the whole set hides."
)

_COLUMNS = (
    "representation", "evaluator", "train_set", "against", "test_set", "tested_on", "column", "category", "label",
    "test_rows", "filtered_seeds", "random_seeds", "difference", "low", "high", "p_value", "degrees_of_freedom",
    "groups", "effective_groups", "counts_training", "side", "why", "family", "adjusted_p",
)  # fmt: skip


def _rows(data: BenchmarkData) -> Iterator[Record]:
    for one in (one for name in data.representations for one in paired_differences(data, name)):
        interval = {} if one.interval is None else vars(one.interval)
        yield vars(one) | interval | vars(one.verdict)


PAIRED = LongForm("paired", _COLUMNS, _rows)
