"""The table of the number of rows."""

from dataclasses import dataclass

from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True)
class Counted:
    split: str
    rows: int


COUNTED = TidyTable("counted_rows", Counted)
PART = ((COUNTED, lambda data: [Counted("train", rows)] if (rows := data.studies["counted_rows"]) else ()),)
