"""Numbers, dates, values, number formats, missing values and their pattern, ids and order."""

from collections.abc import Sequence

import numpy as np
import pytest

from aflite_assets.diagnostics.numbers import as_numbers
from aflite_assets.scan.properties.anywhere import id_properties, is_sorted_by_label, order_properties
from aflite_assets.scan.properties.records import MISSING_BIN, Flags
from aflite_assets.scan.properties.tables import column_properties, is_stand_in, trailing_numbers
from aflite_assets.scan.rows import ScanRows, TableColumn
from benchmarks.detection_kinds import build_rows


def _carriers(flags: list[Flags], name: str) -> list[int]:
    for part in flags:
        for place, info in enumerate(part.infos):
            if info.name == name:
                return np.flatnonzero(part.present[:, [place]].toarray()[:, 0]).tolist()
    raise AssertionError([info.name for part in flags for info in part.infos])


def _read(fewest: int = 1, **columns: Sequence[str | None] | np.ndarray):  # type: ignore[no-untyped-def]
    rows = len(next(iter(columns.values())))
    named = {name: TableColumn("column", values) for name, values in columns.items()}
    return column_properties(named, declared=frozenset(), fewest=fewest, rows=rows)


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1", "2.5", None, "NA"], [1.0, 2.5, np.nan, np.nan]),
        (["1e3", "-4", "", "?"], [1_000.0, -4.0, np.nan, np.nan]),
        (["a", "1"], None),
        (["1_000", "2"], None),
        ([None, ""], None),
    ],
)
def test_texts_are_numbers_if_nearly_all_known_ones_are(values: list[str | None], numbers: list[float] | None) -> None:
    found = as_numbers(values)
    if numbers is None:
        assert found is None
    else:
        np.testing.assert_array_equal(found, numbers)


def test_missing_values_and_their_pattern_are_artefacts() -> None:
    flags, numbers = _read(a=["1", None, None, "4"], b=["x", None, "", "y"], c=np.array([1.0, np.nan, 3.0, 4.0]))
    assert _carriers(flags, "a is missing") == [1, 2]
    assert _carriers(flags, "c is missing") == [1]
    assert _carriers(flags, "exactly these are missing: a, b, c") == [1]
    assert _carriers(flags, "exactly these are missing: a, b") == [2]
    count = next(number for number in numbers if number.info.name == "number of missing values")
    assert count.lows[count.codes].tolist() == [0, 3, 2, 0]
    assert count.info.reason == "artefact"


def test_a_number_that_stands_for_a_missing_one() -> None:
    flags, numbers = _read(a=["10.5", "-999", "12.25", "-999", "11.5"])
    assert _carriers(flags, "a = -999, which stands for a missing value") == [1, 3]
    (number,) = [number for number in numbers if number.info.name == "a"]
    assert number.codes[[1, 3]].tolist() == [-1, -1]
    assert is_stand_in(np.array([-999.0, 1, 2, 3]), 0)
    assert not is_stand_in(np.array([-9.0, -8, -4, 3]), 0)
    assert not is_stand_in(np.array([1.0, 2, 99, 120]), 2)


def test_values_number_formats_and_whole_numbers() -> None:
    values = ["1.50", "2.25", "3", "7.00", "9.5", "11"]
    flags, _ = _read(price=values, site=["n", "n", "s", "s", "n", None], fewest=2)
    assert _carriers(flags, "price is written with 2 decimals") == [0, 1, 3]
    assert _carriers(flags, "price is written with 0 decimals") == [2, 5]
    assert _carriers(flags, "price is a whole number") == [2, 3, 5]
    assert _carriers(flags, "site = 'n'") == [0, 1, 4]


def test_an_identifier_is_an_artefact_and_a_measurement_is_not() -> None:
    rng = np.random.default_rng(0)
    _, numbers = _read(record_no=[str(value) for value in rng.permutation(500)], age=rng.normal(size=500))
    reasons = {number.info.name: (number.info.kind, number.info.reason) for number in numbers}
    assert reasons == {"record_no": ("identifier", "artefact"), "age": ("column", None)}


def test_a_pattern_of_ids_is_an_artefact_and_one_of_other_names_is_not() -> None:
    ids = [f"{number}.jpg#{'ce'[number % 2]}" for number in range(100)]
    flags, _ = _read(pair=ids, town=[f"town {number}" for number in range(100)], fewest=20)
    assert _carriers(flags, "pair is written like '#.jpg#c'") == list(range(0, 100, 2))
    reasons = {info.name: info.reason for part in flags for info in part.infos}
    assert reasons == {
        "pair is written like '#.jpg#c'": "artefact",
        "pair is written like '#.jpg#e'": "artefact",
    }
    flags, _ = _read(town=[f"town {number}{'ab'[number % 2]}" for number in range(100)], fewest=20)
    assert {info.reason for part in flags for info in part.infos} == {None}


def test_dates_and_numbers_in_names() -> None:
    _, numbers = _read(
        day=["2024-03-01", "2024-03-02 12:00:00", None, "2023-01-01"], ticket=["TCK-17", "TCK-4", "TCK-90", "T5-1b"]
    )
    day, ticket = numbers
    assert (day.info.name, day.is_date, day.info.reason) == ("day", True, None)
    assert day.lows[day.codes[1]] - day.lows[day.codes[0]] == 1.5
    assert (ticket.info.name, ticket.info.reason) == ("the number in ticket", "artefact")
    assert trailing_numbers(["a12b3", "x", None]).tolist()[0] == 3


def test_dates_and_names_are_read_beside_words_for_a_missing_value() -> None:
    _, (day, ticket) = _read(day=["2024-03-01", "NA", "2024-03-03", " "], ticket=["TCK-17", "n/a", "TCK-90", "?"])
    assert (day.info.name, day.is_date, ticket.info.name) == ("day", True, "the number in ticket")
    assert (day.codes.tolist(), ticket.codes.tolist()) == ([0, MISSING_BIN, 1, MISSING_BIN],) * 2


def _rows(labels: list[int], **given: object) -> ScanRows:
    return build_rows(np.array(labels), **given)  # type: ignore[arg-type]


def test_order_has_no_property_if_the_label_made_it() -> None:
    assert is_sorted_by_label(_rows([1, 1, 0, 0]))
    assert order_properties(_rows([1, 1, 0, 0])) == ([], [])
    flags, numbers = order_properties(_rows([1, 0, 1, 0]))
    assert _carriers(flags, "row number in the file is 0 modulo 2") == [1, 3]
    assert numbers[0].lows[numbers[0].codes].tolist() == [1, 2, 3, 4]


def test_ids_give_a_number_and_a_pattern() -> None:
    flags, numbers = id_properties(_rows([0, 1, 0, 1], ids=["a-1", "a-22", "b-3", "b-4"]), fewest=2)
    assert _carriers(flags, "id is written like 'a-#'") == [0, 1]
    assert numbers[0].lows[numbers[0].codes].tolist() == [1, 22, 3, 4]
    assert id_properties(_rows([0, 1]), fewest=1) == ([], [])
