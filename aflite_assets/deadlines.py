"""Function calls with a time limit."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class LateError(TimeoutError):
    """Error for a call that exceeded its time limit; a TimeoutError raised by the call itself is not a LateError."""


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return the result of `call`, or raise its error, within a time limit.

    The call runs in a separate thread, because some calls, such as host name lookups, cannot be interrupted. After the
    time limit, the call continues in its thread, but does not prevent the process from exiting.

    Raises:
        LateError: the call exceeded the time limit.
    """
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            outcome["answer"] = call()
        except BaseException as error:  # the calling thread raises the error again
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
