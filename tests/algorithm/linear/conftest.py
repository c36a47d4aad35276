"""Small cases for the compiled passes, and which passes the engine chooses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from aflite_assets.algorithm.linear.engine import preparation
from aflite_assets.algorithm.linear.engine.pool import aligned


@dataclass(frozen=True)
class Case:
    """Some models on rows whose first one is pool position `offset`; `slots`: a model's training rows."""

    features: np.ndarray
    offset: int
    codes: np.ndarray
    slots: list[np.ndarray]
    weights: np.ndarray
    intercepts: np.ndarray
    seen: np.ndarray
    loss: int

    @property
    def stop(self) -> int:
        return self.offset + len(self.features)

    def scores(self, model: int, slots: np.ndarray) -> np.ndarray:
        rows = self.features[slots - self.offset].astype(np.float64)
        return rows @ self.weights[model].astype(np.float64).T + self.intercepts[model]


def in_lines(values: np.ndarray) -> np.ndarray:
    """Float32 copy whose rows start at cache lines."""
    flat = values.reshape(-1, values.shape[-1])
    target = aligned(len(flat), flat.shape[1], np.dtype(np.float32))
    target[:] = flat
    return target.reshape(values.shape)


def drawn_case(
    loss: int, outputs: int, *, width: int = 16, rows: int = 60, sizes: Sequence[int] = (1, 7, 40), offset: int = 0,
    spread: float = 0.4, unseen: bool = False, seed: int = 0,
) -> Case:  # fmt: skip
    rng = np.random.default_rng((seed, loss, outputs, width))
    classes = max(2, outputs)
    codes = rng.integers(0, classes, offset + rows)
    slots = [np.sort(rng.choice(rows, size, replace=False)) + offset for size in sizes]
    seen = np.ones((len(sizes), classes), dtype=bool)
    if unseen:
        seen[0, -1] = seen[1, 0] = False
        slots = [chosen[seen[model][codes[chosen]]] for model, chosen in enumerate(slots)]
    return Case(
        in_lines(rng.normal(size=(rows, width))),
        offset,
        codes,
        slots,
        in_lines(spread * rng.normal(size=(len(sizes), outputs, width))),
        (0.5 * rng.normal(size=(len(sizes), outputs))).astype(np.float32),
        seen,
        loss,
    )


@pytest.fixture
def case_of() -> Callable[..., Case]:
    """Makes a case: `case_of(loss, outputs, ...)`."""
    return drawn_case


@pytest.fixture
def in_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small problems too are solved by the compiled kernels."""
    monkeypatch.setattr(preparation, "_is_small", lambda inputs, settings: False)


@pytest.fixture
def in_float64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every problem is solved by torch in float64, as small ones are."""
    monkeypatch.setattr(preparation, "_is_small", lambda inputs, settings: True)
