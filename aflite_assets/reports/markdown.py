"""The report's tables as Markdown and JSON values, with all dataset text escaped."""

import re
from collections.abc import Iterable, Mapping, Sequence

from aflite_assets.reports.accuracy import Score
from aflite_assets.reports.plain import JsonValue, to_plain
from aflite_assets.reports.tables import ChallengeRow, FilterRow, MainRow, challenge_blocks
from aflite_assets.reports.text import DASH, count, one_line, signed_points, value_text
from aflite_assets.reports.wording import part_text, score_text, sizes_text

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


def score_markdown(score: Score) -> str:
    """One score on one line: accuracy in per cent, deviation over seeds, interval."""
    words = score_text(score)
    if words.interval is None:
        return words.main
    return f"{words.main}, {words.seeds}, interval {words.interval}"


def main_markdown(rows: Sequence[MainRow]) -> str:
    """The main table; test rows stand in the column headings, accuracies in per cent, drops in points."""
    header = ["evaluator", "trained on", "train rows"]
    for test in rows[0].tests if rows else ():
        header.append(f"{test.test_set}, full (n = {count(test.full.test_rows)})")
        if test.filtered is not None:
            header += [f"{test.test_set}, filtered (n = {count(test.filtered.test_rows)})", "drop (points)"]
    return markdown_table(header, [_main_cells(row) for row in rows], numbers_from=2)


def _main_cells(row: MainRow) -> list[str]:
    cells = [row.evaluator, row.train_set, sizes_text(row.train_rows)]
    for test in row.tests:
        cells.append(score_markdown(test.full))
        if test.filtered is not None:
            cells += [score_markdown(test.filtered), DASH if test.drop is None else signed_points(test.drop)]
    return cells


def challenge_markdown(
    rows: Sequence[ChallengeRow], *, notes: Mapping[str, Sequence[str]], missing: Mapping[str, str]
) -> str:
    """One table per challenge set, each under its name and with its notes; then which are missing, and why."""
    names = dict.fromkeys(row.test_set for row in rows)
    blocks = [
        _challenge_block(name, column, shown, notes.get(name, ()) if column is None else ())
        for name in names
        for column, shown in challenge_blocks([row for row in rows if row.test_set == name])
    ]
    blocks += [f"**{escape_markdown(n)}** not available: {escape_markdown(why)}\n" for n, why in missing.items()]
    return "\n".join(blocks)


def _challenge_block(name: str, column: str | None, rows: Sequence[ChallengeRow], notes: Sequence[str]) -> str:
    parts = [f"{part_text(part)} (n = {count(part.score.test_rows)})" for part in rows[0].parts]
    header = ["evaluator", "trained on", "train rows", f"overall (n = {count(rows[0].overall.test_rows)})", *parts]
    body = [
        [row.evaluator, row.train_set, sizes_text(row.train_rows)]
        + [score_markdown(score) for score in (row.overall, *(part.score for part in row.parts))]
        for row in rows
    ]
    heading = f"**{escape_markdown(name if column is None else f'{name}, by {column}')}**"
    title = "\n\n".join([heading, *map(escape_markdown, notes)])
    return f"{title}\n\n{markdown_table(header, body, numbers_from=2)}"


def filter_markdown(rows: Sequence[FilterRow]) -> str:
    """The iterations of one filtering."""
    header = [name.replace("_", " ") for name in FilterRow.__dataclass_fields__]
    body = [[value_text(getattr(row, name)) for name in FilterRow.__dataclass_fields__] for row in rows]
    return markdown_table(header, body, numbers_from=0)


def table_json(rows: Sequence[MainRow] | Sequence[ChallengeRow] | Sequence[FilterRow]) -> list[JsonValue]:
    """Any of the tables as JSON values: accuracies in [0, 1], drops in points, None for what is missing."""
    return [to_plain(row) for row in rows]
