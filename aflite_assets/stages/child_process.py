"""Stages made in a process of their own, which gives memory back and keeps torch and MLflow out of the caller's.

A run has one such process, since loading the libraries takes longer than most small stages.

What is said on the way (log lines, iterations) and what comes out (a result, or an error of its own type) goes through
a pipe. What a stage is: `pipeline`.
"""

import gc
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread
from types import FrameType, MappingProxyType, TracebackType
from typing import Self

from aflite_assets.cluster import ClusterSettings
from aflite_assets.errors import TimeLimitError, WorkerLostError, as_sent
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.paths import configure_libraries
from aflite_assets.processes import resident_memory
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.display import prepare_shown
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.stage import ALL_CELLS, CellFilter, IterationReport, Progress
from aflite_assets.tracking import NullTracker, Tracker

_GRACE = 10.0
"""Seconds in which a process that is told to end may write down that it was ended."""

MOST_MEMORY = 3 * 2**29
"""Bytes that a process may keep between two stages; with the libraries loaded it has about half of that."""


@dataclass(frozen=True)
class StageJob:
    """All that `run_stage` is given, but its progress."""

    name: str
    spec: DatasetSpec
    store: ResultStore
    tracker: Tracker = field(default_factory=NullTracker)
    device: DeviceSettings = field(default_factory=DeviceSettings)
    cells: CellFilter = ALL_CELLS
    cluster: ClusterSettings = field(default_factory=ClusterSettings)

    def __str__(self) -> str:
        return f"{self.name} of {self.spec.name!r}"

    def run(self, *, progress: Progress, on_making: Callable[[str], None] = lambda key: None) -> StoredResult:
        """`run_stage` here; `on_making` is given the key's digest."""
        return run_stage(
            self.name,
            self.spec,
            store=self.store,
            tracker=self.tracker,
            device=self.device,
            progress=progress,
            cells=self.cells,
            cluster=self.cluster,
            on_making=lambda key: on_making(key.digest),
        )


class ChildTraceback(Exception):
    """Where in the child an error was raised, as text: the cause of the error that is raised here."""

    def __str__(self) -> str:
        return f"in the process of the stage:\n{self.args[0]}"


class StageWorker:
    """A process that makes stages one after another, so that libraries are loaded once; a context manager that ends it.

    It begins when a stage is first given to it, and is gone after one that failed, used a card or a cluster, or left it
    with over `MOST_MEMORY`: the next stage then begins a new one.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._alive: int = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end(interrupt=error is not None)

    def make(
        self,
        job: StageJob,
        *,
        progress: Progress,
        environment: Mapping[str, str],
        seconds: float | None,
        on_making: Callable[[str], None],
    ) -> StoredResult:
        """`make_in_child`, which says what is raised. An `environment` needs a process of its own."""
        if environment:
            self.end()
        connection = self._started(environment)
        try:
            connection.send(job)
            obtained, memory = _listen(connection, job, progress, seconds, on_making)
        except (EOFError, ConnectionError) as error:
            raise self._lost(job) from error
        except BaseException:  # interruptions too: the stage must not outlive the call
            self.end(interrupt=True)
            raise
        if environment or job.cluster.is_ray or memory > MOST_MEMORY:
            self.end()
        return obtained

    def end(self, *, interrupt: bool = False) -> None:
        """End the process, if there is one; `interrupt`: in the middle of a stage, which may tidy up."""
        if self._process is None or self._connection is None:
            return
        if interrupt:
            self._process.terminate()
        self._connection.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            self._process.kill()
            self._process.wait()
            os.close(self._alive)
            self._process = self._connection = None

    def _started(self, environment: Mapping[str, str]) -> Connection:
        """The connection to the process, which is started if there is none.

        Not by `multiprocessing`, whose children import the program that started this one: Dagster, for most.
        """
        if self._connection is not None:
            return self._connection
        folder = str(Path(__file__).parents[2])
        searched = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        ours, theirs = Pipe()
        ends_with_us, self._alive = os.pipe()
        code = f"from aflite_assets.stages.child_process import serve; serve({theirs.fileno()}, {ends_with_us})"
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # -P: no .py file of the folder where the run was started is imported
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno(), ends_with_us],
            env={**os.environ, "PYTHONPATH": searched, **environment},
        )
        theirs.close()
        os.close(ends_with_us)
        self._connection = ours
        return ours

    def _lost(self, job: StageJob) -> WorkerLostError:
        assert self._process is not None
        try:
            code: int | str = self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            code = "none yet"
        self.end(interrupt=True)
        return WorkerLostError(
            f"the process that made {job} ended with exit code {code} (-9 is what the system's memory guard leaves"
            f"{f'; {job.cluster} ends it when its head is lost' if job.cluster.is_ray else ''}); "
            "materialise it again to go on from its checkpoint; if memory ran out, lower batch_size"
        )


def make_in_child(
    job: StageJob,
    *,
    progress: Progress,
    worker: StageWorker | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
    seconds: float | None = None,
    on_making: Callable[[str], None] = lambda key: None,
) -> StoredResult:
    """`run_stage` in a child process, which ends when this one does, and where it fails with the call.

    `worker`: the process that may have made stages before, and may make others; default: one that ends with the call.
    `environment`: variables that the child has beside this process's. `seconds`: how long it may take. `on_making` is
    called here, with the key's digest, when the stage begins to be made; the child ends if it raises.

    Raises:
        WorkerLostError: the child was killed or ended by itself.
        MemoryRanOutError: memory did not suffice.
        TimeLimitError: it took longer than `seconds`.
        AfliteError: whatever the stage refuses.
        OSError, RuntimeError: any other error; those of libraries as a RuntimeError with their type and text.
    """
    if worker is not None:
        return worker.make(job, progress=progress, environment=environment, seconds=seconds, on_making=on_making)
    with StageWorker() as alone:
        return alone.make(job, progress=progress, environment=environment, seconds=seconds, on_making=on_making)


def _listen(
    connection: Connection,
    job: StageJob,
    progress: Progress,
    seconds: float | None,
    on_making: Callable[[str], None],
) -> tuple[StoredResult, int]:
    """What the child obtained, and the bytes of memory that it holds afterwards."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if (left is not None and left <= 0) or not connection.poll(left):
            raise TimeLimitError(
                f"{job} was ended after {seconds:g} seconds, its time limit; materialise it again to go on from its "
                "checkpoint, with a higher limit"
            )
        kind, value = connection.recv()
        match kind:
            case "log":
                progress.log(value)
            case "making":
                on_making(value)
            case "iteration":
                progress.on_iteration(value)
            case "error":
                error, where = value
                raise error from ChildTraceback(where)
            case _:
                obtained, memory = value
                return obtained, memory


def serve(descriptor: int, ends_with_parent: int) -> None:
    """The child's side: make the stages that come through the pipe, tell what happens, and end when none comes.

    `ends_with_parent`: a pipe whose other end the parent alone holds.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent says what it means
    signal.signal(signal.SIGTERM, _interrupted)
    configure_libraries()
    Thread(target=_end_with_parent, args=(ends_with_parent,), daemon=True).start()
    connection = Connection(descriptor)
    parent = _Parent(connection)
    while True:
        try:
            job: StageJob = connection.recv()
        except EOFError:
            return
        _make(job, parent)


def _make(job: StageJob, parent: "_Parent") -> None:
    progress = Progress(log=parent.log, on_iteration=parent.on_iteration)
    try:
        obtained = job.run(progress=progress, on_making=lambda key: parent.say("making", key))
        prepare_shown(obtained.result, job.spec, job.store)
    except Exception as error:  # anything that a stage raises; the parent raises it
        parent.say("error", (_sent(error, job), traceback.format_exc()))
    else:
        gc.collect()
        parent.say("done", (obtained, resident_memory()))


@dataclass(frozen=True)
class _Parent:
    """Who is told; several threads may do so."""

    connection: Connection
    lock: Lock = field(default_factory=Lock)

    def say(self, kind: str, value: object) -> None:
        with self.lock:
            self.connection.send((kind, value))

    def log(self, line: str) -> None:
        self.say("log", line)

    def on_iteration(self, report: IterationReport) -> None:
        self.say("iteration", report)


def _end_with_parent(descriptor: int) -> None:
    """End this process as soon as nobody holds the pipe's other end, which would be noticed after the stage only."""
    try:
        os.read(descriptor, 1)
    finally:
        os._exit(1)


def _interrupted(signal_number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signal_number)


def _sent(error: Exception, job: StageJob) -> Exception:
    remedy = "lower batch_size, or free memory, and materialise it again to go on from its checkpoint"
    return as_sent(error, what=f"while {job} was made", remedy=remedy)
