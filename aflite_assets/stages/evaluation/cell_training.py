"""Training of one grid cell and its predictions for every test set, as run in a worker process.

A cell is one evaluator on one train set with one seed. If several cells start from the same weights, a separate job
trains the weights. Keys of cells are computed in `grid`.
"""

import shutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

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
    from aflite_assets.models.training.predictions import ModelPredictions

_MODEL = "model"
"""Name of the folder of a trained model, inside the folder of the base training's result."""


class _Given(TypedDict):
    seed: int
    device: DeviceSettings
    scratch: Path
    log: Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """All inputs that a process needs to train a model: settings, rows and folders.

    `train_rows`: int64 ids of rows of `raw`. `row_weights`: the factor of each row's loss, or None for equal weights.
    """

    settings: OneStageSpec
    train_rows: np.ndarray
    seed: int
    device: DeviceSettings
    raw: PublishedResult
    target: Path
    scratch: Path
    row_weights: np.ndarray | None = None

    def given(self, log: Callable[[str], None]) -> _Given:
        """Return the arguments that every training has."""
        return {"seed": self.seed, "device": self.device, "scratch": self.scratch, "log": log}

    def validation(self, raw: Examples) -> Examples | None:
        """Return the rows for early stopping, or None if early stopping is off or uses train rows."""
        stopping = getattr(self.settings, "early_stopping", None)
        return None if stopping is None or stopping.split is None else raw.in_split(stopping.split)


@dataclass(frozen=True, kw_only=True)
class WeightsJob(TrainingJob):
    """A base training whose weights are saved because several cells start from them."""

    settings: NeuralModelSpec

    def run(self, log: Callable[[str], None]) -> dict[str, float]:
        """Train a model, write it and `dynamics.parquet` to the target folder, and return the training's metrics.

        Raises:
            AfliteError: any error of the evaluator.
        """
        from aflite_assets.models.evaluators import train_and_save

        raw = examples_of(self.raw)
        result = train_and_save(
            self.settings,
            raw.select(self.train_rows),
            self.target / _MODEL,
            validation=self.validation(raw),
            row_weights=self.row_weights,
            **self.given(log),
        )
        pq.write_table(result.dynamics, self.target / "dynamics.parquet")
        return dict(result.metrics)


@dataclass(frozen=True, kw_only=True)
class CellJob(TrainingJob):
    """Training of one cell, followed by predictions for every test set.

    Args:
        unreported: splits that are used for early stopping; evaluators are not tested on these splits.
        weights: the result of the `WeightsJob` with which the cell's training starts, or None.
        stages: further training stages, which start from the saved weights.
        stage_rows: ids of the train rows of `raw` that studies draw for stages, by name of the set of rows.
    """

    challenge_sets: PublishedResult
    unreported: frozenset[str]
    weights: PublishedResult | None = None
    stages: tuple[RecipeStage, ...] = ()
    stage_rows: Mapping[str, np.ndarray] = field(default_factory=dict)

    def run(self, log: Callable[[str], None]) -> dict[str, float]:
        """Train a cell's model, predict every test set, and write the predictions to the target folder.

        The files are `predictions.parquet` and, for a training in one stage, `dynamics.parquet`. If a training has
        several stages, the dynamics of its first stage are stored with the base weights. Returns the evaluator's
        metrics, and its accuracy on each test set that has the dataset's own classes.

        Raises:
            AfliteError: any error of the evaluator.
        """
        from aflite_assets.models.evaluators import evaluate

        raw = examples_of(self.raw)
        tests = tests_of(raw, self.challenge_sets, self.unreported)
        if self.weights is None:
            train, held_back, weights = raw.select(self.train_rows), self.validation(raw), self.row_weights
            evaluation = evaluate(
                self.settings, train, tests, validation=held_back, row_weights=weights, **self.given(log)
            )
        else:
            evaluation = _continued(self, self.weights, raw, tests, log)
        pq.write_table(predictions_table(evaluation.predictions, tests), self.target / "predictions.parquet")
        if evaluation.dynamics is not None:
            pq.write_table(evaluation.dynamics, self.target / "dynamics.parquet")
        mapped = read_challenge_sets(self.challenge_sets).mapped
        return {**evaluation.metrics, **_accuracies(evaluation.predictions, tests, mapped)}


def _continued(
    job: CellJob, weights: PublishedResult, raw: Examples, tests: Mapping[str, Examples], log: Callable[[str], None]
) -> "Evaluation":
    """Load trained weights, train any further stages, and return the evaluation."""
    from aflite_assets.models.evaluators import evaluate_saved
    from aflite_assets.models.training.fine_tuning import FineTuning

    assert isinstance(job.settings, NeuralModelSpec)
    if not job.stages:
        shutil.copyfile(weights.file("dynamics.parquet"), job.target / "dynamics.parquet")
    stages = [FineTuning(stage.rows, _stage_examples(job, stage, raw), stage.settings) for stage in job.stages]
    model, names = weights.path / _MODEL, raw.label_names
    evaluation = evaluate_saved(job.settings, model, stages, tests, label_names=names, **job.given(log))
    return replace(evaluation, metrics={**weights.summary, **evaluation.metrics})


def _stage_examples(job: CellJob, stage: RecipeStage, raw: Examples) -> Examples:
    if stage.drawn is None:
        return fine_tune_examples(job.challenge_sets, stage.rows)
    return raw.select(job.stage_rows[stage.rows])


def tests_of(raw: Examples, challenge_sets: PublishedResult, unreported: Collection[str]) -> dict[str, Examples]:
    """Return every test set by name, except the splits used for early stopping."""
    return {name: test for name, test in test_examples(raw, challenge_sets).items() if name not in unreported}


def _accuracies(
    predictions: Mapping[str, "ModelPredictions"], tests: Mapping[str, Examples], mapped: Collection[str]
) -> dict[str, float]:
    """Return the accuracy on each test set that has the dataset's own classes.

    For challenge sets with mapped classes, the report computes the accuracy.
    """
    return {
        f"accuracy.{name}": float((prediction.predicted == tests[name].labels).mean())
        for name, prediction in predictions.items()
        if name not in mapped and len(prediction.predicted)
    }


def predictions_table(predictions: Mapping[str, "ModelPredictions"], tests: Mapping[str, Examples]) -> pa.Table:
    """Return the predictions as a table with one row per test row.

    The columns are `test_set`, `row_id`, `predicted` (int64) and `probabilities` (lists of float32, or null if the
    model gives none).
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
