"""Nearest kept rows of another class, by hand and against all cosines at once."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.diagnostics.evidence.nearest_kept import NEAREST, nearest_kept
from aflite_assets.errors import InvalidInputError


def found(features: Any, labels: list[int], kept: list[int], **options: Any) -> pa.Table:
    sides = np.array(kept, bool)
    return nearest_kept(
        np.asarray(features, np.float32),
        np.array(labels, np.int64),
        100 + np.arange(len(labels)),
        **{"kept": sides, "removed": ~sides, "seed": 0, **options},
    )


def test_by_hand() -> None:
    # Removed: east and nothing at all. Kept: east of the same class, north-east and west of the other.
    table = found([[2, 0], [0, 0], [3, 0], [1, 1], [-1, 0]], [0, 0, 0, 1, 1], [0, 0, 1, 1, 1])
    assert table.schema == NEAREST
    assert table["row_id"].to_pylist() == [100, 101]
    assert table["nearest_kept"].to_pylist() == [103, 103]
    assert table["similarity"].to_pylist() == pytest.approx([2**-0.5, 0.0])


def test_without_a_kept_row_of_another_class_there_is_none() -> None:
    table = found([[1, 0], [1, 1], [0, 1]], [0, 0, 1], [0, 1, 0])
    assert table["row_id"].to_pylist() == [100, 102]
    assert table["nearest_kept"].to_pylist() == [None, 101]
    assert table["similarity"].to_pylist() == [None, pytest.approx(2**-0.5)]
    assert found([[1, 0]], [0], [1]).num_rows == 0


@pytest.mark.parametrize("memory_limit", [1, 4_000, 2**20])
def test_blocks_do_not_change_what_is_nearest(memory_limit: int) -> None:
    rng = np.random.default_rng(3)
    features, labels, kept = rng.normal(size=(200, 7)), rng.integers(0, 3, 200), rng.random(200) < 0.5
    table = found(features, labels.tolist(), kept.astype(int).tolist(), memory_limit=memory_limit)
    units = features / np.linalg.norm(features, axis=1, keepdims=True)
    cosines = np.where(kept & (labels[:, None] != labels), units @ units.T, -np.inf)[~kept]
    np.testing.assert_array_equal(table["nearest_kept"].to_numpy() - 100, cosines.argmax(axis=1))
    np.testing.assert_allclose(table["similarity"].to_numpy(), cosines.max(axis=1), atol=1e-6)


def test_of_many_rows_a_sample_is_asked_about() -> None:
    rng = np.random.default_rng(3)
    features, labels, kept = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), rng.random(60) < 0.5
    whole = found(features, labels.tolist(), kept.astype(int).tolist(), most_rows=60, sample=10)
    assert whole.num_rows == (~kept).sum()
    one, same, other = (
        found(features, labels.tolist(), kept.astype(int).tolist(), most_rows=59, sample=10, seed=seed)
        for seed in (0, 0, 1)
    )
    assert one.num_rows == 10
    assert one.equals(same)
    assert one["row_id"] != other["row_id"]
    by_id = dict(zip(whole["row_id"].to_pylist(), whole["nearest_kept"].to_pylist(), strict=True))
    assert [by_id[row_id] for row_id in one["row_id"].to_pylist()] == one["nearest_kept"].to_pylist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"removed": np.ones(2, bool)}, "row 101 is both in `kept` and in `removed`"),
        ({"removed": np.ones(3, bool)}, r"have lengths \[2, 2, 2, 2, 3\]"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        found([[1, 0], [0, 1]], [0, 1], [0, 1], **options)
