"""Margins of a weak model's accuracy over always predicting the largest class, on natural test sets."""

from collections.abc import Collection, Sequence

import pyarrow as pa

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.analysis.scores.judges import over_largest_class
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import separate_questions


def margins_of_training(name: str, predictions: pa.Table, tests: Sequence[TestSet]) -> dict[str, dict[str, float]]:
    """Return, by split, the margin of a training's accuracy over always predicting the largest class.

    `largest_class` is the accuracy of always predicting the largest class, in [0, 1]. `low` and `high` are the limits
    of the margin's confidence interval, in percentage points. Splits for which no margin can be computed are left out.
    `predictions`: the published table of the training's predictions.
    """
    cell = Cell(name, "full", None, 0, 0, "done", None, predictions)
    found = {test_set.name: over_largest_class([cell], [test_set]).get(name) for test_set in tests}
    return {
        split: {"largest_class": one.largest, "low": one.margin.low, "high": one.margin.high}
        for split, one in found.items()
        if one is not None
    }


def natural_sets(everything: Examples, *, left_out: Collection[str]) -> list[TestSet]:
    """Return the dataset's splits, except the splits in `left_out`, as test sets for computing accuracies."""
    rows = without_inputs(everything)
    return [
        TestSet(
            split,
            False,
            one.row_ids,
            one.labels,
            one.label_names,
            {},
            groups=one.groups,
            questions=separate_questions(one),
        )
        for split in rows.table["split"].unique().to_pylist()
        if split not in left_out and len(one := rows.in_split(split))
    ]


def without_inputs(everything: Examples) -> Examples:
    """Return the rows without texts, images or features, so that copying a split needs little memory."""
    known = ("row_id", "split", "label", "group", "question")
    needed = [name for name in known if name in everything.table.column_names]
    return Examples(everything.table.select(needed), everything.label_names)
