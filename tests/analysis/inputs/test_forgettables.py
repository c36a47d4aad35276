"""How single rows were learnt: looked up by id."""

import numpy as np

from aflite_assets.analysis.inputs.forgettables import LearntRows


def _learnt(weak_model: str = "bow", seed: int = 0) -> LearntRows:
    ids, events, right = np.array([2, 5, 9]), np.array([0, 2, 0]), np.array([5, 3, 0])
    sets = {"forgettable": np.array([5, 9]), "never_learnt": ids[2:]}
    return LearntRows(weak_model, seed, ids, events, right, np.full(3, 5), sets)


def test_a_row_is_found_by_its_id_and_none_where_it_was_not_trained_on() -> None:
    assert _learnt().places(np.array([9, 1, 5, 2, 30])).tolist() == [2, -1, 1, 0, -1]
    nothing = np.empty(0, np.int64)
    assert LearntRows("bow", 0, nothing, nothing, nothing, nothing).places(np.array([3])).tolist() == [-1]
