"""Where models are trained: here, in a worker process per GPU or core, or on a cluster. Jobs say what is trained."""

import os
import shutil
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Protocol, Self, TypeVar

from aflite_assets.child_processes import ChildProcess
from aflite_assets.cluster import Cluster, Needs, Work, Workers
from aflite_assets.cluster.protocol import Log
from aflite_assets.errors import AfliteError, ModelError, as_sent
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.sizes import trains_in_one_thread
from aflite_assets.models.training.epochs import read_epochs
from aflite_assets.processes import available_memory
from aflite_assets.processors import THREADS, processes_at_once, threads_per_step
from aflite_assets.specs.models.kinds import OneStageSpec
from aflite_assets.tracking import TrackedRun

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")
_Given = TypeVar("_Given", covariant=True)

FAILURES = (AfliteError, RuntimeError, ValueError, MemoryError)
"""Errors that a training that fails raises; `LocalWorkers.train` raises nothing else."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"

WORTH = 20.0
"""Seconds of work of one core from which on workers begin; each loads its libraries in about four."""

_INTERRUPTED = "the run was interrupted while this model was trained or waited for its turn"

WORKER_MEMORY = 2**30
"""Bytes that have to be free for each worker process on a core: libraries, a small model, its rows."""


def visible_gpus(device: DeviceSettings) -> list[str]:
    """Return what `CUDA_VISIBLE_DEVICES` must say for each GPU that trainings may use; empty on the CPU."""
    if device.resolve().type != "cuda":
        return []
    import torch

    named = [gpu.strip() for gpu in os.environ.get(_VISIBLE, "").split(",") if gpu.strip()]
    return named or [str(number) for number in range(torch.cuda.device_count())]


def log_training(run: TrackedRun, metrics: Mapping[str, float], scratch: Path) -> None:
    """Log what a training gave, and as `epoch/<name>` what it left in `scratch` of each epoch; the first is step 1.

    Raises:
        TrackingError: the tracker does not answer.
    """
    run.log_metrics(metrics)
    run.log_series({f"epoch/{name}": values for name, values in read_epochs(scratch).items()}, first_step=1)


class Job(Protocol[_Given]):
    """One training that a worker process can do: all that it needs, in a form that is sent to it."""

    @property
    def settings(self) -> OneStageSpec:
        """The model's."""
        ...

    @property
    def target(self) -> Path:
        """The folder that its files go into, empty until it is run."""
        ...

    def run(self, log: Callable[[str], None]) -> _Given:
        """Train here."""
        ...


class LocalWorkers:
    """Trains models on this machine, several at a time where that helps; a context manager, which ends its processes.

    `gpus`: one worker process for each, which sees this GPU alone and has its share of the step's threads. Without a
    GPU, `cores`: so many workers of one thread each, for models that would use one thread anyway. They begin once what
    is left takes long enough to be worth their start; from then on a larger model has a process with all threads, while
    no other works. With fewer than two of either, and until then, models are trained in this process. A worker that
    dies takes its job with it (ModelError) and is replaced.
    """

    def __init__(self, gpus: Sequence[str], *, cores: int = 1) -> None:
        threads = max(1, threads_per_step() // max(1, len(gpus)))
        if len(gpus) > 1:
            self._all = [_Worker(f"on GPU {gpu}", {_VISIBLE: gpu, THREADS: str(threads)}) for gpu in gpus]
        elif not gpus and cores > 1:
            self._all = [_Worker(f"number {number}", {THREADS: "1"}) for number in range(1, cores + 1)]
        else:
            self._all = []
        self._on_cores = not gpus
        self._begun = len(gpus) > 1
        self._seconds = 0.0  # of the last job that a worker could have done and this process did
        self._large, self._alone = _Worker("for large models", {}), Lock()
        self._free: SimpleQueue[_Worker] = SimpleQueue()
        for worker in self._all:
            self._free.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(interrupt=error is not None)

    def train(self, job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
        """Return what one job gives, such as the metrics of a cell; waits for a free worker.

        Raises:
            ModelError: the worker process died.
            AfliteError, RuntimeError, ValueError, MemoryError: whatever training raised; other errors (a full disk, a
                library's mistake) as a RuntimeError with their type and text, their traceback in `log`.
        """
        shared = not self._on_cores or trains_in_one_thread(job.settings)
        if not self._begun:
            started = time.monotonic()
            answer = _train(job, log)
            self._seconds = time.monotonic() - started if shared else self._seconds
            return answer
        if not shared:
            return self._train_alone(job, log)
        worker = self._free.get()
        try:
            return worker.train(job, log)
        finally:
            self._free.put(worker)

    def map(self, function: Callable[[_Item], _Answer], items: Iterable[_Item]) -> list[_Answer]:
        """Call `function`, which calls `train`, for every item, in as many threads as there are workers; in order.

        An interruption ends the processes, so that nobody waits for the trainings that are under way.
        """
        left = deque(items)
        answers = []
        while left and not self._worth_it(len(left)):
            answers.append(function(left.popleft()))
        if not left:
            return answers
        with ThreadPoolExecutor(len(self._all)) as threads:
            try:
                return [*answers, *threads.map(function, left)]
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                self._close(interrupt=True)
                raise

    def _worth_it(self, left: int) -> bool:
        """Whether workers are there, or what is left takes so long that they begin now."""
        self._begun = self._begun or (bool(self._all) and self._seconds * left > WORTH)
        return self._begun

    def _train_alone(self, job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
        """Train once no worker has a job: the model's threads would fight with theirs for the cores."""
        with self._alone:
            waiting = [self._free.get() for _ in self._all]
            try:
                return self._large.train(job, log)
            finally:
                for worker in waiting:
                    self._free.put(worker)

    def _close(self, *, interrupt: bool) -> None:
        for worker in (*self._all, self._large):
            worker.close(interrupt=interrupt)


class ClusterWorkers:
    """Trains models on the workers of a cluster, which write into the same folders as this process would."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def train(self, job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
        """See `LocalWorkers.train`.

        Raises:
            WorkerLostError: every worker that it was given to was lost.
            ClusterError: no worker is left.
        """
        answer: _Answer = self._workers.call(job, log=log)
        return answer

    def map(self, function: Callable[[_Item], _Answer], items: Iterable[_Item]) -> list[_Answer]:
        """See `LocalWorkers.map`."""
        with ThreadPoolExecutor(self._workers.count) as threads:
            return list(threads.map(function, items))


def workers_with_memory(most: int) -> int:
    """At most so many worker processes as memory suffices for beside this process, at least 1."""
    free = available_memory()
    return most if free is None else max(1, min(most, free // WORKER_MEMORY))


@contextmanager
def open_workers(cluster: Cluster, device: DeviceSettings, *, log: Log) -> Iterator[LocalWorkers | ClusterWorkers]:
    """Where models are trained in the block: on the cluster's nodes, else on this machine."""
    if not cluster.spreads:
        with LocalWorkers(visible_gpus(device), cores=workers_with_memory(processes_at_once())) as here:
            yield here
        return
    needs = Needs(threads_per_step(), gpu=device.device != "cpu")
    with cluster.workers(_trainings, needs=needs, log=log) as workers:
        yield ClusterWorkers(workers)


def _trainings() -> Work:
    return _train_anew


def _train_anew(job: Job[_Answer], _: object, log: Log) -> _Answer:
    """Train in a folder that a lost worker may have begun to fill; its checkpoints are in another, and are used."""
    for left in job.target.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return _train(job, log)


class _Worker:
    """One process, started when it is first needed and again after it died. `place`: how messages name it."""

    def __init__(self, place: str, environment: Mapping[str, str]) -> None:
        self._place, self._environment = place, environment
        self._child: ChildProcess | None = None
        self._closed, self._changing = False, Lock()

    def train(self, job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
        with self._changing:
            if self._closed:
                raise RuntimeError(_INTERRUPTED)
            child = self._child = self._child or ChildProcess(f"{__name__}:serve", self._environment)
        try:
            child.connection.send(job)
            while (message := child.connection.recv())[0] == "log":
                log(message[1])
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            if self._closed:
                raise RuntimeError(_INTERRUPTED) from error
            code = child.exit_code()
            self.stop()
            raise ModelError(
                f"the worker process {self._place} ended with exit code {code} while it trained this model "
                "(the system's memory guard ends processes with -9); lower batch_size, or materialise again"
            ) from error
        except BaseException:
            # An interrupted conversation cannot be taken up again: what the worker says next is about this job.
            self.stop(interrupt=True)
            raise
        kind, value = message
        if kind == "error":
            raise value
        answer: _Answer = value
        return answer

    def stop(self, *, interrupt: bool = False) -> None:
        """End the process, if there is one; `interrupt`: in the middle of a job. The next job starts another."""
        with self._changing:
            child, self._child = self._child, None
        if child is not None:
            child.end(interrupt=interrupt)

    def close(self, *, interrupt: bool) -> None:
        """Close for good: a thread that still waits for its turn starts no process any more."""
        with self._changing:
            self._closed = True
        self.stop(interrupt=interrupt)


def serve(connection: Connection) -> None:
    """Train what comes until nobody asks any more; runs in a process of its own."""
    _keep_to(threads_per_step())
    place = f"on GPU {os.environ[_VISIBLE]}" if os.environ.get(_VISIBLE) else "in a worker process"
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        try:
            answer = _train(job, lambda line: connection.send(("log", line)))
        except FAILURES as error:
            sent = as_sent(error, what=place, remedy="lower batch_size, or materialise again")
            connection.send(("error", sent))
        else:
            connection.send(("done", answer))


def _keep_to(threads: int) -> None:
    """Bound torch, which may have been loaded before this process knew its share of the step's processors."""
    import torch

    torch.set_num_threads(threads)


def _train(job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
    """Run a job, whose failures stay with it: none ends a run with others to train."""
    try:
        return job.run(log)
    except FAILURES:
        raise
    except Exception as error:  # anything that a model's library raises
        log(traceback.format_exc())
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
