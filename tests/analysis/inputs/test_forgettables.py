"""How single rows were learnt: looked up by id."""

import numpy as np
import pytest

from aflite_assets.analysis.inputs.forgettables import LearntRows
from aflite_assets.errors import InvalidInputError


def _learnt(weak_model: str = "bow", seed: int = 0) -> LearntRows:
    ids, events, right = np.array([2, 5, 9]), np.array([0, 2, 0]), np.array([5, 3, 0])
    sets = {"forgettable": np.array([5, 9]), "never_learnt": ids[2:]}
    return LearntRows(weak_model, seed, ids, events, right, np.full(3, 5), sets)


def test_a_row_is_found_by_its_id_and_none_where_it_was_not_trained_on() -> None:
    assert _learnt().places(np.array([9, 1, 5, 2, 30])).tolist() == [2, -1, 1, 0, -1]
    nothing = np.empty(0, np.int64)
    assert LearntRows("bow", 0, nothing, nothing, nothing, nothing).places(np.array([3])).tolist() == [-1]


def test_rows_that_do_not_ascend_or_lack_a_count_are_refused() -> None:
    ids = np.array([2, 2])
    with pytest.raises(InvalidInputError, match=r"rows of weak model 'bow', seed 3: row ids must ascend, each once"):
        LearntRows("bow", 3, ids, ids, ids, ids)
    with pytest.raises(InvalidInputError, match=r"seed 3: 2 row ids, and counts of \[1, 2\] rows"):
        LearntRows("bow", 3, np.array([2, 4]), ids, ids[:1], ids)
