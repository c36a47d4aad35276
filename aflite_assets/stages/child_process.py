"""Execution of stages in a child process.

The operating system frees the memory when the child process ends, and the parent process loads neither torch nor
MLflow.

A run uses one child process for all its stages, because loading the libraries takes longer than most small stages.
Progress (log lines, iterations) and the outcome (a result or an error) are sent through a pipe. `pipeline` lists the
stages.
"""

import gc
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from threading import Lock
from types import MappingProxyType, TracebackType
from typing import Self

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
"""A process that uses at most this many bytes is kept for the next stage; the libraries alone use two thirds of them.
"""


@dataclass(frozen=True)
class StageJob:
    """The arguments of `run_stage`, except for the progress receiver."""

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
        """Call `run_stage` in this process; `on_making` receives the digest of the result's key."""
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
    """The traceback of an error in the child process, as text.

    The parent process sets the traceback as the cause of the error that it raises.
    """

    def __str__(self) -> str:
        return f"in the process of the stage:\n{self.args[0]}"


class StageWorker:
    """A child process that runs stages one after another, so that libraries are loaded once.

    Used as a context manager, the worker ends its process on exit. The process is started when the first stage is run.
    The process ends after a stage that failed, used a GPU or a cluster, or left more than `MOST_MEMORY` bytes in use.
    If the process has ended, the next stage starts a new process.
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
        """Run a stage in the child process; arguments and errors are those of `make_in_child`.

        A stage with an `environment` gets a process of its own.
        """
        if environment:
            self.end()
        self._child = child = self._child or ChildProcess(f"{__name__}:serve", environment)
        try:
            child.connection.send(job)
            obtained, memory = _listen(child.connection, job, progress, seconds, on_making)
        except (EOFError, ConnectionError) as error:
            raise self._lost(child, job) from error
        except BaseException:  # including interruptions, because the stage must end with the call
            self.end(interrupt=True)
            raise
        if environment or job.cluster.is_ray or memory > MOST_MEMORY:
            self.end()
        return obtained

    def end(self, *, interrupt: bool = False) -> None:
        """End the child process if one is running; with `interrupt`, let a running stage clean up first."""
        child, self._child = self._child, None
        if child is not None:
            child.end(interrupt=interrupt)

    def _lost(self, child: ChildProcess, job: StageJob) -> WorkerLostError:
        code = child.exit_code()
        self.end(interrupt=True)
        return WorkerLostError(
            f"the process of {job} ended with exit code {'unknown' if code is None else code} (-9 usually means that "
            "the system ended the process because memory ran out"
            f"{f'; {job.cluster} ends the process when its head node is lost' if job.cluster.is_ray else ''}); "
            "materialise the asset again to resume from its checkpoint, and lower `batch_size` if memory ran out"
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
    """Call `run_stage` in a child process that ends if the stage fails or this process ends.

    `worker`: a child process that runs several stages; by default, a new process that ends with this call.
    `environment`: environment variables added in the child process. `seconds`: time limit. `on_making`: called in this
    process with the digest of the result's key when the child process starts to run the stage. If `on_making` raises an
    error, the child process ends.

    Raises:
        WorkerLostError: the child process was killed or ended unexpectedly.
        MemoryRanOutError: there was not enough memory.
        TimeLimitError: the stage took longer than `seconds`.
        AfliteError: any error of this project that the stage raises.
        OSError, RuntimeError: any other error; a library's error becomes a RuntimeError with the error's type and text.
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
    """Return the result of the child process, and the bytes of memory that the process holds afterwards."""
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
    """Run the child process: run each stage that is received, report progress, and end when the pipe is closed."""
    lock = Lock()

    def say(kind: str, value: object) -> None:
        with lock:  # several threads of a stage may report at the same time
            connection.send((kind, value))

    progress = Progress(log=partial(say, "log"), on_iteration=partial(say, "iteration"))
    while True:
        try:
            job: StageJob = connection.recv()
        except EOFError:
            return
        _make(job, progress, say)


def _make(job: StageJob, progress: Progress, say: Callable[[str, object], None]) -> None:
    try:
        obtained = job.run(progress=progress, on_making=partial(say, "making"))
        prepare_shown(obtained.result, job.spec, job.store)
    except Exception as error:  # any error of a stage is sent to the parent, which raises it
        remedy = "lower `batch_size` or free memory, and materialise the asset again to resume from its checkpoint"
        sent = as_sent(error, what=f"while {job} was made", remedy=remedy)
        say("error", (sent, traceback.format_exc()))
    else:
        gc.collect()
        say("done", (obtained, resident_memory()))
