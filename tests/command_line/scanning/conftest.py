"""The command `aflite scan`, run in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from aflite_assets.command_line.main import main

Scan = Callable[..., tuple[int, str, str]]


@pytest.fixture
def scan(capsys: pytest.CaptureFixture[str]) -> Scan:
    """Runs the command and returns its exit code, output and errors."""

    def run(path: Path, *options: str) -> tuple[int, str, str]:
        code = main(["scan", str(path), *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
