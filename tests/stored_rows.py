"""The tables of single rows of a planted benchmark, written and read as reports read them."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rows.table import INFORMATION, RowTables, read_row_tables, write_row_tables


def stored_rows(data: BenchmarkData) -> RowTables:
    """The tables as they come back from their files, which are deleted; empty if nothing was filtered."""
    if not data.filtered:
        return RowTables(lambda _: INFORMATION.empty_table(), INFORMATION.empty_table(), {})
    with TemporaryDirectory() as folder:
        write_row_tables(data, Path(folder))
        stored = read_row_tables(Path(folder))
        tables = {name: stored.read(name) for name in data.representations}
    return replace(stored, read=tables.__getitem__)
