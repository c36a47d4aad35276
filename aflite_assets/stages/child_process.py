"""A stage made in a process of its own, which gives its memory back and keeps torch and MLflow out of the caller's.

What is said on the way (log lines, iterations) and what comes out (a result, or an error of its own type) goes through
a pipe. What a stage is: `pipeline`.
"""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock, Thread
from types import FrameType, MappingProxyType

from aflite_assets.cluster import ClusterSettings
from aflite_assets.errors import TimeLimitError, WorkerLostError, as_sent
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.paths import configure_libraries
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.display import prepare_shown
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.stage import ALL_CELLS, CellFilter, IterationReport, Progress
from aflite_assets.tracking import NullTracker, Tracker

_GRACE = 10.0
"""Seconds in which a process that is told to end may write down that it was ended."""


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


def make_in_child(
    job: StageJob,
    *,
    progress: Progress,
    environment: Mapping[str, str] = MappingProxyType({}),
    seconds: float | None = None,
    on_making: Callable[[str], None] = lambda key: None,
) -> StoredResult:
    """`run_stage` in a child process, which ends when this one does, and with the call whatever ends that.

    `environment`: variables that the child has beside this process's. `seconds`: how long it may take. `on_making` is
    called here, with the key's digest, when the stage begins to be made; the child ends if it raises.

    Raises:
        WorkerLostError: the child was killed or ended by itself.
        MemoryRanOutError: memory did not suffice.
        TimeLimitError: it took longer than `seconds`.
        AfliteError: whatever the stage refuses.
        OSError, RuntimeError: any other error; those of libraries as a RuntimeError with their type and text.
    """
    ours, theirs = Pipe()
    with ours, _started(theirs, environment) as process:
        try:
            ours.send(job)
            return _listen(ours, job, progress, seconds, on_making)
        except (EOFError, ConnectionError) as error:
            raise _lost(process, job) from error


def _listen(
    connection: Connection,
    job: StageJob,
    progress: Progress,
    seconds: float | None,
    on_making: Callable[[str], None],
) -> StoredResult:
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
                obtained: StoredResult = value
                return obtained


def _lost(process: "subprocess.Popen[bytes]", job: StageJob) -> WorkerLostError:
    try:
        code: int | str = process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        code = "none yet"
    return WorkerLostError(
        f"the process that made {job} ended with exit code {code} (-9 is what the system's memory guard leaves"
        f"{f'; {job.cluster} ends it when its head is lost' if job.cluster.is_ray else ''}); "
        "materialise it again to go on from its checkpoint; if memory ran out, lower batch_size"
    )


@contextmanager
def _started(theirs: Connection, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """The child, which is gone afterwards.

    Not by `multiprocessing`, whose children import the program that started this one: Dagster, for most.
    """
    folder = str(Path(__file__).parents[2])
    searched = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
    code = f"from aflite_assets.stages.child_process import serve; serve({theirs.fileno()})"
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", code],  # -P: no .py file of the folder where the run was started is imported
        stdin=subprocess.DEVNULL,
        pass_fds=[theirs.fileno()],
        env={**os.environ, "PYTHONPATH": searched, **environment},
    )
    theirs.close()
    try:
        yield process
    except BaseException:  # interruptions too: the child must not outlive the call
        process.terminate()
        raise
    finally:
        _wait_for(process)


def _wait_for(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        process.kill()
        process.wait()


def serve(descriptor: int) -> None:
    """The child's side: make the stage that comes through the pipe, tell what happens, and end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent says what it means
    signal.signal(signal.SIGTERM, _interrupted)
    configure_libraries()
    connection = Connection(descriptor)
    job: StageJob = connection.recv()
    Thread(target=_end_with_parent, args=(connection,), daemon=True).start()
    parent = _Parent(connection)
    progress = Progress(log=parent.log, on_iteration=parent.on_iteration)
    try:
        obtained = job.run(progress=progress, on_making=lambda key: parent.say("making", key))
        prepare_shown(obtained.result, job.spec, job.store)
    except Exception as error:  # anything that a stage raises; the parent raises it
        parent.say("error", (_sent(error, job), traceback.format_exc()))
    else:
        parent.say("done", obtained)


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


def _end_with_parent(connection: Connection) -> None:
    """End this process as soon as nobody holds the pipe's other end, which would be noticed after the stage only."""
    try:
        connection.poll(None)
    finally:
        os._exit(1)


def _interrupted(signal_number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signal_number)


def _sent(error: Exception, job: StageJob) -> Exception:
    remedy = "lower batch_size, or free memory, and materialise it again to go on from its checkpoint"
    return as_sent(error, what=f"while {job} was made", remedy=remedy)
