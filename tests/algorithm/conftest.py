"""Small problems whose answer is known."""

from dataclasses import dataclass

import numpy as np
import pytest


@dataclass(frozen=True)
class Problem:
    """`easy` marks the rows that a linear classifier can be right about."""

    features: np.ndarray
    labels: np.ndarray
    easy: np.ndarray


@pytest.fixture
def blobs() -> Problem:
    """120 rows, three classes: 80 lie in far-apart clusters, 40 are noise."""
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 3, 120)
    easy = np.arange(120) % 3 != 0
    features = rng.normal(size=(120, 5))
    features[easy, :3] += 6.0 * np.eye(3)[labels[easy]]
    return Problem(features, labels, easy)


@pytest.fixture
def half_easy() -> Problem:
    """60 rows, two classes: 30 at -10 or +10 by label, 30 at 0, where no label can be told."""
    labels = np.arange(60) % 2
    easy = np.arange(60) < 30
    features = np.where(easy, 20.0 * labels - 10.0, 0.0)[:, None]
    return Problem(features, labels, easy)
