"""Choice of the warm-up size for `warmup: {size: auto}`.

An encoder is trained on samples of growing size, and the size at which the learning curve flattens is chosen. `sizes`
lists the sizes to try. `analysis.inputs.learning_curve` finds the size at which a curve flattens, and `nested_samples`
computes a curve's points.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from aflite_assets.analysis.inputs.learning_curve import LearningCurve, curve_points
from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.reports.learning_curves import curve_cautions
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.models.kinds import EncoderSpec, NeuralModelSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.nested_samples import (
    CurvePoints,
    HeldBackPredictions,
    NestedSamples,
    digest,
    drawn,
    has_two_classes,
    rows_left,
    rows_of,
)
from aflite_assets.stages.shared.published import examples_of
from aflite_assets.stages.shared.sizes import curve_sizes
from aflite_assets.stages.shared.training_workers import ClusterWorkers, LocalWorkers, open_workers
from aflite_assets.stages.stage import StageContext


def learning_curves(
    representations: Mapping[str, EncoderSpec],
    train: Examples,
    samples: NestedSamples,
    draft: Draft,
    raw: PublishedResult,
    context: StageContext,
    *,
    seed: int,
) -> tuple[LearningCurve, ...]:
    """Return one learning curve per trained representation; points from earlier runs are reused.

    `train`: the train rows, which are part of `raw`. `samples`: the samples drawn from `train`.

    Raises:
        ModelError, DataError: a training run failed; the message names the representation and the size.
    """
    held_back = train.select(samples.held_back).labels
    versions = {"raw_dataset": raw.data_version}

    def curve(name: str, settings: NeuralModelSpec, workers: LocalWorkers | ClusterWorkers) -> LearningCurve:
        place = f"warmup.size auto: representations.{name}"
        points = CurvePoints(name, place, train, samples, draft, versions, context)

        def fit(rows: Examples, asked: Examples, part: Draft) -> HeldBackPredictions:
            ids = rows.row_ids, asked.row_ids
            job = PointJob(settings, *ids, seed, context.device, raw, part.path, part.scratch)
            return workers.train(job, context.progress.log)

        def right(sample: np.ndarray) -> int:
            fields = {
                "settings": settings.model_dump(mode="json"),
                "checkpoint": checkpoint_content(settings),
                "seed": seed,
                "sample": digest(sample),
                "held_back": digest(samples.held_back),
            }
            return int(points.point(sample, settings, fields, fit).summary["right"])

        found = tuple(workers.map(right, samples.samples))
        largest = int(np.bincount(held_back).max())
        return LearningCurve(name, samples.sizes.samples, found, len(held_back), largest)

    trained = {name: one for name, one in representations.items() if not isinstance(one, UntrainedSpec)}
    with open_workers(context.cluster, context.device, log=context.progress.log) as workers:
        return tuple(curve(name, settings, workers) for name, settings in trained.items())


@dataclass(frozen=True)
class PointJob:
    """The data that a process needs to train an encoder on one sample and predict the held-back rows.

    `train_rows`: ids (int64) of the rows of `raw` to train on. `asked`: ids (int64) of the rows of `raw` to predict.
    The trained model is not saved.
    """

    settings: NeuralModelSpec
    train_rows: np.ndarray
    asked: np.ndarray
    seed: int
    device: DeviceSettings
    raw: PublishedResult
    target: Path
    scratch: Path

    def run(self, log: Callable[[str], None]) -> HeldBackPredictions:
        """Train the encoder and predict the held-back rows.

        Raises:
            AfliteError: any error of the model.
        """
        from aflite_assets.models.encoders import score_encoder  # takes seconds, and is rarely needed

        raw = examples_of(self.raw)
        predicted, metrics = score_encoder(
            self.settings,
            raw.select(self.train_rows),
            raw.select(self.asked),
            seed=self.seed,
            device=self.device,
            scratch=self.scratch,
            log=log,
        )
        return HeldBackPredictions(predicted, metrics)


def draw_samples(train: Examples, *, seed: int) -> NestedSamples:
    """Draw held-back rows, and nested samples of the remaining rows; labels are stratified and groups are not split.

    The sizes are those of `sizes.curve_sizes`. A sample may be smaller than its planned size, because groups are not
    split. A sample is left out if it has only one class, or if it is no larger than the previous sample.

    Raises:
        DataError: there are too few rows for a curve, or groups are too large to be drawn.
    """
    sizes = curve_sizes(len(train), classes=len(train.label_names))
    # The seed [seed, 0] draws a warm-up of a given size, and [seed, 0, 0] would give the same random numbers.
    held_back = drawn(train, sizes.held_back, seed=[seed, 0, 1])
    if len(held_back) < sizes.held_back / 2:
        raise DataError(
            f"`warmup.size` is `auto`, which has to hold back {sizes.held_back} rows, but only "
            f"{len(held_back)} can be held back without splitting a group; set `columns.group` to a column of smaller "
            "groups, or set `warmup.size` to a share such as 0.1"
        )
    left = rows_left(train, held_back)
    nested: list[Examples] = []
    for number, size in enumerate(reversed(sizes.samples), start=2):
        left = rows_of(left, drawn(left, size, seed=[seed, 0, number]))
        nested.insert(0, left)
    kept = [
        sample
        for sample, below in zip(nested, [0, *map(len, nested)], strict=False)
        if len(sample) > below and has_two_classes(sample)
    ]
    if len(kept) < 2:
        raise DataError(
            "`warmup.size` is `auto`, which needs at least two different samples with two classes each. The planned "
            f"sizes are {list(sizes.samples)}, but without splitting groups the samples have "
            f"{list(map(len, nested))} rows; set `columns.group` to a column of smaller groups, or set `warmup.size` "
            "to a share such as 0.1"
        )
    return NestedSamples(train.row_ids[held_back], tuple(sample.row_ids for sample in kept))


def curve_facts(curves: tuple[LearningCurve, ...], chosen: int) -> dict[str, object]:
    """Return the facts about the learning curves for the summary of `warmup_split`.

    `published.read_learning_curves` reads the facts from the summary.
    """
    return {
        "sample_rows": chosen,
        "held_back_rows": curves[0].held_back_rows,
        "curves": [asdict(curve) for curve in curves],
        "cautions": list(curve_cautions(curve_points(curves))),
    }
