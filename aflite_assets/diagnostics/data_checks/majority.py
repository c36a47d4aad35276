"""Rows whose annotators mostly gave another label than the row has. Agreement in general is in `annotators`."""

import numpy as np
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples


def majority_against_label(examples: Examples) -> np.ndarray:
    """Ids (int64, in row order) of the rows of which more than half of the annotators gave one other label."""
    if "annotator_labels" not in examples.table.column_names:
        return np.empty(0, np.int64)
    column = examples.table["annotator_labels"]
    counts = pc.list_value_length(column).to_numpy()
    classes = len(examples.label_names)
    votes = np.repeat(np.arange(len(counts)), counts) * classes + pc.list_flatten(column).to_numpy()
    labels_given, times = np.unique(votes, return_counts=True)
    rows, labels = np.divmod(labels_given, classes)
    outvoted = rows[(2 * times > counts[rows]) & (labels != examples.labels[rows])]
    return examples.row_ids[outvoted]
