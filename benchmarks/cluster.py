"""The filter on a Ray cluster against one process: `python -m benchmarks.cluster`; `--model` prints what is modelled.

Grid: Gaussian classes (filtering.py), 60,000 x 512 (`--rows`, `--width`), 3 classes, 64 partitions, train share 10 %,
`--iterations` slices of 1 %, features in a memory map; one thread in every process, the stages' memory limit. On one
node process, and on two (`--nodes`), each with one worker: the whole filter, beside the same filter in one process.
They take turns, an iteration of one and then the same iteration of the other, so that what else the machine does meets
both; every state is compared, bit for bit. Ratios are medians over the pairs of iterations, from the second on: in the
first one workers load their libraries and prepare the features, which is start-up.

Wall seconds are those of `IterationRecord`. CPU seconds are those of the processes: of the local filter's; of the
workers, the driver, and whatever else Ray runs for the nodes, while it is the cluster's turn. They depend little on
neighbours, wall seconds a lot: look at the load that is printed. Efficiency of n nodes is the local seconds by n times
the cluster's; by CPU time the cluster's are those of its busiest worker and the driver, as if nobody waited for a core.
Memory is proportional set size (PSS), in which pages that processes share are counted once.

Start-up is apart: seconds until each node process runs, until the driver is connected, and until every worker has
answered. `--shares` scores the first of 1, 2, ... equal shares of an iteration's partitions in this process: its CPU
seconds say what a share costs whatever its size, and what each of its partitions adds. `--loop` runs the loop with
answers of as many workers as named that are there at once: CPU seconds of what one thread does between them.
"""

import argparse
import hashlib
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

os.environ["AFLITE_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"  # before numpy, and for all processes started here

import numpy as np
import psutil

from aflite_assets.algorithm import FilterSettings, FilterState, IterationRecord, filter_dataset
from aflite_assets.algorithm.inputs import Inputs, check_inputs
from aflite_assets.algorithm.linear.engine import KeptClassifiers, SetCounts, WholeIteration
from aflite_assets.algorithm.linear.engine.passes import Counts
from aflite_assets.algorithm.partitions import draw_iteration
from aflite_assets.algorithm.spreading import IterationWork, PartitionScorer, SpreadEngine, shares
from aflite_assets.cluster import ClusterSettings, Needs, Work, open_cluster
from aflite_assets.cluster.protocol import Cluster, Log
from aflite_assets.cluster.ray_worker import WorkHolder
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.paths import configure_libraries
from aflite_assets.stages.filtering.spread_scoring import MEMORY_LIMIT, ScoredRows, cluster_scorers
from benchmarks import cluster_model
from benchmarks.filtering import SEED, gaussian

ROOT = Path(__file__).parents[1]
OBJECT_STORE = 2**29
_NAME_LENGTH = 15  # the kernel cuts names of processes to it


@dataclass(frozen=True)
class Job:
    """A filter: the file of its features, labels, and settings."""

    features: Path
    labels: np.ndarray
    settings: FilterSettings

    @property
    def mapped(self) -> np.ndarray:
        """The features, from their file."""
        mapped: np.ndarray = np.load(self.features, mmap_mode="r")
        return mapped


@dataclass(frozen=True)
class Turn:
    """One iteration: seconds of wall and of CPU time by process kind (workers: one entry each), and what came out."""

    seconds: float
    own: float
    workers: tuple[float, ...]
    others: float
    state: str

    @property
    def cpu(self) -> float:
        """CPU seconds of all processes."""
        return self.own + sum(self.workers) + self.others

    @property
    def path(self) -> float:
        """CPU seconds that follow each other: those of the busiest worker and this process's own."""
        return self.own + max(self.workers, default=0.0)


@dataclass(frozen=True)
class StartUp:
    """Seconds: of every node process in turn, of the connection, and until all workers have answered."""

    nodes: tuple[float, ...]
    connection: float
    workers: float


def job_of(folder: Path, rows: int, width: int, iterations: int) -> Job:
    """Write the features into a folder."""
    problem = gaussian(rows, width, 3, 0.10, 0.10)
    np.save(folder / "features.npy", problem.features)
    removed = rows // 100
    settings = FilterSettings(
        target_size=rows - removed * (iterations - 1),
        train_size=problem.train_size,
        slice_size=removed,
        threshold=0.0,
    )
    return Job(folder / "features.npy", problem.labels, settings)


def digest(state: FilterState) -> str:
    """Return a hash of everything in a state but the seconds that it took."""
    hashed = hashlib.sha256()
    for name, array in sorted(state.to_arrays().items()):
        if "seconds" not in name:
            hashed.update(name.encode() + np.ascontiguousarray(array).tobytes())
    return hashed.hexdigest()


class LocalFilter:
    """The filter in a process of its own, which makes an iteration when asked to; a context manager."""

    def __init__(self, job: Job) -> None:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_filter_by_turns, args=(theirs, job), daemon=True)
        self._process.start()
        theirs.close()

    def __enter__(self) -> "LocalFilter":
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()
        self._process.join(30)

    def turn(self) -> Turn:
        """Return the next iteration."""
        self._connection.send("go")
        turn: Turn = self._connection.recv()
        return turn

    @property
    def bytes(self) -> int:
        """PSS."""
        return _pss([psutil.Process(self._process.pid)])


def _filter_by_turns(connection: Connection, job: Job) -> None:
    began = [0.0]

    def wait() -> None:
        connection.recv()
        began[0] = time.process_time()

    def on_iteration(record: IterationRecord, state: FilterState) -> None:
        took = time.process_time() - began[0]
        connection.send(Turn(record.seconds, took, (), 0.0, digest(state)))
        if not state.finished:
            wait()

    wait()
    filter_dataset(
        job.mapped, job.labels, settings=job.settings, seed=SEED, device="cpu", memory_limit=MEMORY_LIMIT,
        on_iteration=on_iteration,
    )  # fmt: skip


class Nodes:
    """Node processes on this machine, with one core each; a context manager, which ends them."""

    def __init__(self, count: int) -> None:
        from ray.cluster_utils import Cluster as Started  # type: ignore[import-not-found,unused-ignore]  # an extra

        given = {"num_cpus": 1, "num_gpus": 0, "include_dashboard": False, "object_store_memory": OBJECT_STORE}
        self.seconds, began = list[float](), time.perf_counter()
        self._started = Started(initialize_head=True, head_node_args=given)
        self._nodes = [self._started.head_node]
        self.seconds.append(time.perf_counter() - began)
        for _ in range(count - 1):
            began = time.perf_counter()
            self._nodes.append(self._started.add_node(num_cpus=1, num_gpus=0, object_store_memory=OBJECT_STORE))
            self.seconds.append(time.perf_counter() - began)

    def __enter__(self) -> "Nodes":
        return self

    def __exit__(self, *error: object) -> None:
        self._started.shutdown()

    @property
    def address(self) -> str:
        """The head's host and port."""
        return str(self._started.address)

    def processes(self) -> list[list[psutil.Process]]:
        """Those of each node."""
        return [_with_children(_pids(node)) for node in self._nodes]

    def cpu_seconds(self) -> tuple[dict[int, float], float]:
        """So far: of each worker, by process number, and of everything else."""
        workers, others = dict[int, float](), 0.0
        for process in (process for node in self.processes() for process in node):
            try:
                times = process.cpu_times()
                if process.name().startswith(f"ray::{WorkHolder.__name__}"[:_NAME_LENGTH]):
                    workers[process.pid] = times.user + times.system
                else:
                    others += times.user + times.system
            except psutil.NoSuchProcess:
                continue
        return workers, others


def _pids(node: Any) -> list[int]:
    return [one.process.pid for kind in node.all_processes.values() for one in kind]


def _with_children(pids: Sequence[int]) -> list[psutil.Process]:
    found = dict[int, psutil.Process]()
    for pid in pids:
        try:
            parent = psutil.Process(pid)
            found |= {process.pid: process for process in (parent, *parent.children(recursive=True))}
        except psutil.NoSuchProcess:
            continue
    return list(found.values())


def _pss(processes: Sequence[psutil.Process]) -> int:
    total = 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total


@contextmanager
def started(count: int) -> Iterator[tuple[Nodes, Cluster, StartUp]]:
    """Node processes, the cluster on them, and how long it took."""
    os.environ.setdefault("PYTHONPATH", str(ROOT))
    os.environ.setdefault("RAY_memory_monitor_refresh_ms", "0")  # neighbours may take this machine's memory
    os.environ.setdefault("RAY_worker_niceness", str(os.nice(0)))  # Ray's 15 gives workers less of a busy core
    with Nodes(count) as nodes:
        began = time.perf_counter()
        with open_cluster(ClusterSettings("ray", nodes.address, workers=count, cpus=1), log=_quiet) as cluster:
            connected = time.perf_counter() - began
            began, seen = time.perf_counter(), set[int]()
            with cluster.workers(_present, needs=Needs(), log=_quiet) as workers:
                while len(seen) < count:
                    seen.add(workers.call(None, log=_quiet))
            yield nodes, cluster, StartUp(tuple(nodes.seconds), connected, time.perf_counter() - began)


def _present() -> Work:
    return _process_number


def _process_number(item: object, common: object, log: Log) -> int:
    return os.getpid()


def _quiet(line: str) -> None:
    return None


def by_turns(job: Job, nodes: Nodes, cluster: Cluster) -> tuple[list[tuple[Turn, Turn]], tuple[int, ...], int]:
    """Pairs of a local iteration and the cluster's; PSS of the nodes and of the local filter after the first.

    Raises:
        RuntimeError: a state of the two differs.
    """
    pairs = list[tuple[Turn, Turn]]()
    memory = list[tuple[tuple[int, ...], int]]()
    with LocalFilter(job) as local:
        pending, marks = [local.turn()], [_marked(nodes)]

        def on_iteration(record: IterationRecord, state: FilterState) -> None:
            turn = _turn_since(marks[-1], _marked(nodes), record.seconds, digest(state))
            if turn.state != pending[-1].state:
                raise RuntimeError(f"iteration {record.iteration} differs between the cluster and one process")
            pairs.append((pending[-1], turn))
            if state.finished:
                return
            if not memory:
                memory.append((tuple(_pss(node) for node in nodes.processes()), local.bytes))
            pending.append(local.turn())
            marks.append(_marked(nodes))

        given: dict[str, Any] = {"features": job.mapped, "labels": job.labels, "groups": None, "score_only": None}
        rows = partial(ScoredRows.of, **given, settings=job.settings, seed=SEED)
        with cluster_scorers(cluster, rows, device=DeviceSettings("cpu"), log=_quiet) as scorers:
            filter_dataset(
                job.mapped, job.labels, settings=job.settings, seed=SEED, device="cpu", memory_limit=MEMORY_LIMIT,
                on_iteration=on_iteration, scorers=scorers,
            )  # fmt: skip
    return pairs, *memory[0]


_Mark = tuple[float, dict[int, float], float]


def _marked(nodes: Nodes) -> _Mark:
    workers, others = nodes.cpu_seconds()
    return time.process_time(), workers, others


def _turn_since(mark: _Mark, now: _Mark, seconds: float, state: str) -> Turn:
    workers = tuple(spent - mark[1].get(pid, 0.0) for pid, spent in now[1].items())
    return Turn(seconds, now[0] - mark[0], workers, now[2] - mark[2], state)


def of_shares(job: Job, parts: Sequence[int], turns: int) -> dict[int, float]:
    """CPU seconds of the first of as many equal shares of an iteration; medians over turns, a round of all in each."""
    pool = np.arange(len(job.labels))
    inputs = check_inputs(job.mapped, job.labels, groups=None, score_only=None, memory_limit=MEMORY_LIMIT)
    scorer = PartitionScorer(inputs, job.settings, seed=SEED, memory_limit=MEMORY_LIMIT)
    drawn = draw_iteration(inputs, job.settings, pool=pool, seed=SEED, iteration=0)
    start = _start_of(job, inputs, scorer)
    work = IterationWork(1, pool, WholeIteration.of(drawn.subsets), start, keep_probabilities=False)
    spent: dict[int, list[float]] = {count: [] for count in parts}
    for _ in range(turns):
        for count in parts:
            began = time.process_time()
            scorer.score(work, shares(job.settings.n_partitions, count)[0])
            spent[count].append(time.process_time() - began)
    return {count: float(np.median(each)) for count, each in spent.items()}


@dataclass(frozen=True)
class Answering:
    """Scorers whose answers a function of this process gives."""

    count: int
    answer: Callable[[IterationWork, range], SetCounts]

    def score(self, work: IterationWork, numbers: Sequence[range]) -> Iterator[SetCounts]:
        """See `Scorers`."""
        return (self.answer(work, part) for part in numbers)


def _start_of(job: Job, inputs: Inputs, scorer: PartitionScorer) -> np.ndarray:
    """Where the second iteration starts."""
    scorers = Answering(1, scorer.score)
    engine = SpreadEngine.of(inputs, job.settings, seed=SEED, memory_limit=MEMORY_LIMIT, scorers=scorers)
    if engine is None:
        raise SystemExit("so small a job is never spread: give more --rows")
    pool = np.arange(len(job.labels))
    drawn = draw_iteration(inputs, job.settings, pool=pool, seed=SEED, iteration=0)
    return engine.tally(drawn.subsets, pool=pool, iteration=0).start


def of_loop(rows: int, workers: int, iterations: int) -> float:
    """CPU seconds of an iteration whose answers are there at once; the median."""
    rng, spent = np.random.default_rng(SEED), list[float]()
    began = [0.0]

    def answer(work: IterationWork, part: range) -> SetCounts:
        before, pool = time.process_time(), len(work.pool)
        right = np.random.default_rng(part.start).integers(0, len(part) + 1, pool)
        counts = Counts(right, np.ones((pool, 3), np.int32), np.ones(pool), np.empty((0, 3)))
        classifiers = np.zeros((len(part), 3, 17), np.float32)
        began[0] += time.process_time() - before  # made elsewhere
        return SetCounts(counts, (KeptClassifiers(64, [classifiers]),), np.ones((1, len(part)), np.int64))

    def on_iteration(record: IterationRecord, state: FilterState) -> None:
        spent.append(time.process_time() - began[0])
        began[0] = time.process_time()

    slice_size = rows // 100
    settings = FilterSettings(
        target_size=rows - slice_size * (iterations - 1), train_size=rows // 10, slice_size=slice_size, threshold=0.0
    )
    features, labels = rng.standard_normal((rows, 16), dtype=np.float32), rng.integers(0, 3, rows)
    given: dict[str, Any] = {"settings": settings, "seed": SEED, "device": "cpu", "memory_limit": MEMORY_LIMIT}
    filter_dataset(features, labels, **given, on_iteration=on_iteration, scorers=Answering(workers, answer))
    return float(np.median(spent[1:]))


def _spread(values: Sequence[float]) -> str:
    low, middle, high = np.percentile(values, (10, 50, 90))
    return f"{middle:.2f} ({low:.2f}-{high:.2f})"


def _ratio(pairs: Sequence[tuple[float, float]]) -> str:
    return f"{np.median([one / other for one, other in pairs]):.3f}"


def compare(job: Job, count: int) -> list[str]:
    """Lines about `count` nodes."""
    with started(count) as (nodes, cluster, start):
        pairs, node_bytes, local_bytes = by_turns(job, nodes, cluster)
    cold, warm = pairs[0], pairs[1:]
    seconds = ", ".join(f"{each:.1f}" for each in start.nodes)
    memory = ", ".join(f"{each / 2**30:.2f}" for each in node_bytes)
    efficiency = [(one.seconds, other.seconds * count) for one, other in warm]
    by_cpu = [(one.cpu, other.path * count) for one, other in warm]
    total = sum(one.seconds for one, _ in warm), sum(other.seconds for _, other in warm)
    return [
        f"\n**{count} node process{'es' if count > 1 else ''}**, load {os.getloadavg()[0]:.1f}; all {len(pairs)} "
        "states equal in every bit",
        f"- start-up: node processes after {seconds} s, connected after {start.connection:.1f} s, all workers answered "
        f"after {start.workers:.1f} s; first iteration {cold[1].seconds:.1f} s against {cold[0].seconds:.1f} s, of CPU "
        f"time {cold[1].cpu:.1f} s against {cold[0].cpu:.1f} s",
        f"- memory (PSS) of each node's processes with their worker, after an iteration: {memory} GiB; of the local "
        f"filter {local_bytes / 2**30:.2f} GiB",
        "",
        "| of an iteration | local, median (10-90 %) | cluster | ratio |",
        "|---|--:|--:|--:|",
        f"| wall s | {_spread([one.seconds for one, _ in warm])} | {_spread([other.seconds for _, other in warm])} | "
        f"{_ratio([(other.seconds, one.seconds) for one, other in warm])} |",
        f"| wall s, all iterations | {total[0]:.1f} | {total[1]:.1f} | {total[1] / total[0]:.3f} |",
        f"| CPU s | {_spread([one.cpu for one, _ in warm])} | {_spread([other.cpu for _, other in warm])} | "
        f"{_ratio([(other.cpu, one.cpu) for one, other in warm])} |",
        f"| CPU s of the workers | | {_spread([sum(other.workers) for _, other in warm])} | "
        f"{_ratio([(sum(other.workers), one.cpu) for one, other in warm])} |",
        f"| CPU s of the driver | | {_spread([other.own for _, other in warm])} | "
        f"{_ratio([(other.own, one.cpu) for one, other in warm])} |",
        f"| CPU s of Ray's other processes | | {_spread([other.others for _, other in warm])} | "
        f"{_ratio([(other.others, one.cpu) for one, other in warm])} |",
        f"| efficiency, wall | | {_ratio(efficiency)} | |",
        f"| efficiency, CPU | | {_ratio(by_cpu)} | |",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--iterations", type=int, default=30, help="the first one is start-up")
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2], help="numbers of node processes")
    parser.add_argument("--shares", type=int, nargs="+", metavar="N", help="instead: in 1, 2, 8, ... shares")
    parser.add_argument(
        "--loop", type=int, nargs="+", metavar="N", help="instead: with the answers of 1, 8, ... workers"
    )
    parser.add_argument("--model", action="store_true", help="instead: the model's tables")
    options = parser.parse_args(arguments)
    if options.model:
        print(cluster_model.tables())
        return
    configure_libraries()
    print(
        f"{options.rows:,} x {options.width}, {options.iterations} iterations; {psutil.cpu_count()} cores, load "
        f"{', '.join(f'{load:.1f}' for load in os.getloadavg())}",
        flush=True,
    )
    for workers in options.loop or ():
        print(f"- {workers} workers: {of_loop(options.rows, workers, options.iterations):.3f} CPU s", flush=True)
    if options.loop:
        return
    with tempfile.TemporaryDirectory() as folder:
        job = job_of(Path(folder), options.rows, options.width, options.iterations)
        if options.shares:
            for count, seconds in of_shares(job, options.shares, options.iterations).items():
                print(f"- {job.settings.n_partitions // count} partitions: {seconds:.3f} CPU s", flush=True)
            return
        for count in options.nodes:
            print("\n".join(compare(job, count)), flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"\nThe driver took at most {peak:.2f} GiB, shared pages included; load {os.getloadavg()[0]:.1f} at the end.")


if __name__ == "__main__":
    main()
