from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings
from aflite_assets.algorithm.checks import Inputs
from aflite_assets.algorithm.fingerprints import fingerprint

FEATURES = np.random.default_rng(0).normal(size=(20, 4))
LABELS = np.arange(20) % 2
INPUTS = Inputs(FEATURES, LABELS, np.array([0, 1]), LABELS, LABELS == 0, LABELS != 0)
SETTINGS = FilterSettings(target_size=10, train_size=5, slice_size=2)


def of(inputs: Inputs = INPUTS, settings: FilterSettings = SETTINGS, **given: Any) -> str:
    return fingerprint(inputs, settings, **({"seed": 0, "keep_probabilities": False, "memory_limit": 2**20} | given))


@pytest.mark.parametrize("limit", [1, 70, 2**30])
def test_blocks_and_layout_do_not_matter(limit: int) -> None:
    assert of(memory_limit=limit) == of()
    assert of(replace(INPUTS, features=np.asfortranarray(FEATURES)), memory_limit=limit) == of()


def test_every_input_counts() -> None:
    others = [
        of(replace(INPUTS, features=FEATURES + 1e-9)),
        of(replace(INPUTS, features=FEATURES.astype(np.float32))),
        of(replace(INPUTS, features=FEATURES.reshape(20, 4)[:, ::-1])),
        of(replace(INPUTS, labels=1 - LABELS)),
        of(replace(INPUTS, groups=None)),
        of(replace(INPUTS, groups=1 - LABELS)),
        of(replace(INPUTS, score_only=LABELS == 1)),
        of(replace(INPUTS, counted=LABELS == 0)),
        of(settings=replace(SETTINGS, inverse_regularization=2.0)),
        of(settings=replace(SETTINGS, remove="groups")),
        of(seed=1),
        of(keep_probabilities=True),
    ]
    assert len({of(), *others}) == len(others) + 1
    assert len(of()) == 64
