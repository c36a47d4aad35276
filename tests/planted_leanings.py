"""A planted candidate of leaning, with the predictions that its train sets would give."""

from typing import Literal

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, Candidate, LeaningInputs, LeaningSet


def leaning_inputs(
    data: BenchmarkData, *, reason: Literal["declared", "artefact"] | None = "declared"
) -> LeaningInputs:
    """An attribute that every second row of natural sets has, pointing to another class than its own.

    Trained with the tie, models follow it on half of these rows, and without the tie on none.
    """
    candidate = Candidate(0, "attribute", "mark", "", reason, ("x",), ("neutral",), (40,), 1e-9, 0.6)
    pointed: dict[str, np.ndarray] = {}
    predicted: dict[tuple[LeaningSet, str], list[np.ndarray]] = {}
    for one in data.test_sets:
        places = np.arange(len(one.labels))
        pointed[one.name] = np.where(places % 2 == 0, (one.labels + 1) % len(one.label_names), -1)
        follows = np.where(places % 4 == 0, pointed[one.name], one.labels)
        predicted["tied", one.name] = [follows] * 3
        predicted["independent", one.name] = [one.labels] * 3
    return LeaningInputs(candidate, "linear", pointed, predicted)
