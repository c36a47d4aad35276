"""Code server and daemon beside the webserver, as processes that end with this one: what `dagster dev` starts."""

import logging
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import grpc
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from aflite_assets.automation.web.server import LOCATION, workspace_file
from aflite_assets.errors import WorkerLostError
from aflite_assets.processes import end_with_parent

_SERVICE = "DagsterApi"
"""The name under which Dagster's code servers report their health."""
_START_SECONDS = 120
_GRACE_SECONDS = 20
_PAUSE_SECONDS = 1.0
_log = logging.getLogger(__name__)


@contextmanager
def dev_services(module: str, *, on_loss: Callable[[], None]) -> Iterator[Path]:
    """Run a code server of a module's definitions and a daemon, and give the workspace file that names the former.

    A code server that is lost is started again. If the daemon is lost, `on_loss` is called, from another thread.

    Raises:
        WorkerLostError: the code server did not come to answer, or the daemon ended before the block did.
    """
    with (
        TemporaryDirectory(prefix="aflite-code-") as folder,
        workspace_file(module, socket_path=(socket_path := Path(folder) / "code.sock")) as workspace,
        _running(["dagster", "code-server", "start", f"--socket={socket_path}", f"--module-name={module}",
                  f"--location-name={LOCATION}", "--log-level=warning"], folder) as code,
    ):  # fmt: skip
        _await_answer(code, socket_path)
        with _running(["dagster-daemon", "run", f"--workspace={workspace}"], folder, on_loss=on_loss) as daemon:
            yield workspace
            daemon.check()


class _Service:
    """One of Dagster's commands in a process of its own, which is started again if it is lost and nobody minds."""

    def __init__(self, command: Sequence[str], folder: str, on_loss: Callable[[], None] | None) -> None:
        self._command = list(command)
        self._folder = folder
        self._on_loss = on_loss
        self._is_ending = Event()
        self.process = self._start()
        self._watch = Thread(target=self._wait, name=f"watch {command[0]}", daemon=True)
        self._watch.start()

    def _start(self) -> SpawnProcess:
        process = get_context("spawn").Process(
            target=_run_command, args=(self._command, self._folder), name=self._command[0]
        )
        process.start()
        return process

    def _wait(self) -> None:
        while True:
            wait([self.process.sentinel])
            if self._is_ending.wait(_PAUSE_SECONDS):
                return
            if self._on_loss is not None:
                self._on_loss()
                return
            _log.warning("%s was lost and is started again", self)
            self.process = self._start()
            if self._is_ending.is_set():
                self.process.terminate()

    def check(self) -> None:
        """Raise if the process has ended."""
        if not self.process.is_alive():
            raise WorkerLostError(f"{self} was lost; see what it printed above, and start it again")

    def end(self) -> None:
        """Ask the process to end, and kill it if it takes too long."""
        self._is_ending.set()
        self.process.terminate()
        self.process.join(_GRACE_SECONDS)
        if self.process.is_alive():
            self.process.kill()
        self._watch.join()
        self.process.join()

    def __str__(self) -> str:
        return f"{' '.join(self._command[:2])} (exit code {self.process.exitcode})"


@contextmanager
def _running(command: Sequence[str], folder: str, *, on_loss: Callable[[], None] | None = None) -> Iterator[_Service]:
    service = _Service(command, folder, on_loss)
    try:
        yield service
    finally:
        service.end()


def _run_command(command: list[str], folder: str) -> None:
    """Run one of Dagster's commands in this process, which ends when the one that started it has ended.

    `folder`: a private one, for the sockets of processes that the command starts; whoever reaches those can run code.
    """
    end_with_parent()
    tempfile.tempdir = folder  # not TMPDIR, which runs would inherit
    sys.argv = command
    (found,) = entry_points(group="console_scripts", name=command[0])
    sys.exit(found.load()())


def _await_answer(code: _Service, socket_path: Path) -> None:
    """Wait until the code server answers; definitions that cannot be loaded are reported by Dagster's pages."""
    deadline = time.monotonic() + _START_SECONDS
    with grpc.insecure_channel(f"unix:{socket_path}") as channel:
        while time.monotonic() < deadline:
            code.check()
            try:
                answer = HealthStub(channel).Check(HealthCheckRequest(service=_SERVICE), timeout=5)
            except grpc.RpcError:  # it does not listen yet
                answer = HealthCheckResponse()
            if answer.status == HealthCheckResponse.SERVING:
                return
            time.sleep(0.1)
    raise WorkerLostError(f"the code server did not answer within {_START_SECONDS} seconds; see what it printed above")
