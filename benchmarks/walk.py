"""How long each stage of one dataset takes, made and then found again: `python benchmarks/walk.py [dataset]`.

Parameter grid: the dataset named (default circles_1), a fresh temporary home, no tracking, one process. Seconds of
wall time; say nothing about a busy machine, so look at `uptime` first.
"""

import sys
import tempfile
import time
from pathlib import Path

from aflite_assets.paths import configure_libraries
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages.pipeline import STAGES, run_stage


def main(name: str) -> None:
    """Walk twice and print a table."""
    configure_libraries()
    spec = load_registry()[name]
    with tempfile.TemporaryDirectory() as home:
        store = ResultStore(Path(home))
        print(f"| {name} | made, s | found, s |\n|---|--:|--:|")
        made = {stage: _seconds(stage, spec, store) for stage in STAGES}
        found = {stage: _seconds(stage, spec, store) for stage in STAGES}
    for stage in STAGES:
        print(f"| {stage} | {made[stage]:.1f} | {found[stage]:.2f} |")
    print(f"| all | {sum(made.values()):.1f} | {sum(found.values()):.2f} |")


def _seconds(stage: str, spec: DatasetSpec, store: ResultStore) -> float:
    started = time.perf_counter()
    run_stage(stage, spec, store=store)
    return time.perf_counter() - started


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "circles_1")
