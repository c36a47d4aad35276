"""The controls' draws and the published weights, by hand."""

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.sources.examples import Examples
from aflite_assets.sources.registry import parse_spec
from aflite_assets.stages.control_sets import _controls
from aflite_assets.stages.published_dataset import row_weights

SPEC = parse_spec(
    {
        "name": "x",
        "source": {"format": "digits"},
        "representations": {"a": {"kind": "identity"}},
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [3, 4],
    }
).view(["seed", "seeds"])


def _rows(kept: list[bool], labels: np.ndarray) -> pa.Table:
    return pa.table({"row_id": np.arange(len(labels)), "split": ["train"] * len(labels), "label": labels, "kept": kept})


def _full(labels: np.ndarray) -> Examples:
    rows = _rows([True] * len(labels), labels).append_column("text", pa.array(["t"] * len(labels)))
    return Examples(rows, ("no", "yes"))


def _embedded(probabilities: list[float | None]) -> pa.Table:
    rows = len(probabilities)
    own = pa.array(probabilities, pa.float32())
    return pa.table({"row_id": np.arange(rows), "split": ["train"] * rows, "warmup_label_probability": own})


def test_random_matched_has_the_filtered_sets_class_sizes_when_shares_moved() -> None:
    labels = np.arange(40) % 2
    kept = [bool(label) or row < 10 for row, label in enumerate(labels)]
    made, notes = _controls("a", _rows(kept, labels), _full(labels), _embedded([None] * 40), SPEC)
    matched = [control for control in made if control.name == "random_matched"]
    assert [control.seed for control in matched] == [3, 4]
    for control in matched:
        assert np.bincount(labels[control.row_ids]).tolist() == [5, 20]
    assert notes == {
        "class_shares_moved": pytest.approx(0.3),
        "no_single_pass": "the representation has no warm-up model",
    }


def test_random_matched_is_left_out_when_shares_stay() -> None:
    labels = np.arange(40) % 2
    made, _ = _controls(
        "a", _rows([row < 20 for row in range(40)], labels), _full(labels), _embedded([None] * 40), SPEC
    )
    assert {control.name for control in made} == {"random"}


def test_single_pass_keeps_the_rows_of_lowest_label_probability() -> None:
    labels = np.arange(10) % 2
    probabilities: list[float | None] = [0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4, 0.95, 0.99]
    made, _ = _controls(
        "a", _rows([row < 4 for row in range(10)], labels), _full(labels), _embedded(probabilities), SPEC
    )
    (single,) = [control for control in made if control.name == "single_pass"]
    assert single.seed is None
    assert single.row_ids.tolist() == [1, 3, 5, 7]


def test_weights_are_inverse_probabilities_within_bounds() -> None:
    weights = row_weights(pa.chunked_array([pa.array([0.5, 0.1, 1.0, 0.0, None], pa.float32())]))
    assert weights.to_pylist() == [2.0, 4.0, 1.0, 4.0, None]
