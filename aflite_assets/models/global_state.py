"""Context managers that change global state and then restore it: random generators and the logging of libraries."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

SEED_LIMIT = 2**32
"""Upper limit of a seed for numpy's global generator."""


def library_seed(seed: int) -> int:
    """Map `seed` into the range that the generators of torch, numpy and `random` accept."""
    return seed % SEED_LIMIT


@contextmanager
def isolated_random_state(seed: int) -> Iterator[None]:
    """Seed the global generators of torch, numpy and `random` inside the `with` block, and restore them afterwards.

    Weight initialisation and dropout use torch's global generator, and the trainer seeds all three generators. Without
    this context manager, later random numbers would depend on earlier training runs.
    """
    from transformers import set_seed  # takes a second, and given features need none

    python_state, numpy_state = random.getstate(), np.random.get_state()
    gpus = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=gpus):
        set_seed(library_seed(seed))
        try:
            yield
        finally:
            random.setstate(python_state)
            np.random.set_state(numpy_state)


@contextmanager
def isolated_cpu_random_state(seed: int) -> Iterator[None]:
    """Seed the global generators for work that needs random numbers on the CPU only. Generators on a GPU are not
    changed.

    This context manager therefore also works in a process that was forked from a process with a GPU.
    """
    python_state, numpy_state, torch_state = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(seed)
    np.random.seed(library_seed(seed))
    torch.default_generator.manual_seed(seed)
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
        torch.set_rng_state(torch_state)


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Silence transformers inside the `with` block: show no progress bars, and no log lines below the level of
    errors.
    """
    from transformers.utils import logging as transformers_logging

    verbosity = transformers_logging.get_verbosity()
    had_progress_bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        if had_progress_bars:
            transformers_logging.enable_progress_bar()
