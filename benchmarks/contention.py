"""The filter beside other work: `python -m benchmarks.contention [configuration ...]`.

Grid: the SNLI features of AFLITE_EXAMPLE_DATA at train share 10 %, and 2,000 x 64 (2 classes), which torch fits in
float64, or the configurations named, those of filtering.py too; one filter, and two at once in two processes; 1, 2, 4,
... threads in each, up to the cores; 0, 1, 2 and 4 busy processes beside them. A pass is one `score_rows` of 64
partitions, checks and preparation included, compilation left out. Every cell has 20 passes, taken by turns: one of
each cell, then again one of each.

Busy processes are plain Python loops. They and the filters run as children at the niceness of this process, which
sleeps meanwhile; those that a cell does not need are stopped. OMP_WAIT_POLICY is taken from the filters: threads wait
as they do where a program imports `aflite_assets.algorithm` and nothing else.

Quiet: the median of one filter with as many threads beside no busy process. Fair: the quiet seconds times
max(1, (busy processes + threads of all filters) / cores). Required: the 90th percentile of a cell's passes is at most
1.3 times the fair seconds, that of the passes' CPU time (all threads) at most 1.3 times the quiet CPU time. Threads
that spin while they wait take CPU time, threads that sleep do not: where the machine is not quiet, look at that.
"""

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from aflite_assets.algorithm import score_rows
from benchmarks.filtering import GRID, Problem, gaussian

ROOT = Path(__file__).parents[1]
SMALL = "2k x 64, 2 classes, 10 %"
CONFIGURATIONS: Mapping[str, Callable[[], Problem]] = GRID | {SMALL: lambda: gaussian(2_000, 64, 2, 0.10, 0.10)}
BUSY = (0, 1, 2, 4)
ALLOWED = 1.3
QUIET_LOAD = 0.5
_BUSY_LOOP = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"


@dataclass(frozen=True)
class Cell:
    """`filters` at once, of `threads` threads each, beside `busy` processes."""

    filters: int
    threads: int
    busy: int

    @property
    def quiet(self) -> "Cell":
        """One such filter beside nothing."""
        return Cell(1, self.threads, 0)

    def fair_share(self, cores: int) -> float:
        """How many times the quiet seconds a pass takes if everything that runs gets as much of the cores."""
        return max(1.0, (self.busy + self.filters * self.threads) / cores)


@dataclass(frozen=True)
class Pass:
    """Seconds of wall and of CPU time."""

    seconds: float
    cpu_seconds: float


@dataclass(frozen=True)
class Line:
    """Times of a cell's passes; percentiles are the 90th, `fair` and `quiet_cpu` what they are held against."""

    median: float
    percentile: float
    worst: float
    fair: float
    cpu_median: float
    cpu_percentile: float
    quiet_cpu: float

    @property
    def of_fair(self) -> float:
        """The percentile by the fair seconds."""
        return self.percentile / self.fair

    @property
    def of_quiet_cpu(self) -> float:
        """The same of CPU time by that of a quiet pass."""
        return self.cpu_percentile / self.quiet_cpu

    @property
    def is_met(self) -> bool:
        """Whether it is as required."""
        return max(self.of_fair, self.of_quiet_cpu) <= ALLOWED


def lines_of(passes: Mapping[Cell, Sequence[Pass]], cores: int) -> dict[Cell, Line]:
    """Each cell's line; the quiet cells must be among them."""
    return {cell: _line(cell, passes, cores) for cell in passes}


def _line(cell: Cell, passes: Mapping[Cell, Sequence[Pass]], cores: int) -> Line:
    seconds, cpu_seconds = _columns(passes[cell])
    quiet, quiet_cpu = (float(np.median(column)) for column in _columns(passes[cell.quiet]))
    return Line(
        float(np.median(seconds)),
        float(np.quantile(seconds, 0.9)),
        float(seconds.max()),
        quiet * cell.fair_share(cores),
        float(np.median(cpu_seconds)),
        float(np.quantile(cpu_seconds, 0.9)),
        quiet_cpu,
    )


def _columns(passes: Sequence[Pass]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([one.seconds for one in passes]), np.array([one.cpu_seconds for one in passes])


def table(name: str, lines: Mapping[Cell, Line]) -> str:
    """Markdown, a row per cell."""
    heads = (
        "configuration", "filters", "threads", "busy", "median s", "90 % s", "worst s", "fair s", "90 % / fair",
        "CPU s", "CPU 90 % / quiet", "as required",
    )  # fmt: skip
    written = [f"| {' | '.join(heads)} |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    for cell, line in lines.items():
        cells = (
            name, cell.filters, cell.threads, cell.busy, f"{line.median:.2f}", f"{line.percentile:.2f}",
            f"{line.worst:.2f}", f"{line.fair:.2f}", f"{line.of_fair:.2f}", f"{line.cpu_median:.2f}",
            f"{line.of_quiet_cpu:.2f}", "yes" if line.is_met else "NO",
        )  # fmt: skip
        written.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(written)


class Filter:
    """A filter in a process of its own, which passes over one configuration whenever it is told to."""

    def __init__(self, name: str, threads: int) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "OMP_WAIT_POLICY"}
        command = [sys.executable, "-m", "benchmarks.contention", "--filter", str(threads), name]
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def start(self) -> None:
        """Begin a pass."""
        assert self.process.stdin is not None
        self.process.stdin.write("pass\n")
        self.process.stdin.flush()

    def result(self) -> Pass:
        """Return what it took, once it is done."""
        assert self.process.stdout is not None
        answer = self.process.stdout.readline().split()
        if len(answer) != 2:
            raise RuntimeError(f"a filter ended early, with exit status {self.process.wait()}: see its message above")
        return Pass(float(answer[0]), float(answer[1]))


def serve(name: str, threads: int) -> None:
    """Return what a filter's process does: a pass for every line that comes in, its times on a line that goes out."""
    torch.set_num_threads(threads)
    problem = CONFIGURATIONS[name]()
    _pass(problem)  # compiles, and fills the page cache
    for _ in sys.stdin:
        taken = _pass(problem)
        print(taken.seconds, taken.cpu_seconds, flush=True)


def _pass(problem: Problem) -> Pass:
    started, cpu = time.perf_counter(), time.process_time()
    score_rows(problem.features, problem.labels, settings=problem.settings, seed=0, device="cpu")
    return Pass(time.perf_counter() - started, time.process_time() - cpu)


@contextmanager
def _ended(process: subprocess.Popen) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.communicate()


@contextmanager
def _running(processes: Sequence[subprocess.Popen]) -> Iterator[None]:
    """Let stopped processes run within."""
    for process in processes:
        process.send_signal(signal.SIGCONT)
    time.sleep(0.05)  # until each has found a core
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGSTOP)


def measure(name: str, cells: Sequence[Cell], repetitions: int) -> dict[Cell, list[Pass]]:
    """Return the passes of all cells, taken by turns."""
    passes: dict[Cell, list[Pass]] = {cell: [] for cell in cells}
    with ExitStack() as processes:
        busy = [subprocess.Popen([sys.executable, "-c", _BUSY_LOOP]) for _ in range(max(cell.busy for cell in cells))]
        filters: dict[int, list[Filter]] = {}
        for process in busy:
            processes.enter_context(_ended(process))
            process.send_signal(signal.SIGSTOP)
        for threads in sorted({cell.threads for cell in cells}):
            most = max(cell.filters for cell in cells if cell.threads == threads)
            filters[threads] = [Filter(name, threads) for _ in range(most)]
            for one in filters[threads]:
                processes.enter_context(_ended(one.process))
            _together(filters[threads])  # they are ready, and the kernels compiled for the next ones
        for _ in range(repetitions):
            for cell in cells:
                with _running(busy[: cell.busy]):
                    passes[cell] += _together(filters[cell.threads][: cell.filters])
    return passes


def _together(filters: Sequence[Filter]) -> list[Pass]:
    for one in filters:
        one.start()
    return [one.result() for one in filters]


def grid(threads: Sequence[int], filters: Sequence[int], busy: Sequence[int]) -> list[Cell]:
    """All combinations, and the quiet cells."""
    asked = [Cell(at_once, count, beside) for at_once in filters for count in threads for beside in busy]
    return list(dict.fromkeys([*(Cell(1, count, 0) for count in threads), *asked]))


def _doubled(most: int) -> list[int]:
    return [2**power for power in range(most.bit_length()) if 2**power <= most]


def main(arguments: Sequence[str] | None = None) -> dict[str, dict[Cell, Line]]:
    """Print a table per configuration; returns their lines."""
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="configuration", help=f"of {', '.join(CONFIGURATIONS)}")
    parser.add_argument("--threads", type=int, nargs="+", default=_doubled(cores))
    parser.add_argument("--filters", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--busy", type=int, nargs="+", default=BUSY)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--anyway", action="store_true", help="measure though the machine is not quiet")
    parser.add_argument("--filter", type=int, metavar="THREADS", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.filter:
        serve(options.names[0], options.filter)
        return {}
    load = os.getloadavg()[0]
    if load > QUIET_LOAD and not options.anyway:
        parser.error(f"the load is {load:.1f}, above {QUIET_LOAD}: wait until the machine is quiet, or give --anyway")
    print(f"{cores} cores, load before {load:.1f}, {options.repetitions} passes per cell")
    if load > QUIET_LOAD:
        print("The machine is NOT QUIET: look at CPU seconds, and do not trust the other times.")
    found = {}
    for name in options.names or ("example 10 %", SMALL):
        cells = grid(options.threads, options.filters, options.busy)
        found[name] = lines_of(measure(name, cells, options.repetitions), cores)
        print(f"\n{table(name, found[name])}", flush=True)
    return found


if __name__ == "__main__":
    main()
