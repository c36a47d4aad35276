"""Rows that are identically distributed leave at the same rate, whether the filter trains on them or only scores them.

The classifiers are replaced by draws with a known chance of being right for each row, so that hundreds of runs are
cheap and every difference between the two kinds of rows is the selection's.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, filter_dataset
from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.linear.engine import EngineTally
from aflite_assets.algorithm.tally import Tally

UNITS, TEST_UNITS, SEEDS = 1200, 600, 120
GROUP, SLICES_PER_SHARE = 3, 2
SHARES = (0.75, 0.5, 0.25)


@dataclass
class ChanceEngine:
    """Predicts row i of the pool rightly with probability `features[i, 0]`, drawn anew for every partition."""

    inputs: Inputs
    stream: np.random.Generator

    def __enter__(self) -> "ChanceEngine":
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def tally(
        self, subsets: Sequence[np.ndarray], *, pool: np.ndarray, unpredicted: Sequence[np.ndarray], **given: Any
    ) -> EngineTally:
        rows = len(self.inputs.labels)
        held_out = np.zeros(rows, dtype=np.int64)
        held_out[pool] = len(subsets)
        for left_out in (*subsets, *unpredicted):
            held_out[left_out] -= 1
        correct = self.stream.binomial(held_out, self.inputs.features[:, 0])
        tally = Tally(correct, held_out, held_out, None, None)
        return EngineTally(tally, start=np.zeros((1, 1, 1)), evaluations=np.zeros((1, len(subsets)), dtype=np.int64))


def kept_shares(seed: int, *, selection: str, remove: str, ties: bool, policy: str) -> list[tuple[float, float]]:
    """Shares of train and of test rows kept when train rows are down to each of `SHARES`."""
    rng = np.random.default_rng(seed)
    size = GROUP if remove == "groups" else 1
    rows, train = size * (UNITS + TEST_UNITS), size * UNITS
    units = np.arange(rows) // size
    right = rng.choice([1.0, 0.9], size=rows) if ties else rng.uniform(0.2, 1.0, size=rows)
    test = rng.permutation(UNITS + TEST_UNITS)[units] >= UNITS
    slice_size = train // (4 * SLICES_PER_SHARE)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "aflite_assets.algorithm.linear.engine.LinearEngine",
            lambda inputs, *given, **more: ChanceEngine(inputs, np.random.default_rng([seed, 1])),
        )
        result = filter_dataset(
            right[:, None],
            np.arange(rows) % 2,
            settings=FilterSettings(
                target_size=int(SHARES[-1] * train),
                train_size=train // 10,
                slice_size=slice_size if policy == "scored" else slice_size * rows // train,
                n_partitions=8,
                threshold=0.0,
                selection=selection,  # type: ignore[arg-type]
                remove=remove,  # type: ignore[arg-type]
            ),
            seed=seed,
            groups=units if remove == "groups" else None,
            score_only=test if policy == "scored" else None,
            counted=~test if policy == "pooled" else None,
            on_iteration=lambda record, state: None,
        )
    removed_in = np.full(rows, len(result.iterations))
    removed_in[result.removed_rows] = result.removed_in_iteration
    shares = []
    for share in SHARES:
        first = next(record for record in result.iterations if record.counted_rows_in <= share * train + slice_size / 2)
        left = removed_in >= first.iteration
        shares.append((float(left[~test].mean()), float(left[test].mean())))
    return shares


# In one pool train and test rows are drawn from alike: ties are what could tell them apart.
@pytest.mark.parametrize(("policy", "ties"), [("scored", True), ("scored", False), ("pooled", True)])
@pytest.mark.parametrize("remove", ["rows", "groups"])
@pytest.mark.parametrize("selection", ["greedy", "gumbel"])
def test_rows_alike_keep_equal_shares(selection: str, remove: str, ties: bool, policy: str) -> None:
    shares = np.array(
        [kept_shares(seed, selection=selection, remove=remove, ties=ties, policy=policy) for seed in range(SEEDS)]
    )
    assert np.abs(shares[:, :, 0].mean(axis=0) - SHARES).max() < 0.03
    difference = 100 * (shares[:, :, 0] - shares[:, :, 1]).mean(axis=0)
    assert np.abs(difference).max() < 0.5, f"train minus test, in points, at {SHARES}: {difference}"
