"""Reading ahead keeps the order, raises in turn and gives up what nobody uses."""

import threading
from collections.abc import Iterator

import pytest

from aflite_assets.models.training.prefetch import prefetch


@pytest.mark.parametrize("threads", [0, 1, 3, 40])
def test_everything_comes_in_order(threads: int) -> None:
    assert list(prefetch(lambda item: item * item, range(20), threads=threads)) == [n * n for n in range(20)]
    assert list(prefetch(lambda item: item, [], threads=threads)) == []


def test_the_next_ones_are_made_while_one_is_used() -> None:
    made = [threading.Event() for _ in range(4)]

    def make(item: int) -> int:
        made[item].set()
        return item

    values = prefetch(make, range(4), threads=2)
    assert next(values) == 0
    assert all(event.wait(5) for event in made[:3])
    assert not made[3].is_set()
    assert list(values) == [1, 2, 3]


def test_without_threads_each_is_made_when_asked_for() -> None:
    made: list[int] = []
    values = prefetch(lambda item: made.append(item), range(4), threads=0)
    assert made == []
    next(values)
    assert made == [0]


@pytest.mark.parametrize("threads", [0, 3])
def test_an_error_comes_in_its_turn(threads: int) -> None:
    values = prefetch(lambda item: 6 // (2 - item), range(5), threads=threads)
    assert [next(values), next(values)] == [3, 6]
    with pytest.raises(ZeroDivisionError):
        next(values)


def test_what_is_not_used_is_given_up() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(100):
            taken.append(item)
            yield item

    before = threading.active_count()
    values = prefetch(lambda item: item, items(), threads=2)
    next(values)
    values.close()
    assert taken == [0, 1, 2]
    assert threading.active_count() == before
