"""Time limits for calls to the hub. All calls in a `shared_deadline` block share a deadline and reuse each other's
results.
"""

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
    """State that the calls to the hub share within one `shared_deadline` block.

    `answers`: commits by repository and revision. `unanswered`: repositories for which the hub did not respond, with
    the reasons.
    """

    seconds: float
    ends: float
    answers: dict[RepoRef, str] = field(default_factory=dict)
    unanswered: dict[str, str] = field(default_factory=dict)
    given_up: bool = False


_ASKING: ContextVar[Asking | None] = ContextVar("asking", default=None)


@contextmanager
def shared_deadline(seconds: float) -> Iterator[Asking]:
    """Limit the total time of all calls in the `with` block to `seconds`.

    After the first unanswered call, no further call is made.
    """
    asking = Asking(seconds, time.monotonic() + seconds)
    token = _ASKING.set(asking)
    try:
        yield asking
    finally:
        _ASKING.reset(token)


def asking() -> Asking | None:
    """Return the state of the current `shared_deadline` block, or None outside of such a block."""
    return _ASKING.get()


def in_time(call: Callable[[], Answer]) -> Answer:
    """Return the result of `call` or raise its error; outside of `shared_deadline`, there is no time limit.

    A call that exceeds the limit continues in a thread, which does not keep the process alive.

    Raises:
        TimeoutError: the deadline has passed, or the hub did not answer an earlier call.
    """
    look = _ASKING.get()
    if look is None:
        return call()
    left = look.ends - time.monotonic()
    if look.given_up or left <= 0:
        raise TimeoutError(f"the hub did not answer within {look.seconds:g} s, so no further request was sent")
    try:
        return within(left, call)
    except LateError:
        look.given_up = True
        raise TimeoutError(f"the hub did not answer within {look.seconds:g} s") from None
    except BaseException as error:  # always raised again; only its type matters here
        look.given_up = no_way(error)
        raise
