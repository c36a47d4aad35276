"""The table in the report."""

from aflite_assets.reports.tables import cells
from aflite_assets.reports.tables.table import Cells, TableSpec, declared

from ..analysis.analysis import COUNTED

SPEC = TableSpec("counted_rows", "Rows counted", {"of": "{split}"}, (Cells(COUNTED, "rows", cells.field("rows")),))
PART = {"counted_rows": declared(SPEC)}
