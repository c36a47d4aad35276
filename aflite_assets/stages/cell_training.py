"""One cell trained and asked about every test set: the work that a worker process does. Keys and publishing: `grid`."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import PublishedResult
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.tables import load_examples
from aflite_assets.stages.published import read_challenge_sets, test_examples


@dataclass(frozen=True)
class CellJob:
    """Everything a process needs to train one cell: settings, rows, where the data are and where the files go.

    `train_rows`: int64 ids of rows of `raw`. `unreported`: splits that evaluators stop by, not tested on.
    """

    settings: Any
    train_rows: np.ndarray
    seed: int
    device: DeviceSettings
    raw: PublishedResult
    challenge_sets: PublishedResult
    unreported: frozenset[str]
    target: Path
    scratch: Path


def train_cell(job: CellJob, log: Callable[[str], None]) -> dict[str, float]:
    """Train, predict every test set and write predictions.parquet (and dynamics.parquet) into the target folder.

    Returns the evaluator's metrics and its accuracy on each test set whose classes are the dataset's own.

    Raises:
        AfliteError: whatever the evaluator refuses.
    """
    from aflite_assets.models.evaluators import evaluate

    raw = _raw(job.raw)
    tests = tests_of(raw, job.challenge_sets, job.unreported)
    stopping = getattr(job.settings, "early_stopping", None)
    evaluation = evaluate(
        job.settings,
        raw.select(job.train_rows),
        tests,
        seed=job.seed,
        device=job.device,
        scratch=job.scratch,
        log=log,
        validation=raw.in_split(stopping.split) if stopping is not None and stopping.split is not None else None,
    )
    pq.write_table(_predictions(evaluation.predictions, tests), job.target / "predictions.parquet")
    if evaluation.dynamics is not None:
        pq.write_table(evaluation.dynamics, job.target / "dynamics.parquet")
    mapped = read_challenge_sets(job.challenge_sets).mapped
    return {**evaluation.metrics, **_accuracies(evaluation.predictions, tests, mapped)}


def tests_of(raw: Examples, challenge_sets: PublishedResult, unreported: Collection[str]) -> dict[str, Examples]:
    """Every test set by name, but the splits that evaluators stop by."""
    return {name: test for name, test in test_examples(raw, challenge_sets).items() if name not in unreported}


@lru_cache(maxsize=1)
def _raw(result: PublishedResult) -> Examples:
    return load_examples(result.path)


def _accuracies(predictions: Mapping[str, Any], tests: Mapping[str, Examples], mapped: Collection[str]) -> dict:
    """Accuracy where classes are the dataset's own; where they are mapped it is the report's to compute."""
    return {
        f"accuracy.{name}": float((one.predicted == tests[name].labels).mean())
        for name, one in predictions.items()
        if name not in mapped and len(one.predicted)
    }


def _predictions(predictions: Mapping[str, Any], tests: Mapping[str, Examples]) -> pa.Table:
    tables = []
    for name, one in predictions.items():
        rows = len(one.predicted)
        probabilities = None if one.probabilities is None else list(one.probabilities)
        tables.append(
            pa.table(
                {
                    "test_set": pa.array([name] * rows, pa.string()),
                    "row_id": tests[name].row_ids,
                    "predicted": one.predicted.astype(np.int64),
                    "probabilities": pa.array(probabilities or [None] * rows, pa.list_(pa.float32())),
                }
            )
        )
    return pa.concat_tables(tables)
