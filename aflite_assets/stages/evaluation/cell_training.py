"""Training of one cell and its predictions for every test set: the work of a worker process. Keys and publishing are in
`grid`.

Cells that start from the same training share its weights, which are then a job of their own.
"""

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import PublishedResult
from aflite_assets.specs.models.kinds import NeuralModelSpec, OneStageSpec
from aflite_assets.specs.recipes import RecipeStage
from aflite_assets.stages.shared.published import examples_of, fine_tune_examples, read_challenge_sets, test_examples

if TYPE_CHECKING:
    from aflite_assets.models.evaluators import Evaluation
    from aflite_assets.models.training.predictions import Predictions

_MODEL = "model"
"""The folder of a trained model, below its own part."""


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """Everything that a process needs to train a model: settings, rows, the folders of the data and of the files.

    `train_rows`: int64 ids of rows of `raw`; `row_weights`: the factor of each row's loss, or None for 1.
    """

    settings: OneStageSpec
    train_rows: np.ndarray
    seed: int
    device: DeviceSettings
    raw: PublishedResult
    target: Path
    scratch: Path
    row_weights: np.ndarray | None = None


@dataclass(frozen=True, kw_only=True)
class WeightsJob(TrainingJob):
    """Training of a shared start of several cells, which is saved."""

    settings: NeuralModelSpec

    def run(self, log: Callable[[str], None]) -> dict[str, float]:
        """Call `train_weights` in this process."""
        return train_weights(self, log)


@dataclass(frozen=True, kw_only=True)
class CellJob(TrainingJob):
    """Training of one cell, and its predictions of every test set.

    `unreported`: splits used for early stopping, on which evaluators are not tested. `weights`: the folder in which a
    `WeightsJob` has trained this cell's settings on its rows; then `stages` are trained next. `stage_rows`: the ids of
    train rows of `raw` for stages on forgettable rows, by the names that the stages use.
    """

    challenge_sets: PublishedResult
    unreported: frozenset[str]
    weights: PublishedResult | None = None
    stages: tuple[RecipeStage, ...] = ()
    stage_rows: Mapping[str, np.ndarray] = field(default_factory=dict)

    def run(self, log: Callable[[str], None]) -> dict[str, float]:
        """Call `train_cell` in this process."""
        return train_cell(self, log)


def train_weights(job: WeightsJob, log: Callable[[str], None]) -> dict[str, float]:
    """Train, write the model and dynamics.parquet into the target folder, and return the training's metrics.

    Raises:
        AfliteError: any error of the evaluator.
    """
    from aflite_assets.models.evaluators import train_and_save

    raw = examples_of(job.raw)
    result = train_and_save(
        job.settings,
        raw.select(job.train_rows),
        job.target / _MODEL,
        seed=job.seed,
        device=job.device,
        scratch=job.scratch,
        log=log,
        validation=_validation(job.settings, raw),
        row_weights=job.row_weights,
    )
    pq.write_table(result.dynamics, job.target / "dynamics.parquet")
    return dict(result.metrics)


def train_cell(job: CellJob, log: Callable[[str], None]) -> dict[str, float]:
    """Train, predict every test set and write predictions.parquet (and dynamics.parquet) into the target folder.

    A cell with several stages has no dynamics: those of its first stage are stored with its weights, and the rows of
    the others are not in the dataset. Returns the evaluator's metrics and its accuracy on each test set whose classes
    are the dataset's own.

    Raises:
        AfliteError: any error of the evaluator.
    """
    raw = examples_of(job.raw)
    tests = tests_of(raw, job.challenge_sets, job.unreported)
    evaluation = _evaluated(job, raw, tests, log) if job.weights is None else _continued(job, raw, tests, log)
    pq.write_table(predictions_table(evaluation.predictions, tests), job.target / "predictions.parquet")
    if evaluation.dynamics is not None:
        pq.write_table(evaluation.dynamics, job.target / "dynamics.parquet")
    mapped = read_challenge_sets(job.challenge_sets).mapped
    return {**evaluation.metrics, **_accuracies(evaluation.predictions, tests, mapped)}


def _evaluated(job: CellJob, raw: Examples, tests: Mapping[str, Examples], log: Callable[[str], None]) -> "Evaluation":
    from aflite_assets.models.evaluators import evaluate

    return evaluate(
        job.settings,
        raw.select(job.train_rows),
        tests,
        seed=job.seed,
        device=job.device,
        scratch=job.scratch,
        log=log,
        validation=_validation(job.settings, raw),
        row_weights=job.row_weights,
    )


def _continued(job: CellJob, raw: Examples, tests: Mapping[str, Examples], log: Callable[[str], None]) -> "Evaluation":
    """Return the evaluation of trained weights, after further stages if there are any."""
    from aflite_assets.models.evaluators import evaluate_saved
    from aflite_assets.models.training.fine_tuning import FineTuning

    assert job.weights is not None
    assert isinstance(job.settings, NeuralModelSpec)
    if not job.stages:
        shutil.copyfile(job.weights.file("dynamics.parquet"), job.target / "dynamics.parquet")
    evaluation = evaluate_saved(
        job.settings,
        job.weights.path / _MODEL,
        [FineTuning(stage.rows, _stage_examples(job, stage, raw), stage.settings) for stage in job.stages],
        tests,
        label_names=raw.label_names,
        seed=job.seed,
        device=job.device,
        scratch=job.scratch,
        log=log,
    )
    return replace(evaluation, metrics={**job.weights.summary, **evaluation.metrics})


def _stage_examples(job: CellJob, stage: RecipeStage, raw: Examples) -> Examples:
    if stage.forgettable is None:
        return fine_tune_examples(job.challenge_sets, stage.rows)
    return raw.select(job.stage_rows[stage.rows])


def _validation(settings: OneStageSpec, raw: Examples) -> Examples | None:
    stopping = getattr(settings, "early_stopping", None)
    return None if stopping is None or stopping.split is None else raw.in_split(stopping.split)


def tests_of(raw: Examples, challenge_sets: PublishedResult, unreported: Collection[str]) -> dict[str, Examples]:
    """Return every test set by name, except the splits used for early stopping."""
    return {name: test for name, test in test_examples(raw, challenge_sets).items() if name not in unreported}


def _accuracies(
    predictions: Mapping[str, "Predictions"], tests: Mapping[str, Examples], mapped: Collection[str]
) -> dict[str, float]:
    """Return accuracies on sets with the dataset's own classes; for mapped classes, the report computes them."""
    return {
        f"accuracy.{name}": float((prediction.predicted == tests[name].labels).mean())
        for name, prediction in predictions.items()
        if name not in mapped and len(prediction.predicted)
    }


def predictions_table(predictions: Mapping[str, "Predictions"], tests: Mapping[str, Examples]) -> pa.Table:
    """Return the predictions in their published form: test_set, row_id, predicted int64 and probabilities float32 (null
    without).
    """
    tables = []
    for name, prediction in predictions.items():
        rows = len(prediction.predicted)
        probabilities = None if prediction.probabilities is None else list(prediction.probabilities)
        tables.append(
            pa.table(
                {
                    "test_set": pa.array([name] * rows, pa.string()),
                    "row_id": tests[name].row_ids,
                    "predicted": prediction.predicted.astype(np.int64),
                    "probabilities": pa.array(probabilities or [None] * rows, pa.list_(pa.float32())),
                }
            )
        )
    return pa.concat_tables(tables)
