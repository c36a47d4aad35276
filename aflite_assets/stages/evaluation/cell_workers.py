"""Where cells are trained: here, in one worker process per visible GPU, or on a cluster. What a cell is: `grid`."""

import os
import shutil
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from queue import SimpleQueue
from types import TracebackType
from typing import Self, TypeVar

from aflite_assets.cluster import Cluster, Needs, Work, Workers
from aflite_assets.cluster.protocol import Log
from aflite_assets.errors import AfliteError, ModelError, as_sent
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.processes import end_with_parent
from aflite_assets.processors import THREADS, threads_per_step
from aflite_assets.stages.evaluation.cell_training import CellJob, WeightsJob, train_cell, train_weights

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")

FAILURES = (AfliteError, RuntimeError, ValueError, MemoryError)
"""What a training that fails raises; `CellWorkers.train` raises nothing else."""

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def visible_gpus(device: DeviceSettings) -> list[str]:
    """What `CUDA_VISIBLE_DEVICES` must say for each GPU that cells may use; empty on the CPU."""
    if device.resolve().type != "cuda":
        return []
    import torch

    named = [gpu.strip() for gpu in os.environ.get(_VISIBLE, "").split(",") if gpu.strip()]
    return named or [str(number) for number in range(torch.cuda.device_count())]


class CellWorkers:
    """Trains cells, as many at a time as there are worker processes; a context manager, which ends them.

    `gpus`: one worker process for each, which sees this GPU alone and has its share of the step's threads; with fewer
    than two, cells are trained in this process. A worker that dies takes its cell with it (ModelError) and is replaced.
    """

    def __init__(self, gpus: Sequence[str]) -> None:
        self._workers: SimpleQueue[_Worker] = SimpleQueue()
        threads = max(1, threads_per_step() // max(1, len(gpus)))
        self._all = [_Worker(gpu, threads) for gpu in gpus] if len(gpus) > 1 else []
        for worker in self._all:
            self._workers.put(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._all:
            worker.stop()

    def train(self, job: CellJob | WeightsJob, log: Callable[[str], None]) -> dict[str, float]:
        """The metrics of one cell or of shared weights (`train_cell`, `train_weights`); waits for a free worker.

        Raises:
            ModelError: the worker process died.
            AfliteError, RuntimeError, ValueError, MemoryError: whatever training raised; other errors (a full disk, a
                library's mistake) as a RuntimeError with their type and text, their traceback in `log`.
        """
        if not self._all:
            return _train(job, log)
        worker = self._workers.get()
        try:
            return worker.train(job, log)
        finally:
            self._workers.put(worker)

    def map(self, function: Callable[[_Item], _Answer], items: Iterable[_Item]) -> list[_Answer]:
        """`function`, which calls `train`, for every item, in as many threads as there are workers; in order."""
        if not self._all:
            return [function(item) for item in items]
        with ThreadPoolExecutor(len(self._all)) as threads:
            return list(threads.map(function, items))


class ClusterCells:
    """Trains cells on the workers of a cluster, which write into the same folders as this process would."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def train(self, job: CellJob | WeightsJob, log: Callable[[str], None]) -> dict[str, float]:
        """See `CellWorkers.train`.

        Raises:
            WorkerLostError: every worker that it was given to was lost.
            ClusterError: no worker is left.
        """
        metrics: dict[str, float] = self._workers.call(job, log=log)
        return metrics

    def map(self, function: Callable[[_Item], _Answer], items: Iterable[_Item]) -> list[_Answer]:
        """See `CellWorkers.map`."""
        with ThreadPoolExecutor(self._workers.count) as threads:
            return list(threads.map(function, items))


@contextmanager
def cell_workers(cluster: Cluster, device: DeviceSettings, *, log: Log) -> Iterator[CellWorkers | ClusterCells]:
    """Where the cells of a grid are trained in the block: on the cluster's nodes, else on this machine."""
    if not cluster.spreads:
        with CellWorkers(visible_gpus(device)) as here:
            yield here
        return
    needs = Needs(threads_per_step(), gpu=device.device != "cpu")
    with cluster.workers(_cells, needs=needs, log=log) as workers:
        yield ClusterCells(workers)


def _cells() -> Work:
    return _train_anew


def _train_anew(job: CellJob | WeightsJob, _: object, log: Log) -> dict[str, float]:
    """Train in a folder that a lost worker may have begun to fill; its checkpoints are in another, and are used."""
    for left in job.target.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    return _train(job, log)


class _Worker:
    """One process, started when it is first needed and again after it died."""

    def __init__(self, gpu: str, threads: int) -> None:
        self._gpu, self._threads = gpu, threads
        self._process: SpawnProcess | None = None
        self._connection: Connection | None = None

    def train(self, job: CellJob | WeightsJob, log: Callable[[str], None]) -> dict[str, float]:
        connection = self._started()
        try:
            connection.send(job)
            while (message := connection.recv())[0] == "log":
                log(message[1])
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            assert self._process is not None
            self._process.join(10)
            code = self._process.exitcode
            self.stop()
            raise ModelError(
                f"the worker process on GPU {self._gpu} ended with exit code {code} while it trained this cell "
                "(-9 is what the system's memory guard leaves); lower batch_size, or materialise again"
            ) from error
        except BaseException:
            # An interrupted conversation cannot be taken up again: what the worker says next is about this cell.
            self.stop(wait=0)
            raise
        kind, value = message
        if kind == "error":
            raise value
        return dict(value)

    def stop(self, *, wait: float = 5) -> None:
        """End the process, if there is one; by force if it does not end in `wait` seconds."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.join(wait)
            if self._process.is_alive():
                self._process.terminate()
                self._process.join()
        self._process = self._connection = None

    def _started(self) -> Connection:
        if self._connection is None:
            # Forked processes cannot use CUDA once their parent has.
            context = get_context("spawn")
            self._connection, theirs = context.Pipe()
            self._process = context.Process(target=_serve, args=(theirs, self._gpu, self._threads))
            self._process.start()
            theirs.close()
        return self._connection


def _serve(connection: Connection, gpu: str, threads: int) -> None:
    """Train what comes until nobody asks any more; runs in a process of its own."""
    os.environ[_VISIBLE] = gpu
    end_with_parent()
    _keep_to(threads)
    while True:
        try:
            job = connection.recv()
        except EOFError:
            return
        try:
            metrics = _train(job, lambda line: connection.send(("log", line)))
        except FAILURES as error:
            sent = as_sent(error, what=f"on GPU {gpu}", remedy="lower batch_size, or materialise again")
            connection.send(("error", sent))
        else:
            connection.send(("done", metrics))


def _keep_to(threads: int) -> None:
    """Share out the step's processors: by now the libraries have read how many the whole step may use."""
    import torch

    os.environ[THREADS] = str(threads)
    torch.set_num_threads(threads)


def _train(job: CellJob | WeightsJob, log: Callable[[str], None]) -> dict[str, float]:
    """`train_cell` or `train_weights`, whose failures stay with the job: none ends a run with other cells to train."""
    try:
        return train_weights(job, log) if isinstance(job, WeightsJob) else train_cell(job, log)
    except FAILURES:
        raise
    except Exception as error:  # anything that a model's library raises
        log(traceback.format_exc())
        raise RuntimeError(f"{type(error).__name__}: {error}") from error
