"""Texts made safe: the environment of all templates, and tables as literal texts and Markdown, escaped there."""

import re
from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from aflite_assets.reports.tables.table import Table
from aflite_assets.text import count, one_line, percent, value_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|~$!])")
# What GitHub's Markdown makes links of (GFM, "Autolinks (extension)"): addresses, names of hosts, e-mail, mailto, xmpp.
_LINK = re.compile(r":(?=//)|www(?=\.)|@(?=[\w-]+\.)", re.IGNORECASE)
# An invisible space breaks what would become a link; renderers look for addresses when backslashes are gone.
_BREAK = "\u200b"
_BLOCK_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+=]))")  # a backslash goes behind it


def template_environment(safe: Callable[[str], str]) -> Environment:
    """Return an environment in which `safe` is applied to every text that is no Markup, which is then escaped."""
    environment = Environment(
        loader=PackageLoader("aflite_assets.reports.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: safe(value) if type(value) is str else value,  # Markup is no plain str
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"count": count, "percent": percent, "value_text": value_text}
    return environment


def escape_markdown(text: str) -> str:
    """Return dataset text as one line of literal Markdown: no markup, HTML, link, table edge or line break."""
    text = _SPECIAL.sub(r"\\\1", _LINK.sub(rf"\g<0>{_BREAK}", one_line(text)))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _BLOCK_START.sub(r"\1\\", text)


def plain_table(table: Table) -> dict[str, Any]:
    """Return title, columns (with numbers from `numbers_from` on), rows and notes as literal texts, as they came."""
    return {
        "title": table.of,
        "columns": [*table.headings, *(column.plain for column in table.columns)],
        "rows": [[*row.headings, *(cell.plain for cell in row.cells)] for row in table.rows],
        "notes": list(table.notes),
        "numbers_from": len(table.headings),
    }


def tables_markdown(tables: Iterable[Table]) -> str:
    """Return tables one below the other, each under its title and notes."""
    return "\n".join(map(_markdown, tables))


def _markdown(table: Table) -> str:
    plain = plain_table(table)
    head, *lines = [list(map(escape_markdown, row)) for row in (plain["columns"], *plain["rows"])]
    rule = ["---"] * len(table.headings) + ["---:"] * len(table.columns)
    rows = "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))
    title = f"**{escape_markdown(table.of)}**" if table.of else ""
    return "\n\n".join(filter(None, [title, *map(escape_markdown, table.notes), rows]))
