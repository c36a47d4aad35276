"""The controls' draws and the published weights, by hand."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.stages.filtering.control_sets import _controls, _table, _weighted, single_pass_scores
from aflite_assets.stages.shared.published import ControlSet
from aflite_assets.stages.shared.row_weights import row_weights, weight_summary


def _rows(kept: list[bool], labels: np.ndarray) -> pa.Table:
    return pa.table({"row_id": np.arange(len(labels)), "split": ["train"] * len(labels), "label": labels, "kept": kept})


def _full(labels: np.ndarray) -> Examples:
    rows = _rows([True] * len(labels), labels).append_column("text", pa.array(["t"] * len(labels)))
    return Examples(rows, ("no", "yes"))


def _scores(linear: list[float], model: list[float] | None = None) -> dict[str, np.ndarray]:
    of_model = {} if model is None else {"single_pass_model": np.array(model)}
    return of_model | {"single_pass_linear": np.array(linear)}


def controls_of(
    rows: pa.Table, full: Examples, scores: dict[str, np.ndarray], *, splits: list[str]
) -> tuple[list[ControlSet], dict[str, Any]]:
    """With one run of the filter, for the seeds 3 and 4."""
    kept = rows.filter(rows["kept"])
    left = {split: kept.filter(pa.compute.equal(kept["split"], split))["row_id"].to_numpy() for split in splits}
    return _controls("a", rows, full, scores, {3: left, 4: left}, splits=splits, seed=0, groups=None)


def test_random_matched_has_the_filtered_sets_class_sizes() -> None:
    labels = np.arange(40) % 2
    kept = [bool(label) or row < 10 for row, label in enumerate(labels)]
    made, notes = controls_of(_rows(kept, labels), _full(labels), _scores([np.nan] * 40), splits=["train"])
    matched = [control for control in made if control.name == "random_matched"]
    assert [control.seed for control in matched] == [3, 4]
    for control in matched:
        assert np.bincount(labels[control.row_ids]).tolist() == [5, 20]
    assert notes == {
        "class_shares_moved": pytest.approx(0.3),
        "no_single_pass_model": "the representation has no warm-up model",
    }


def test_random_matched_is_made_where_shares_stay_too() -> None:
    labels = np.arange(40) % 2
    rows = _rows([row < 20 for row in range(40)], labels)
    made, _ = controls_of(rows, _full(labels), _scores([0.5] * 40), splits=["train"])
    assert {control.name for control in made} == {"random", "random_matched", "single_pass_linear"}


@pytest.mark.parametrize("name", ["single_pass_model", "single_pass_linear"])
def test_a_single_pass_keeps_the_rows_of_the_lowest_scores(name: str) -> None:
    labels = np.arange(10) % 2
    low, high = [0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4, 0.95, 0.99], [0.5] * 10
    scores = _scores(high, low) if name == "single_pass_model" else _scores(low, high)
    made, _ = controls_of(_rows([row < 4 for row in range(10)], labels), _full(labels), scores, splits=["train"])
    (single,) = [control for control in made if control.name == name]
    assert single.seed is None
    assert single.row_ids.tolist() == [1, 3, 5, 7]


def test_a_single_pass_leaves_test_rows_by_the_same_law() -> None:
    """Train rows of 0.9 go and half of those of 0.6: so do test rows."""
    labels = np.arange(80) % 2
    rows = pa.table(
        {
            "row_id": np.arange(80),
            "split": ["train"] * 40 + ["test"] * 40,
            "label": labels,
            "kept": [row >= 20 for row in range(40)] + [True] * 40,
        }
    )
    linear = ([0.9] * 10 + [0.6] * 20 + [0.1] * 10) * 2
    full = Examples(rows.append_column("text", pa.array(["t"] * 80)), ("no", "yes"))
    made, _ = controls_of(rows, full, _scores(linear), splits=["train", "test"])
    train, test = (
        next(one for one in made if (one.name, one.split) == ("single_pass_linear", split)).row_ids
        for split in ("train", "test")
    )
    assert (len(train), len(test)) == (20, 20)
    for kept in (train, test - 40):
        assert (kept >= 10).all()
        assert ((kept >= 10) & (kept < 30)).sum() == 10
        assert set(range(30, 40)) <= set(kept.tolist())


def test_scores_are_put_in_the_order_of_the_filtered_rows() -> None:
    rows = pa.table({"row_id": [5, 2, 9]})
    embedded = pa.table({"row_id": [2, 5, 9], "warmup_label_probability": pa.array([0.2, 0.5, None], pa.float32())})
    first = pa.table({"row_id": [9, 2], "predictability": pa.array([0.9, 0.3], pa.float32())})
    scores = single_pass_scores(rows, embedded, first)
    np.testing.assert_allclose(scores["single_pass_model"], [0.5, 0.2, np.nan])
    np.testing.assert_allclose(scores["single_pass_linear"], [np.nan, 0.3, 0.9])
    none = embedded.set_column(1, "warmup_label_probability", pa.nulls(3, pa.float32()))
    assert list(single_pass_scores(rows, none, first)) == ["single_pass_linear"]


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


def test_weighted_rows_are_all_train_rows_each_with_the_weight_that_is_published() -> None:
    labels = np.array([0, 1, 0, 1, 1])
    probabilities = pa.array([0.5, 0.2, 1.0, None, 0.9], pa.float32())
    rows = pa.table({"row_id": [4, 1, 7, 2, 9], "label": labels, "label_probability": probabilities})
    weighted = _weighted("a", rows, np.array([1, 2, 3, 4]))
    assert (weighted.name, weighted.representation, weighted.seed, weighted.split) == ("weighted", "a", None, "train")
    assert weighted.row_ids.tolist() == [1, 2, 3, 4]
    assert weighted.weights is not None
    assert weighted.weights.dtype == np.float32
    # Classes of scored rows are even. Row 2 has no probability, row 3 was a warm-up row.
    np.testing.assert_allclose(weighted.weights, [0.5 / 0.2, 1, 1, 1])


def test_a_control_without_rows_in_a_split_has_the_same_types() -> None:
    empty, full = (ControlSet("a", "single_pass_linear", None, "test", np.arange(rows)) for rows in (0, 2))
    assert pa.concat_tables([_table(empty, weighted=False), _table(full, weighted=False)]).num_rows == 2
