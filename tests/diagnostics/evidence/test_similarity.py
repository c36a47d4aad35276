"""Similarities of planted features: means without pairs, samples, classes that can be compared."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.diagnostics.evidence.similarity import (
    SCHEMA,
    class_similarities,
    cosine_similarities,
    mean_similarity,
)
from aflite_assets.errors import InvalidInputError


def found(features: Any, labels: Any, kept: Any, **settings: Any) -> pa.Table:
    rows = len(labels)
    settings = {"in_train": np.ones(rows, bool), "seed": 0, **settings}
    return class_similarities(
        np.asarray(features, np.float32),
        np.asarray(labels),
        np.arange(100, 100 + rows),
        kept=np.asarray(kept),
        **settings,
    )


def planted(rows: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three classes; removed rows of each lie close together, kept ones anywhere."""
    rng = np.random.default_rng(0)
    labels, kept = rng.choice(3, rows, p=[0.5, 0.4, 0.1]), rng.random(rows) < 0.4
    features = rng.normal(size=(rows, 6)) + np.where(kept, 0, 4)[:, None] * np.eye(6)[labels]
    features[[0, 7]] = 0
    return features.astype(np.float32), labels, kept


def test_equals_scikit_learn() -> None:
    from sklearn.metrics.pairwise import cosine_similarity

    features, labels, kept = planted()
    expected = cosine_similarity(features.astype(np.float64))
    np.testing.assert_allclose(cosine_similarities(features, np.arange(300)), expected, atol=1e-12)
    table = found(features, labels, kept, shown_rows=5)
    assert table.schema == SCHEMA
    for row in table.to_pylist():
        places = np.array(row["row_ids"]) - 100
        expected = cosine_similarity(features[places].astype(np.float64))
        np.testing.assert_allclose(np.array(row["similarities"]), expected, atol=1e-6)
        assert (labels[places] == row["label"]).all()
        if row["side"] != "random":
            side = (labels == row["label"]) & (kept == (row["side"] == "kept"))
            assert kept[places].tolist() == [row["side"] == "kept"] * 5
            whole = cosine_similarity(features[side].astype(np.float64))
            assert row["rows"] == row["used_rows"] == side.sum()
            assert row["mean_similarity"] == pytest.approx(whole[~np.eye(len(whole), dtype=bool)].mean(), abs=1e-12)


def test_blocks_do_not_change_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    from aflite_assets.diagnostics.evidence import similarity

    features, _, _ = planted()
    whole = mean_similarity(features, np.arange(300))
    monkeypatch.setattr(similarity, "ROWS_AT_ONCE", 7)
    assert mean_similarity(features, np.arange(300)) == pytest.approx(whole, abs=1e-12)


def test_classes_come_by_their_smaller_side_and_random_is_as_large_as_kept() -> None:
    # class 0: 6 kept, 2 removed; class 1: 3 and 3; class 2: 5 and none; class 3: 4 and 2
    labels = np.repeat([0, 1, 2, 3], [8, 6, 5, 6])
    kept = np.r_[np.ones(6), np.zeros(2), np.ones(3), np.zeros(3), np.ones(5), np.ones(4), np.zeros(2)].astype(bool)
    table = found(np.random.default_rng(0).normal(size=(25, 3)), labels, kept)
    assert table["label"].to_pylist() == [1] * 3 + [0] * 3 + [3] * 3
    assert table["side"].to_pylist() == ["kept", "removed", "random"] * 3
    assert table["rows"].to_pylist() == [3, 3, 3, 6, 2, 6, 4, 2, 4]
    assert found(np.ones((25, 3)), labels, kept, most_classes=1)["label"].to_pylist() == [1] * 3


def test_what_was_planted_shows_and_random_lies_between() -> None:
    features, labels, kept = planted(3_000)
    for label in range(3):
        means = {row["side"]: row["mean_similarity"] for row in found(features, labels, kept).to_pylist()
                 if row["label"] == label}  # fmt: skip
        assert abs(means["kept"]) < 0.05
        assert means["removed"] > 0.6
        assert means["kept"] + 0.1 < means["random"] < means["removed"] - 0.1


def test_rows_of_zeros_are_like_nothing() -> None:
    two = cosine_similarities(np.array([[0, 0], [3, 4]], np.float32), np.arange(2))
    assert two.tolist() == [[0, 0], [0, pytest.approx(1)]]
    assert mean_similarity(np.array([[0, 0], [3, 4], [6, 8]], np.float32), np.arange(3)) == pytest.approx(1 / 3)


def test_samples_depend_on_the_seed_and_leave_other_splits_out() -> None:
    features, labels, kept = planted()
    in_train = np.arange(300) % 3 > 0
    first, again, other = (
        found(features, labels, kept, in_train=in_train, seed=seed, most_rows=20) for seed in (0, 0, 1)
    )
    assert first.equals(again)
    assert not first.equals(other)
    assert max(first["used_rows"].to_pylist()) == 20
    shown = np.concatenate([np.array(ids) for ids in first["row_ids"].to_pylist()]) - 100
    assert in_train[shown].all()


def test_nothing_removed_is_a_table_without_rows() -> None:
    table = found(np.ones((4, 2)), [0, 0, 1, 1], np.ones(4, bool))
    assert (table.num_rows, table.schema) == (0, SCHEMA)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"have lengths \[2, 3, 3, 3, 3\]; give each of them one entry"):
        found(np.ones((2, 2)), [0, 0, 1], np.ones(3, bool))
    features = np.ones((4, 2))
    features[1] = np.nan
    with pytest.raises(InvalidInputError, match="a feature of row 1 is NaN or infinite"):
        found(features, [0] * 4, np.array([True, True, False, False]))
