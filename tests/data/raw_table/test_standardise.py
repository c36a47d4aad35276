from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.standardise import Scale, source_values
from aflite_assets.data.raw_table.table import RawTable
from aflite_assets.errors import DataError

Build = Callable[..., RawTable]


def _examples(build: Build, train: list[list[float]], test: list[list[float]]) -> Examples:
    splits = {"train": {"x": train, "label": [0, 1] * (len(train) // 2)}, "test": {"x": test, "label": [0] * len(test)}}
    return build(splits, {"features": "x"}).examples


def test_train_columns_have_mean_0_and_deviation_1_and_test_rows_the_same_scale(build: Build) -> None:
    examples = _examples(build, [[0, 5], [2, 5], [4, 5], [6, 5]], [[3, 7]])
    scale = Scale.of(examples)
    assert scale.mean.tolist() == [3, 5]
    assert scale.deviation.tolist() == [np.sqrt(5), 1]
    assert scale.constant == (1,)
    done = scale.applied(examples)
    assert done.in_split("train").features.mean(axis=0) == pytest.approx([0, 0], abs=1e-7)
    assert done.in_split("train").features.std(axis=0) == pytest.approx([1, 0])
    assert done.in_split("test").features.tolist() == [[0, 2]]
    assert done.table.drop_columns(["features"]).equals(examples.table.drop_columns(["features"]))
    assert done.table.schema.field("features").type == examples.table.schema.field("features").type


def test_numbers_are_kept_and_found_again(build: Build, tmp_path: Path) -> None:
    assert Scale.load(tmp_path) is None
    scale = Scale.of(_examples(build, [[0.1, 5], [0.3, 5]], [[0, 0]]))
    scale.save(tmp_path)
    again = Scale.load(tmp_path)
    assert again is not None
    assert np.array_equal(again.mean, scale.mean)
    assert np.array_equal(again.deviation, scale.deviation)
    assert again.constant == (1,)


def test_columns_that_are_all_constant_are_refused(build: Build) -> None:
    with pytest.raises(
        DataError,
        match=r"standardise: all 2 feature columns are constant in the 2 train rows, so they contain no "
        r"information; correct `columns.features` or the source",
    ):
        Scale.of(_examples(build, [[1, 5], [1, 5]], [[3, 7]]))


def test_rounding_makes_no_column_vary(build: Build) -> None:
    scale = Scale.of(_examples(build, [[0.1, 1], [0.1, 2]] * 50, [[0, 0]]))
    assert (scale.constant, scale.deviation[0]) == ((0,), 1.0)


def test_numbers_beyond_float32_are_refused(build: Build) -> None:
    examples = _examples(build, [[0, 1e-30], [0, 2e-30]], [[0, 3e38]])
    with pytest.raises(
        DataError,
        match="standardise: a feature of the row with the id 2 exceeds the range of float32 after division by "
        "the train rows' standard deviation; correct the value in the source",
    ):
        Scale.of(examples).applied(examples)


def test_rows_of_another_kind_are_refused(build: Build) -> None:
    examples = build({"train": {"text": ["a", "b"], "label": [0, 1]}}).examples
    with pytest.raises(
        DataError,
        match="`standardise` is for feature vectors, but the rows are of the kind 'text'; remove `standardise`",
    ):
        Scale.of(examples)


def test_values_are_found_again_in_the_sources_units(build: Build) -> None:
    written: list[list[float]] = [[0.1, 1e6], [0.3, 1_500_000], [0.0895, 123_456], [7, 0]]
    examples = _examples(build, written, [[0.335, 8]])
    scale = Scale.of(examples)
    done = scale.applied(examples)
    assert source_values(done.in_split("train").features, scale).tolist() == written
    assert source_values(done.in_split("test").features[:, [0]], scale.of_column(0)).tolist() == [[0.335]]
    assert source_values(np.array([[0.1]], dtype=np.float32), None).tolist() == [[0.1]]
