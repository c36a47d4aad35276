"""How the filter grows, and the paper's scale: `python benchmarks/filtering_scale.py growth` or `paper [GiB]`.

`growth`: one warm iteration (3 classes, column scales exp(-j / 150), 10 % trained on) for rows, width and partitions
over a factor of 16 each, the others fixed at 40,000 x 256 and 64; the slopes of seconds in log-log scale, of which 1
is linear. `paper`: 500,000 x 1,024 in float16 from a memory map, 3 classes, 64 partitions, train size 50,000, slices
of 10,000 down to 182,000 rows (Le Bras et al. 2020, section 4.1), under a memory limit (default 8 GiB).
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before numpy: waiting threads must not burn the cores

import numpy as np

from aflite_assets.algorithm import FilterSettings, FilterState, IterationRecord, filter_dataset
from aflite_assets.algorithm.inputs import check_inputs
from aflite_assets.algorithm.linear.engine import LinearEngine
from aflite_assets.algorithm.partitions import draw_partitions

SEED = 0


def write_features(path: Path, rows: int, width: int, deviation: float) -> np.ndarray:
    """Write Gaussian rows of three classes to a file; returns the labels."""
    rng = np.random.default_rng(SEED)
    scales = np.exp(-np.arange(width, dtype=np.float32) / 150)
    means = (rng.standard_normal((3, width)) * deviation).astype(np.float32)
    labels = rng.integers(0, 3, rows)
    features = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=(rows, width))
    for start in range(0, rows, 20_000):
        chosen = labels[start : start + 20_000]
        noise = rng.standard_normal((len(chosen), width), dtype=np.float32)
        features[start : start + len(chosen)] = (noise + means[chosen]) * scales
    features.flush()
    return labels


def warm_seconds(folder: Path, rows: int, width: int, partitions: int) -> float:
    """Seconds of a run's second iteration, the better of two."""
    labels = write_features(folder / "features.npy", rows, width, 0.1)
    features = np.load(folder / "features.npy").astype(np.float32)
    settings = FilterSettings(target_size=rows - 1, train_size=rows // 10, slice_size=1, n_partitions=partitions)
    inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=2**33)
    pool, seconds = np.arange(rows), []
    engine = LinearEngine(inputs, settings, seed=SEED, device="cpu", memory_limit=2**33, pool=pool)
    with engine:
        start = None
        for iteration in range(3):
            subsets = draw_partitions(
                pool, None, train_size=rows // 10, n_partitions=partitions, seed=SEED, iteration=iteration
            )
            started = time.perf_counter()
            start = engine.tally(subsets, pool=pool, start=start).start
            seconds.append(time.perf_counter() - started)
    return min(seconds[1:])


def growth() -> None:
    """Print seconds and slopes."""
    grids = {
        "rows": [(20_000 * factor, 256, 64) for factor in (1, 4, 16)],
        "width": [(40_000, 64 * factor, 64) for factor in (1, 4, 16)],
        "partitions": [(40_000, 256, 16 * factor) for factor in (1, 4, 16)],
    }
    print("| varied | seconds | slope |\n|---|---|--:|")
    for name, sizes in grids.items():
        with tempfile.TemporaryDirectory() as folder:
            seconds = [warm_seconds(Path(folder), *size) for size in sizes]
        slope = float(np.polyfit(np.log([1, 4, 16]), np.log(seconds), 1)[0])
        listed = ", ".join(
            f"{size[0]} x {size[1]}, {size[2]}: {took:.2f}" for size, took in zip(sizes, seconds, strict=True)
        )
        print(f"| {name} | {listed} | {slope:.2f} |", flush=True)


def paper(memory_limit: int) -> None:
    """Filter at the paper's scale, a line per iteration."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.npy"
        labels = write_features(path, 500_000, 1_024, 0.08)
        features = np.load(path, mmap_mode="r")
        settings = FilterSettings(target_size=182_000, train_size=50_000, slice_size=10_000, threshold=0.0)
        before, started = _anonymous_bytes(), time.perf_counter()
        most = [0]

        def report(record: IterationRecord, state: FilterState) -> None:
            most[0] = max(most[0], _anonymous_bytes())
            print(
                f"{record.iteration}: {record.rows_in} rows, bias {record.representation_bias:.4f}, "
                f"{record.seconds:.1f} s, {(most[0] - before) / 2**30:.2f} GiB",
                flush=True,
            )

        filter_dataset(
            features, labels, settings=settings, seed=SEED, memory_limit=memory_limit, device="cpu", on_iteration=report
        )
        hours = (time.perf_counter() - started) / 3600
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"{hours:.3f} hours; resident at most {peak:.1f} GiB, the memory map's pages included")


def _anonymous_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("/proc/self/status names no RssAnon: this benchmark needs Linux")


if __name__ == "__main__":
    if sys.argv[1:2] == ["paper"]:
        paper(int(float(sys.argv[2]) * 2**30) if len(sys.argv) > 2 else 2**33)
    elif sys.argv[1:] == ["growth"]:
        growth()
    else:
        raise SystemExit(__doc__)
