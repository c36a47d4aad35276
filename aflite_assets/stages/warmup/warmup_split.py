"""The stage `warmup_split`: draws the train rows used to train the encoders.

Before the draw, all models and sizes in the dataset's YAML file are checked.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.algorithm import FilterSettings
from aflite_assets.analysis.inputs.learning_curve import LearningCurve, chosen_rows, curve_points
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.preflight import check_model
from aflite_assets.reports.learning_curves import choice_text, curve_cautions
from aflite_assets.results import Draft
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import EncoderSpec, EvaluatorSpec
from aflite_assets.specs.models.settings import (
    EsimSpec,
    SiameseBagSpec,
    SiameseLstmSpec,
    SmallTransformerSpec,
    TextModelSpec,
    UntrainedSpec,
    WordOverlapSpec,
)
from aflite_assets.stages.shared.nested_samples import NestedSamples
from aflite_assets.stages.shared.published import read_selection, selected_rows, without_rows
from aflite_assets.stages.shared.sizes import filter_settings, in_pool, warmup_rows
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings
from aflite_assets.stages.warmup.findings import SPLIT_CHECKS
from aflite_assets.stages.warmup.text_lengths import measure_text_lengths
from aflite_assets.stages.warmup.warmup_size import curve_facts, draw_samples, learning_curves

_UNMEASURED: dict[type, str] = {
    SmallTransformerSpec: "its tokenizer is built during training",
    **dict.fromkeys(
        (EsimSpec, SiameseBagSpec, SiameseLstmSpec, WordOverlapSpec), "its `max_length` counts the words of each text"
    ),
}


@dataclass(frozen=True)
class WarmupDraw:
    """The warm-up rows and their classes (`row_ids` and `labels`, int64), and the requested number of rows (`asked`).

    `samples`: the samples from which the learning curves choose the warm-up rows; set only for `warmup.size: auto`.
    Until a sample is chosen, the warm-up rows are the rows of the largest sample.
    """

    row_ids: np.ndarray
    labels: np.ndarray
    asked: int
    samples: NestedSamples | None = None


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Check every model and size against the data, and draw the warm-up rows.

    The draw is stratified by label and does not split groups.

    With `warmup.size: auto`, encoders are trained on samples of growing size, and one sample is chosen by the learning
    curves. If a study selects train rows, only selected rows are drawn.
    """
    raw = load_examples(inputs.raw_dataset.path)
    selection = read_selection(inputs.selection)
    sampled = selected_rows(raw, selection)
    drawn = draw_warmup(settings, sampled)
    facts: dict[str, object] = {}
    if drawn.samples is not None:
        train = sampled.in_split("train")
        curves = learning_curves(
            settings.representations, train, drawn.samples, draft, inputs.raw_dataset, context, seed=settings.seed
        )
        drawn, facts = _chosen(curves, train, drawn.samples, context)
    train_rows = inputs.raw_dataset.summary["rows"]["train"] if selection is None else len(selection.rows)
    pq.write_table(pa.table({"row_id": drawn.row_ids, "label": drawn.labels}), draft.path / "rows.parquet")
    context.progress.log(f"warm-up rows: {len(drawn.row_ids)} of {train_rows} train rows")
    counts = np.bincount(drawn.labels, minlength=len(raw.label_names)).tolist()
    return {
        "rows": len(drawn.row_ids),
        "rows_asked": drawn.asked,
        "share": len(drawn.row_ids) / train_rows,
        "rows_per_class": dict(zip(raw.label_names, counts, strict=True)),
        "reason": None if needs_warmup(settings) else "no representation is a trained model",
        # The text lengths are in no published file, because the data version must not change with an evaluator's
        # `max_length`: encoders and filtered sets are reused by this data version.
        "text_lengths": text_lengths(settings, raw),
        **facts,
    }


def _chosen(
    curves: tuple[LearningCurve, ...], train: Examples, samples: NestedSamples, context: StageContext
) -> tuple[WarmupDraw, dict[str, object]]:
    """Return the rows that the learning curves choose, and the facts about the curves for the summary.

    Published files do not contain the facts about the curves, so the facts do not affect the data version.
    """
    chosen = chosen_rows(curves)
    row_ids = samples.spent(samples.samples[samples.sizes.samples.index(chosen)])
    points = curve_points(curves)
    for line in (choice_text(points), *curve_cautions(points)):
        context.progress.log(line)
    drawn = WarmupDraw(row_ids, train.select(row_ids).labels, len(row_ids))
    return drawn, {"learning_curve": curve_facts(curves, chosen)}


def draw_warmup(settings: DatasetSpec, raw: Examples) -> WarmupDraw:
    """Check every model and size against the data, and draw the warm-up rows.

    No rows are drawn if no encoder is trained. With `warmup.size: auto`, every size that may be chosen is checked, and
    the largest sample is returned; no model is trained.

    Raises:
        ModelError: a model does not fit the data or is not available.
        DataError: a size is impossible.
    """
    check_models(settings, raw)
    raw = raw.without_groups() if settings.filter.groups == "ignore" else raw
    train = raw.in_split("train")
    needed = needs_warmup(settings)
    if needed and settings.warmup.size == "auto":
        return _draw_most(settings, raw, draw_samples(train, seed=settings.seed))
    size = warmup_rows(settings.warmup, len(train), needed=needed)
    by = train.labels if settings.warmup.draw == "by_class" else np.zeros_like(train.labels)
    drawn = stratified_sample(by, train.groups, size, rng=np.random.default_rng([settings.seed, 0]))
    _check_plan(settings, raw, train.row_ids[drawn], needed=needed)
    return WarmupDraw(train.row_ids[drawn], train.labels[drawn], size)


def _draw_most(settings: DatasetSpec, raw: Examples, samples: NestedSamples) -> WarmupDraw:
    for sample in samples.samples:
        spent = samples.spent(sample)
        try:
            _check_plan(settings, raw, spent, needed=True)
        except DataError as error:
            raise DataError(
                f"`warmup.size` is `auto`, so {len(spent)} warm-up rows may be used; in this case, {error}"
            ) from error
    return WarmupDraw(spent, raw.select(spent).labels, len(spent), samples)


def check_models(settings: DatasetSpec, raw: Examples) -> None:
    """Check that every representation and evaluator, and the distance encoder, fit the data and are available.

    Raises:
        ModelError: a model cannot read the dataset's kind of data or is not available.
    """
    models = _named_models(settings)
    if settings.distance_encoder is not None:
        models["distance_encoder"] = settings.distance_encoder
    for place, model in models.items():
        try:
            check_model(model, raw)
        except ModelError as error:
            raise ModelError(f"{place}: {error}") from error


def _named_models(settings: DatasetSpec) -> dict[str, EncoderSpec | EvaluatorSpec]:
    """Return every representation and evaluator; the keys are names of settings, such as `evaluators.NAME`."""
    representations = {f"representations.{name}": model for name, model in settings.representations.items()}
    return {**representations, **{f"evaluators.{name}": model for name, model in settings.evaluators.items()}}


def needs_warmup(settings: DatasetSpec) -> bool:
    """Return True if at least one representation is a model to be trained."""
    return any(not isinstance(encoder, UntrainedSpec) for encoder in settings.representations.values())


def text_lengths(settings: DatasetSpec, raw: Examples) -> dict[str, dict[str, object]]:
    """Return token counts of the texts per text model; the keys are names of settings, such as `evaluators.NAME`.

    The counts are compared with the model's `max_length`. For models that build their tokenizer during training, the
    entry is the reason why nothing was measured.
    """
    models = _named_models(settings)
    lengths: dict[str, dict[str, object]] = {
        name: {"not_measured": _UNMEASURED[type(model)]} for name, model in models.items() if type(model) in _UNMEASURED
    }
    tokenized = {name: model for name, model in models.items() if isinstance(model, TextModelSpec)}
    measured = measure_text_lengths(tokenized, raw, seed=settings.seed)
    return lengths | {name: {"of_rows": len(raw), **measurement} for name, measurement in measured.items()}


def _check_plan(settings: DatasetSpec, raw: Examples, warmup: np.ndarray, *, needed: bool) -> None:
    """Raise a DataError if later stages would fail with these warm-up rows.

    Later stages would fail if the warm-up rows or the remaining rows have only one class. Later stages would also fail
    if the filter's sizes are impossible, or if groups are too large.
    """
    drawn = raw.select(warmup)
    if needed and len(np.unique(drawn.labels)) < 2:
        why = (
            "; raise `warmup.size`"
            if raw.groups is None
            else (
                ", and groups are not split; raise `warmup.size`, or set `columns.group` to a column of smaller groups"
            )
        )
        raise DataError(
            f"`warmup.size` is {settings.warmup.size}, which gives {len(drawn)} rows of {len(np.unique(drawn.labels))} "
            f"classes, but training an encoder needs at least two classes{why}"
        )
    rest = without_rows(raw, warmup)
    splits = rest.table["split"].to_numpy(zero_copy_only=False)
    pool = in_pool(settings.filter, splits)
    if len(np.unique(rest.labels[pool])) < 2:
        raise DataError(
            f"the {pool.sum()} rows left after {len(drawn)} warm-up rows have only one class; lower `warmup.size`"
        )
    train = int((splits == "train").sum())
    for name in settings.representations:
        of_one = settings.filter.of_representation(name)
        sizes = filter_settings(of_one, int(pool.sum()), len(drawn), train_rows=train)
        _check_groups(sizes, None if rest.groups is None else rest.groups[pool])


def _check_groups(settings: FilterSettings, groups: np.ndarray | None) -> None:
    if groups is None:
        if settings.remove == "groups":
            raise DataError(
                "`filter.remove` is `groups`, but the dataset has no groups; set `columns.group`, or set "
                "`filter.remove` to `rows`"
            )
        return
    sizes = np.unique(groups, return_counts=True)[1]
    if sizes.min() > settings.train_size:
        raise DataError(
            f"the smallest group has {sizes.min()} rows, but `filter.train_size` is {settings.train_size}; "
            "raise `filter.train_size`, or set `columns.group` to another column"
        )
    if settings.remove == "groups" and sizes.max() > settings.slice_size:
        raise DataError(
            f"the largest group has {sizes.max()} rows, but `filter.slice_size` is {settings.slice_size} and "
            "`filter.remove` is `groups`; raise `filter.slice_size`, set `columns.group` to another column, or set "
            "`filter.remove` to `rows`"
        )


_SETTINGS = StageSettings("warmup representations evaluators filter distance_encoder seed")
WARMUP_SPLIT = Stage("warmup_split", "2", _SETTINGS, "raw_dataset selection", run, checks=SPLIT_CHECKS)
