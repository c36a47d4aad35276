"""Measure what counting every class's predictions costs an iteration: `python benchmarks/predicted_classes.py`.

Grid: the SNLI features of AFLITE_EXAMPLE_DATA at train share 10 %; Gaussian classes (see filtering.py) of 20,000 x 256
with 10 classes and of 10,000 x 128 with 50, train share 20 %; 64 partitions. By turns in one process, with and without
the counts: CPU seconds of an iteration that starts from the one before, and medians over the turns.
"""

import argparse
import time
from statistics import median
from unittest import mock

import numpy as np

from aflite_assets.algorithm.inputs import check_inputs
from aflite_assets.algorithm.linear.engine import LinearEngine, linear_engine
from benchmarks.filtering import MEMORY, SEED, Problem, example, gaussian

GRID = {
    "example 10 %": lambda: example(0.10),
    "20k x 256, 10 classes, 20 %": lambda: gaussian(20_000, 256, 10, 0.10, 0.20),
    "10k x 128, 50 classes, 20 %": lambda: gaussian(10_000, 128, 50, 0.20, 0.20),
}


def measure(problem: Problem, turns: int) -> tuple[list[float], list[float]]:
    """CPU seconds of an iteration without and with the counts, a pair per turn."""
    inputs = check_inputs(problem.features, problem.labels, groups=None, score_only=None, memory_limit=MEMORY)
    pool = np.arange(len(problem.labels))
    seconds: tuple[list[float], list[float]] = ([], [])
    engine = LinearEngine(inputs, problem.settings, seed=SEED, device="cpu", memory_limit=MEMORY, pool=pool)
    with engine:
        start = engine.tally(problem.subsets(pool, 0), pool=pool).start
        for turn in range(turns):
            for counted in ((0, 1), (1, 0))[turn % 2]:
                with mock.patch.object(linear_engine, "counts_classes", lambda *_, answer=bool(counted): answer):
                    began = time.process_time()
                    engine.tally(problem.subsets(pool, 1), pool=pool, start=start)
                    seconds[counted].append(time.process_time() - began)
    return seconds


def main() -> None:
    """Print a table of the configurations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=9)
    turns = parser.parse_args().turns
    print("| configuration | without s | with s | ratio, median of turns |\n|---|--:|--:|--:|")
    for name, make in GRID.items():
        without, counted = measure(make(), turns)
        ratio = median(after / before for before, after in zip(without, counted, strict=True))
        print(f"| {name} | {median(without):.3f} | {median(counted):.3f} | {ratio:.3f} |")


if __name__ == "__main__":
    main()
