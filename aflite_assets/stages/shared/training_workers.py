"""Choice of where models are trained: in this process, in a worker process per GPU or core, or on a cluster. Jobs
define the trainings.
"""

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
"""Errors that a failed training raises; `LocalWorkers.train` raises no others."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"

WORTH = 20.0
"""Seconds of work of one core above which workers are started; each takes about four seconds to load its libraries."""

_INTERRUPTED = "the run was interrupted while this model was trained or waited for its turn"

WORKER_MEMORY = 2**30
"""Bytes that must be free for each worker process on a core: libraries, a small model and its rows."""


def visible_gpus(device: DeviceSettings) -> list[str]:
    """Return the value of `CUDA_VISIBLE_DEVICES` for each GPU that trainings may use; empty on the CPU."""
    if device.resolve().type != "cuda":
        return []
    import torch

    named = [gpu.strip() for gpu in os.environ.get(_VISIBLE, "").split(",") if gpu.strip()]
    return named or [str(number) for number in range(torch.cuda.device_count())]


def log_training(run: TrackedRun, metrics: Mapping[str, float], scratch: Path) -> None:
    """Log a training's metrics and, as `epoch/<name>`, the values of each epoch in `scratch`; the first epoch is step
    1.

    Raises:
        TrackingError: the tracker does not respond.
    """
    run.log_metrics(metrics)
    run.log_series({f"epoch/{name}": values for name, values in read_epochs(scratch).items()}, first_step=1)


class Job(Protocol[_Given]):
    """One training that a worker process can do, with everything it needs in a form that can be sent."""

    @property
    def settings(self) -> OneStageSpec:
        """Settings of the model."""
        ...

    @property
    def target(self) -> Path:
        """The folder for the training's files, empty until it is run."""
        ...

    def run(self, log: Callable[[str], None]) -> _Given:
        """Train in this process."""
        ...


class LocalWorkers:
    """Workers that train models on this machine, several at a time if that helps; as a context manager, they end their
    processes.

    `gpus`: each gets one worker process, which sees only this GPU and has its share of the step's threads. `cores`:
    without a GPU, the number of workers of one thread each, for models that would use one thread anyway. Workers start
    once the remaining work is long enough to be worth it; from then on, a larger model has a process with all threads,
    while no other works. With fewer than two GPUs or cores, and before workers start, models are trained in this
    process. If a worker dies, its job fails (ModelError) and the worker is replaced.
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
        """Return the result of one job, such as the metrics of a cell; this waits for a free worker.

        Raises:
            ModelError: the worker process died.
            AfliteError, RuntimeError, ValueError, MemoryError: any error of these types from training. Other errors (a
                full disk, a bug in a library) become a RuntimeError with their type and text; their traceback goes to
                `log`.
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
        """Call `function`, which calls `train`, for every item, in as many threads as there are workers; yield results
        in order.

        An interruption ends the processes, so that nobody waits for running trainings.
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
        """Return True if workers are running, or if the remaining work is long enough to start them now."""
        self._begun = self._begun or (bool(self._all) and self._seconds * left > WORTH)
        return self._begun

    def _train_alone(self, job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
        """Train once no worker has a job, because the model's threads would compete with theirs for the cores."""
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
    """Workers of a cluster that train models and write into the same folders as this process would."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def train(self, job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
        """See `LocalWorkers.train`.

        Raises:
            WorkerLostError: every worker that received the job was lost.
            ClusterError: no worker is left.
        """
        answer: _Answer = self._workers.call(job, log=log)
        return answer

    def map(self, function: Callable[[_Item], _Answer], items: Iterable[_Item]) -> list[_Answer]:
        """See `LocalWorkers.map`."""
        with ThreadPoolExecutor(self._workers.count) as threads:
            return list(threads.map(function, items))


def workers_with_memory(most: int) -> int:
    """Return the number of worker processes, at most the given number, for which memory suffices beside this process;
    at least 1.
    """
    free = available_memory()
    return most if free is None else max(1, min(most, free // WORKER_MEMORY))


@contextmanager
def open_workers(cluster: Cluster, device: DeviceSettings, *, log: Log) -> Iterator[LocalWorkers | ClusterWorkers]:
    """Open the workers that train models in the block: on the cluster's nodes, else on this machine."""
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
    """Train in a folder that a lost worker may have begun to fill; checkpoints, which are in another folder, are
    used.
    """
    for left in job.target.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return _train(job, log)


class _Worker:
    """One process, which is started when it is first needed and again after it died. `place`: its name in messages."""

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
                "(-9 means that the system ran out of memory); lower `batch_size`, or materialise again"
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
        """End the process, if there is one; `interrupt`: end it in the middle of a job. The next job starts a new
        process.
        """
        with self._changing:
            child, self._child = self._child, None
        if child is not None:
            child.end(interrupt=interrupt)

    def close(self, *, interrupt: bool) -> None:
        """End the process for good: a thread that still waits for its turn will not start another one."""
        with self._changing:
            self._closed = True
        self.stop(interrupt=interrupt)


def serve(connection: Connection) -> None:
    """Train the jobs that arrive until no more arrive; runs in a process of its own."""
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
    """Limit the threads of torch, which may have been loaded before this process knew its share of the step's
    processors.
    """
    import torch

    torch.set_num_threads(threads)


def _train(job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
    """Run a job and catch its failure, so that it does not end a run with other jobs."""
    try:
        return job.run(log)
    except FAILURES:
        raise
    except Exception as error:  # anything that a model's library raises
        log(traceback.format_exc())
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
