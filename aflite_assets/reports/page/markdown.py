"""The report's tables as Markdown and JSON values, with all dataset text escaped."""

import re
from collections.abc import Iterable, Sequence

from aflite_assets.reports.json_values import JsonValue, to_json
from aflite_assets.reports.page.text_tables import TextTable
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


def text_tables_markdown(text_tables: Sequence[TextTable]) -> str:
    """Tables one below the other, each under its title and notes."""
    return "\n".join(map(_text_table_markdown, text_tables))


def _text_table_markdown(text_table: TextTable) -> str:
    title = f"**{escape_markdown(text_table.title)}**" if text_table.title else ""
    notes = list(map(escape_markdown, text_table.notes))
    if not text_table.columns:
        return " ".join([title, *notes]) + "\n"
    above = "".join(f"{text}\n\n" for text in (title, *notes) if text)
    return above + markdown_table(text_table.columns, text_table.rows, numbers_from=text_table.numbers_from)


def filter_markdown(rows: Sequence[FilterRow]) -> str:
    """The iterations of one filtering."""
    header = [name.replace("_", " ") for name in FilterRow.__dataclass_fields__]
    body = [[value_text(getattr(row, name)) for name in FilterRow.__dataclass_fields__] for row in rows]
    return markdown_table(header, body, numbers_from=0)


def table_json(rows: Sequence[MainRow] | Sequence[ChallengeRow] | Sequence[FilterRow]) -> list[JsonValue]:
    """Any of the tables as JSON values: accuracies in [0, 1], drops in points, None for what is missing."""
    return [to_json(row) for row in rows]
