"""The tables of challenge sets: with their parts, zero-shot, by size of the train set, and after fine-tuning."""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Difference
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.scores.accuracies import ACCURACIES, Accuracy
from aflite_assets.analysis.train_sets import control_of, is_filtered_set
from aflite_assets.reports.class_maps import set_notes
from aflite_assets.reports.tables.cells import (
    TRAIN_ROWS,
    difference_cell,
    is_of_filtering,
    minus,
    part_name,
    part_text,
    points_cell,
    rows_heading,
    score_cell,
    short,
    sizes_cell,
    sizes_column,
    trained,
)
from aflite_assets.reports.tables.spec import Cells, TableSpec
from aflite_assets.reports.tables.table import Column, Heading

_Any = Accuracy | Difference


def _by_train_set(facts: DatasetFacts, one: Accuracy) -> tuple[str]:
    return (one.train_set,)


def _on_challenge_set(facts: DatasetFacts, one: _Any) -> bool:
    return is_of_filtering(facts, one) and facts.test_set[one.test_set].challenge


def _blocks(facts: DatasetFacts, one: Accuracy) -> Iterator[tuple[object, ...]]:
    """The tables that a score stands in: one for all parts, or those of each category column where there are several.

    The first of several, without a column, has the gold labels; the whole set stands in each.
    """
    columns = list(
        dict.fromkeys(part.name[0] for part in facts.test_set[one.test_set].parts if part.name[0] is not None)
    )
    if len(columns) < 2:
        columns, block = [], None
    else:
        block = one.column
    for each in [None, *columns] if one.whole else [block]:
        yield one.representation, one.test_set, each


def _part_column(facts: DatasetFacts, one: Accuracy) -> Column:
    """With a line where another category begins."""
    if one.whole:
        return Column(rows_heading("overall", one.test_rows), line=True)
    names = [part.name for part in facts.test_set[one.test_set].parts]
    place = names.index(part_name(one))
    begins = not place or names[place - 1][:2] != part_name(one)[:2]
    heading = rows_heading(part_text(*part_name(one)), one.test_rows)
    return Column(heading, line=one.column is not None and begins, key=part_name(one))


def _block(records: Sequence[Accuracy], facts: DatasetFacts) -> str | None:
    """The category column that a table is about; None where it is about several, or none."""
    columns = {one.column for one in records if not one.whole}
    several = len({part.name[0] for part in facts.test_set[records[0].test_set].parts} - {None}) > 1
    return next(iter(columns)) if len(columns) == 1 and several else None


def _challenge_title(facts: DatasetFacts, records: Sequence[Accuracy]) -> str:
    column = _block(records, facts)
    return records[0].test_set if column is None else f"{records[0].test_set}, by {short(column)}"


CHALLENGE_SETS = TableSpec(
    "challenge_sets_{representation}",
    _challenge_title,
    _challenge_title,
    ("evaluator", "trained on"),
    (
        Cells(
            ACCURACIES,
            rows=trained,
            where=lambda facts, one: _on_challenge_set(facts, one) and one.whole,
            column=lambda facts, one: TRAIN_ROWS,
            value=lambda facts, one: sizes_cell([one]),
        ),
        Cells(
            ACCURACIES,
            rows=trained,
            where=_on_challenge_set,
            column=_part_column,
            value=lambda facts, one: score_cell(one),
        ),
    ),
    each=_blocks,
    caption=lambda facts, records: (
        f"Accuracy in per cent; train sets of representation {records[0].representation}."
        + (
            " Rows with different gold labels are shown apart: a model that leans on a shortcut is right on one half "
            "and wrong on the other."
            if any(not one.whole for one in records)
            else ""
        )
    ),
    notes=lambda facts, records: (
        () if _block(records, facts) is not None else set_notes(facts.test_set[records[0].test_set], facts.label_names)
    ),
    ruled=False,
)


def _beside(facts: DatasetFacts, one: _Any) -> bool:
    """Whether a place of the zero-shot table is meant: of the whole set, or of a part that stands there."""
    if not _on_challenge_set(facts, one) or one.evaluator not in facts.plain_evaluators:
        return False
    return one.whole or facts.test_set[one.test_set].part[part_name(one)].side_by_side


def _set_column(facts: DatasetFacts, one: _Any) -> Column:
    natural = one.tested_on == "full"
    text = "all rows" if natural else part_text(*part_name(one))
    return Column(rows_heading(text, one.test_rows or 0), Heading(one.test_set), key=part_name(one))


ZERO_SHOT = TableSpec(
    "zero_shot_{representation}",
    "{evaluator}",
    "{evaluator}, zero-shot; train sets of representation {representation}",
    ("trained on",),
    (
        sizes_column(_by_train_set, _beside),
        Cells(
            ACCURACIES,
            rows=_by_train_set,
            where=_beside,
            column=_set_column,
            value=lambda facts, one: score_cell(one, short=True),
            order=lambda facts, one: (0,),
        ),
        Cells(
            DIFFERENCES,
            rows=minus,
            where=lambda facts, one: one.comparison == "means" and _beside(facts, one),
            column=_set_column,
            value=lambda facts, one: points_cell(one.difference),
            apart=True,
        ),
    ),
    each=("representation", "evaluator"),
    caption="Accuracy in per cent; mean over seeds, its deviation over them, 95 % interval. Where a category has rows "
    "of several gold labels, each stands beside the whole. Last rows: differences of these means in points; their "
    "intervals and verdicts are in the tables of filtered against its control. Of a set with several category columns, "
    "the rows with any value of each; the values apart are in the set's own tables.",
)


# By size of the train set (Mishra and Sachdeva, SustaiNLP 2020, Table 2, which has neither random sets of the filtered
# ones' sizes nor more than one training of each)


def _controls(facts: DatasetFacts, representation: str, filtered: str) -> tuple[str, ...]:
    names = facts.filtering[representation].train_sets
    of_size = ("random", control_of(filtered, names)) if filtered == "filtered" else (control_of(filtered, names),)
    return tuple(dict.fromkeys(of_size))


def _by_size(facts: DatasetFacts, representation: str) -> list[str]:
    """Full and its sample, then each filtered set after its controls, the smallest first."""
    sizes = facts.filtering[representation].train_sets
    smallest = sorted(filter(is_filtered_set, sizes), key=lambda name: (not sizes[name], sizes[name]))
    shown = ["full", "sampled", *(one for name in smallest for one in (*_controls(facts, representation, name), name))]
    return [name for name in dict.fromkeys(shown) if name in sizes]


def _of_a_size(facts: DatasetFacts, one: _Any) -> bool:
    if (
        not is_of_filtering(facts, one)
        or one.evaluator not in facts.plain_evaluators
        or one.tested_on not in ("full", "all")
    ):
        return False
    if one.train_set not in _by_size(facts, str(one.representation)):
        return False
    return one.whole or facts.test_set[one.test_set].part[part_name(one)].by_size


def _several_sizes(facts: DatasetFacts, records: Sequence[_Any]) -> bool:
    """Whether there is a sample, or a filtered set of another size than the target's, which other tables show."""
    name = str(records[0].representation)
    return bool({*_by_size(facts, name)} - {"full", *_controls(facts, name, "filtered"), "filtered"})


def _against_control(facts: DatasetFacts, one: Difference) -> bool:
    if one.comparison != "control" or not is_filtered_set(one.train_set) or not _of_a_size(facts, one):
        return False
    return one.against == control_of(one.train_set, facts.filtering[str(one.representation)].train_sets)


def _size_order(facts: DatasetFacts, one: Accuracy) -> int:
    return _by_size(facts, str(one.representation)).index(one.train_set)


FINE_ACTION = TableSpec(
    "fine_action_{representation}",
    "{evaluator}",
    "{evaluator} by size of the train set, representation {representation}",
    ("trained on",),
    (
        sizes_column(_by_train_set, _of_a_size, row_order=_size_order),
        Cells(
            ACCURACIES,
            rows=_by_train_set,
            where=_of_a_size,
            column=_set_column,
            value=lambda facts, one: score_cell(one, short=True),
            order=lambda facts, one: (0,),
            row_order=_size_order,
        ),
        Cells(
            DIFFERENCES,
            rows=minus,
            where=_against_control,
            column=_set_column,
            value=lambda facts, one: difference_cell(one, test_rows=one.test_rows, judged=True),
            row_order=_size_order,
            apart=True,
        ),
    ),
    each=("representation", "evaluator"),
    when=_several_sizes,
    caption="Accuracy in per cent; mean over seeds, its deviation over them, 95 % interval. Natural test sets with all "
    "their rows, challenge sets whole and by category. Judge a filtered set by the random rows of its size: full and "
    "sampled have more rows. Last rows: filtered minus these in points, with the interval over test groups and "
    "trainings, and the verdict, both from the table of filtered against its control.",
)


# Transfer (ICML 2020, Table 2): after fine-tuning on challenge sets' own train rows


class _Tuned(NamedTuple):
    """A column: the challenge set, the evaluator fine-tuned on it, and whether it or what it started from is asked."""

    start: str
    evaluator: str
    test_set: str
    training: Literal["fine_tuned", "zero_shot"]


def _tuned(facts: DatasetFacts, one: _Any) -> list[_Tuned]:
    """The columns that a score stands in, one for each evaluator that was fine-tuned on the set from what is asked."""
    return [
        _Tuned(tuned.start, name, test_set, training)
        for name, tuned in facts.fine_tuned.items()
        for test_set in tuned.sets
        if test_set == one.test_set
        for training in _TRAININGS
        if one.evaluator == (name if training == "fine_tuned" else tuned.start)
    ]


_TRAININGS: tuple[Literal["fine_tuned", "zero_shot"], ...] = ("fine_tuned", "zero_shot")


def _tuned_columns(facts: DatasetFacts, one: _Any) -> list[Column]:
    """Under what was done before."""
    columns = []
    for tuned in _tuned(facts, one):
        after = f"{tuned.evaluator}, after {', then '.join(facts.fine_tuned[tuned.evaluator].sets)}"
        group = rows_heading(tuned.test_set, facts.test_set[tuned.test_set].rows, after)
        columns.append(Column(Heading(tuned.training.replace("_", "-")), group))
    return columns


def _tuned_order(facts: DatasetFacts, one: _Any) -> tuple[int, int, int]:
    tuned = _tuned(facts, one)[0]
    sets = facts.fine_tuned[tuned.evaluator].sets
    return list(facts.fine_tuned).index(tuned.evaluator), sets.index(one.test_set), _TRAININGS.index(tuned.training)


def _is_tuned(facts: DatasetFacts, one: _Any) -> bool:
    return is_of_filtering(facts, one) and one.whole and bool(_tuned(facts, one))


def _starts(facts: DatasetFacts, one: _Any) -> Iterator[tuple[object, ...]]:
    for start in dict.fromkeys(tuned.start for tuned in _tuned(facts, one)):
        yield one.representation, start


def _start(facts: DatasetFacts, records: Sequence[_Any]) -> str:
    return _tuned(facts, records[0])[0].start


TRANSFER = TableSpec(
    "transfer_{representation}",
    lambda facts, records: f"{_start(facts, records)}, fine-tuned",
    lambda facts, records: (
        f"{_start(facts, records)}, fine-tuned on challenge sets; train sets of representation "
        f"{records[0].representation}"
    ),
    ("trained on",),
    (
        sizes_column(_by_train_set, _is_tuned),
        Cells(
            ACCURACIES,
            rows=_by_train_set,
            where=_is_tuned,
            column=_tuned_columns,
            value=lambda facts, one: score_cell(
                one, shaded=one.evaluator in facts.fine_tuned and one.train_set in ("full", "random", "filtered")
            ),
            order=_tuned_order,
        ),
        Cells(
            DIFFERENCES,
            rows=minus,
            where=lambda facts, one: one.comparison == "transfer" and _is_tuned(facts, one),
            column=_tuned_columns,
            value=lambda facts, one: difference_cell(one),
            order=_tuned_order,
            apart=True,
        ),
    ),
    each=_starts,
    caption="Trained on the train set, then on the challenge set's own train rows, then tested on its test rows, none "
    "of which it was trained on. Zero-shot: the same rows, asked before fine-tuning. Accuracy in per cent; mean, "
    "deviation over seeds, 95 % interval. Differences in points on the same test rows; in brackets their 95 % "
    "interval, over test groups and trainings; the verdicts are in the tables of filtered against its control. Full "
    "has more train rows than filtered, the random sets as many.",
)
