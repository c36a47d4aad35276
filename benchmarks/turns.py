"""Measuring by turns: what one turn took, what a contestant's turns come to, and their table. Not what is measured."""

import ctypes
import gc
import math
import os
import resource
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch

from aflite_assets.models.devices import DeviceSettings


@dataclass(frozen=True)
class Turn:
    """One repetition: seconds of wall and of CPU time (all threads), MiB above the start, and what came out."""

    seconds: float
    cpu_seconds: float
    peak: float
    result: float


@dataclass(frozen=True)
class Effort:
    """Work of a turn; `padded_tokens` and `operations` count what shorter rows are filled up with."""

    rows: int
    tokens: int
    padded_tokens: int
    operations: float


@dataclass(frozen=True)
class Line:
    """A contestant's turns, and as many of one batch only: the set-up, which no row more makes longer."""

    effort: Effort
    turns: Sequence[Turn]
    short_effort: Effort
    short_turns: Sequence[Turn]

    @property
    def rates(self) -> list[float]:
        """Rows per second of each turn, set-up included."""
        return [self.effort.rows / turn.seconds for turn in self.turns]

    def times_as_fast(self, peer: "Line") -> list[float]:
        """Ratio of the seconds, turn by turn."""
        return [theirs.seconds / ours.seconds for ours, theirs in zip(self.turns, peer.turns, strict=True)]

    def after_set_up(self, peer: "Line", *, cpu: bool = False) -> float:
        """Return the same for the rows after the first batch, of medians; of CPU time if asked for; NaN of too few
        rows.
        """
        ours, theirs = self._rest(cpu), peer._rest(cpu)
        return theirs / ours if min(ours, theirs) > 0 else math.nan

    def _rest(self, cpu: bool) -> float:
        times = [[turn.cpu_seconds if cpu else turn.seconds for turn in of] for of in (self.turns, self.short_turns)]
        return median(times[0]) - median(times[1])


def by_turns(contestants: Sequence[Callable[[], float]], repetitions: int, device: DeviceSettings) -> list[list[Turn]]:
    """Each contestant's turns: first all once, then all again, and so on; the first turns are not counted."""
    # Each turn begins with a collection, which need not look at libraries.
    gc.collect()
    gc.freeze()
    rounds = [[_turn(contestant, device) for contestant in contestants] for _ in range(1 + repetitions)]
    return [list(turns) for turns in zip(*rounds[1:], strict=True)]


def _turn(contestant: Callable[[], float], device: DeviceSettings) -> Turn:
    before = _start_of_memory(device)
    started, cpu = time.perf_counter(), time.process_time()
    result = contestant()
    if device.resolve().type == "cuda":
        torch.cuda.synchronize()
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu
    return Turn(seconds, cpu_seconds, (_most_memory(device) - before) / 2**20, result)


def _start_of_memory(device: DeviceSettings) -> int:
    """Give back what nobody uses and start the record of the most anew; returns the bytes in use."""
    gc.collect()
    if device.resolve().type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    elif Path("/proc/self/clear_refs").exists():
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")
    return _most_memory(device)


def _most_memory(device: DeviceSettings) -> int:
    if device.resolve().type == "cuda":
        return torch.cuda.max_memory_allocated()
    status = Path("/proc/self/status")
    if not status.is_file():  # without Linux's record, that of the whole process
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return next(int(line.split()[1]) * 1024 for line in status.read_text().splitlines() if line.startswith("VmHWM"))


def product_rate(device: DeviceSettings) -> float:
    """Operations per second of large matrix products in the device's precision; the best of five."""
    target = device.resolve()
    size = 8192 if target.type == "cuda" else 1024
    kind = torch.bfloat16 if device.precision == "bfloat16" else torch.float32
    matrix = torch.randn(size, size, device=target, dtype=kind, generator=torch.Generator(target).manual_seed(0))
    seconds = []
    for _ in range(6):
        started = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # waits for the GPU
        seconds.append(time.perf_counter() - started)
    return 2 * size**3 / min(seconds[1:])


def machine(device: DeviceSettings, rate: float, load: float) -> str:
    """One line about the machine, and a second one if it has other things to do; `load` from before the start."""
    name = torch.cuda.get_device_name() if device.resolve().type == "cuda" else "CPU"
    written = (
        f"{name}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, load before {load:.1f}, "
        f"{device.precision}, {rate / 1e9:,.0f} GFLOP/s in large products"
    )
    if load > 0.5:
        written += "\nThe machine is NOT QUIET: look at ratios and CPU seconds, and do not trust the other times."
    return written


def table(lines: Mapping[str, Line], peers: Mapping[str, str], rate: float) -> str:
    """Markdown; medians, in brackets the lowest and the highest turn. `peers`: what a contestant is compared with."""
    heads = (
        "", "rows / s", "tokens / s", "times as fast as", "after set-up", "by CPU time", "set-up, s", "CPU s",
        "padding", "of matrix rate", "MiB", "result",
    )  # fmt: skip
    written = [f"| {' | '.join(heads)} |", "|---" + "|--:" * (len(heads) - 1) + "|"]
    for name, line in lines.items():
        compared = _compared(line, peers[name], lines[peers[name]]) if name in peers else ("", "", "")
        seconds = median(turn.seconds for turn in line.turns)
        cells = (
            name, _spread(line.rates, 1), f"{line.effort.tokens / seconds:,.0f}", *compared,
            f"{median(turn.seconds for turn in line.short_turns):.2f}",
            f"{median(turn.cpu_seconds for turn in line.turns):.2f}",
            f"{1 - line.effort.tokens / line.effort.padded_tokens:.0%}",
            f"{line.effort.operations / seconds / rate:.0%}",
            f"{median(turn.peak for turn in line.turns):,.0f}", f"{line.turns[-1].result:.5f}",
        )  # fmt: skip
        written.append(f"| {' | '.join(cells)} |")
    return "\n".join(written)


def _compared(line: Line, name: str, peer: Line) -> tuple[str, str, str]:
    times = f"{name}: {_spread(line.times_as_fast(peer), 2)}"
    return times, f"{line.after_set_up(peer):.2f}", f"{line.after_set_up(peer, cpu=True):.2f}"


def _spread(values: Sequence[float], digits: int) -> str:
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"
