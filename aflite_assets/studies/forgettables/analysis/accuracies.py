"""Scores of second phases by the word overlap of a row's two texts."""

from collections.abc import Iterator

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.scores.score_tables import TestedOn
from aflite_assets.analysis.scores.subsets import Subset
from aflite_assets.studies.forgettables.analysis.records import Forgettables

OVERLAP = "overlap"
"""Name of the column that splits rows by the word overlap of their two texts."""


def overlap_parts(data: BenchmarkData, test_set: TestSet) -> Iterator[tuple[TestedOn, Subset]]:
    """Yield the rows of each class by the overlap of their two texts: "high" is above the test set's mean, "low" is the
    rest.
    """
    own = Forgettables.of(data)
    positive, overlap = own.positive, own.overlap.get(test_set.name)
    if overlap is not None and positive is not None:
        high = overlap > overlap.mean() if len(overlap) else np.zeros(0, dtype=bool)
        is_positive = test_set.labels == positive
        for name, inside in ((data.label_names[positive], is_positive), ("others", ~is_positive)):
            for category, mask in (("all", inside), ("high", inside & high), ("low", inside & ~high)):
                yield "full", Subset(OVERLAP, category, name, mask)


PART = overlap_parts
