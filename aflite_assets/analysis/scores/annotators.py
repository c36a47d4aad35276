"""How often single annotators gave a test row its label."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.scores.groups import Compared


@dataclass(frozen=True)
class HumanAgreement:
    """`share` in [0, 1]: mean over `rows` annotated rows of the share of annotators that gave the row's label."""

    share: float
    rows: int


def human_agreement(
    data: BenchmarkData, test_set: TestSet, columns: Sequence[Compared]
) -> dict[Compared, HumanAgreement | None]:
    """What single annotators reach on each column's test rows; nothing where no row has annotators."""
    shares = annotators_right(data, test_set)
    if shares is None:
        return {}
    masks = {
        one: test_set.kept[one.representation]
        if one.tested_on == "filtered" and one.representation is not None
        else np.ones(len(shares), dtype=bool)
        for one in columns
    }
    return {one: _agreement(shares[mask]) for one, mask in masks.items()}


def annotators_right(data: BenchmarkData, test_set: TestSet) -> np.ndarray | None:
    """Per row the share of its annotators that gave its label, float64 in [0, 1], NaN without annotators.

    None where no row has any, and of questions, of which annotators saw single answers. Where the label is the
    majority of the same annotators, as in SNLI, each of them had a say in it, so this is more than a new annotator
    would reach.
    """
    if test_set.unit == "question" or "annotator_labels" not in data.examples.table.column_names:
        return None
    examples = data.examples.select(test_set.row_ids)
    column = examples.table["annotator_labels"]
    counts = pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    if not counts.any():
        return None
    row = np.repeat(np.arange(len(counts)), counts)
    right = pc.list_flatten(column).to_numpy() == examples.labels[row]
    shares = np.full(len(counts), np.nan)
    np.divide(np.bincount(row, weights=right, minlength=len(counts)), counts, out=shares, where=counts > 0)
    return shares


def _agreement(shares: np.ndarray) -> HumanAgreement | None:
    annotated = shares[~np.isnan(shares)]
    return HumanAgreement(float(annotated.mean()), len(annotated)) if len(annotated) else None
