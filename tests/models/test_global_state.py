import random
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import pytest
import torch
from transformers.utils import logging

from aflite_assets.models.global_state import (
    isolated_cpu_random_state,
    isolated_random_state,
    library_seed,
    quiet_libraries,
)

Isolation = Callable[[int], AbstractContextManager[None]]
ISOLATIONS = pytest.mark.parametrize("isolated", [isolated_random_state, isolated_cpu_random_state])


def _draws() -> tuple[float, float, float]:
    return random.random(), float(np.random.random()), float(torch.rand(1))


def _seed_everything() -> None:
    random.seed(3)
    np.random.seed(3)
    torch.manual_seed(3)


def _fail_after(action: Callable[[], object]) -> None:
    action()
    raise RuntimeError("inside")


@ISOLATIONS
def test_outside_draws_do_not_notice(isolated: Isolation) -> None:
    _seed_everything()
    expected = _draws()
    _seed_everything()
    with isolated(7):
        _draws()
    assert _draws() == expected


@ISOLATIONS
def test_outside_draws_do_not_notice_an_error(isolated: Isolation) -> None:
    _seed_everything()
    expected = _draws()
    _seed_everything()
    with pytest.raises(RuntimeError, match="inside"), isolated(7):
        _fail_after(_draws)
    assert _draws() == expected


@ISOLATIONS
def test_inside_draws_depend_on_the_seed_alone(isolated: Isolation) -> None:
    results = []
    for seed in (7, 7, 8, 7):
        with isolated(seed):
            results.append(_draws())
    assert results[0] == results[1] == results[3]
    assert not set(results[0]) & set(results[2])


def test_large_seeds_fold() -> None:
    results = []
    for seed in (7, 7 + 2**32):
        with isolated_random_state(seed):
            results.append(_draws())
    assert results[0] == results[1]
    assert library_seed(2**32 + 5) == 5
    assert library_seed(5) == 5


def test_verbosity_and_progress_bars_come_back() -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    within: list[tuple[int, bool]] = []
    with pytest.raises(RuntimeError, match="inside"), quiet_libraries():
        _fail_after(lambda: within.append((logging.get_verbosity(), logging.is_progress_bar_enabled())))
    assert within == [(logging.ERROR, False)]
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before
