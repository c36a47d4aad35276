"""The origin of answers to questions: the table columns that `aflite fix` must rewrite in a cleaned copy."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from aflite_assets.data.formats.conversations import texts_in_json
from aflite_assets.data.formats.preferences import columns_of, layout_read
from aflite_assets.data.formats.tables import read_table_file
from aflite_assets.errors import DataError
from aflite_assets.fixing.plan import Origin
from aflite_assets.specs.sources import ChoiceSource, PreferenceSource, TableSource, as_tuple
from aflite_assets.wording import quoted_list

_PLAIN = (
    "save the prompt and the answers as plain texts, or as lists of texts in JSON lines or Parquet, and fix that file"
)


def origin_of_answers(
    source: ChoiceSource, texts: Sequence[str], *, source_rows: Mapping[str, int], row_ids: np.ndarray
) -> Origin:
    """Return the origin of the answers of preferences or questions.

    `texts`: names of the question and of the answer in the scan. `source_rows` and `row_ids`: values for the fields
    `source_rows` and `row_ids` of the origin.

    Raises:
        DataError: the answers are not stored as texts, or as lists of texts, in a table file.
    """
    table = source.table
    if not isinstance(table, TableSource):
        raise DataError(
            "the questions are read from the hub, and `aflite fix` cannot write to the hub; save the questions as "
            "JSON lines or Parquet, and fix that file"
        )
    tables = {split: read_table_file(table, Path(as_tuple(files)[0])) for split, files in table.splits.items()}
    names, right = _answer_columns(source, tables)
    _require_plain(names, tables)
    return Origin(
        source=table,
        names={texts[1]: names[0]},
        needed=dict.fromkeys(names, "an answer"),
        source_rows=source_rows,
        row_ids=row_ids,
        answers=names,
        right=right,
    )


def _answer_columns(source: ChoiceSource, tables: Mapping[str, pa.Table]) -> tuple[tuple[str, ...], str | None]:
    """Return the names of the columns with answers, and the column that states which answer is right (or None)."""
    if not isinstance(source, PreferenceSource):
        fields = (source.answers, source.correct, source.incorrect)
        return tuple(name for names in fields for name in as_tuple(names or ())), source.right
    layout = layout_read(source, tables)
    if layout != "texts":
        raise DataError(f"the answers are stored as {layout}, but `aflite fix` rewrites only plain texts; {_PLAIN}")
    columns = columns_of(source, tables)
    return (columns.chosen, *columns.rejected), None


def _require_plain(names: Sequence[str], tables: Mapping[str, pa.Table]) -> None:
    fields = [name for name in names if any(name not in table.column_names for table in tables.values())]
    if fields:
        raise DataError(f"the answers are nested in mappings ({quoted_list(fields, most=4, length=40)}); {_PLAIN}")
    for name in names:
        for table in tables.values():
            if any(texts_in_json(value) is not None for value in table[name].to_pylist()):
                raise DataError(f"the column {name!r} contains lists written as JSON strings; {_PLAIN}")
