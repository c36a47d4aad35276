"""The stage `train_sample`: a random sample of the train rows, enlarged until a model trained on it stops improving.

The stage is the coarse action of Mishra and Sachdeva 2020 (SustaiNLP), Algorithm 1. The stopping rule is in
`analysis.inputs.learning_curve`. Warm-up, filter and controls use the chosen sample instead of all train rows.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.columns import content_digests
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.diagnostics.data_checks.all_checks import blocking_findings
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.preflight import check_model
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.shared.content_hashes import checkpoint_content
from aflite_assets.stages.shared.nested_samples import (
    CurvePoints,
    HeldBackPredictions,
    NestedSamples,
    drawn,
    has_two_classes,
    rows_left,
    rows_of,
)
from aflite_assets.stages.shared.published import SELECTION_FILE
from aflite_assets.stages.shared.sizes import FEWEST_HELD_BACK, MOST_HELD_BACK_SHARE, CurveSizes, sample_misfits
from aflite_assets.stages.shared.source_places import source_facts
from aflite_assets.stages.stage import Stage, StageChecks, StageContext, StageInputs, StageSettings
from aflite_assets.studies.sample.analysis.curve import SampleCurve, sample_points
from aflite_assets.studies.sample.reports.sentences import sample_cautions, sample_text
from aflite_assets.studies.sample.specs.settings import SampleSettings, SampleSpec

_STREAM = 13
"""Number that separates the random draws of this stage from other draws of the same seed."""

_INPUTS = ("features", "text", "text_pair", "image")

MOST_HELD_BACK_BY_SAMPLE = 10_000
"""Largest number of held-back rows for `sample`.

SNLI's test set, with which Mishra and Sachdeva (2020) chose their sample, has the same number of rows. Accuracies with
their samples of 15,000 and 20,000 rows differ by 3 points. With 10,000 rows, Wilson's interval around 80 % extends 0.8
points to each side.
"""


def run(spec: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Train a model on growing samples until its accuracy on held-back rows stops increasing; publish the chosen
    sample.

    `rows.parquet` lists the ids of the sample and of the held-back rows. If the dataset's YAML file requests no sample,
    nothing is trained and no file is published.
    """
    settings = SampleSettings.of(spec)
    if settings.sample is None:
        return {"nothing_asked": True}
    raw = load_examples(inputs.raw_dataset.path)
    samples = draw_sample(settings.sample, raw, seed=settings.seed)
    train = raw.in_split("train")
    curve = _Growth(settings.sample, settings.seed, train, samples, draft, context).curve()
    chosen = samples.samples[curve.rows.index(curve.chosen)]
    held_back = np.isin(samples.spent(chosen), samples.held_back)
    pq.write_table(pa.table({"row_id": samples.spent(chosen), "held_back": held_back}), draft.path / SELECTION_FILE)
    points = sample_points(curve)
    for line in (sample_text(points, curve.stop), *sample_cautions(points)):
        context.progress.log(line)
    counts = np.bincount(train.select(chosen).labels, minlength=len(raw.label_names)).tolist()
    return {
        "rows": len(chosen),
        "held_back_rows": len(samples.held_back),
        "train_rows": len(train),
        "rows_per_class": dict(zip(raw.label_names, counts, strict=True)),
        "sample_curve": asdict(curve),
    }


def read_sample_curve(result: PublishedResult) -> SampleCurve | None:
    """Return the learning curve that chose the train sample, or None if the dataset's YAML file has no `sample`."""
    if result.summary.get("nothing_asked"):
        return None
    recorded = result.summary["sample_curve"]
    right = tuple(tuple(each) for each in recorded["right"])
    return SampleCurve(**{**recorded, "rows": tuple(recorded["rows"]), "right": right})


def sample_sizes(sample: SampleSpec, train_rows: int) -> CurveSizes:
    """Return the sample sizes that `sample` tries, and the number of held-back rows.

    The number of held-back rows is 5 % of the train rows, but at most 10,000. Sizes above the number of remaining rows
    are left out.

    Raises:
        DataError: there are too few rows for two samples, or too few held-back rows for a useful accuracy.
    """
    held_back = round(min(MOST_HELD_BACK_SHARE * train_rows, MOST_HELD_BACK_BY_SAMPLE))
    enough = tuple(size for size in sample.sizes if size <= train_rows - held_back)
    if held_back < FEWEST_HELD_BACK:
        raise DataError(
            f"`sample` needs at least {FEWEST_HELD_BACK / MOST_HELD_BACK_SHARE:.0f} train rows, but the dataset has "
            f"{train_rows}; leave out `sample`"
        )
    if len(enough) < 2:
        raise DataError(
            f"`sample.start` is {sample.start} and `sample.step` is {sample.step}, which needs "
            f"{sample.start + sample.step} train rows, but only {train_rows - held_back} are left after {held_back} "
            "rows are held back; lower both settings"
        )
    return CurveSizes(enough, held_back)


def draw_sample(settings: SampleSpec, raw: Examples, *, seed: int) -> NestedSamples:
    """Check the model, hold back train rows, and draw every sample that may be needed, without training.

    Each sample contains the previous sample. The rows added to a sample are stratified by label, and groups are added
    as a whole. A larger `sample.most` changes neither the smaller samples nor the models trained on them. If there are
    fewer train rows than `sample.most`, the last sample contains all of them.

    Raises:
        ModelError: the model does not fit the data or cannot be obtained.
        DataError: there are too few train rows, or groups are too large to be drawn.
    """
    check_sample_model(settings, raw)
    train = _own_groups(raw.in_split("train"))
    sizes = sample_sizes(settings, len(train))
    held_back = drawn(train, sizes.held_back, seed=[seed, _STREAM, 0])
    if len(held_back) < sizes.held_back / 2:
        raise DataError(
            f"`sample` has to hold back {sizes.held_back} rows, but only {len(held_back)} can be held back without "
            "splitting a group; set `columns.group` to a column of smaller groups, or leave out `sample`"
        )
    grown = list(_grown(rows_left(train, held_back), sizes.samples, seed))
    if len(grown) < 2:
        raise DataError(
            f"`sample` needs at least two different samples with two classes each. The planned sizes are "
            f"{list(sizes.samples)}, but without splitting groups the usable samples have "
            f"{[len(one) for one in grown]} rows; raise `sample.start` and `sample.step`, or set `columns.group` to a "
            "column of smaller groups"
        )
    return NestedSamples(train.row_ids[held_back], tuple(np.sort(one.row_ids) for one in grown))


def check_sample_model(settings: SampleSpec, raw: Examples) -> None:
    """Check that the model can read the dataset's kind of data and can be obtained.

    Raises:
        ModelError: the model cannot read the dataset's kind of data or cannot be obtained.
    """
    try:
        check_model(settings.model, raw)
    except ModelError as error:
        raise ModelError(f"`sample.model` cannot be used: {error}") from error


def _grown(rest: Examples, sizes: tuple[int, ...], seed: int) -> Iterator[Examples]:
    """Yield samples of `rest`, each containing the previous sample.

    A sample is skipped if it has only one class. Because groups are not split, a sample may equal the previous sample
    and is then skipped too.
    """
    places, before = np.zeros(0, np.int64), 0
    for number, size in enumerate(sizes, start=1):
        others = np.delete(np.arange(len(rest)), places)
        added = drawn(rows_of(rest, others), size - len(places), seed=[seed, _STREAM, number])
        places = np.union1d(places, others[added])
        sample = rows_of(rest, places)
        if len(sample) > before and has_two_classes(sample):
            before = len(sample)
            yield sample


def _own_groups(train: Examples) -> Examples:
    """Renumber the groups by the train rows alone, so that rows of other splits cannot change the drawn rows."""
    if train.groups is None:
        return train
    _, first, number = np.unique(train.groups, return_index=True, return_inverse=True)
    return train.with_groups(np.argsort(np.argsort(first))[number])


@dataclass(frozen=True)
class _Growth:
    """A sequence of training runs on samples of growing size, which ends when the learning curve stops increasing."""

    settings: SampleSpec
    seed: int
    train: Examples
    samples: NestedSamples
    draft: Draft
    context: StageContext

    def curve(self) -> SampleCurve:
        """Return the learning curve over the sizes tried; points from an earlier run are reused.

        Raises:
            ModelError, DataError: a training run failed; the message names the size.
        """
        # The key of a point has the contents of its own rows, not the data version of `raw_dataset`, because that
        # version also depends on the other splits.
        points = CurvePoints("sample", "sample.model", self.train, self.samples, self.draft, {}, self.context)
        contents = dict(zip(self.train.row_ids.tolist(), _contents(self.train), strict=True))
        right: list[tuple[int, ...]] = []
        for sample in self.samples.samples:
            repeats = (self._right(points, sample, repeat, contents) for repeat in range(self.settings.repeats))
            right.append(tuple(repeats))
            curve = self._so_far(right)
            if curve.ended:
                break
        return curve

    def _so_far(self, right: list[tuple[int, ...]]) -> SampleCurve:
        held_back = self.train.select(self.samples.held_back).labels
        return SampleCurve(
            rows=self.samples.sizes.samples[: len(right)],
            right=tuple(right),
            held_back_rows=len(held_back),
            largest_class=int(np.bincount(held_back).max()),
            stop=self.settings.stop,
        )

    def _right(self, points: CurvePoints, sample: np.ndarray, repeat: int, contents: dict[int, bytes]) -> int:
        """Train the model on a sample, and return the number of held-back rows that it predicts correctly."""
        settings, seed = self.settings.model, self.seed + repeat
        fields = {
            "settings": settings.model_dump(mode="json"),
            "checkpoint": checkpoint_content(settings),
            "seed": seed,
            "classes": list(self.train.label_names),
            "sample": _digest(sample, contents),
            "held_back": _digest(self.samples.held_back, contents),
        }

        def fit(rows: Examples, asked: Examples, part: Draft) -> HeldBackPredictions:
            from aflite_assets.models.evaluators import evaluate  # takes seconds, and most datasets have no sample

            done = evaluate(
                settings,
                rows,
                {"held_back": asked},
                seed=seed,
                device=self.context.device,
                scratch=part.scratch,
                log=self.context.progress.log,
            )
            return HeldBackPredictions(done.predictions["held_back"].predicted, done.metrics)

        made = points.point(sample, settings, fields, fit, suffix=f".{seed}" if repeat else "")
        return int(made.summary["right"])


def _contents(train: Examples) -> Iterator[bytes]:
    """Yield the content of each row as bytes: its id, its label and a digest of its input."""
    inputs = {name: train.table[name] for name in _INPUTS if name in train.table.column_names}
    rows = zip(train.row_ids.tolist(), content_digests(inputs), train.labels.tolist(), strict=True)
    return (f"{row_id} {label} ".encode() + content for row_id, content, label in rows)


def _digest(row_ids: np.ndarray, contents: dict[int, bytes]) -> str:
    return hashlib.sha256(b"\n".join(contents[row_id] for row_id in row_ids.tolist())).hexdigest()


def refuse(spec: DatasetSpec, results: Mapping[str, PublishedResult]) -> None:
    """Refuse data that fail a blocking check, and sizes of the warm-up or the filter that do not fit any sample.

    Raises:
        DataError: the message names the failed data check with its finding and advice, or the largest sample and why it
            is unsuitable.
    """
    raw = results["raw_dataset"]
    for finding in blocking_findings(load_examples(raw.path), source=source_facts(raw)):
        if not finding.passed:
            raise DataError(f"`raw_dataset` failed the check `{finding.name}`: {finding.found}; {finding.what_to_do}")
    sample = SampleSettings.of(spec).sample
    if sample is None:
        return
    facts = raw.summary
    samples = sample_sizes(sample, facts["rows"]["train"]).samples
    problems = sample_misfits(spec, samples, facts["rows"], classes=len(facts["label_names"]))
    if len(problems) == len(samples):
        raise DataError(
            f"the sizes of warm-up and filter do not fit any sample of {samples[0]} to {samples[-1]} rows; the problem "
            f"with {samples[-1]} rows: {problems[samples[-1]]}"
        )


def refuse_chosen_sample(spec: DatasetSpec, results: Mapping[str, PublishedResult]) -> None:
    """Refuse a chosen sample that does not fit the sizes of the warm-up or the filter.

    Raises:
        DataError: the message names the sample, why it is unsuitable, and the next larger sample that is suitable.
    """
    sample, chosen = SampleSettings.of(spec).sample, results["train_sample"].summary.get("rows")
    if sample is None or chosen is None:
        return
    facts = results["raw_dataset"].summary
    problems = sample_misfits(spec, [chosen, *sample.sizes], facts["rows"], classes=len(facts["label_names"]))
    if chosen in problems:
        larger = next((size for size in sample.sizes if size > chosen and size not in problems), None)
        instead = "" if larger is None else f", or set `sample.start` to {larger}"
        raise DataError(
            f"`train_sample` chose a sample of {chosen} rows, which does not fit other sizes in the dataset's YAML "
            f"file: {problems[chosen].rstrip('.')}{instead}"
        )


_FLATTENS = "Accuracy rises with the size of the sample and then stops rising."


def check_curve(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    """Yield the outcome of the check that the sample's accuracy rose and then stopped rising.

    Yield nothing if the dataset uses all train rows instead of a sample.
    """
    curve = read_sample_curve(result)
    if curve is not None:
        cautions = " ".join(sample_cautions(sample_points(curve)))
        yield CheckOutcome("data", "sample_curve_flattens", _FLATTENS, not cautions, cautions)


SAMPLE_CHECKS = StageChecks({"sample_curve_flattens": _FLATTENS}, check_curve)
_SETTINGS = StageSettings("sample seed", is_disabled=lambda spec: SampleSettings.of(spec).sample is None)
TRAIN_SAMPLE = Stage("train_sample", "1", _SETTINGS, "raw_dataset", run, refuse, SAMPLE_CHECKS)
