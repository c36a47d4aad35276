"""The report's tables as Markdown and JSON values, with all dataset text escaped."""

import re
from collections.abc import Iterable, Sequence

from aflite_assets.reports.json_values import JsonValue, to_plain
from aflite_assets.reports.page.text_tables import Layout
from aflite_assets.reports.tables.main_tables import ChallengeRow, FilterRow, MainRow
from aflite_assets.reports.text import one_line, value_text

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|~$!])")
_BLOCK_START = re.compile(r"^([-+=]|\d+(?=[.)](?:\s|$)))")


def escape_markdown(text: str) -> str:
    """Dataset text as one line of literal Markdown: no markup, HTML, link, table edge or line break."""
    text = _SPECIAL.sub(r"\\\1", one_line(text))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    start = _BLOCK_START.match(text)
    if start is None:
        return text
    end = start.end()
    return f"{text[:end]}\\{text[end:]}" if start.group()[0].isdigit() else "\\" + text


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers_from: int = 1) -> str:
    """A pipe table from literal texts; columns from `numbers_from` on are right-aligned."""
    rule = ["---:" if i >= numbers_from else "---" for i in range(len(header))]
    body = [[escape_markdown(cell) for cell in row] for row in rows]
    lines = [[escape_markdown(cell) for cell in header], rule, *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def layouts_markdown(layouts: Sequence[Layout]) -> str:
    """Tables one below the other, each under its title and notes."""
    return "\n".join(map(_layout_markdown, layouts))


def _layout_markdown(layout: Layout) -> str:
    title = f"**{escape_markdown(layout.title)}**" if layout.title else ""
    notes = list(map(escape_markdown, layout.notes))
    if not layout.columns:
        return " ".join([title, *notes]) + "\n"
    above = "".join(f"{text}\n\n" for text in (title, *notes) if text)
    return above + markdown_table(layout.columns, layout.rows, numbers_from=layout.numbers_from)


def filter_markdown(rows: Sequence[FilterRow]) -> str:
    """The iterations of one filtering."""
    header = [name.replace("_", " ") for name in FilterRow.__dataclass_fields__]
    body = [[value_text(getattr(row, name)) for name in FilterRow.__dataclass_fields__] for row in rows]
    return markdown_table(header, body, numbers_from=0)


def table_json(rows: Sequence[MainRow] | Sequence[ChallengeRow] | Sequence[FilterRow]) -> list[JsonValue]:
    """Any of the tables as JSON values: accuracies in [0, 1], drops in points, None for what is missing."""
    return [to_plain(row) for row in rows]
