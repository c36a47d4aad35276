import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.diagnostics.evidence.neighbours import (
    NEIGHBOURS,
    NeighbourDistances,
    mean_nearest,
    neighbour_distances,
    similarity_sums,
)
from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.tables.published import published_tables


def distances_of(features: Any, labels: list[int], in_train: Any, kept: Any, **settings: Any) -> NeighbourDistances:
    settings = {"label_names": ("no", "yes"), "seed": 0, **settings}
    return neighbour_distances(
        np.asarray(features, np.float32),
        np.array(labels, np.int64),
        in_train=np.asarray(in_train, bool),
        kept=np.asarray(kept, bool),
        **settings,
    )


def means(found: NeighbourDistances, when: str, k: int, label_name: str | None = None) -> tuple[Any, Any]:
    table = found.overall if label_name is None else found.by_class
    rows = [row for row in table.to_pylist() if (row["when"], row["k"]) == (when, k)]
    (row,) = [row for row in rows if label_name in (None, row.get("label_name"))]
    return row["within_class"], row["across_classes"]


def test_by_hand() -> None:
    # Train rows east (no, kept), north (no), west (yes), nothing at all (yes, kept); the query, a "no", points east.
    features = [[2, 0], [0, 3], [-1, 0], [0, 0], [5, 0]]
    found = distances_of(features, [0, 0, 1, 1, 0], [1, 1, 1, 1, 0], [1, 0, 0, 1, 0])
    assert means(found, "before", 1) == (0.0, 1.0)  # the row of zeros is nearer than the opposite direction
    assert means(found, "before", 5) == (0.5, 1.5)
    assert means(found, "after", 1) == means(found, "after", 50) == (0.0, 1.0)
    assert [(row["queries"], row["train_rows"]) for row in found.overall.to_pylist()] == [(1, 4)] * 4 + [(1, 2)] * 8
    assert found.by_class.column_names == ["label_name", *found.overall.column_names]
    assert set(found.by_class["label_name"].to_pylist()) == {"no"}
    assert (found.held_out, found.sampled) == (True, False)


def test_sums_of_similarities_before_of_all_queries_and_after_of_those_kept() -> None:
    # Train: "no" east (kept), north; "yes" north (kept). Queries, both "no": east (kept), north-east.
    features = [[1, 0], [0, 1], [0, 2], [3, 0], [1, 1]]
    in_train, kept, labels = [1, 1, 1, 0, 0], [1, 0, 1, 1, 0], [0, 0, 1, 0, 0]
    before = distances_of(features, labels, in_train, kept)
    after = distances_of(features, labels, in_train, kept, asked=np.array(kept, bool))
    rows = {(row["side"], row["when"]): row for row in similarity_sums(before, after).to_pylist()}
    assert {key: (row["queries"], row["train_rows"]) for key, row in rows.items()} == {
        ("within", "before"): (2, 2), ("vs others", "before"): (2, 1),
        ("within", "after"): (1, 1), ("vs others", "after"): (1, 1),
    }  # fmt: skip
    half = 2**-0.5
    expected = {
        ("within", "before"): ((1 + half) / 2, (1 + 2 * half) / 2),
        ("vs others", "before"): (half / 2, half / 2),
        ("within", "after"): (1.0, 1.0),
        ("vs others", "after"): (0.0, 0.0),
    }
    for key, (first, fifth) in expected.items():
        assert (rows[key]["top1"], rows[key]["top5"]) == (pytest.approx(first), pytest.approx(fifth)), key
        assert rows[key]["top50"] == rows[key]["top5"]


def test_a_class_of_which_nothing_was_kept_has_no_distance() -> None:
    found = distances_of([[1, 0], [1, 1], [1, 0]], [0, 1, 0], [1, 1, 0], [0, 1, 0])
    within, across = means(found, "after", 10)
    assert within is None
    assert across == pytest.approx(1 - 2**-0.5)
    gone = distances_of([[1, 0], [1, 1], [1, 0]], [0, 1, 0], [1, 1, 0], [0, 0, 0])
    assert means(gone, "after", 1) == means(gone, "random", 1) == (None, None)


def test_train_rows_are_measured_without_themselves() -> None:
    found = distances_of([[1, 0], [1, 0], [0, 1]], [0, 0, 1], [1, 1, 1], [1, 0, 1])
    assert not found.held_out
    assert means(found, "before", 1) == (0.0, 1.0)  # the only "yes" has no other of its class
    assert means(found, "before", 50, "yes") == (None, 1.0)
    assert means(found, "after", 1, "no") == (0.0, 1.0)  # of two queries, the kept one has only itself


def plain_means(features: np.ndarray, queries: np.ndarray, rows: np.ndarray, most: int) -> list[np.ndarray]:
    """By scikit-learn, of each query with any neighbour the distances to its nearest rows, without itself."""
    from sklearn.neighbors import NearestNeighbors

    model = NearestNeighbors(n_neighbors=min(most + 1, len(rows)), metric="cosine", algorithm="brute")
    near, places = model.fit(features[rows].astype(np.float64)).kneighbors(features[queries].astype(np.float64))
    found = [one[rows[place] != query] for query, one, place in zip(queries, near, places, strict=True)]
    return [one for one in found if len(one)]


@pytest.mark.parametrize("held_out", [True, False])
def test_agrees_with_scikit_learn(held_out: bool) -> None:
    rng = np.random.default_rng(1)
    features, labels = rng.normal(size=(400, 6)).astype(np.float32), rng.choice(3, 400, p=[0.6, 0.35, 0.05])
    features[[3, 390]] = 0
    in_train = np.arange(400) < 300 if held_out else np.ones(400, bool)
    kept = rng.random(400) < 0.4
    found = distances_of(features, labels.tolist(), in_train, kept, label_names=("a", "b", "c"), memory_limit=40_000)
    asked = ~in_train if held_out else in_train
    for when, inside in (("before", in_train), ("after", in_train & kept)):
        near: list[list[np.ndarray]] = [[], []]
        for label in range(3):
            queries = np.flatnonzero(asked & (labels == label))
            for side, same in enumerate((labels == label, labels != label)):
                near[side] += plain_means(features, queries, np.flatnonzero(inside & same), NEIGHBOURS[-1])
        for k in NEIGHBOURS:
            expected = [np.mean([one[:k].mean() for one in side]) for side in near]
            assert means(found, when, k) == pytest.approx(expected, abs=1e-6), (when, k)


def test_blocks_change_nothing_and_scale_does_not_count() -> None:
    rng = np.random.default_rng(2)
    features, labels = rng.normal(size=(120, 4)), rng.integers(0, 2, 120).tolist()
    in_train, kept = np.arange(120) < 80, rng.random(120) < 0.5
    whole = distances_of(features, labels, in_train, kept)
    scaled = distances_of(features * np.logspace(-20, 15, 120)[:, None], labels, in_train, kept, memory_limit=10_000)
    for column in ("within_class", "across_classes"):
        np.testing.assert_allclose(scaled.overall[column].to_numpy(), whole.overall[column].to_numpy(), atol=1e-6)


def test_the_random_rows_are_as_many_as_the_kept_ones_and_farther_than_all() -> None:
    rng = np.random.default_rng(3)
    features, labels = rng.normal(size=(600, 3)), rng.integers(0, 2, 600).tolist()
    kept = rng.permutation(600) < 60
    found = distances_of(features, labels, np.arange(600) < 500, kept)
    rows = {row["when"]: row["train_rows"] for row in found.overall.to_pylist()}
    assert rows["random"] == rows["after"] == kept[:500].sum()
    assert means(found, "random", 10)[0] > 1.5 * means(found, "before", 10)[0]
    assert means(found, "random", 10)[0] == pytest.approx(means(found, "after", 10)[0], rel=0.25)


def test_samples_are_drawn_by_seed_and_keep_the_proportion() -> None:
    rng = np.random.default_rng(5)
    features, labels = rng.normal(size=(500, 3)), rng.integers(0, 2, 500).tolist()
    in_train, kept = np.arange(500) < 300, np.arange(500) % 3 == 0
    first, again, other = (
        distances_of(features, labels, in_train, kept, seed=seed, most_rows=100) for seed in (0, 0, 1)
    )
    assert (first.queries, first.all_queries, first.train_rows, first.all_train_rows) == (100, 200, 100, 300)
    assert first.sampled
    assert 20 < first.overall["train_rows"].to_pylist()[-1] < 47
    assert first.overall.equals(again.overall)
    assert not first.overall.equals(other.overall)
    assert distances_of(features, labels, in_train, kept, memory_limit=24 * 50).train_rows == 50


def test_means_of_fewer_values_than_asked_for() -> None:
    found = mean_nearest(np.array([[3, 1, np.inf], [np.inf, np.inf, np.inf]], np.float32))
    np.testing.assert_array_equal(found, [[1, 2, 2, 2], [np.nan] * 4])
    sixty = mean_nearest(np.arange(60, dtype=np.float32)[None, ::-1])
    np.testing.assert_array_equal(sixty, [[0, 2, 4.5, 24.5]])


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"have lengths \[2, 3, 2, 2\]; give each of them one entry"):
        distances_of([[1], [1]], [0, 1, 0], [1, 1], [1, 1])
    with pytest.raises(InvalidInputError, match="`in_train` is False for all 2 rows"):
        distances_of([[1], [1]], [0, 1], [0, 0], [1, 1])
    with pytest.raises(InvalidInputError, match="a feature of row 1 is NaN or infinite"):
        distances_of([[1], [np.nan]], [0, 1], [1, 1], [1, 1])


@pytest.mark.skipif("AFLITE_EXAMPLE_DATA" not in os.environ, reason="AFLITE_EXAMPLE_DATA names no example data")
def test_no_sum_on_real_rows_is_as_small_as_the_papers_or_grows_as_its_do() -> None:
    """ICLR 2020, Table 3: "before", sums of what it calls distances; a MiniLM stands in for its BERT."""
    folder = Path(os.environ["AFLITE_EXAMPLE_DATA"]) / "features"
    features, labels = (np.load(folder / f"snli_minilm_{name}.npy") for name in ("features", "labels"))
    in_train = np.ones(len(labels), bool)
    in_train[np.random.default_rng(0).choice(len(labels), 2_000, replace=False)] = False
    kept = np.ones(len(labels), bool)
    names = ("entailment", "neutral", "contradiction")
    found = neighbour_distances(
        features, labels.astype(np.int64), in_train=in_train, kept=kept, label_names=names, seed=0,
        most_rows=20_000, memory_limit=2**28,
    )  # fmt: skip
    sums = [row for row in similarity_sums(found, found).to_pylist() if row["when"] == "before"]
    (table,) = (one for one in published_tables("snli") if one.kind == "neighbours")
    printed = {name: [cell.value or 0.0 for cell in cells] for name, cells in table.rows.items()}
    assert (len(sums), len(printed)) == (6, 6)
    for row in sums:
        name = row["label_name"] + ("" if row["side"] == "within" else " against others")
        assert 0.97 < row["top1"] < 1.0 < 48 < row["top50"] < 50
        assert row["top1"] > printed[name][0] + 0.4
        # the paper's grow 32 to 48 times, sums of the 50 nearest distances 50 times or more
        assert 32 < printed[name][3] / printed[name][0] < 48
        assert row["top50"] / row["top1"] > 48
        assert (50 - row["top50"]) / (1 - row["top1"]) > 50


def test_keeping_what_lies_apart_shows_against_random_rows() -> None:
    rng = np.random.default_rng(4)
    crowd = np.tile([1.0, 0, 0], (200, 1)) + 0.01 * rng.normal(size=(200, 3))
    features = np.concatenate([crowd, rng.normal(size=(40, 3)), crowd[:60]])
    kept = np.r_[np.zeros(200), np.ones(40), np.zeros(60)]
    found = distances_of(features, [0, 1] * 150, np.arange(300) < 240, kept)
    assert means(found, "after", 1)[0] > 20 * means(found, "random", 1)[0]
