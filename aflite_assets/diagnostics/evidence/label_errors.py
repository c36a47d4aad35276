"""Possible label errors that a person should check: rows with the least likely labels.

The likelihood of a label comes from models that were not trained on the row.
"""

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.record_tables import columns_of, floats
from aflite_assets.errors import InvalidInputError
from aflite_assets.wording import truncate

MOST_CHARACTERS = 200
"""Largest number of characters of a text that is returned; longer texts end in an ellipsis."""

_SUSPECTS = pa.schema(
    [
        ("row_id", pa.int64()),
        ("split", pa.string()),
        ("label_name", pa.string()),
        ("label_probability", pa.float64()),
        ("predictability", pa.float64()),
        ("kept", pa.bool_()),
    ]
)


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
    probability = floats(rows["label_probability"])
    known = np.flatnonzero(~np.isnan(probability))
    order = known[np.lexsort((rows["row_id"].to_numpy()[known], probability[known]))]
    least_likely = rows.take(order[:most])
    extra = [name for name in ("annotator_labels", "text", "text_pair") if name in examples.table.column_names]
    shown = columns_of(examples, extra, least_likely["row_id"].to_numpy())
    names = pa.array([examples.label_names[label] for label in least_likely["label"].to_pylist()], pa.string())
    table = least_likely.append_column("label_name", names).select(_SUSPECTS.names).cast(_SUSPECTS)
    for name in extra:
        values = [_cell_text(value, examples.label_names) for value in shown[name].to_pylist()]
        column = "annotators" if name == "annotator_labels" else name
        table = table.append_column(column, pa.array(values, pa.string()))
    return table


def _cell_text(value: str | list[int] | None, label_names: tuple[str, ...]) -> str | None:
    if isinstance(value, list):
        return ", ".join(label_names[label] for label in value) or None
    return None if value is None else truncate(value, MOST_CHARACTERS)
