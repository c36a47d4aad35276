"""One iteration of the filter against scikit-learn: `python benchmarks/filtering.py [configuration ...]`.

Grid: the SNLI features of AFLITE_EXAMPLE_DATA at train share 10, 25 and 50 %; Gaussian classes with column scales
exp(-j / 150) and class means of the deviation given, 50,000 x 768 (3 classes; 0.25 is nearly separable), 100,000 x
1,024, 20,000 x 1,280 (10 classes), 20,000 x 512 (100 classes); 64 partitions. Peer: scikit-learn's default logistic
regression, joblib over all cores, one BLAS thread each, on some of the partitions, scaled to 64. Converged: the same
with tolerance 1e-6, on four. Agreement: held-out labels of four partitions against scikit-learn in float64 at 1e-8.
Cold is a run's first iteration, checks and preparation included; warm the next one, 3 % of the rows removed. Floor:
8 gradient passes and one prediction pass at this machine's rate of large matrix products. Compilation is left out:
it happens once per machine. Ratios are only worth something on a quiet machine: look at `uptime` first.
"""

import argparse
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before numpy: waiting threads must not burn the cores

import numpy as np
import torch
from joblib import Parallel, cpu_count, delayed
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from aflite_assets.algorithm import FilterSettings
from aflite_assets.algorithm.inputs import check_inputs
from aflite_assets.algorithm.linear.engine import LinearEngine
from aflite_assets.algorithm.partitions import draw_partitions

PARTITIONS = 64
SEED = 0
MEMORY = 2**30


@dataclass(frozen=True)
class Problem:
    """Features, labels and the rows that each classifier is trained on."""

    features: np.ndarray
    labels: np.ndarray
    train_size: int

    @property
    def settings(self) -> FilterSettings:
        """Settings of which only the number of partitions and the train size matter here."""
        rows = len(self.labels)
        return FilterSettings(target_size=rows - 1, train_size=self.train_size, slice_size=1, n_partitions=PARTITIONS)

    def subsets(self, pool: np.ndarray, iteration: int) -> list[np.ndarray]:
        """Return the training rows of an iteration's partitions."""
        return draw_partitions(
            pool, None, train_size=self.train_size, n_partitions=PARTITIONS, seed=SEED, iteration=iteration
        )


@dataclass(frozen=True)
class Ours:
    """Seconds of a first and a second iteration, and gradient evaluations per classifier in the first."""

    cold: float
    warm: float
    evaluations: float
    most_evaluations: int


def example(share: float) -> Problem:
    """Return the SNLI features that AFLITE_EXAMPLE_DATA holds."""
    folder = Path(os.environ["AFLITE_EXAMPLE_DATA"]) / "features"
    features = np.load(folder / "snli_minilm_features.npy")
    labels = np.load(folder / "snli_minilm_labels.npy").astype(np.int64)
    return Problem(features, labels, int(len(labels) * share))


def gaussian(rows: int, width: int, classes: int, deviation: float, share: float) -> Problem:
    """Classes whose means differ by `deviation` times a column's scale."""
    rng = np.random.default_rng(1)
    scales = np.exp(-np.arange(width, dtype=np.float32) / 150)
    labels = rng.integers(0, classes, rows)
    means = (rng.standard_normal((classes, width)) * deviation).astype(np.float32)
    features = (rng.standard_normal((rows, width), dtype=np.float32) + means[labels]) * scales
    return Problem(features, labels, int(rows * share))


GRID: dict[str, Callable[[], Problem]] = {
    "example 10 %": lambda: example(0.10),
    "example 25 %": lambda: example(0.25),
    "example 50 %": lambda: example(0.50),
    "50k x 768, 0.25, 10 %": lambda: gaussian(50_000, 768, 3, 0.25, 0.10),
    "50k x 768, 0.10, 10 %": lambda: gaussian(50_000, 768, 3, 0.10, 0.10),
    "50k x 768, 0.06, 10 %": lambda: gaussian(50_000, 768, 3, 0.06, 0.10),
    "50k x 768, 0.25, 50 %": lambda: gaussian(50_000, 768, 3, 0.25, 0.50),
    "50k x 768, 0.10, 50 %": lambda: gaussian(50_000, 768, 3, 0.10, 0.50),
    "50k x 768, 0.06, 50 %": lambda: gaussian(50_000, 768, 3, 0.06, 0.50),
    "100k x 1024, 0.10, 10 %": lambda: gaussian(100_000, 1024, 3, 0.10, 0.10),
    "20k x 1280, 10 classes, 20 %": lambda: gaussian(20_000, 1280, 10, 0.10, 0.20),
    "20k x 512, 100 classes, 20 %": lambda: gaussian(20_000, 512, 100, 0.20, 0.20),
}


def measure_ours(problem: Problem) -> Ours:
    """Time two iterations."""
    started = time.perf_counter()
    inputs = check_inputs(problem.features, problem.labels, groups=None, score_only=None, memory_limit=MEMORY)
    pool = np.arange(len(problem.labels))
    engine = LinearEngine(inputs, problem.settings, seed=SEED, device="cpu", memory_limit=MEMORY, pool=pool)
    with engine:
        first = engine.tally(problem.subsets(pool, 0), pool=pool)
        cold = time.perf_counter() - started
        most_predictable = np.argsort(-first.tally.scores, kind="stable")[: len(pool) * 3 // 100]
        left = np.setdiff1d(pool, most_predictable)
        started = time.perf_counter()
        engine.tally(problem.subsets(left, 1), pool=left, start=first.start)
        warm = time.perf_counter() - started
    return Ours(cold, warm, float(first.evaluations.mean()), int(first.evaluations.max()))


def measure_peer(problem: Problem, tolerance: float, most_iterations: int, partitions: int) -> tuple[float, float]:
    """Seconds for all partitions, scaled from some, and mean iterations."""
    pool = np.arange(len(problem.labels))
    subsets = problem.subsets(pool, 0)
    with Parallel(n_jobs=cpu_count()) as workers:
        work = delayed(_peer_right)
        workers(work(problem, subsets[-1 - worker], 1e-1, 5) for worker in range(cpu_count()))
        started = time.perf_counter()
        counts = workers(work(problem, subset, tolerance, most_iterations) for subset in subsets[:partitions])
        seconds = time.perf_counter() - started
    return seconds * PARTITIONS / partitions, float(np.mean([iterations for _, iterations in counts]))


def _peer_right(problem: Problem, trained: np.ndarray, tolerance: float, most_iterations: int) -> tuple[int, int]:
    import warnings

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the peer's default stops at 100 iterations and says so
        model = LogisticRegression(tol=tolerance, max_iter=most_iterations)
        model.fit(problem.features[trained], problem.labels[trained])
        held_out = np.setdiff1d(np.arange(len(problem.labels)), trained)
        right = model.predict(problem.features[held_out]) == problem.labels[held_out]
    return int(right.sum()), int(np.max(model.n_iter_))


def measure_agreement(problem: Problem, partitions: int = 4) -> float:
    """Share of (held-out row, partition) pairs on which we and scikit-learn's optimum predict the same label."""
    inputs = check_inputs(problem.features, problem.labels, groups=None, score_only=None, memory_limit=MEMORY)
    pool = np.arange(len(problem.labels))
    subsets = problem.subsets(pool, 0)[:partitions]
    optima = Parallel(n_jobs=cpu_count())(delayed(_optimum)(problem, subset) for subset in subsets)
    same = []
    engine = LinearEngine(inputs, problem.settings, seed=SEED, device="cpu", memory_limit=MEMORY, pool=pool)
    with engine:
        for subset, expected in zip(subsets, optima, strict=True):
            shares = engine.tally([subset], pool=pool, keep_probabilities=True).tally.probabilities
            assert shares is not None
            held_out = np.setdiff1d(pool, subset)
            same.append(inputs.classes[shares[held_out].argmax(axis=1)] == expected[held_out])
    return float(np.concatenate(same).mean())


def _optimum(problem: Problem, trained: np.ndarray) -> np.ndarray:
    with threadpool_limits(1):
        model = LogisticRegression(solver="newton-cg", tol=1e-8, max_iter=10_000)
        features = problem.features.astype(np.float64)
        return model.fit(features[trained], problem.labels[trained]).predict(features)


def floor_seconds(problem: Problem, rate: float) -> float:
    """Time of 8 gradient passes and one prediction pass at `rate` operations per second."""
    classes = len(np.unique(problem.labels))
    weights = problem.features.shape[1] * classes * PARTITIONS
    return weights * (8 * 4 * problem.train_size + 2 * len(problem.labels)) / rate


def product_rate() -> float:
    """Operations per second of the faster of numpy's and torch's float32 products of 2,048 x 2,048."""
    matrix = np.random.default_rng(0).standard_normal((2048, 2048), dtype=np.float32)
    tensor = torch.from_numpy(matrix)
    best = min(min(_seconds(lambda: matrix @ matrix), _seconds(lambda: tensor @ tensor)) for _ in range(5))
    return 2 * 2048**3 / best


def _seconds(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="configuration", help=f"of {', '.join(GRID)}; default: all")
    parser.add_argument("--fast", action="store_true", help="leave out agreement and the converged peer")
    options = parser.parse_args()
    rate = product_rate()
    print(f"{cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {rate / 1e9:.0f} GFLOP/s in large products\n")
    print(
        "| configuration | peer s | converged s | cold s | warm s | peer / cold | peer / warm | converged / cold ",
        end="",
    )
    print("| peer iterations | ours (most) | floor, cold | floor, warm | agreement |")
    print("|---" + "|--:" * 12 + "|")
    ratios = []
    for name in options.names or GRID:
        problem = GRID[name]()
        measure_ours(problem)  # compiles, and fills the page cache
        runs = [measure_ours(problem) for _ in range(3)]
        cold, warm = median(run.cold for run in runs), median(run.warm for run in runs)
        peer, iterations = measure_peer(problem, 1e-4, 100, 16 if problem.train_size <= 5000 else 8)
        converged = float("nan") if options.fast else measure_peer(problem, 1e-6, 10_000, 4)[0]
        agreement = float("nan") if options.fast else measure_agreement(problem)
        floor = floor_seconds(problem, rate)
        ratios.append(peer / cold)
        print(
            f"| {name} | {peer:.2f} | {converged:.1f} | {cold:.2f} | {warm:.2f} | {peer / cold:.1f} | "
            f"{peer / warm:.1f} | {converged / cold:.0f} | {iterations:.0f} | {runs[0].evaluations:.1f} "
            f"({runs[0].most_evaluations}) | {floor / cold:.0%} | {floor / warm:.0%} | {agreement:.6f} |",
            flush=True,
        )
    print(f"\nGeometric mean of peer / cold: {np.exp(np.mean(np.log(ratios))):.1f}")


if __name__ == "__main__":
    main()
