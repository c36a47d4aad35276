"""Calls of any function with a time limit."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class LateError(TimeoutError):
    """A call took longer than its time limit; a TimeoutError of the call itself is not a LateError."""


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return the result of `call`, or raise its error.

    The call runs in a separate thread, because a host name lookup cannot be interrupted. A late call continues in its
    thread, which does not keep the process alive.

    Raises:
        LateError: the call took longer than the limit.
    """
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["answer"] = call()
        except BaseException as error:  # whatever it is, it belongs to the calling thread, which raises it
            outcome["error"] = error

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if not outcome:
        raise LateError(f"the call did not finish within {seconds:g} s")
    if "error" in outcome:
        raise outcome["error"]
    answer: Answer = outcome["answer"]
    return answer
