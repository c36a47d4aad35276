"""The command as tests of `aflite fix` run it, and the tables that it reads and writes."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.command_line.main import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command and returns its exit code, output and errors."""

    def command(*words: object) -> tuple[int, str, str]:
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return command


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    """Write a CSV file with the columns of the first row; return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a CSV file, all values as texts."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
