"""Agreement of single annotators with the rows' labels, and rows for which most annotators chose another label."""

from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from aflite_assets.data.examples import Examples


@dataclass(frozen=True)
class LabelAgreement:
    """Agreement of single annotators with the rows' labels.

    `rows`: number of rows with at least one annotator's label. `mean_accuracy`: the share of a row's annotators who
    gave the row's label, averaged over rows, in [0, 1]. `unanimous_share`: the share of rows whose annotators all gave
    the same label, among rows with at least two annotators; None if there are no such rows.
    """

    rows: int
    mean_accuracy: float
    unanimous_share: float | None


def annotator_agreement(examples: Examples) -> LabelAgreement | None:
    """Compare annotators' labels with the rows' labels; return None if no row has an annotator's label.

    If a row's label is the majority vote of the same annotators, as in SNLI, each annotator contributed to the label.
    Because of this contribution, the annotators' accuracy is higher than the accuracy of a new annotator. In
    `mean_accuracy`, each row has the same weight, whatever its number of annotators. In Table 2 of Bowman et al., EMNLP
    2015, each annotator's label has the same weight. The paper's accuracy equals `mean_accuracy` if all rows have the
    same number of annotators.
    """
    if "annotator_labels" not in examples.table.column_names:
        return None
    column = examples.table["annotator_labels"]
    counts = pc.list_value_length(column).to_numpy()
    annotated = np.flatnonzero(counts)
    if not len(annotated):
        return None
    given = pc.list_flatten(column).to_numpy()
    starts = (np.cumsum(counts) - counts)[annotated]
    labels, counts = examples.labels[annotated], counts[annotated]
    accuracy = np.add.reduceat(given == np.repeat(labels, counts), starts, dtype=np.int64) / counts
    unanimous = np.maximum.reduceat(given, starts) == np.minimum.reduceat(given, starts)
    several = unanimous[counts > 1]
    return LabelAgreement(len(annotated), float(accuracy.mean()), float(several.mean()) if len(several) else None)


def majority_against_label(examples: Examples) -> np.ndarray:
    """Return the ids of rows for which more than half of the annotators gave the same wrong label.

    A wrong label is any label that differs from the row's label. The ids are int64, in row order.
    """
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
