"""The controls' draws and the published weights, by hand."""

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.sources.examples import Examples
from aflite_assets.sources.registry import parse_spec
from aflite_assets.stages.control_sets import _controls
from aflite_assets.stages.published_dataset import row_weights, weight_summary

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


def weights_of(probabilities: list[float | None], labels: list[int]) -> list[float | None]:
    column = pa.chunked_array([pa.array(probabilities, pa.float32())])
    found: list[float | None] = row_weights(column, np.array(labels)).to_pylist()
    return found


def test_a_weight_is_the_class_share_over_the_probability_within_bounds() -> None:
    # Shares of the rows that have a probability: 3/4 and 1/4.
    weights = weights_of([1.0, 0.5, 0.0, 0.125, None, None], [0, 0, 0, 1, 1, 1])
    assert weights == [0.75, 1.5, 4.0, 2.0, None, None]
    # A class of one row in ten that the features give away weighs a tenth, which is under the lower bound.
    assert weights_of([1.0] * 10, [0] + [1] * 9) == [0.25] + [pytest.approx(0.9)] * 9


def test_right_probabilities_give_a_mean_of_one_and_labels_that_do_not_depend_on_the_features() -> None:
    # 1,000 rows of which 600 have a cue; with it 80 % are of class 1, without it 40 %.
    cue = np.repeat([True, False], [600, 400])
    labels = np.concatenate([np.repeat([1, 0], [480, 120]), np.repeat([1, 0], [160, 240])])
    probability = np.where(cue, np.where(labels == 1, 0.8, 0.2), np.where(labels == 1, 0.4, 0.6))
    weights = np.array(weights_of(probability.tolist(), labels.tolist()))
    assert weights.mean() == pytest.approx(1)
    assert [weights[labels == label].sum() / 1000 for label in (0, 1)] == pytest.approx([0.36, 0.64])
    for side in (cue, ~cue):
        assert weights[side & (labels == 1)].sum() / weights[side].sum() == pytest.approx(0.64)


def test_weights_are_summed_up_by_their_mean_and_their_bounds() -> None:
    assert weight_summary(pa.array([0.25, 0.25, 1.0, 4.0, None], pa.float32())) == {
        "mean": 1.375,
        "share_at_least": 0.5,
        "share_at_most": 0.25,
    }
    assert weights_of([None, None], [0, 1]) == [None, None]
    assert set(weight_summary(pa.array([None], pa.float32())).values()) == {None}
