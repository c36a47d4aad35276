"""The dataset's verdict in whole runs, as a smoke test of `verdicts.py`: every stage, the report, and its first line.

    python -m benchmarks.verdict_runs [--runs 5] [--seed 0]

For each of eight cases of `verdicts.py` (random labels, also with classes of 70, 20 and 10 %; a clean task, also with
15 % wrong labels and such classes; a cue on 30, 50 and 70 % of the rows) so many datasets are made: 2,000 train rows of
features with forty attributes, 1,000 rows of a split that is never filtered, and a challenge set of 1,000 rows on which
the cue misleads. Each goes through the pipeline in a folder that is then deleted. Printed: how often each code came.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.paths import configure_libraries
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import run_pipeline
from benchmarks.verdicts import CASES, MARKS, TEST, TRAIN, Case, Rows, draw_rows

RUN = (
    "random labels",
    "random labels, classes of 70, 20 and 10 %",
    "clean task",
    "clean task, 15 % wrong labels",
    "clean task, classes of 70, 20 and 10 %",
    "cue on 30 %, seen",
    "cue on 50 %, seen",
    "cue on 70 %, seen",
)
ATTRIBUTES = [f"mark_{number}" for number in range(MARKS)]


def table_of(rows: Rows) -> pa.Table:
    """Features as one column of lists, labels, and a column of yes and no per mark."""
    marks = {name: np.where(rows.marks[:, number], "yes", "no") for number, name in enumerate(ATTRIBUTES)}
    return pa.table({"features": rows.features.tolist(), "label": rows.labels, **marks})


def code_of_run(case: Case, seed: int, folder: Path) -> str:
    """The verdict's code of one made dataset, from its report."""
    rng = np.random.default_rng([seed, CASES.index(case)])
    sizes = {"train": TRAIN, "fresh": TEST, "misleads": TEST}
    files = {}
    for split, rows in sizes.items():
        files[split] = str(folder / f"{split}.parquet")
        pq.write_table(table_of(draw_rows(case, rows, rng, misleading=split == "misleads")), files[split])
    columns = {"features": "features", "attributes": ATTRIBUTES}
    filtering = {"target_size": 0.5 if not case.planted else 1 - case.cue, "slice_size": 0.05, "n_partitions": 16}
    content: dict[str, Any] = {
        "name": "made",
        "source": {"format": "parquet", "splits": {split: files[split] for split in ("train", "fresh")}},
        "columns": columns,
        "representations": {"given": {"kind": "identity"}},
        "filter": {**filtering, "evaluation_rows": "kept"},
        "evaluators": {"linear": {"kind": "linear"}},
        "seeds": [0, 1, 2],
        "challenge_sets": {
            "misleads": {"source": {"format": "parquet", "splits": {"test": files["misleads"]}}, "columns": columns}
        },
    }
    made = run_pipeline(DatasetSpec.model_validate(content), store=ResultStore(folder / "results"))
    report = json.loads(made["benchmark_report"].result.file("report.json").read_text(encoding="utf-8"))
    return str(report["verdict"]["code"])


def main() -> None:
    """Run every case and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    configure_libraries()
    for case in (case for case in CASES if case.name in RUN):
        started, codes = perf_counter(), Counter[str]()
        for number in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                codes[code_of_run(case, options.seed + number, Path(folder))] += 1
        found = ", ".join(f"{code} {count}" for code, count in codes.most_common())
        sys.stdout.write(f"{case.name:44}  {found} ({perf_counter() - started:.0f} s)\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
