"""How often single annotators gave a test row its label."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.scores.groups import natural_columns
from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True)
class AnnotatorAgreement:
    """What single annotators reach on the test rows that a train set is compared on.

    `share` in [0, 1]: mean over the `rows` annotated ones of the `test_rows` of the share of annotators that gave the
    row's label; None where none is annotated. `difference`: of filtered, by how many points it falls from all rows.
    """

    test_set: str
    train_set: str
    representation: str | None
    tested_on: Literal["full", "filtered"]
    test_rows: int
    rows: int
    share: float | None
    difference: float | None


ANNOTATORS = TidyTable("annotators", AnnotatorAgreement)


def annotator_agreement(data: BenchmarkData) -> Iterator[AnnotatorAgreement]:
    """Of every natural test set with annotators, for each train set that is compared there."""
    for test_set in data.test_sets:
        shares = None if test_set.challenge else annotators_right(data, test_set)
        if shares is None:
            continue
        full, _ = _mean(shares)
        for one in natural_columns(data, test_set):
            kept = one.tested_on == "filtered" and one.representation is not None
            chosen = shares[test_set.kept[one.representation]] if kept and one.representation else shares
            share, rows = _mean(chosen)
            falls = one.train_set == "filtered" and share is not None and full is not None
            difference = 100 * (full - share) if falls and full is not None and share is not None else None
            yield AnnotatorAgreement(
                test_set.name, one.train_set, one.representation, one.tested_on, len(chosen), rows, share, difference
            )


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


def _mean(shares: np.ndarray) -> tuple[float | None, int]:
    """Over the annotated rows, and how many there are."""
    annotated = shares[~np.isnan(shares)]
    return (float(annotated.mean()) if len(annotated) else None), len(annotated)
