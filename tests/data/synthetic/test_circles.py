from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.synthetic import circles as synthetic
from aflite_assets.data.synthetic.circles import circles, list_column
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import CirclesSource

SETTINGS: dict[str, Any] = {
    "format": "circles",
    "splits": {"train": 4000, "test": 2000},
    "inner_radius": 1.0,
    "outer_radius": 3.0,
    "radius_deviation": 0.1,
    "biased_share": 0.75,
    "bias_width": 3,
    "bias_mean": 1.0,
    "bias_deviation": 0.1,
    "noise_deviation": 0.1,
    "flipped_share": 0.1,
}


def _circles(**changes: Any) -> dict[str, pa.Table]:
    return circles(CirclesSource(**(SETTINGS | changes)))


def _matrix(table: pa.Table) -> np.ndarray:
    return np.array(table["features"].to_pylist(), np.float32)


def _flags(table: pa.Table, name: str) -> np.ndarray:
    return np.array(table[name].to_pylist()) == "yes"


def _circle(table: pa.Table) -> np.ndarray:
    return (np.linalg.norm(_matrix(table)[:, :2], axis=1) > 2).astype(int)


def test_biased_share_is_exact_in_each_class_of_each_split() -> None:
    for table in _circles().values():
        biased, circle = _flags(table, "biased"), _circle(table)
        assert [biased[circle == number].sum() for number in (0, 1)] == [0.375 * table.num_rows] * 2


def test_label_is_the_circle_except_on_flipped_rows_which_are_biased_train_rows() -> None:
    tables = _circles()
    flipped = _flags(tables["train"], "flipped")
    np.testing.assert_array_equal(tables["train"]["label"].to_numpy() != _circle(tables["train"]), flipped)
    assert not (flipped & ~_flags(tables["train"], "biased")).any()
    assert abs(flipped.sum() - 300) < 5 * np.sqrt(3000 * 0.1 * 0.9)
    assert not _flags(tables["test"], "flipped").any()
    np.testing.assert_array_equal(tables["test"]["label"].to_numpy(), _circle(tables["test"]))


def test_rows_of_the_named_splits_are_flipped() -> None:
    tables = _circles(flipped_splits=("train", "test"))
    for table in tables.values():
        flipped = _flags(table, "flipped")
        np.testing.assert_array_equal(table["label"].to_numpy() != _circle(table), flipped)
        assert not (flipped & ~_flags(table, "biased")).any()
    rows = _flags(tables["test"], "flipped").sum()
    assert abs(rows - 150) < 5 * np.sqrt(1500 * 0.1 * 0.9)
    assert not any(_flags(table, "flipped").any() for table in _circles(flipped_splits=()).values())


def test_bias_features_follow_the_given_label_and_others_are_noise() -> None:
    train = _circles()["train"]
    cues, biased = _matrix(train)[:, 2:], _flags(train, "biased")
    sign = np.where(train["label"].to_numpy() == 1, 1.0, -1.0)[:, None]
    residual = cues[biased] - sign[biased]
    assert cues.shape == (4000, 3)
    assert np.abs(residual).max() < 0.6  # six standard deviations
    assert np.abs(cues[~biased]).max() < 0.6
    assert abs(residual.std() - 0.1) < 0.005
    assert _flags(train, "flipped")[biased].any()


def test_radius_and_angle_are_those_asked_for() -> None:
    table = _circles()["test"]
    points, circle = _matrix(table)[:, :2], _circle(table)
    radius = np.linalg.norm(points, axis=1)
    for number, mean in ((0, 1.0), (1, 3.0)):
        assert abs(radius[circle == number].mean() - mean) < 0.02
        assert abs(radius[circle == number].std() - 0.1) < 0.02
    assert np.abs(points.mean(axis=0)).max() < 0.25


def test_same_seed_same_rows_and_another_seed_others() -> None:
    assert _circles()["train"].equals(_circles()["train"])
    assert not _circles()["train"].equals(_circles(seed=1)["train"])


def test_splits_do_not_depend_on_one_another() -> None:
    alone = _circles(splits={"test": 2000})["test"]
    assert alone.equals(_circles()["test"])
    assert alone.equals(_circles(splits={"test": 2000, "train": 50})["test"])
    same_size = _circles(splits={"dev": 100, "test": 100})
    assert not np.isin(_matrix(same_size["dev"])[:, 0], _matrix(same_size["test"])[:, 0]).any()


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (1.0, 100)])
def test_shares_at_their_ends(share: float, count: int) -> None:
    table = _circles(splits={"train": 100}, biased_share=share, flipped_share=0.0)["train"]
    assert _flags(table, "biased").sum() == count
    assert not _flags(table, "flipped").any()


def test_rows_stand_in_random_order() -> None:
    labels = _circles(flipped_share=0.0)["train"]["label"].to_numpy()
    assert abs((labels[1:] == labels[:-1]).mean() - 0.5) < 0.05


def test_list_column_holds_each_row_as_float32() -> None:
    column = list_column(np.array([[1, 2], [3, 4], [5, 6]]))
    assert column.type == pa.list_(pa.float32())
    assert column.to_pylist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    assert list_column(np.zeros((0, 3))).to_pylist() == []


def test_list_column_refuses_more_values_than_32_bits_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "_LIST_VALUES", 5)
    with pytest.raises(
        DataError,
        match="3 rows of 2 features are 6 numbers, but a split can contain at most 5; set `limit`, or use "
        "fewer features",
    ):
        list_column(np.zeros((3, 2)))
