"""Making the next things while the last ones are used. What is made, and whether threads help, others say."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Made = TypeVar("Made")


def prefetch(make: Callable[[Item], Made], items: Iterable[Item], *, threads: int) -> Generator[Made, None, None]:
    """`make(item)` of each item, in order; with `threads`, as many items ahead of the one that is used.

    Without threads each is made when it is asked for. An error of `make` is raised where its item's turn has come.
    With threads, `make` has to be a function of its item alone. Close the iterator to give up what was not used.
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
