from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pytest

from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.errors import DataError, InvalidInputError


@dataclass(frozen=True)
class _Row:
    name: str
    side: Literal["above", "below"] | None
    number: float | None
    rows: int
    shown: bool
    values: tuple[str, ...]


TABLE = TidyTable("some", _Row)
ROWS = (_Row("a", "above", 0.1 + 0.2, 3, True, ("x", "y")), _Row("b", None, None, 0, False, ()))


def test_columns_are_the_fields_of_the_record_with_their_types() -> None:
    assert TABLE.schema.names == ["name", "side", "number", "rows", "shown", "values"]
    types = [field.type for field in TABLE.schema]
    assert types == [pa.string(), pa.string(), pa.float64(), pa.int64(), pa.bool_(), pa.list_(pa.string())]


def test_records_come_back_as_they_were() -> None:
    assert TABLE.from_arrow(TABLE.to_arrow(ROWS)) == ROWS
    assert TABLE.to_arrow(()).num_rows == 0
    assert TABLE.from_arrow(TABLE.to_arrow(())) == ()


@dataclass(frozen=True)
class _Shares:
    part: int
    whole: int
    by_set: tuple[tuple[str, float], ...] = ()

    @property
    def share(self) -> float | None:
        return self.part / self.whole if self.whole else None


def test_properties_are_columns_and_pairs_are_maps() -> None:
    table = TidyTable("shares", _Shares, derived=("share",))
    records = (_Shares(1, 4, (("hans", 0.5), ("anli", 0.0))), _Shares(0, 0))
    written = table.to_arrow(records)
    assert written.schema.types[2:] == [pa.map_(pa.string(), pa.float64()), pa.float64()]
    assert written["share"].to_pylist() == [0.25, None]
    assert table.from_arrow(written) == records


def test_a_table_of_another_version_is_refused() -> None:
    table = TABLE.to_arrow(ROWS).replace_schema_metadata({})
    with pytest.raises(DataError, match="table 'some' has schema version 0, but this code reads version 1;"):
        TABLE.from_arrow(table)


def test_what_a_column_cannot_hold_is_refused() -> None:
    @dataclass(frozen=True)
    class Odd:
        value: dict[str, int]

    with pytest.raises(InvalidInputError, match=r"odd.value is .*dict"):
        _ = TidyTable("odd", Odd).schema
