"""Waiting in tests for something that another process does."""

import time
from collections.abc import Callable


def within(seconds: float, holds: Callable[[], bool]) -> bool:
    """Whether something comes to hold within these seconds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True
