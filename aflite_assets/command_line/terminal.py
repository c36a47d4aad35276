"""Plain text for terminals: escaped text from datasets, tables, and numbers with units."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import TextIO

from aflite_assets.wording import truncate

_WIDTH = 110
_UNITS = (("µs", 1e-6, 1e-3), ("ms", 1e-3, 1.0), ("s", 1.0, 90.0), ("min", 60.0, 5_400.0), ("h", 3_600.0, 172_800.0))
_SIZES = ("bytes", "kB", "MB", "GB", "TB")


def escaped(text: str) -> str:
    """Return the text escaped for a terminal, on one line.

    Control characters, ANSI sequences, direction overrides, invisible characters and lone surrogates become escapes
    such as `\\x1b`. Escaping prevents a dataset from colouring, moving or hiding printed text.
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text)


def escaped_lines(text: str) -> str:
    """Return the text with each line escaped for a terminal."""
    return "\n".join(escaped(line) for line in text.split("\n"))


def truncate_escaped(text: str, length: int) -> str:
    """Return the escaped text, truncated to `length` characters including an ellipsis."""
    return truncate(escaped(text[: length + 1]), length)


def indented(text: str, *, spaces: int = 2) -> list[str]:
    """Return the lines of the text, wrapped between words and indented by `spaces` spaces."""
    indent = " " * spaces
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)


def table(rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> list[str]:
    """Return a table as lines with aligned columns.

    The first row is the heading, and the columns in `numbers` are right-aligned.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def duration(seconds: float) -> str:
    """Return a duration as text with two digits and a suitable unit, from µs to days."""
    unit, size = next(((unit, size) for unit, size, below in _UNITS if seconds < below), ("days", 86_400.0))
    return f"{_two_digits(seconds / size)} {unit}"


def size(count: int) -> str:
    """Return a number of bytes as text with two digits and a suitable unit, up to TB."""
    power = next((power for power in range(len(_SIZES)) if count < 999.5 * 1000**power), len(_SIZES) - 1)
    return f"{_two_digits(count / 1000**power) if power else count} {_SIZES[power]}"


def write_lines(stream: TextIO, lines: Iterable[str]) -> None:
    """Write lines in the encoding of the stream. Characters that the encoding cannot represent are escaped."""
    encoding = stream.encoding or "utf-8"
    text = "".join(f"{line}\n" for line in lines)
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _two_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 9.95 else f"{number:.1f}"
