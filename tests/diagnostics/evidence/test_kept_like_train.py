import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.diagnostics.evidence.kept_like_train import kept_shares, unlike_train


def rows_with(train: np.ndarray, test: np.ndarray, *, group_size: int | None = None, seed: int = 0) -> pa.Table:
    """Rows of two classes in turn, each kept with the chance given for its class; groups share their fate."""
    rng = np.random.default_rng(seed)
    columns: dict[str, list[object]] = {"split": [], "label": [], "kept": []}
    for split, chances, rows in (("train", train, 4000), ("test", test, 2000)):
        labels = np.arange(rows) % 2
        drawn = rng.random(rows)
        if group_size is not None:
            drawn = drawn[np.arange(rows) // group_size]
        columns["split"] += [split] * rows
        columns["label"] += labels.tolist()
        columns["kept"] += (drawn < chances[labels]).tolist()
    table = pa.table(columns)
    if group_size is not None:
        table = table.append_column("group", pa.array(np.arange(6000) // group_size))
    return table


def test_shares_and_what_chance_allows_by_hand() -> None:
    table = pa.table(
        {
            "split": ["train"] * 400 + ["test"] * 100,
            "label": [0] * 500,
            "kept": [True] * 200 + [False] * 200 + [True] * 20 + [False] * 80,
        }
    )
    whole, only_class = kept_shares(table, splits=("test",))
    assert (whole.split, whole.label, whole.rows, whole.share, whole.train_share) == ("test", None, 100, 0.2, 0.5)
    assert whole.difference == pytest.approx(-30.0)
    # 0.44 of all rows were kept: 100 * 3.2052 * sqrt(0.44 * 0.56 * (1/400 + 1/100)).
    assert whole.by_chance == pytest.approx(3.2052 * 100 * (0.44 * 0.56 * 0.0125) ** 0.5, abs=0.01)
    assert (whole.alike, only_class.label) == (False, 0)


def test_rows_of_one_law_are_alike_and_others_are_not() -> None:
    half = np.array([0.5, 0.5])
    alarms = sum(
        not all(share.alike for share in kept_shares(rows_with(half, half, seed=seed), splits=("test",)))
        for seed in range(200)
    )
    assert alarms <= 3  # 0.54 expected
    (sentence,) = unlike_train(kept_shares(rows_with(half, np.array([0.4, 0.4])), splits=("test",)))
    assert sentence.startswith(("The filter kept 3", "The filter kept 4"))
    assert " % of the test rows, but " in sentence
    assert "by chance the shares would differ by at most 4." in sentence


def test_a_class_that_leaves_faster_is_named_where_the_whole_is_alike() -> None:
    shares = kept_shares(rows_with(np.array([0.5, 0.5]), np.array([0.7, 0.3])), splits=("test",))
    assert shares[0].alike
    (sentence,) = unlike_train(shares)
    assert "rows of class " in sentence
    assert "pool the split (`filter.evaluation_rows`)" in sentence


def test_groups_that_share_a_fate_vary_more() -> None:
    half = np.array([0.5, 0.5])
    single, grouped = (
        kept_shares(rows_with(half, half, group_size=size), splits=("test",))[0].by_chance for size in (1, 10)
    )
    assert grouped == pytest.approx(single * 10**0.5, rel=0.05)


def test_without_another_split_there_is_nothing_to_compare() -> None:
    assert kept_shares(rows_with(np.array([0.5, 0.5]), np.array([0.5, 0.5])), splits=()) == ()
    assert unlike_train(()) == ()
