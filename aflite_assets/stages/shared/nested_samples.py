"""Nested samples, train rows held back to compare them, and the trainings on each sample, which are reused.

`warmup.size: auto` and `sample` choose a size by them, and decide which sizes are tried and how one is chosen.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.errors import DataError, ModelError
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.specs.models.kinds import EncoderSpec, OneStageSpec
from aflite_assets.stages.shared.sizes import CurveSizes
from aflite_assets.stages.shared.training_workers import log_training
from aflite_assets.stages.stage import StageContext


@dataclass(frozen=True)
class NestedSamples:
    """Ids of train rows, int64 ascending: the held-back rows, and samples of the others, each contained in the next
    one.
    """

    held_back: np.ndarray
    samples: tuple[np.ndarray, ...]

    @property
    def sizes(self) -> CurveSizes:
        """Number of rows in each sample."""
        return CurveSizes(tuple(map(len, self.samples)), len(self.held_back))

    def spent(self, sample: np.ndarray) -> np.ndarray:
        """Return a sample together with the held-back rows that were used to choose it."""
        return np.union1d(self.held_back, sample)


@dataclass(frozen=True)
class Answers:
    """Predictions for the held-back rows: `predicted` (int64, one class number each), and `metrics` of the training."""

    predicted: np.ndarray
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class SampledModel:
    """The training that is done on each sample of one curve.

    `name`: name of the curve. `point`: its suffix in names of nested runs, next to the number of rows. `place`: the
    setting in the dataset's YAML file, for messages. `train(rows, asked, scratch part)` returns the predictions for the
    rows `asked`.
    """

    name: str
    place: str
    settings: EncoderSpec | OneStageSpec
    fields: Mapping[str, object]
    train: Callable[[Examples, Examples, Draft], Answers]
    point: str = ""


@dataclass(frozen=True)
class CurvePoints:
    """Trainings of models on samples of `train`, with predictions for its held-back rows; earlier trainings are reused.

    `inputs`: the versions of results that a point depends on besides its own fields. A point is not part of the result,
    whose data version depends only on its rows: a change that changes no row must not invalidate later stages.
    """

    train: Examples
    held_back: np.ndarray
    largest: int
    draft: Draft
    inputs: Mapping[str, str]
    context: StageContext

    def point(self, model: SampledModel, sample: np.ndarray) -> PublishedResult:
        """Return the point of one sample (row ids); its summary has `right`, the number of held-back rows predicted
        right.

        Raises:
            ModelError, DataError: the training failed; the message names the model's place and the size.
        """
        key = ResultKey(self.draft.key.code_version, dict(model.fields), dict(self.inputs))
        store, asset, partition = self.draft.store, self.draft.asset, self.draft.partition
        made = store.get_or_create_part(asset, partition, key, lambda part: self._trained(model, sample, part))
        names = self.draft.provenance.setdefault("learning_curve", {})
        names[f"{model.name}.{len(sample)}{model.point}"] = made.result.key
        self.context.progress.log(
            f"learning curve of {model.name}: {len(sample)} rows, {made.result.summary['right']} of "
            f"{len(self.held_back)} held-back rows right"
        )
        return made.result

    def _trained(self, model: SampledModel, sample: np.ndarray, part: Draft) -> Mapping[str, float]:
        rows, asked = self.train.select(sample), self.train.select(self.held_back)
        self.context.progress.log(f"learning curve of {model.name}: training on {len(rows)} of {self.largest} rows")
        with self.context.tracker.child(f"{model.name}.{len(rows)}{model.point}") as run:
            run.log_parameters(model.settings.model_dump(mode="json") | {"sample_rows": len(rows)})
            try:
                answers = model.train(rows, asked, part)
            except (ModelError, DataError) as error:
                raise type(error)(f"{model.place} on a sample of {len(rows)} rows: {error}") from error
            right = int(np.sum(answers.predicted == asked.labels))
            metrics = {**answers.metrics, "held_back_rows": len(asked), "right": right, "accuracy": right / len(asked)}
            log_training(run, metrics, part.scratch)
        said = {"row_id": asked.row_ids, "label": asked.labels, "predicted": answers.predicted}
        pq.write_table(pa.table(said), part.path / "predictions.parquet")
        return metrics


def drawn(examples: Examples, size: int, *, seed: Sequence[int]) -> np.ndarray:
    """Return positions of at most `size` random rows, int64 ascending, by label and in whole groups; there may be
    fewer.
    """
    rng = np.random.default_rng(seed)
    return stratified_sample(examples.labels, examples.groups, min(size, len(examples)), rng=rng)


def rows_left(examples: Examples, places: np.ndarray) -> Examples:
    """Return the examples except those at these positions."""
    return rows_of(examples, np.delete(np.arange(len(examples)), places))


def rows_of(examples: Examples, places: np.ndarray) -> Examples:
    """Return the examples at these positions."""
    return Examples(rows_at(examples.table, places), examples.label_names)


def has_two_classes(sample: Examples) -> bool:
    """Return True if the rows have at least two classes, so that a classifier can learn from them."""
    return len(np.unique(sample.labels)) > 1


def digest(row_ids: np.ndarray) -> str:
    """Return a hash of row ids, used in keys."""
    return hashlib.sha256(np.ascontiguousarray(row_ids, np.int64).tobytes()).hexdigest()[:20]
