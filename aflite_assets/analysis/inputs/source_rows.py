"""The positions of a report's rows in the user's own files (file, line and row number), and the source's column
names.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.text import one_line

SOURCE_PLACES = pa.schema(
    {
        "row_id": pa.int64(),
        "source_split": pa.string(),
        "source_row": pa.int64(),
        "source_file": pa.string(),
        "source_line": pa.int64(),
    }
)
ANSWER_PLACES = pa.schema([*SOURCE_PLACES, ("source_question", pa.string()), ("source_answer", pa.int64())])
"""Further columns for rows that are answers: the question's id or number in the source, and the answer's number from
1.
"""


@dataclass(frozen=True, eq=False)
class SourceRows:
    """The origin of a report's rows.

    `places` has one line per row with the columns `SOURCE_PLACES`: the row's split in the source, its number in that
    split (from 0), the file, and the line in the file (from 1). Unknown values are null. If rows are answers to
    questions, `places` has the columns `ANSWER_PLACES` instead. `columns`: the source's column name for each text
    column of the raw table (`text`, `text_pair`). `features`: names of feature columns, or None if the source has none.
    `mean`, `deviation`: float64 (width,), used to standardise the features, or None. `right`: the class number of
    correct answers, or None if rows are not answers.
    """

    places: pa.Table
    columns: Mapping[str, str] = field(default_factory=dict)
    features: tuple[str, ...] | None = None
    mean: np.ndarray | None = None
    deviation: np.ndarray | None = None
    right: int | None = None

    @property
    def from_files(self) -> bool:
        """True if the file of at least one row is known."""
        return self.places["source_file"].null_count < len(self.places)

    def of(self, row_ids: np.ndarray) -> pa.Table:
        """Return the places of the given rows, in the given order. A row with an unknown place gets nulls."""
        found = self.places.take(pc.index_in(pa.array(row_ids, pa.int64()), value_set=self.places["row_id"]))
        return found.set_column(0, "row_id", pa.array(row_ids, pa.int64()))

    def named(self, column: str) -> str:
        """Return the source's name for a text column of the raw table, or for a feature column given as "column 3"
        (from 0).
        """
        number = column.removeprefix("column ")
        if self.features is not None and number != column and number.isdecimal() and int(number) < len(self.features):
            return self.features[int(number)]
        return self.columns.get(column, column)

    def feature_title(self, number: int) -> str:
        """Return a feature column's name for figures: the source's name, or a name such as "feature 3" (counted from 0)
        if the source has none.
        """
        return f"feature {number}" if self.features is None else one_line(self.features[number])

    def original(self, features: np.ndarray) -> np.ndarray:
        """Return features (rows x width, or one row) in the source's units, float64.

        Values are rounded to about a millionth of the column's standard deviation, the precision of standardised
        float32 features: a 0 in the source is then shown as 0.
        """
        values = features.astype(np.float64)
        if self.mean is None or self.deviation is None:
            return values
        deviations = np.where(self.deviation > 0, self.deviation, 1.0)
        units = 10.0 ** np.clip(6 - np.floor(np.log10(deviations)), -300, 15)
        return np.round((values * self.deviation + self.mean) * units) / units


def place_text(place: Mapping[str, object]) -> str:
    """Describe the place of one row in the user's files, or return an empty string if the place is unknown. `place` is
    one line of `SourceRows.of`.

    An example is "train.csv, line 18 (train, source row 16)"; for an answer, "train.csv, line 18, answer 2 (train,
    question 17)".
    """
    if place["source_row"] is None:
        return ""
    answer = _answer(place)
    row = f"{place['source_split']}, " + (
        f"question {place['source_question']}" if answer else f"source row {place['source_row']}"
    )
    if place["source_file"] is None:
        return f"{row}{answer}"
    line = "" if place["source_line"] is None else f", line {place['source_line']}"
    return f"{place['source_file']}{line}{answer} ({row})"


def brief_place(place: Mapping[str, object]) -> str:
    """Describe the place of one row in few words, such as "train.csv, line 18", or "train, source row 16" if no file is
    known.
    """
    if place["source_line"] is None:
        return place_text(place)
    return f"{place['source_file']}, line {place['source_line']}{_answer(place)}"


def _answer(place: Mapping[str, object]) -> str:
    """Return the last part of an answer's place, such as ", answer 2", or an empty string for a row that is not an
    answer.
    """
    return "" if place.get("source_answer") is None else f", answer {place['source_answer']}"


NO_SOURCE = SourceRows(pa.Table.from_batches([], SOURCE_PLACES))
"""The record for rows of unknown origin."""
