"""Possible label errors that a person should check: rows with the least likely labels.

The likelihood of a label comes from models that were not trained on the row.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.record_tables import table_of
from aflite_assets.errors import InvalidInputError
from aflite_assets.wording import truncate

MOST_CHARACTERS = 200
"""Largest number of characters of a text that is returned; longer texts end in an ellipsis."""

_SUSPECTS = [
    ("row_id", pa.int64()),
    ("split", pa.string()),
    ("label_name", pa.string()),
    ("label_probability", pa.float64()),
    ("predictability", pa.float64()),
    ("kept", pa.bool_()),
]


def suspects(rows: pa.Table, examples: Examples, *, most: int = 20) -> pa.Table:
    """Return the rows with the lowest label probability in the first iteration, in ascending order.

    Ties are ordered by row id. The label probability is low both for wrong labels and for hard rows. Confident learning
    (Northcutt et al., JAIR 2021) also uses label probabilities from classifiers that were not trained on the row.

    Args:
        rows: the filtered set's rows, with the columns `row_id` (int64), `split` (string), `label` (int64), `kept`
            (bool), `predictability` and `label_probability` (float or null). A row without a label probability is not a
            suspect.
        examples: rows that include all of `rows`.
        most: largest number of rows to return, at least 1.

    Returns:
        A table with the columns `row_id`, `split`, `label_name`, `label_probability`, `predictability` (null if the row
        was never held out) and `kept`. The columns `annotators`, `text` and `text_pair` exist only if the examples have
        annotators' labels or texts. `annotators` contains the names of the labels that annotators gave, joined by
        commas. Texts are untrusted; escape them before they are shown on a page.

    Raises:
        InvalidInputError: `most` is less than 1.
        DataError: a suspect is not among the examples.
    """
    if most < 1:
        raise InvalidInputError(f"`most` is {most}; set it to at least 1")
    probability = pc.fill_null(rows["label_probability"].cast(pa.float64()), float("nan")).to_numpy()
    known = np.flatnonzero(~np.isnan(probability))
    order = known[np.lexsort((rows["row_id"].to_numpy()[known], probability[known]))]
    least_likely = rows.take(order[:most])
    extra = [name for name in ("annotator_labels", "text", "text_pair") if name in examples.table.column_names]
    inputs = Examples(examples.table.select(["row_id", *extra]), examples.label_names)
    shown = inputs.select(least_likely["row_id"].to_numpy())
    table = table_of([_record(row, examples.label_names) for row in least_likely.to_pylist()], pa.schema(_SUSPECTS))
    for name in extra:
        values = [_cell_text(value, examples.label_names) for value in shown.table[name].to_pylist()]
        column = "annotators" if name == "annotator_labels" else name
        table = table.append_column(column, pa.array(values, pa.string()))
    return table


def _record(row: dict[str, Any], label_names: tuple[str, ...]) -> tuple[Any, ...]:
    return (
        row["row_id"],
        row["split"],
        label_names[row["label"]],
        row["label_probability"],
        row["predictability"],
        row["kept"],
    )


def _cell_text(value: str | list[int] | None, label_names: tuple[str, ...]) -> str | None:
    if isinstance(value, list):
        return ", ".join(label_names[label] for label in value) or None
    return None if value is None else truncate(value, MOST_CHARACTERS)
