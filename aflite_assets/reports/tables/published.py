"""Tables as printed in the papers on which this project is based.

The setting `report.published` of a dataset selects the papers' tables to show. The file `papers.yaml` contains the
numbers of these tables.
"""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, NamedTuple

import yaml
from pydantic import BaseModel, BeforeValidator, TypeAdapter

from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell
from aflite_assets.text import DASH

Kind = Literal[
    "zero_shot", "fine_tuned", "in_distribution", "top_k", "forgettables", "minorities", "two_phase",
    "forgettables_alone", "by_overlap", "sample_curve", "fine_action", "rankings", "neighbours",
]  # fmt: skip


NO_GAIN = "no improvement"
"""Text for a comparison for which a paper prints no number but states that there was no gain."""


class Printed(NamedTuple):
    """A value as printed in a paper.

    The value is a percentage, a difference in points, a number of rows, an index in [0, 1] or a sum of distances.

    `text`: the whole printed text, including a deviation, or `NO_GAIN`. `deviation`: the standard deviation over seeds
    as printed, in points. `value` or `deviation` is None if the paper does not give the number.
    """

    text: str
    value: float | None
    deviation: float | None


def _columns(line: str) -> list[str]:
    return line.split(" | ")


def _printed(line: str) -> list[Printed]:
    cells = []
    for text in _columns(line):
        value, _, deviation = text.replace("\N{MINUS SIGN}", "-").replace(",", "").partition(" ±")
        cells.append(
            Printed(text, None if text in (DASH, NO_GAIN) else float(value), float(deviation) if deviation else None)
        )
    return cells


class PublishedTable(BaseModel, frozen=True, extra="forbid"):
    """One table of a paper. `rows` maps row names to one value per column.

    `note`: a remark to read before comparing the paper's numbers with this project's numbers. `kind`: the kind of table
    in this project's report that has the same content. The kind "fine_tuned" corresponds to the table `transfer`.
    """

    kind: Kind
    source: str
    caption: str
    columns: Annotated[tuple[str, ...], BeforeValidator(_columns)]
    rows: dict[str, Annotated[tuple[Printed, ...], BeforeValidator(_printed)]]
    note: str = ""


@cache
def every_table() -> dict[str, tuple[PublishedTable, ...]]:
    """Return the tables of all papers by dataset, in the order of the papers."""
    text = (files("aflite_assets.reports.tables") / "papers.yaml").read_text(encoding="utf-8")
    content = yaml.load(text, yaml.BaseLoader)  # keeps numbers as texts, as printed
    return TypeAdapter(dict[str, tuple[PublishedTable, ...]]).validate_python(content)


def published_tables(name: str | None) -> tuple[PublishedTable, ...]:
    """Return the tables that papers print for one dataset, or an empty tuple for None."""
    return () if name is None else every_table()[name]


def paper_records(published: str | None) -> Iterator[dict[str, str | float | None]]:
    """Yield one record per printed value.

    A record contains source, caption, note, row, column, text, value and deviation over seeds.
    """
    for table in published_tables(published):
        where = {"source": table.source, "caption": table.caption, "note": table.note}
        for name, cells in table.rows.items():
            for column, one in zip(table.columns, cells, strict=True):
                yield {
                    **where,
                    "row": name,
                    "column": column,
                    "printed": one.text,
                    "value": one.value,
                    "deviation": one.deviation,
                }


def paper_table(table: PublishedTable) -> Table:
    """Return a report table with the values as printed in a paper, including deviations over seeds."""
    return Table(
        "published",
        f"{table.source}: {table.caption}",
        f"From the paper: {table.source}",
        ("row",),
        tuple(Column(Heading(name)) for name in table.columns),
        tuple(
            Row((name,), tuple(TableCell(one.text, value=one.value) for one in cells))
            for name, cells in table.rows.items()
        ),
        f"{table.caption}.",
        (table.note,) if table.note else (),
    )
