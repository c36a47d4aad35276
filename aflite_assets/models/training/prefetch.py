"""Preparation of the next items while the current items are used. The caller supplies the function that makes an item,
and the number of threads.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def prefetch(make: Callable[[Item], Made], items: Iterable[Item], *, threads: int) -> Generator[Made, None, None]:
    """Yield `make(item)` for each item, in order. `threads`: the number of threads, which is also the number of items
    that are prepared in advance.

    Without threads, each item is made when it is requested. If `make` fails for an item, the error is raised when that
    item would be yielded. With threads, the result of `make` must depend only on the item. Close the iterator to
    discard unused items.
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
