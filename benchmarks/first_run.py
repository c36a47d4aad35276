"""Whether README's first command says the same with every seed and number of threads.

    python -m benchmarks.first_run [--seeds 20] [--first 0] [--threads 1 2] [--processes 1]

`marked_digits` is made from nothing with so many fresh seeds (of the images' split, degradation and marks, of the
filter and of everything drawn for it; the evaluators' seeds follow it) and each number of threads, in a process and a
folder of its own that is then deleted. Printed: for each run the verdict's code and the gains on `clean` and
`marks_reversed`, and at the end how often each code came and the range of the gains.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from time import perf_counter
from typing import Any

import yaml

from aflite_assets.paths import configure_libraries
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import BUNDLED, parse_spec
from aflite_assets.stages.pipeline import run_pipeline


def content_of(seed: int) -> dict[str, Any]:
    """Return the bundled dataset's file with other seeds; equal seeds are of equal images in all of its sets."""
    content: dict[str, Any] = yaml.safe_load((BUNDLED / "marked_digits.yaml").read_text(encoding="utf-8"))
    content["source"]["seed"] = content["seed"] = seed
    content["seeds"] = [5 * seed + number for number in range(len(content["seeds"]))]
    for challenge in content["challenge_sets"].values():
        challenge["source"]["seed"] = seed
    return {"name": "marked_digits", **content}


def run_once(seed: int) -> dict[str, Any]:
    """Make the dataset with this seed from nothing; return the code, the gains in points and the seconds."""
    started = perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        results = run_pipeline(parse_spec(content_of(seed)), store=ResultStore(Path(folder) / "results"))
        report = json.loads(results["benchmark_report"].result.file("report.json").read_text(encoding="utf-8"))
    comparisons = report["verdict"]["evidence"]["comparisons"]
    gains: dict[str, float] = {}
    for one in comparisons:
        gains[one["test_set"]] = max(gains.get(one["test_set"], -100.0), one["difference"])
    return {"code": report["verdict"]["code"], "gains": gains, "seconds": perf_counter() - started}


def in_process(seed: int, threads: int) -> dict[str, Any]:
    """Do `run_once` in a process with so many threads."""
    limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}
    command = [sys.executable, "-m", "benchmarks.first_run", "--once", str(seed)]
    done = subprocess.run(command, env=os.environ | limits, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Print a line per run, and what all of them say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--processes", type=int, default=1, help="runs at a time")
    parser.add_argument("--once", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    configure_libraries()
    if given.once is not None:
        sys.stdout.write(json.dumps(run_once(given.once)) + "\n")
        return
    codes, gains = Counter[str](), dict[str, list[float]]()
    with ThreadPoolExecutor(given.processes) as pool:
        runs = {
            pool.submit(in_process, seed, threads): (seed, threads)
            for threads in given.threads
            for seed in range(given.first, given.first + given.seeds)
        }
        for done in as_completed(runs):
            (seed, threads), found = runs[done], done.result()
            codes[found["code"]] += 1
            for name, points in found["gains"].items():
                gains.setdefault(name, []).append(points)
            listed = ", ".join(f"{name} {points:+.1f}" for name, points in found["gains"].items())
            sys.stdout.write(f"seed {seed}, {threads} threads: {found['code']} ({listed}; {found['seconds']:.0f} s)\n")
            sys.stdout.flush()
    ranges = ", ".join(f"{name} {min(each):+.1f} to {max(each):+.1f}" for name, each in gains.items())
    sys.stdout.write(f"{', '.join(f'{code} {count}' for code, count in codes.most_common())}; {ranges}\n")


if __name__ == "__main__":
    main()
