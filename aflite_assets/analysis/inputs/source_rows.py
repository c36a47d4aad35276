"""How a report's rows are found in the user's own files: file and line, the source's column names and its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.errors import InvalidInputError
from aflite_assets.text import one_line

SOURCE_PLACES = pa.schema(
    [
        ("row_id", pa.int64()),
        ("source_split", pa.string()),
        ("source_row", pa.int64()),
        ("source_file", pa.string()),
        ("source_line", pa.int64()),
    ]
)

ANSWER_PLACES = pa.schema([*SOURCE_PLACES, ("source_question", pa.string()), ("source_answer", pa.int64())])
"""Of rows that are answers: also the source's id of the question, or its number from 1, and the answer's, from 1."""


@dataclass(frozen=True, eq=False)
class SourceRows:
    """Where rows come from.

    `places` has the columns `SOURCE_PLACES`, a line per row: its split in the source, its number there from 0 (as in
    the published folder), the file, and its line there from 1; null where that is unknown. Or it has `ANSWER_PLACES`,
    where a row of the source is a question, or an answer of one. `columns`: by the raw
    table's name (text, text_pair) the source's. `features`: the names of feature columns; None where the source has
    none. `mean`, `deviation` float64 (width,): what features were standardised by; None where they are as they came.
    `right`: the class of right answers where rows are answers of questions; None where they are not.

    Raises:
        InvalidInputError: the columns of `places` are others, or only one of mean and deviation is given.
    """

    places: pa.Table
    columns: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] | None = None
    mean: np.ndarray | None = None
    deviation: np.ndarray | None = None
    right: int | None = None

    def __post_init__(self) -> None:
        if not any(self.places.schema.equals(known) for known in (SOURCE_PLACES, ANSWER_PLACES)):
            raise InvalidInputError(f"places have the schema {self.places.schema}; it must be {SOURCE_PLACES}")
        if (self.mean is None) != (self.deviation is None):
            raise InvalidInputError("mean and deviation of standardised features are given together or not at all")

    def of(self, row_ids: np.ndarray) -> pa.Table:
        """The places of these rows, in their order; nulls for rows without one."""
        found = self.places.take(pc.index_in(pa.array(row_ids, pa.int64()), value_set=self.places["row_id"]))
        return found.set_column(0, "row_id", pa.array(row_ids, pa.int64()))

    def named(self, column: str) -> str:
        """The source's name of a column of the raw table, or of a feature column, "column 3" (from 0)."""
        number = column.removeprefix("column ")
        if self.features is not None and number != column and number.isdecimal() and int(number) < len(self.features):
            return self.features[int(number)]
        return self.columns.get(column, column)

    def feature_title(self, number: int) -> str:
        """What a feature column is called in figures: its name, else "feature 3" (from 0)."""
        return f"feature {number}" if self.features is None else one_line(self.features[number])

    def original(self, features: np.ndarray) -> np.ndarray:
        """Features (rows x width, or of one row) in the source's units, float64."""
        values = features.astype(np.float64)
        return values if self.mean is None or self.deviation is None else values * self.deviation + self.mean


def place_text(place: Mapping[str, object]) -> str:
    """One line of `SourceRows.of` in words; empty without a place.

    "train.csv, line 18 (train, source row 16)", of an answer "train.csv, line 18, answer 2 (train, question 17)".
    """
    if place["source_row"] is None:
        return ""
    answer = _answer(place)
    row = f"question {place['source_question']}" if answer else f"source row {place['source_row']}"
    row = f"{place['source_split']}, {row}"
    if place["source_file"] is None:
        return f"{row}{answer}"
    line = "" if place["source_line"] is None else f", line {place['source_line']}"
    return f"{place['source_file']}{line}{answer} ({row})"


def brief_place(place: Mapping[str, object]) -> str:
    """One line of `SourceRows.of` in few words: "train.csv, line 18", else "train, source row 16"."""
    if place["source_line"] is None:
        return place_text(place)
    return f"{place['source_file']}, line {place['source_line']}{_answer(place)}"


def _answer(place: Mapping[str, object]) -> str:
    """What an answer's place ends with, ", answer 2"; nothing of a row that is no answer."""
    return "" if place.get("source_answer") is None else f", answer {place['source_answer']}"


NO_SOURCE = SourceRows(pa.Table.from_batches([], SOURCE_PLACES))
"""Of rows whose origin is not known."""
