"""Time limits for calls to the hub: those of one check share a deadline and their answers. Makes no requests."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from aflite_assets.data.hub.errors import RepoRef, no_way
from aflite_assets.deadlines import LateError, within

Answer = TypeVar("Answer")


@dataclass
class Asking:
    """The calls of one check: `answers` by repository and revision, and the calls that failed, with the reason.

    `unanswered` maps repositories whose last known commit was taken instead to the reason.
    """

    seconds: float
    ends: float
    answers: dict[RepoRef, str] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    given_up: bool = False


_ASKING: ContextVar[Asking | None] = ContextVar("asking", default=None)


@contextmanager
def shared_deadline(seconds: float) -> Iterator[Asking]:
    """Give all calls inside the block so many seconds together; after one without an answer no other is made."""
    asking = Asking(seconds, time.monotonic() + seconds)
    token = _ASKING.set(asking)
    try:
        yield asking
    finally:
        _ASKING.reset(token)


def asking() -> Asking | None:
    """Return the look that is under way, if any."""
    return _ASKING.get()


def in_time(call: Callable[[], Answer]) -> Answer:
    """Return what `call` returns or raises; outside of `shared_deadline` without a limit.

    A call that is late goes on in a thread that keeps no process alive.

    Raises:
        TimeoutError: the deadline is over, or the hub did not answer an earlier question.
    """
    look = _ASKING.get()
    if look is None:
        return call()
    left = look.ends - time.monotonic()
    if look.given_up or left <= 0:
        raise TimeoutError(f"it did not answer within {look.seconds:g} s, so no further request was sent")
    try:
        return within(left, call)
    except LateError:
        look.given_up = True
        raise TimeoutError(f"no answer within {look.seconds:g} s") from None
    except BaseException as error:  # whatever it is, it is raised; here only its kind counts
        look.given_up = no_way(error)
        raise
