"""The command as tests of `aflite fix` run it."""

from collections.abc import Callable

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
