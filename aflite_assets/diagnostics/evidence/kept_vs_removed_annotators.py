"""Whether annotators agree less on the rows that filtering kept than on those that it removed."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.annotators import annotator_agreement
from aflite_assets.diagnostics.tables import split_masks, table_of

_AGREEMENT = pa.schema(
    [
        ("split", pa.string()),
        *[
            (f"{side}_{name}", kind)
            for name, kind in (
                ("rows", pa.int64()),
                ("accuracy", pa.float64()),
                ("rows_of_several", pa.int64()),
                ("unanimous", pa.float64()),
            )
            for side in ("kept", "removed")
        ],
    ]
)


def annotator_shares(rows: pa.Table, examples: Examples) -> pa.Table:
    """Agreement of single annotators with the rows' labels, of the kept and of the removed rows.

    Phang et al. 2021 (arXiv 2111.08181) find that AFLite keeps rows of low agreement more often than others, so that
    comparisons on what is left rest on contested labels.

    Args:
        rows: the filtered set's rows: row_id int64, split string, kept bool.
        examples: rows that include all of `rows`.

    Returns:
        Columns split, then for each side (kept_*, removed_*) rows (with a label of at least one annotator), accuracy
        (mean over these of the share of annotators who gave the row's label, in [0, 1]), rows_of_several (with at least
        two annotators), unanimous (share of these whose annotators all gave one label). Means over no rows are null;
        splits without any annotator's label are left out.

    Raises:
        DataError: a row of `rows` is not among the examples.
    """
    if "annotator_labels" not in examples.table.column_names:
        return table_of([], _AGREEMENT)
    narrow = Examples(examples.table.select(["row_id", "label", "annotator_labels"]), examples.label_names)
    labelled = narrow.select(rows["row_id"].to_numpy())
    kept = rows["kept"].to_numpy().astype(bool)
    annotators = pc.fill_null(pc.list_value_length(labelled.table["annotator_labels"]), 0).to_numpy()
    records = []
    for split, inside in split_masks(rows):
        if annotators[inside].any():
            sides = [_side(labelled, annotators, inside & side) for side in (kept, ~kept)]
            records.append((split, *(value for pair in zip(*sides, strict=True) for value in pair)))
    return table_of(records, _AGREEMENT)


def _side(examples: Examples, annotators: np.ndarray, side: np.ndarray) -> tuple[Any, ...]:
    annotated = side & (annotators > 0)
    agreement = annotator_agreement(Examples(examples.table.filter(pa.array(annotated)), examples.label_names))
    several = int((side & (annotators > 1)).sum())
    if agreement is None:
        return 0, None, several, None
    return agreement.rows, agreement.mean_accuracy, several, agreement.unanimous_share
