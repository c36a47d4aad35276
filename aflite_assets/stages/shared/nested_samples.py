"""Nested samples of the train rows, held-back rows to compare the samples, and cached training runs on each sample.

The settings `warmup.size: auto` and `sample` choose a size with nested samples. The stages `warmup_split` and
`train_sample` decide which sizes are tried and how a size is chosen.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.errors import DataError, ModelError
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.specs.models.kinds import EncoderSpec, NeuralModelSpec, OneStageSpec
from aflite_assets.stages.shared.sizes import CurveSizes
from aflite_assets.stages.shared.training_workers import log_training
from aflite_assets.stages.stage import StageContext


@dataclass(frozen=True)
class NestedSamples:
    """Held-back train rows, and nested samples of the other train rows, as row ids (int64, ascending).

    Each sample is contained in the next larger one.
    """

    held_back: np.ndarray
    samples: tuple[np.ndarray, ...]

    @property
    def sizes(self) -> CurveSizes:
        """Number of rows in each sample and number of held-back rows."""
        return CurveSizes(tuple(map(len, self.samples)), len(self.held_back))

    def spent(self, sample: np.ndarray) -> np.ndarray:
        """Return the ids of a sample's rows and of the held-back rows that were used to choose the sample."""
        return np.union1d(self.held_back, sample)


@dataclass(frozen=True)
class HeldBackPredictions:
    """A model's predictions for the held-back rows (`predicted`, int64 class numbers) and the training's `metrics`."""

    predicted: np.ndarray
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class CurvePoints:
    """Cached training runs of one model on samples of `train`; the model is tested on the held-back rows.

    `name`: name of the learning curve. `place`: name of the setting that defines the model, for error messages.
    `inputs`: data versions of the results that a training run depends on. Training runs are stored apart from the
    stage's result. If a training run is repeated and the same rows are chosen, results of later stages stay valid.
    """

    name: str
    place: str
    train: Examples
    samples: NestedSamples
    draft: Draft
    inputs: Mapping[str, str]
    context: StageContext

    def point(
        self,
        sample: np.ndarray,
        settings: EncoderSpec | OneStageSpec,
        fields: Mapping[str, object],
        fit: Callable[[Examples, Examples, Draft], HeldBackPredictions],
        *,
        suffix: str = "",
    ) -> PublishedResult:
        """Return the stored result of the training run on one sample (row ids).

        `fit(rows, asked, part)` trains on `rows` and returns predictions for `asked`; its files are written to the
        draft `part`. `suffix`: suffix of the nested run's name, which follows the number of rows.

        Raises:
            ModelError, DataError: the training run failed; the message names the model's setting and the sample size.
        """
        named, log = f"{self.name}.{len(sample)}{suffix}", self.context.progress.log
        rows, asked = self.train.select(sample), self.train.select(self.samples.held_back)

        def write(part: Draft) -> Mapping[str, float]:
            largest = len(self.samples.samples[-1])
            log(f"learning curve of {self.name}: training on {len(rows)} of {largest} rows")
            with self.context.tracker.child(named) as run:
                run.log_parameters(settings.model_dump(mode="json") | {"sample_rows": len(rows)})
                try:
                    answers = fit(rows, asked, part)
                except (ModelError, DataError) as error:
                    raise type(error)(f"{self.place} on a sample of {len(rows)} rows: {error}") from error
                right = int(np.sum(answers.predicted == asked.labels))
                counts = {"held_back_rows": len(asked), "right": right, "accuracy": right / len(asked)}
                metrics = {**answers.metrics, **counts}
                log_training(run, metrics, part.scratch)
            said = {"row_id": asked.row_ids, "label": asked.labels, "predicted": answers.predicted}
            pq.write_table(pa.table(said), part.path / "predictions.parquet")
            return metrics

        key = ResultKey(self.draft.key.code_version, dict(fields), dict(self.inputs))
        made = self.draft.store.get_or_create_part(self.draft.asset, self.draft.partition, key, write).result
        self.draft.provenance.setdefault("learning_curve", {})[named] = made.key
        log(
            f"learning curve of {self.name}: trained on {len(sample)} rows, predicted {made.summary['right']} of "
            f"{len(asked)} held-back rows correctly"
        )
        return made


def train_logged(
    name: str,
    settings: NeuralModelSpec,
    rows: Examples,
    folder: Path,
    scratch: Path,
    *,
    seed: int,
    context: StageContext,
) -> dict[str, float]:
    """Train an encoder, save it in `folder`, and log the training to a nested run with the given name."""
    from aflite_assets.models.encoders import train_encoder  # takes seconds, and is not needed if nothing is trained

    with context.tracker.child(name) as run:
        run.log_parameters(settings.model_dump(mode="json"))
        metrics = train_encoder(
            settings, rows, folder, seed=seed, device=context.device, log=context.progress.log, scratch=scratch
        )
        log_training(run, metrics, scratch)
    return dict(metrics)


def drawn(examples: Examples, size: int, *, seed: Sequence[int]) -> np.ndarray:
    """Return the positions of at most `size` random rows (int64, ascending), stratified by label.

    Groups are drawn as a whole, so there may be fewer rows than `size`.
    """
    rng = np.random.default_rng(seed)
    return stratified_sample(examples.labels, examples.groups, min(size, len(examples)), rng=rng)


def rows_left(examples: Examples, places: np.ndarray) -> Examples:
    """Return the examples except the examples at the positions `places`."""
    return rows_of(examples, np.delete(np.arange(len(examples)), places))


def rows_of(examples: Examples, places: np.ndarray) -> Examples:
    """Return the examples at the positions `places`."""
    return Examples(rows_at(examples.table, places), examples.label_names)


def has_two_classes(sample: Examples) -> bool:
    """Return True if the rows have at least two classes, which a classifier needs for training."""
    return len(np.unique(sample.labels)) > 1


def digest(row_ids: np.ndarray) -> str:
    """Return a hash of row ids for use in result keys."""
    return hashlib.sha256(np.ascontiguousarray(row_ids, np.int64).tobytes()).hexdigest()[:20]
