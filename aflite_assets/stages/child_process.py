"""Stages made in a child process, which returns memory and keeps torch and MLflow out of the calling process.

A run has one such process, because loading the libraries takes longer than most small stages.

Progress (log lines, iterations) and the outcome (a result, or an error of its own type) go through a pipe. Stages are
listed in `pipeline`.
"""

import gc
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Self

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.child_processes import ChildProcess
from aflite_assets.cluster import ClusterSettings
from aflite_assets.errors import TimeLimitError, WorkerLostError, as_sent
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.processes import resident_memory
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.display import prepare_shown
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.stage import ALL_CELLS, CellFilter, Progress
from aflite_assets.tracking import NullTracker, Tracker

MOST_MEMORY = 3 * 2**29
"""Bytes that a process may hold between two stages; with every library loaded, it uses two thirds of this."""


@dataclass(frozen=True)
class StageJob:
    """The arguments of `run_stage`, except its progress."""

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
        """Call `run_stage` in this process; `on_making` receives the key's digest."""
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
    """The traceback of an error in the child, as text; it is set as the cause of the error that is raised here."""

    def __str__(self) -> str:
        return f"in the process of the stage:\n{self.args[0]}"


class StageWorker:
    """A process that makes stages one after another, so that libraries are loaded once; as a context manager, it ends
    the process.

    The process starts with the first stage. The process ends after a stage that failed, used a card or a cluster, or
    left over `MOST_MEMORY` in use; the next stage then starts a new process.
    """

    def __init__(self) -> None:
        self._child: ChildProcess | None = None

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
        """Make a stage as `make_in_child` does, which lists the errors. A stage with an `environment` needs its own
        process.
        """
        if environment:
            self.end()
        self._child = child = self._child or ChildProcess(f"{__name__}:serve", environment)
        try:
            child.connection.send(job)
            obtained, memory = _listen(child.connection, job, progress, seconds, on_making)
        except (EOFError, ConnectionError) as error:
            raise self._lost(child, job) from error
        except BaseException:  # interruptions too: the stage must not outlive the call
            self.end(interrupt=True)
            raise
        if environment or job.cluster.is_ray or memory > MOST_MEMORY:
            self.end()
        return obtained

    def end(self, *, interrupt: bool = False) -> None:
        """End the process, if there is one; `interrupt`: stop it in the middle of a stage, which may clean up."""
        child, self._child = self._child, None
        if child is not None:
            child.end(interrupt=interrupt)

    def _lost(self, child: ChildProcess, job: StageJob) -> WorkerLostError:
        code = child.exit_code()
        self.end(interrupt=True)
        return WorkerLostError(
            f"the process of {job} ended with exit code {'none yet' if code is None else code} "
            "(the system's memory guard ends processes with -9"
            f"{f'; {job.cluster} ends it when its head is lost' if job.cluster.is_ray else ''}); "
            "materialise it again to resume from its checkpoint; if memory ran out, lower batch_size"
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
    """Call `run_stage` in a child process, which ends when this one does; an error in the child ends it too.

    `worker`: a process that may already have made stages and may make more; by default, a process that ends with the
    call. `environment`: variables that the child has in addition to this process's. `seconds`: time limit. `on_making`
    is called here, with the key's digest, when the child starts to make the stage; the child ends if it raises.

    Raises:
        WorkerLostError: the child was killed or ended by itself.
        MemoryRanOutError: memory did not suffice.
        TimeLimitError: the stage took longer than `seconds`.
        AfliteError: any error of this project that the stage raises.
        OSError, RuntimeError: any other error; errors of libraries become a RuntimeError with their type and text.
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
    """Return the child's result, and the bytes of memory that it holds afterwards."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while True:
        left = None if deadline is None else deadline - time.monotonic()
        if (left is not None and left <= 0) or not connection.poll(left):
            raise TimeLimitError(
                f"{job} was stopped at its time limit of {seconds:g} seconds; raise the limit, and materialise the "
                "asset again to resume from its checkpoint"
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


def serve(connection: Connection) -> None:
    """Run the child's side: make the stages that arrive, report progress, and end when no more arrive."""
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
    """The receiver of reports in the parent process; several threads may send at once."""

    connection: Connection
    lock: Lock = field(default_factory=Lock)

    def say(self, kind: str, value: object) -> None:
        with self.lock:
            self.connection.send((kind, value))

    def log(self, line: str) -> None:
        self.say("log", line)

    def on_iteration(self, report: IterationRow) -> None:
        self.say("iteration", report)


def _sent(error: Exception, job: StageJob) -> Exception:
    remedy = "lower batch_size or free memory, and materialise it again to resume from its checkpoint"
    return as_sent(error, what=f"while {job} was made", remedy=remedy)
