from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import (
    FilterResult,
    FilterSettings,
    FilterState,
    InvalidInputError,
    IterationRecord,
    filter_dataset,
)
from tests.algorithm.test_filter_properties import assert_identical

SETTINGS = {"target_size": 50, "train_size": 30, "slice_size": 20, "n_partitions": 4}


def run(problem: Any, changes: dict[str, Any], **given: Any) -> FilterResult:
    settings = FilterSettings(**(SETTINGS | changes))
    return filter_dataset(problem.features, problem.labels, settings=settings, **({"seed": 6} | given))


class StoppedError(Exception):
    """Stands for whatever ends a run from outside."""


def test_an_interrupted_run_goes_on_from_its_last_state(blobs: Any) -> None:
    states: list[FilterState] = []

    def stop_at_the_second(record: IterationRecord, state: FilterState) -> None:
        states.append(state)
        if record.iteration == 1:
            raise StoppedError

    with pytest.raises(StoppedError):
        run(blobs, {}, on_iteration=stop_at_the_second)
    assert_identical(run(blobs, {}, resume=states[-1]), run(blobs, {}))


def first_state(problem: Any) -> FilterState:
    states: list[FilterState] = []
    run(problem, {}, on_iteration=lambda record, state: states.append(state))
    return states[0]


@pytest.mark.parametrize(
    ("changes", "given"),
    [
        ({"slice_size": 19}, {}),
        ({"threshold": 0.7}, {}),
        ({}, {"seed": 7}),
        ({}, {"keep_probabilities": True}),
        ({}, {"groups": np.arange(120)}),
        ({}, {"score_only": np.arange(120) == 0}),
    ],
)
def test_a_state_of_another_run_is_refused(blobs: Any, changes: dict[str, Any], given: dict[str, Any]) -> None:
    with pytest.raises(
        InvalidInputError, match=r"`resume` is the state of a run with other inputs, settings or seed \(hash"
    ):
        run(blobs, changes, resume=first_state(blobs), **given)


def test_a_state_of_other_features_is_refused(blobs: Any) -> None:
    state = first_state(blobs)
    blobs.features[119, 4] += 1e-12
    with pytest.raises(InvalidInputError, match="`resume` is the state of a run with other inputs"):
        run(blobs, {}, resume=state)


def test_device_and_memory_may_change_on_resuming(blobs: Any) -> None:
    resumed = run(blobs, {}, resume=first_state(blobs), device="cpu", memory_limit=2**20)
    assert_identical(resumed, run(blobs, {}))


def test_arrays_are_numbers_and_know_the_pool(blobs: Any) -> None:
    state = first_state(blobs)
    assert {array.dtype.kind for array in state.to_arrays().values()} <= set("iufb")
    assert sorted([*state.pool.tolist(), *state.removed_rows.tolist()]) == list(range(120))
    assert len(state.removed_rows) == 20


@pytest.mark.parametrize("name", ["predictability", "stop_code", "inputs_hash", "iterations.cutoff"])
def test_a_missing_array_is_named(blobs: Any, name: str) -> None:
    arrays = first_state(blobs).to_arrays()
    del arrays[name]
    with pytest.raises(
        InvalidInputError, match=rf"the saved filter state has no array '{name}' \(its arrays: finished"
    ):
        FilterState.from_arrays(arrays)


def test_an_unknown_stop_code_is_refused(blobs: Any) -> None:
    arrays = first_state(blobs).to_arrays() | {"stop_code": np.array(9)}
    with pytest.raises(InvalidInputError, match="`stop_code` 9, but the valid codes are 0 to 4"):
        FilterState.from_arrays(arrays)
