"""The report's tables as literal texts and as Markdown, with all dataset text escaped there."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aflite_assets.reports.tables.table import Table
from aflite_assets.text import one_line

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|~$!])")
# What GitHub's Markdown makes links of (GFM, "Autolinks (extension)"): addresses, names of hosts, e-mail, mailto, xmpp.
_LINK = re.compile(r":(?=//)|www(?=\.)|@(?=[\w-]+\.)", re.IGNORECASE)
_BREAK = "\u200b"
_BLOCK_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+=]))")  # a backslash goes behind it


def escape_markdown(text: str) -> str:
    """Return dataset text as one line of literal Markdown: no markup, HTML, link, table edge or line break.

    An invisible space breaks what would become a link. A backslash would not do: renderers look for addresses in the
    text that is left when backslashes are gone.
    """
    text = _SPECIAL.sub(r"\\\1", _LINK.sub(rf"\g<0>{_BREAK}", one_line(text)))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _BLOCK_START.sub(r"\1\\", text)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int = 1) -> str:
    """Return a pipe table from literal texts; columns from `numbers_from` on are right-aligned."""
    escaped = [list(map(escape_markdown, row)) for row in (header, *rows)]
    return pipe_table(escaped[0], escaped[1:], numbers_from=numbers_from)


def pipe_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int) -> str:
    """Return a pipe table from cells that are Markdown already."""
    rule = ["---:" if i >= numbers_from else "---" for i in range(len(header))]
    return "".join(f"| {' | '.join(line)} |\n" for line in (header, rule, *rows))


@dataclass(frozen=True)
class PlainTable:
    """One table in literal texts, dataset text as it came; Dagster shows it, and Markdown is made of it.

    `columns` from number `numbers_from` on hold numbers. Without columns there is no table, and the notes say why.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    numbers_from: int


def plain_table(table: Table) -> PlainTable:
    """Return the texts of a table, its rows' headings in columns of their own and all of a cell on one line."""
    columns = (*table.headings, *(column.plain for column in table.columns))
    rows = tuple((*row.headings, *(cell.plain for cell in row.cells)) for row in table.rows)
    return PlainTable(table.of, columns, rows, table.notes, len(table.headings))


def tables_markdown(tables: Iterable[Table]) -> str:
    """Return tables one below the other, each under its title and notes."""
    return "\n".join(map(_markdown, map(plain_table, tables)))


def _markdown(table: PlainTable) -> str:
    title = f"**{escape_markdown(table.title)}**" if table.title else ""
    above = [title, *map(escape_markdown, table.notes)]
    if not table.columns:
        return " ".join(above) + "\n"
    rows = markdown_table(table.columns, table.rows, numbers_from=table.numbers_from)
    return "\n\n".join(filter(None, [*above, rows]))
