"""`warmup: {size: auto}`: samples of growing size, an encoder trained on each, and where the learning curve flattens.

Which sizes are tried is in `sizes`, where a curve flattens in `reports.inputs.learning_curve`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.errors import DataError, ModelError
from aflite_assets.reports.inputs.learning_curve import LearningCurve
from aflite_assets.results import Draft, PublishedResult, ResultKey
from aflite_assets.specs.models import EncoderSpec
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.sizes import CurveSizes, curve_sizes
from aflite_assets.stages.stage import StageContext


@dataclass(frozen=True)
class WarmupSamples:
    """Ids of train rows, int64 ascending: those held back, and samples of the others, each within the next one."""

    held_back: np.ndarray
    samples: tuple[np.ndarray, ...]

    @property
    def sizes(self) -> CurveSizes:
        """How many they are."""
        return CurveSizes(tuple(map(len, self.samples)), len(self.held_back))

    def spent(self, sample: np.ndarray) -> np.ndarray:
        """The warm-up rows if this sample is chosen: itself and the held-back rows, which chose it."""
        return np.union1d(self.held_back, sample)


@dataclass(frozen=True)
class CurveTraining:
    """What every point of the curves is made with; `samples` are of `train`."""

    representations: Mapping[str, EncoderSpec]
    seed: int
    train: Examples
    samples: WarmupSamples
    draft: Draft
    raw_version: str
    context: StageContext

    def curves(self) -> tuple[LearningCurve, ...]:
        """One per representation that is trained; points that were made before are found again.

        Raises:
            ModelError, DataError: a training failed; the message names representation and size.
        """
        trained = {name: encoder for name, encoder in self.representations.items() if encoder.kind != "identity"}
        return tuple(self._curve(name, settings) for name, settings in trained.items())

    def _curve(self, name: str, settings: EncoderSpec) -> LearningCurve:
        points = [self._point(name, settings, sample) for sample in self.samples.samples]
        held_back = self.train.select(self.samples.held_back).labels
        return LearningCurve(
            name,
            rows=self.samples.sizes.samples,
            right=tuple(int(point.summary["right"]) for point in points),
            held_back_rows=len(held_back),
            largest_class=int(np.bincount(held_back).max()),
        )

    def _point(self, name: str, settings: EncoderSpec, sample: np.ndarray) -> PublishedResult:
        fields = {
            "settings": settings.model_dump(mode="json"),
            "checkpoint": checkpoint_content(settings),
            "seed": self.seed,
            "sample": _digest(sample),
            "held_back": _digest(self.samples.held_back),
        }
        key = ResultKey(self.draft.key.code_version, fields, {"raw_dataset": self.raw_version})
        # Not a part of the split, whose data version names its rows alone: another representation that changes no row
        # must leave the encoders of the others, and all that follows from them, to be found again.
        store, asset, partition = self.draft.store, self.draft.asset, self.draft.partition
        point = store.get_or_create_part(asset, partition, key, partial(self._train, name, settings, sample)).result
        self.draft.provenance.setdefault("learning_curve", {})[f"{name}.{len(sample)}"] = point.key
        right, asked = point.summary["right"], len(self.samples.held_back)
        self.context.progress.log(
            f"learning curve of {name}: {len(sample)} rows, {right} of {asked} held-back rows right"
        )
        return point

    def _train(self, name: str, settings: EncoderSpec, sample: np.ndarray, part: Draft) -> Mapping[str, float]:
        from aflite_assets.models.encoders import score_encoder  # takes seconds, and most splits train nothing

        rows, asked = self.train.select(sample), self.train.select(self.samples.held_back)
        self.context.progress.log(
            f"learning curve of {name}: training on {len(rows)} of {len(self.samples.samples[-1])} rows"
        )
        with self.context.tracker.child(f"{name}.{len(rows)}") as run:
            run.log_parameters(settings.model_dump(mode="json") | {"sample_rows": len(rows)})
            try:
                score = score_encoder(
                    settings,
                    rows,
                    asked,
                    seed=self.seed,
                    device=self.context.device,
                    scratch=part.scratch,
                    log=self.context.progress.log,
                )
            except (ModelError, DataError) as error:
                raise type(error)(
                    f"warmup.size auto: representations.{name} on a sample of {len(rows)} rows: {error}"
                ) from error
            right = int(np.sum(score.predicted == asked.labels))
            metrics = {**score.metrics, "held_back_rows": len(asked), "right": right, "accuracy": right / len(asked)}
            run.log_metrics(metrics)
        answers = {"row_id": asked.row_ids, "label": asked.labels, "predicted": score.predicted}
        pq.write_table(pa.table(answers), part.path / "predictions.parquet")
        return metrics


def draw_samples(train: Examples, *, seed: int) -> WarmupSamples:
    """Rows held back and nested samples of the rest, by label and in whole groups; sizes as in `sizes.curve_sizes`.

    Groups may make a draw fall short of its size; a sample that is no larger than the one within it, or of one class,
    is left out.

    Raises:
        DataError: too few rows for a curve, or groups too large to be drawn.
    """
    sizes = curve_sizes(len(train), classes=len(train.label_names))
    held_back = _drawn(train, sizes.held_back, seed=seed, number=1)
    if len(held_back) < sizes.held_back / 2:
        raise DataError(
            f"warmup.size is auto, and of {sizes.held_back} rows to hold back whole groups give {len(held_back)}; "
            "group by a column of smaller groups, or set warmup.size to a share such as 0.1"
        )
    left = _without(train, held_back)
    nested: list[Examples] = []
    for number, size in enumerate(reversed(sizes.samples), start=2):
        left = _at(left, _drawn(left, size, seed=seed, number=number))
        nested.insert(0, left)
    kept = [sample for sample, below in zip(nested, [0, *map(len, nested)], strict=False) if _is_a_point(sample, below)]
    if len(kept) < 2:
        raise DataError(
            f"warmup.size is auto, and of samples of {list(sizes.samples)} rows whole groups give "
            f"{list(map(len, nested))}, too few that differ and have two classes; group by a column of smaller groups, "
            "or set warmup.size to a share such as 0.1"
        )
    return WarmupSamples(train.row_ids[held_back], tuple(sample.row_ids for sample in kept))


def curve_facts(curves: tuple[LearningCurve, ...], chosen: int) -> dict[str, object]:
    """What the summary of `warmup_split` holds of the curves; `published.read_learning_curves` reads it."""
    return {
        "sample_rows": chosen,
        "held_back_rows": curves[0].held_back_rows,
        "curves": [asdict(curve) for curve in curves],
        "cautions": [caution for curve in curves for caution in curve.cautions()],
    }


def _is_a_point(sample: Examples, below: int) -> bool:
    return len(sample) > below and len(np.unique(sample.labels)) > 1


def _drawn(examples: Examples, size: int, *, seed: int, number: int) -> np.ndarray:
    # [seed, 0] draws a warm-up split of a given size; a third number that is 0 would be the same stream.
    rng = np.random.default_rng([seed, 0, number])
    return stratified_sample(examples.labels, examples.groups, min(size, len(examples)), rng=rng)


def _without(examples: Examples, positions: np.ndarray) -> Examples:
    return _at(examples, np.delete(np.arange(len(examples)), positions))


def _at(examples: Examples, positions: np.ndarray) -> Examples:
    return Examples(rows_at(examples.table, positions), examples.label_names)


def _digest(row_ids: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(row_ids, np.int64).tobytes()).hexdigest()[:20]
