"""Preparation of the next items while the current ones are used. The caller decides what is made, and whether threads
help.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def prefetch(make: Callable[[Item], Made], items: Iterable[Item], *, threads: int) -> Generator[Made, None, None]:
    """Yield `make(item)` for each item, in order; with `threads`, as many items are prepared ahead as there are
    threads.

    Without threads, each is made on request. An error of `make` is raised when its item is due. With threads, `make`
    must depend on its item alone. Close the iterator to discard unused items.
    """
    if not threads:
        yield from map(make, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        ahead: deque[Future[Made]] = deque()
        try:
            for item in items:
                ahead.append(pool.submit(make, item))
                if len(ahead) > threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()
