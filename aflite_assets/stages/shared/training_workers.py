"""Choice of where models are trained: in this process, in a worker process per GPU or core, or on a cluster.

Stages define the trainings as jobs.
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
from aflite_assets.models.family_registry import trains_in_one_thread
from aflite_assets.models.training.epochs import read_epochs
from aflite_assets.processes import available_memory
from aflite_assets.processors import THREADS, processes_at_once, threads_per_step
from aflite_assets.specs.models.kinds import OneStageSpec
from aflite_assets.tracking import TrackedRun

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")
_Given = TypeVar("_Given", covariant=True)

FAILURES = (AfliteError, RuntimeError, ValueError, MemoryError)
"""Errors that a failed training raises; `LocalWorkers.train` raises no other types."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"

WORTH = 20.0
"""Seconds of remaining single-core work above which workers are started; a worker takes about four seconds to start."""

_INTERRUPTED = "the run was interrupted while this model was trained or waited for its turn"

WORKER_MEMORY = 2**30
"""Free bytes needed for each single-core worker process: libraries, a small model and its rows."""


def visible_gpus(device: DeviceSettings) -> list[str]:
    """Return a value of `CUDA_VISIBLE_DEVICES` per GPU that may be used, or an empty list for training on the CPU."""
    if device.resolve().type != "cuda":
        return []
    import torch

    named = [gpu.strip() for gpu in os.environ.get(_VISIBLE, "").split(",") if gpu.strip()]
    return named or [str(number) for number in range(torch.cuda.device_count())]


def log_training(run: TrackedRun, metrics: Mapping[str, float], scratch: Path) -> None:
    """Log a training run's metrics.

    Metrics of each epoch are read from `scratch` and logged as `epoch/<name>`, starting at step 1.

    Raises:
        TrackingError: the tracking server does not respond.
    """
    run.log_metrics(metrics)
    run.log_series({f"epoch/{name}": values for name, values in read_epochs(scratch).items()}, first_step=1)


class Job(Protocol[_Given]):
    """A training run with all its inputs, which can be pickled and sent to a worker process."""

    @property
    def settings(self) -> OneStageSpec:
        """Settings of the model to train."""
        ...

    @property
    def target(self) -> Path:
        """The folder for the training's files, which is empty before `run`."""
        ...

    def run(self, log: Callable[[str], None]) -> _Given:
        """Train the model in the current process."""
        ...


class LocalWorkers:
    """Worker processes that train models on this machine, several at a time if that is faster.

    Use an instance as a context manager, so that the worker processes are ended on exit. If a worker process dies, its
    job fails with a ModelError, and a new process replaces the worker.

    `gpus`: GPUs of this machine. If there are at least two GPUs, there is one worker process per GPU. Each worker
    process sees only its own GPU and uses an equal share of the step's threads.

    `cores`: without a GPU, the number of worker processes, each with one thread. Workers without a GPU train models
    that never use more than one thread. The workers start as soon as the remaining work is long enough. A model that
    uses all threads is trained alone, while the workers wait.

    Models are trained in this process until workers start; no workers start if there are fewer than two GPUs or cores.
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
        self._seconds = 0.0  # duration of the last job in this process that could have run in a worker
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
        """Wait for a free worker, run one job in it and return the result, such as the metrics of a cell.

        Raises:
            ModelError: the worker process died.
            AfliteError, RuntimeError, ValueError, MemoryError: the training raised this error. Every other error
                becomes a RuntimeError with the error's type and text, and the traceback is sent to `log`.
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
        """Call `function` for every item and return the results in order.

        `function` calls `train`. There are as many threads as workers. If the call is interrupted, the worker processes
        are ended immediately.
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
        """Return True if workers are running already, or if the remaining work is long enough to start workers now."""
        self._begun = self._begun or (bool(self._all) and self._seconds * left > WORTH)
        return self._begun

    def _train_alone(self, job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
        """Wait until no worker has a job, then train one model with all threads.

        If other jobs ran at the same time, their threads and the model's threads would compete for the cores.
        """
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
    """Workers on a cluster, which train models and write the results into the shared folders."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def train(self, job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
        """Run one job on the cluster and return its result.

        Raises:
            WorkerLostError: every worker that received the job was lost.
            ClusterError: no worker is left.
        """
        answer: _Answer = self._workers.call(job, log=log)
        return answer

    def map(self, function: Callable[[_Item], _Answer], items: Iterable[_Item]) -> list[_Answer]:
        """Call `function` for every item and return the results in order."""
        with ThreadPoolExecutor(self._workers.count) as threads:
            return list(threads.map(function, items))


def workers_with_memory(most: int) -> int:
    """Return the number of worker processes (1 to `most`) for which the free memory is sufficient."""
    free = available_memory()
    return most if free is None else max(1, min(most, free // WORKER_MEMORY))


@contextmanager
def open_workers(cluster: Cluster, device: DeviceSettings, *, log: Log) -> Iterator[LocalWorkers | ClusterWorkers]:
    """Open workers that train models within a `with` block, on the cluster or, without a cluster, on this machine."""
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
    """Empty the target folder and train the model, because a lost worker may have left files in the folder.

    Checkpoints are in another folder, so the training resumes from its last checkpoint.
    """
    for left in job.target.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return _train(job, log)


class _Worker:
    """A worker process, which starts on first use and restarts after a crash; `place` is its name in messages."""

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
            # After an interruption the connection is unusable: the next message would still belong to this job.
            self.stop(interrupt=True)
            raise
        kind, value = message
        if kind == "error":
            raise value
        answer: _Answer = value
        return answer

    def stop(self, *, interrupt: bool = False) -> None:
        """End the process if it is running; with `interrupt`, end the process even during a job.

        The next job starts a new process.
        """
        with self._changing:
            child, self._child = self._child, None
        if child is not None:
            child.end(interrupt=interrupt)

    def close(self, *, interrupt: bool) -> None:
        """End the process for good, so that a thread that still waits for the worker cannot start a new process."""
        with self._changing:
            self._closed = True
        self.stop(interrupt=interrupt)


def serve(connection: Connection) -> None:
    """Run the jobs from `connection` until it is closed; this is the main function of a worker process."""
    import torch  # may have been imported before the process got its share of the processors

    torch.set_num_threads(threads_per_step())
    place = f"on GPU {os.environ[_VISIBLE]}" if os.environ.get(_VISIBLE) else "in a worker process"
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        try:
            answer = _train(job, lambda line: connection.send(("log", line)))
        except FAILURES as error:
            sent = as_sent(error, what=place, remedy="lower `batch_size`, or materialise again")
            connection.send(("error", sent))
        else:
            connection.send(("done", answer))


def _train(job: Job[_Answer], log: Callable[[str], None]) -> _Answer:
    """Run a job and convert unexpected errors to a RuntimeError, so that one failed job does not end the whole run."""
    try:
        return job.run(log)
    except FAILURES:
        raise
    except Exception as error:  # anything that a model's library raises
        log(traceback.format_exc())
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
