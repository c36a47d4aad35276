"""How single rows were learnt: looked up by id, with the sets that they are in."""

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.forgettables import Forgettables, LearntRow, LearntRows
from aflite_assets.errors import InvalidInputError


def _learnt(weak_model: str = "bow", seed: int = 0) -> LearntRows:
    ids, events, right = np.array([2, 5, 9]), np.array([0, 2, 0]), np.array([5, 3, 0])
    sets = {"forgettable": np.array([5, 9]), "never_learnt": ids[2:]}
    return LearntRows(weak_model, seed, ids, events, right, np.full(3, 5), sets)


def test_a_row_is_found_by_its_id_and_none_where_it_was_not_trained_on() -> None:
    assert _learnt().of(np.array([9, 1, 5, 2, 30])) == [
        LearntRow(0, 0, 5, ("forgettable", "never_learnt")),
        None,
        LearntRow(2, 3, 5, ("forgettable",)),
        LearntRow(0, 5, 5, ()),
        None,
    ]
    nothing = np.empty(0, np.int64)
    assert LearntRows("bow", 0, nothing, nothing, nothing, nothing).of(np.array([3])) == [None]


def test_rows_that_do_not_ascend_or_lack_a_count_are_refused() -> None:
    ids = np.array([2, 2])
    with pytest.raises(InvalidInputError, match=r"rows of weak model 'bow', seed 3: row ids must ascend, each once"):
        LearntRows("bow", 3, ids, ids, ids, ids)
    with pytest.raises(InvalidInputError, match=r"seed 3: 2 row ids, and counts of \[1, 2\] rows"):
        LearntRows("bow", 3, np.array([2, 4]), ids, ids[:1], ids)


def test_trainings_have_their_seed_in_the_name_where_a_model_has_several() -> None:
    learnt = (_learnt(), _learnt(seed=1), _learnt("lstm"))
    forgettables = Forgettables({}, {}, (), pa.table({}), {}, (), learnt=learnt)
    assert forgettables.training_names == ("bow, seed 0", "bow, seed 1", "lstm")
