"""Python processes of this program that serve one parent over a connection, and end when the parent ends.

The work they do is defined elsewhere: whole stages (`stages.child_process`) and cells of a grid
(`shared.training_workers`).
"""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from types import FrameType

from aflite_assets.paths import configure_libraries

GRACE = 10.0
"""Seconds that a process may take to clean up after it is told to end."""


class ChildProcess:
    """A new interpreter that runs `serve`, given as "module:function", with its end of the connection.

    `multiprocessing` is not used, because its children import the program that started this one: Dagster, or a user's
    script, which would start again. `environment`: environment variables in addition to the variables of this process.
    """

    def __init__(self, serve: str, environment: Mapping[str, str]) -> None:
        folder = str(Path(__file__).parents[1])
        searched = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        self.connection, theirs = Pipe()
        ends_with_us, self._held = os.pipe()
        code = f"from aflite_assets.child_processes import run; run({serve!r}, {theirs.fileno()}, {ends_with_us})"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # -P: no .py file of the folder where the run was started is imported
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno(), ends_with_us],
            env={**os.environ, "PYTHONPATH": searched, **environment},
        )
        theirs.close()
        os.close(ends_with_us)

    def exit_code(self) -> int | None:
        """Exit code of the process once it has ended, negative for a signal; None if it does not end in time."""
        try:
            return self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return None

    def end(self, *, interrupt: bool) -> None:
        """Let the process end, by force after `GRACE` seconds; `interrupt`: end it even in the middle of its work."""
        if interrupt:
            self._process.terminate()
        self.connection.close()
        try:
            self.exit_code()
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._held)


def run(serve: str, descriptor: int, ends_with_parent: int) -> None:
    """Run as the child: call `serve` with the connection, and end at once when the parent no longer exists.

    `ends_with_parent`: a pipe whose other end only the parent holds.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent says what it means
    signal.signal(signal.SIGTERM, _interrupted)
    configure_libraries()
    Thread(target=_end_with_parent, args=(ends_with_parent,), daemon=True).start()
    module, _, name = serve.partition(":")
    function: Callable[[Connection], None] = getattr(import_module(module), name)
    function(Connection(descriptor))


def _end_with_parent(descriptor: int) -> None:
    """End this process as soon as the parent has closed the pipe, instead of after the current work."""
    try:
        os.read(descriptor, 1)
    finally:
        os._exit(1)


def _interrupted(signal_number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signal_number)


__all__ = ["ChildProcess", "run"]
