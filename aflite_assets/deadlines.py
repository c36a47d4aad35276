"""A call that is waited for no longer than so many seconds, whatever it hangs on. Knows nothing of what is called."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")


class LateError(TimeoutError):
    """A call took longer than it is waited for; a TimeoutError of the call itself is none."""


def within(seconds: float, call: Callable[[], Answer]) -> Answer:
    """Return what `call` returns, or raise what it raises.

    The call runs in a thread of its own, since nothing else ends the search for a host's address. A call that is late
    goes on there; the thread keeps no process alive.

    Raises:
        LateError: the call took longer.
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
        raise LateError(f"no answer within {seconds:g} s")
    if "error" in outcome:
        raise outcome["error"]
    answer: Answer = outcome["answer"]
    return answer
