import gc
import weakref

from aflite_assets.analysis.cached_per_record import cached_per_record


class Record:
    pass


def test_a_result_is_computed_once_per_record_and_arguments() -> None:
    calls: list[tuple[int, int]] = []

    @cached_per_record
    def count(record: Record, number: int, *, extra: int = 0) -> list[int]:
        calls.append((number, extra))
        return [number]

    one, other = Record(), Record()
    assert count(one, 1) is count(one, 1)
    assert count(one, 1) is not count(other, 1)
    assert count(one, 2, extra=3) == [2]
    assert calls == [(1, 0), (1, 0), (2, 3)]


def test_a_record_that_is_gone_is_forgotten() -> None:
    @cached_per_record
    def nothing(record: Record) -> int:
        return 0

    record = Record()
    nothing(record)
    alive = weakref.ref(record)
    del record
    gc.collect()
    assert alive() is None
