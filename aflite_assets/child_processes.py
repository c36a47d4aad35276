"""Python child processes that serve one parent over a connection, and end when the parent ends.

The module `stages.child_process` runs whole stages in child processes. The module `stages.shared.training_workers`
trains evaluators in child processes.
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
"""Seconds that a process has to clean up after a request to end."""


class ChildProcess:
    """A new Python interpreter that runs the function `serve`, and the parent's end of the connection to it.

    `serve`: the function to run, written as "module:function". `environment`: environment variables of the child, in
    addition to those of this process.

    `multiprocessing` is not used, because its children import the main program again. Importing the main program
    (Dagster or a user's script) would start that program again.
    """

    def __init__(self, serve: str, environment: Mapping[str, str]) -> None:
        folder = str(Path(__file__).parents[1])
        searched = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        self.connection, theirs = Pipe()
        ends_with_us, self._held = os.pipe()
        code = f"from aflite_assets.child_processes import run; run({serve!r}, {theirs.fileno()}, {ends_with_us})"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # -P: do not import modules from the current folder
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno(), ends_with_us],
            env={**os.environ, "PYTHONPATH": searched, **environment},
        )
        theirs.close()
        os.close(ends_with_us)

    def exit_code(self) -> int | None:
        """Wait at most `GRACE` seconds, and return the exit code of the process, or None if it still runs.

        The exit code is negative if a signal ended the process.
        """
        try:
            return self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return None

    def end(self, *, interrupt: bool) -> None:
        """End the process, by force if it still runs after `GRACE` seconds.

        `interrupt`: whether to interrupt the work that the process is doing.
        """
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
    """Call `serve` with the connection, in the child process.

    The process ends as soon as its parent ends. `ends_with_parent`: file descriptor of a pipe whose other end only the
    parent holds.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends SIGINT to all processes; the parent handles it
    signal.signal(signal.SIGTERM, _interrupted)
    configure_libraries()
    Thread(target=_end_with_parent, args=(ends_with_parent,), daemon=True).start()
    module, _, name = serve.partition(":")
    function: Callable[[Connection], None] = getattr(import_module(module), name)
    function(Connection(descriptor))


def _end_with_parent(descriptor: int) -> None:
    """Exit as soon as the parent has closed the pipe, without finishing the current work."""
    try:
        os.read(descriptor, 1)
    finally:
        os._exit(1)


def _interrupted(signal_number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signal_number)


__all__ = ["ChildProcess", "run"]
