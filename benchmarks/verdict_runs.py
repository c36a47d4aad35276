"""The dataset's verdict in whole runs on kinds of made data: every stage, the report, and the code of its verdict.

    python -m benchmarks.verdict_runs [--runs 3] [--seed 0] [--kind NAME ...]

It is the slow companion of `verdict_rates`, which calls the rules alone: it shows that files, stages and report give
the same codes. Each draw of a kind is written to Parquet files, with all feature columns as one column of lists, and
with each property as an attribute. A dataset's file names them, and the pipeline makes it in a folder that is then
deleted. Evaluation rows are kept from the filter, and the evaluators `linear` and `rbf_svm` are trained with three
seeds. A file cannot declare an artefact by nature, so these properties stand under `irrelevant`, beside those that the
kind declares. Kinds whose kept rows are random are left out, since the pipeline always filters.

Printed per kind: how often each code came, and whether the kind allows it (`expected`, `refused`, or neither).
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
from benchmarks.verdict_kinds import KINDS
from benchmarks.verdict_kinds.records import Draw, Kind, Rows

DEFAULT_KINDS = (
    "random labels, classes of 70, 20 and 10 %",
    "clean task",
    "clean task, 15 % wrong labels",
    "image quality, independent of the label, declared",
    "causal property",
    "proxy that models cannot see, declared",
    "cue word on 50 %, seen",
    "place goes with the class, declared",
    "place goes with the class, reversed",
    "place goes with the class, not declared",
)
"""Kinds that run if none is named."""


def chosen_kinds(names: list[str] | None) -> list[Kind]:
    """Return the named kinds, or `DEFAULT_KINDS`; none whose kept rows are random.

    A name that is no whole name of a kind stands for all kinds whose names begin with it.
    """
    able = {kind.name: kind for kind in KINDS if not kind.random_filter}
    whole = {name for name in names or DEFAULT_KINDS if name in able}
    parts = tuple(name for name in names or DEFAULT_KINDS if name not in able)
    return [kind for name, kind in able.items() if name in whole or name.startswith(parts)]


def table_of(rows: Rows, split: str) -> pa.Table:
    """Return features as one column of lists, labels, each property as a column, and the group if rows have any.

    Codes of groups count from 0 in each split, so `split` stands before them.
    """
    columns: dict[str, Any] = {"features": rows.features.tolist(), "label": rows.labels}
    columns |= {one.name: one.values for one in rows.properties}
    if rows.groups is not None:
        columns["row_group"] = [f"{split} {group}" for group in rows.groups]
    return pa.table(columns)


def write_files(draw: Draw, folder: Path) -> dict[str, str]:
    """Write train rows, test rows and challenge sets that have rows; returns the files by the name of the set."""
    sets = {"train": draw.train, "test": draw.test}
    sets |= {name: one.rows for name, one in draw.challenges.items() if len(one.rows)}
    files = {name: str(folder / f"{name}.parquet") for name in sets}
    for name, rows in sets.items():
        pq.write_table(table_of(rows, name), files[name])
    return files


def dataset_of(kind: Kind, draw: Draw, files: dict[str, str]) -> dict[str, Any]:
    """Return the content of the dataset's file, with what the author of a draw declares."""
    attributes = [one.name for one in draw.train.properties]
    columns: dict[str, Any] = {"features": "features", "attributes": attributes}
    if draw.train.groups is not None:
        columns["group"] = "row_group"
    declared = dict.fromkeys((*draw.irrelevant, *draw.artefacts))
    challenges = {}
    for name, challenge in draw.challenges.items():
        if name in files:
            own = {**columns} if challenge.rows.groups is not None else {**columns, "group": None}
            source = {"format": "parquet", "splits": {"test": files[name]}}
            challenges[name] = {"source": source, "columns": own, "collected": challenge.collected}
    return {
        "name": "made",
        "source": {"format": "parquet", "splits": {split: files[split] for split in ("train", "test")}},
        "columns": columns,
        "irrelevant": [name for name in declared if name in attributes],
        "representations": {"given": {"kind": "identity"}},
        "filter": {
            "target_size": float(kind.filter_to), "slice_size": 0.1, "n_partitions": 16, "evaluation_rows": "kept"
        },
        "evaluators": {"linear": {"kind": "linear"}, "rbf_svm": {"kind": "rbf_svm"}},
        "seeds": [0, 1, 2],
        "challenge_sets": challenges,
    }  # fmt: skip


def code_of_run(kind: Kind, seed: int, folder: Path) -> str:
    """Return the code of one draw's report; the draw is that of `verdict_rates` with the same seed."""
    draw = kind.draw(np.random.default_rng([seed, *kind.name.encode()]))
    spec = DatasetSpec.model_validate(dataset_of(kind, draw, write_files(draw, folder)))
    made = run_pipeline(spec, store=ResultStore(folder / "results"))
    report = json.loads(made["benchmark_report"].result.file("report.json").read_text(encoding="utf-8"))
    return str(report["verdict"]["code"])


def standing(kind: Kind, code: str) -> str:
    """Return whether a code is right for a kind, false, or neither."""
    return "expected" if code in kind.expected else "refused" if code in kind.refused else "neither"


def main() -> None:
    """Run every chosen kind and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", nargs="+", help="names of kinds, or what their names begin with")
    options = parser.parse_args()
    configure_libraries()
    for kind in chosen_kinds(options.kind):
        started, codes = perf_counter(), Counter[str]()
        for number in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                codes[code_of_run(kind, options.seed + number, Path(folder))] += 1
        found = ", ".join(f"{code} {count} ({standing(kind, code)})" for code, count in codes.most_common())
        sys.stdout.write(f"{kind.name:60}  {found} ({perf_counter() - started:.0f} s)\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
