"""Gains on challenge sets against gains on natural rows of the same class and difficulty."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aflite_assets.analysis.comparisons.differences import paired_differences
from aflite_assets.analysis.comparisons.natural_contrast import BINS, stratum_weights
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet


@example(seed=44, share=0.7890625)  # a stratum with too few natural rows
@given(seed=st.integers(0, 99), share=st.floats(0.2, 0.8))
def test_weighted_natural_rows_are_as_hard_as_the_challenge_set(seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    labels, natural = (rng.random(400) < share).astype(np.int64), (rng.random(2_000) < 0.5).astype(np.int64)
    hard, easy = rng.uniform(-1, 0.2, 400), rng.uniform(-1, 1, 2_000)
    found = stratum_weights(labels, hard, natural, easy)
    assert found is not None
    here, there = found
    assert (here.mean(), there.mean()) == (pytest.approx(1), pytest.approx(1))
    for label in (0, 1):  # each class weighs the same on either side, and half where no stratum is left out
        weight = here[labels == label].sum() / here.sum()
        assert there[natural == label].sum() / there.sum() == pytest.approx(weight)
        assert weight == pytest.approx(0.5, abs=1e-6 if (here > 0).all() else 0.5 / BINS)
    # natural rows over the hardest challenge row's last bin weigh as these do, and means agree within a bin's width
    assert np.average(easy, weights=there) == pytest.approx(np.average(hard, weights=here), abs=1.2 * 2 / BINS + 0.1)


def test_natural_rows_that_are_not_as_hard_cannot_be_compared() -> None:
    labels = np.zeros(100, np.int64)
    assert stratum_weights(labels, np.full(100, -0.5), np.zeros(50, np.int64), np.linspace(0, 1, 50)) is not None
    # a quarter of the challenge rows is harder than any natural row, which is more than a fifth
    hard = np.concatenate([np.linspace(-1, -0.9, 30), np.linspace(0, 1, 70)])
    assert stratum_weights(labels, hard, np.zeros(500, np.int64), np.linspace(0, 1, 500)) is None
    assert stratum_weights(labels, hard, np.full(500, -1), np.linspace(-1, 1, 500)) is None


CLASSES = ("yes", "no")


def test_set(name: str, rows: int, *, challenge: bool) -> TestSet:
    """Labels 0, 1, 0, 1, ...; a row is the harder the higher its number within its tenth."""
    return TestSet(
        name,
        challenge,
        np.arange(rows),
        np.arange(rows) % 2,
        CLASSES,
        {} if challenge else {"roberta": np.ones(rows, bool)},
    )


test_set.__test__ = False  # type: ignore[attr-defined]  # the name starts with "test"
NATURAL, CHALLENGE = test_set("test", 1_000, challenge=False), test_set("collected", 200, challenge=True)


def trained(train_set: str, seed: int, gain: dict[str, float]) -> Cell:
    """Margins spread over [-0.5, 1]; rows with a margin under 0 are right with the probability of the set."""
    tables = []
    for one in (NATURAL, CHALLENGE):
        rows = len(one.row_ids)
        hard = (
            np.linspace(-0.5, -0.01, rows)
            if one.challenge
            else np.linspace(-0.5, 1, rows)[np.random.default_rng(1).permutation(rows)]
        )
        right = np.where(
            hard < 0, np.random.default_rng([seed, rows, len(train_set)]).random(rows) < gain[one.name], True
        )
        predicted = np.where(right, one.labels, 1 - one.labels)
        own = (1 + hard) / 2
        probabilities = np.where((one.labels == 0)[:, None], np.stack([own, 1 - own], 1), np.stack([1 - own, own], 1))
        tables.append(
            pa.table(
                {
                    "test_set": [one.name] * rows,
                    "row_id": one.row_ids,
                    "predicted": predicted,
                    "probabilities": pa.array(probabilities.tolist(), pa.list_(pa.float32())),
                }
            )
        )
    return Cell(
        "net", train_set, None if train_set == "full" else "roberta", seed, 400, "done", None, pa.concat_tables(tables)
    )


def compared(planted: BenchmarkData, filtered: dict[str, float]) -> tuple[str | None, str | None, float | None]:
    """Side, reason and contrast if filtered is right on hard rows so often, and random on none."""
    nothing = {"test": 0.0, "collected": 0.0}
    cells = [
        trained(name, seed, filtered if name == "filtered" else nothing)
        for name in ("full", "random", "filtered")
        for seed in range(3)
    ]
    data = replace(planted, test_sets=(NATURAL, CHALLENGE), cells=tuple(cells), label_names=CLASSES)
    one = next(one for one in paired_differences(data) if one.deciding)
    return one.side, one.why, one.beyond_natural


def test_a_worse_model_gains_on_hard_rows_and_that_is_no_gain(planted: BenchmarkData) -> None:
    side, why, beyond = compared(planted, {"test": 0.3, "collected": 0.3})
    assert (side, why) == ("open", "no more than on natural rows of the same class and difficulty")
    assert beyond == pytest.approx(0, abs=6)


def test_a_gain_beyond_natural_rows_as_hard_counts(planted: BenchmarkData) -> None:
    side, why, beyond = compared(planted, {"test": 0.1, "collected": 0.6})
    assert (side, why) == ("above", None)
    assert beyond == pytest.approx(50, abs=8)
