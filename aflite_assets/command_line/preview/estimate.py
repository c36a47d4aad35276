"""Estimated cost of a run of one dataset on this machine: the counts of `run_plan` times speeds, each measured once.

How a speed is measured is in `model_timing` and `filter_timing`.
"""

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from aflite_assets.command_line.preview.filter_timing import (
    FilterTiming,
    encoder_like_features,
    measure_filter,
    rows_to_measure,
    scored_rows,
)
from aflite_assets.command_line.preview.model_timing import (
    ClassicalTiming,
    NeuralTiming,
    encoder_width,
    measure_classical,
    measure_neural,
    timing_key,
    weights_are_here,
)
from aflite_assets.command_line.preview.run_plan import RunPlan, fits
from aflite_assets.command_line.preview.scan_timing import ScanTiming, measure_scan
from aflite_assets.command_line.preview.weak_models import ASSUMED_SHARE, PlannedWeakModel, rows_of
from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.sizes import trains_in_one_thread
from aflite_assets.processors import processes_at_once
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import ClassicalModelSpec, EncoderSpec, NeuralModelSpec
from aflite_assets.specs.models.settings import FineTunedSpec, IdentityEncoderSpec, SurfaceEncoderSpec, UntrainedSpec
from aflite_assets.specs.recipes import Recipe, RecipeStage, recipes_of
from aflite_assets.specs.sample import SampleSpec
from aflite_assets.specs.sources import CHOICE_FORMATS
from aflite_assets.stages.data.cue_scan import most_scanned
from aflite_assets.stages.evaluation.leaning_sets import MOST_CANDIDATES, TRAININGS, most_rows_of_set
from aflite_assets.stages.shared.model_families import leaning_evaluator
from aflite_assets.stages.shared.training_workers import WORTH, workers_with_memory

Timing = TypeVar("Timing")

ASSUMED_WIDTH = 768
"""Width of an encoder that could not be measured: that of the base size of most text encoders."""

FEW_ROWS = """
import json, sys, tempfile, time
from pathlib import Path
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_pipeline
from aflite_assets.tracking import MlflowTracker
with tempfile.TemporaryDirectory() as place:
    tracker = MlflowTracker(None, Path(place))
    tracker.session.client
    started = time.perf_counter()
    run_pipeline(parse_spec(json.loads(sys.argv[1])), store=ResultStore(Path(place)), tracker=tracker)
    print(time.perf_counter() - started)
"""
"""All stages on few rows, in one process: reading, statistics, publishing and the report, which every dataset has."""

FEW_ROWS_SPEC = {
    "name": "few_rows",
    "source": {
        "format": "circles", "splits": {"train": 200, "test": 100}, "inner_radius": 1.0, "outer_radius": 3.0,
        "radius_deviation": 0.1, "biased_share": 0.5, "bias_width": 4, "bias_mean": 1.0, "bias_deviation": 0.1,
        "noise_deviation": 0.1, "flipped_share": 0.0,
    },
    "representations": {"given": {"kind": "identity"}},
    "filter": {"n_partitions": 4, "slice_size": 0.2},
    "evaluators": {"linear": {"kind": "linear"}},
    "seeds": [0],
}  # fmt: skip

LIBRARIES = "import mlflow, torch, aflite_assets.stages.child_process, aflite_assets.models.evaluators"
"""Libraries that the process of a stage loads before it does anything."""

_LEANING = " (leaning)"

AUTO_NOTE = "the learning curve of warmup.size auto; what follows is counted as if it chose the largest sample"


SAMPLE_NOTE = "as if every size were tried; what follows is counted as if the largest sample were chosen"


@dataclass(frozen=True)
class Work:
    """Something done `count` times; `seconds` for each, None where it could not be measured."""

    count: int
    unit: str
    seconds: float | None


@dataclass(frozen=True)
class CostLine:
    """The cost of one stage for one model; `note` says what was assumed.

    `at_once`: processes that share the work.
    """

    stage: str
    what: str
    work: tuple[Work, ...]
    note: str = ""
    at_once: int = 1

    @property
    def seconds(self) -> float | None:
        """The estimate, by the clock; None where a part of it could not be measured."""
        parts = [work.count * work.seconds for work in self.work if work.seconds is not None]
        return sum(parts) / self.at_once if len(parts) == len(self.work) else None


@dataclass(frozen=True)
class CostEstimate:
    """Every line, the device that neural models were measured on (cpu or cuda), and what measuring took.

    `sizes_known`: whether a current result said how many rows the filters keep.
    """

    lines: tuple[CostLine, ...]
    device: str
    measuring_seconds: float
    sizes_known: bool = False

    @property
    def seconds(self) -> float:
        """Seconds of all lines that could be measured."""
        return sum(line.seconds or 0.0 for line in self.lines)

    @property
    def not_measured(self) -> tuple[CostLine, ...]:
        """Lines without an estimate."""
        return tuple(line for line in self.lines if line.seconds is None)


def estimate_cost(
    spec: DatasetSpec, raw: Examples, plan: RunPlan, *, device: DeviceSettings, log: Callable[[str], None]
) -> CostEstimate:
    """Measure each distinct model and the filter on few of `raw`'s rows, and multiply by the plan's counts.

    Train sets are counted with the plan's rows, and with the controls that may not be needed. The run starts one
    process that makes its stages; what a model loads when it is first used is counted once, and what the stages do for
    any data (statistics, publishing, the report) by a run of all stages on few rows. What these take longer on many
    rows is left out. Small evaluators train side by side. `log` gets a line for each measurement.

    Raises:
        ModelError: the device is not there, or a model cannot be trained on these data.
    """
    resolved, started = device.resolve().type, time.perf_counter()
    timings = TimingCache(raw, plan, device, log)
    few_rows = timings.few_rows()
    started_in = timings.start()  # after a process that has read the libraries from the disk, as it is within a run
    lines = [
        CostLine("all stages", "their process", (Work(1, "start", started_in),)),
        CostLine("all stages", "what any data need", (Work(1, "run of few rows", few_rows),)),
    ]
    lines.append(_scan_line(raw, plan, timings))
    lines += _sample_lines(spec.sample, plan, timings)
    for name, encoder in spec.representations.items():
        lines += _encoder_lines(name, encoder, plan, timings)
    for name, representation in spec.filterings.items():
        lines.append(_filter_line(name, spec.representations[representation], plan, timings))
    lines += [_weak_model_line(weak_model, plan, timings) for weak_model in plan.weak_models.values()]
    recipes = recipes_of(spec.evaluators)
    for name, evaluator in spec.evaluators.items():
        if isinstance(evaluator, FineTunedSpec):
            lines.append(_recipe_line(name, recipes[name], plan, timings))
        elif isinstance(evaluator, ClassicalModelSpec):
            lines.append(_classical_line(name, evaluator, plan, timings))
        else:
            lines.append(_neural_line(name, evaluator, plan, timings))
    leaning = _leaning_line(spec, plan, timings)
    lines += [] if leaning is None else [leaning]
    lines += _distance_lines(spec.distance_encoder, plan, timings)
    loading = _loading_line(spec, timings)
    lines[2:2] = [] if loading is None else [loading]
    if resolved == "cpu":
        lines = _side_by_side(spec, lines)
    return CostEstimate(tuple(lines), resolved, time.perf_counter() - started, sizes_known=bool(plan.kept))


def start_seconds() -> float:
    """Until a process of its own is ready for a stage that computes something."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-P", "-c", LIBRARIES], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return time.perf_counter() - started


def few_rows_seconds() -> float:
    """Measure what all stages take on few rows, once their libraries are loaded; the tracker writes to a folder of its
    own.
    """
    code = f"{LIBRARIES}\n{FEW_ROWS}"
    command = [sys.executable, "-P", "-c", code, json.dumps(FEW_ROWS_SPEC)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, text=True)
    return float(done.stdout.split()[-1])


class TimingCache:
    """Speeds of process starts, models and filter on one dataset's rows, each distinct thing measured once.

    A model whose weights are not here has no speed: None.
    """

    def __init__(self, raw: Examples, plan: RunPlan, device: DeviceSettings, log: Callable[[str], None]) -> None:
        self._raw, self._plan = raw, plan
        self._train = raw.in_split("train")
        outside = np.flatnonzero(raw.table["split"].to_numpy(zero_copy_only=False) != "train")
        self._tests = Examples(rows_at(raw.table, outside), raw.label_names)
        self._device, self._log = device, log
        self._measured: dict[tuple[str, Any], Any] = {}

    def start(self) -> float:
        """Seconds until the process of a stage has started."""
        self._log("measuring the start of a process")
        return start_seconds()

    def few_rows(self) -> float:
        """Seconds of all stages on few rows."""
        self._log("measuring all stages on few rows")
        return few_rows_seconds()

    def scan(self) -> ScanTiming:
        """Return the scan for cues."""
        return self._once(("the scan for cues", None), lambda: measure_scan(self._train))

    def neural(self, settings: NeuralModelSpec) -> NeuralTiming | None:
        """Training and prediction of a neural model, with batches as large as on the whole train split."""
        settings = settings.for_rows(self._plan.rows["train"])
        if not weights_are_here(settings):
            return None
        key = (f"training and prediction of {settings.kind}", timing_key(settings))
        return self._once(key, lambda: measure_neural(settings, self._train, self._tests, device=self._device))

    def classical(self, settings: ClassicalModelSpec) -> ClassicalTiming:
        """Fits and predictions of a scikit-learn model."""
        key = (f"fits of {settings.kind}", settings.model_dump_json())
        return self._once(key, lambda: measure_classical(settings, self._train, self._tests))

    def filter(self, encoder: EncoderSpec) -> FilterTiming:
        """Return the filter's classifiers on features as this encoder's, or on the dataset's own."""
        width = None if isinstance(encoder, IdentityEncoderSpec) else self._width(encoder)
        return self._once(("the filter's classifiers", width), lambda: self._measure_filter(width))

    def _width(self, encoder: NeuralModelSpec | SurfaceEncoderSpec) -> int:
        if isinstance(encoder, SurfaceEncoderSpec) or not weights_are_here(encoder):
            return ASSUMED_WIDTH
        return encoder_width(encoder, self._train, device=self._device)

    def _measure_filter(self, width: int | None) -> FilterTiming:
        rows = rows_to_measure(self._plan, self._raw.features.shape[1] if width is None else width)
        if width is None:
            drawn = np.random.default_rng(0).permutation(len(self._raw))[:rows]
            features, labels = self._raw.features[drawn], self._raw.labels[drawn]
        else:
            features, labels = encoder_like_features(rows, width, len(self._raw.label_names), seed=0)
        groups = self._train.groups
        per_group = 1 if groups is None else round(len(groups) / len(np.unique(groups)))
        # A mean may lie over train_size where the smallest groups do not.
        within = min(per_group, self._plan.settings.train_size)
        return measure_filter(
            self._plan.settings, features, labels, pool_rows=self._plan.pool_rows, rows_per_group=within
        )

    def _once(self, key: tuple[str, Any], measure: Callable[[], Timing]) -> Timing:
        if key not in self._measured:
            self._log(f"measuring {key[0]}")
            self._measured[key] = measure()
        timing: Timing = self._measured[key]
        return timing


def _scan_line(raw: Examples, plan: RunPlan, timings: TimingCache) -> CostLine:
    """Return the scan of the train split, and what its properties are in all other sets."""
    most, timing = most_scanned(raw.modality), timings.scan()
    rows = sum(min(count, most) for count in (plan.rows["train"], *plan.test_rows.values()))
    return CostLine("cue_scan", "all properties", (Work(1, "start", timing.start), Work(rows, "row", timing.row)))


def _sample_lines(sample: SampleSpec | None, plan: RunPlan, timings: TimingCache) -> Iterator[CostLine]:
    """Yield the trainings on every sample and their answers about the held-back rows."""
    if sample is None or plan.sample is None:
        return
    sizes, held_back, model = plan.sample.samples, plan.sample.held_back, sample.model
    models = len(sizes) * sample.repeats
    if isinstance(model, ClassicalModelSpec):
        timing = timings.classical(model)
        seconds = sum(timing.seconds(rows, held_back) for rows in sizes)
        work: tuple[Work, ...] = (Work(models, "fit", seconds / models),)
    else:
        steps = sample.repeats * sum(_steps(model, rows) for rows in sizes)
        work = _work(timings.neural(model), model=models, step=steps, row=models * held_back)
    yield CostLine("train_sample", model.kind, work, SAMPLE_NOTE)


def _encoder_lines(name: str, encoder: EncoderSpec, plan: RunPlan, timings: TimingCache) -> Iterator[CostLine]:
    if isinstance(encoder, UntrainedSpec):
        return
    timing = timings.neural(encoder)
    if plan.curve is not None:
        sizes = plan.curve.samples
        steps, predicted = sum(_steps(encoder, rows) for rows in sizes), len(sizes) * plan.curve.held_back
        work = _work(timing, model=len(sizes), step=steps, row=predicted)
        yield CostLine("warmup_split", name, work, AUTO_NOTE)
    yield CostLine("warmup_models", name, _work(timing, model=1, step=_steps(encoder, plan.warmup_rows)))
    yield CostLine("embeddings", name, _work(timing, model=1, row=plan.embedded_rows))


def _loading_line(spec: DatasetSpec, timings: TimingCache) -> CostLine | None:
    """Return what neural models load when they are first used; None without any here."""
    encoders = [one for one in spec.representations.values() if not isinstance(one, UntrainedSpec)]
    apart = (UntrainedSpec, FineTunedSpec, ClassicalModelSpec)
    evaluators = [one for one in spec.evaluators.values() if not isinstance(one, apart)]
    weak_models = [entry.settings(spec.evaluators) for entry in spec.forgettables.values()]
    sample = [] if spec.sample is None or isinstance(spec.sample.model, ClassicalModelSpec) else [spec.sample.model]
    models = [*sample, *encoders, *weak_models, *evaluators]
    firsts = [timing.first for one in models if (timing := timings.neural(one)) is not None]
    return CostLine("all stages", "models when first used", (Work(1, "start", max(firsts)),)) if firsts else None


def _side_by_side(spec: DatasetSpec, lines: Sequence[CostLine]) -> list[CostLine]:
    """Share the cells of small models among processes, where there is enough of them (`training_workers`)."""
    recipes = recipes_of(spec.evaluators)
    settings = {
        name: recipes[name].settings if isinstance(one, FineTunedSpec) else one for name, one in spec.evaluators.items()
    }
    small = {name for name, one in settings.items() if trains_in_one_thread(one)}
    small |= {f"{name}{_LEANING}" for name in small}
    shared = [line for line in lines if line.stage == "evaluator_models" and line.what in small]
    at_once = workers_with_memory(processes_at_once())
    if at_once < 2 or sum(line.seconds or 0.0 for line in shared) <= WORTH:
        return list(lines)
    return [replace(line, at_once=at_once) if line in shared else line for line in lines]


def _distance_lines(encoder: EncoderSpec | None, plan: RunPlan, timings: TimingCache) -> Iterator[CostLine]:
    """One training on all train rows and the features of every row; the distances themselves are left out."""
    if encoder is None or isinstance(encoder, UntrainedSpec):
        return
    steps, rows = _steps(encoder, plan.rows["train"]), sum(plan.rows.values())
    work = _work(timings.neural(encoder), model=1, step=steps, row=rows)
    yield CostLine("bias_evidence", "distance_encoder", work)


def _filter_line(name: str, encoder: EncoderSpec, plan: RunPlan, timings: TimingCache) -> CostLine:
    timing, notes = timings.filter(encoder), []
    if isinstance(encoder, SurfaceEncoderSpec):
        notes.append(f"the properties taken to be {ASSUMED_WIDTH}")
    elif not isinstance(encoder, IdentityEncoderSpec) and not weights_are_here(encoder):
        notes.append(f"the encoder taken to be {ASSUMED_WIDTH} wide")
    if timing.rows < plan.pool_rows:
        notes.append(f"measured on {timing.rows:,} rows")
    iterations = plan.most_iterations * plan.filter_runs
    work = (Work(iterations, "iteration", timing.row * scored_rows(plan) / plan.most_iterations),)
    return CostLine("filtered_sets", name, work, "; ".join(notes))


def _classical_line(name: str, settings: ClassicalModelSpec, plan: RunPlan, timings: TimingCache) -> CostLine:
    timing = timings.classical(settings)
    fitted = [(train_set, fits(settings, train_set, plan.seeds)) for train_set in plan.train_sets]
    models, tested = sum(count for _, count in fitted), sum(plan.test_rows.values())
    seconds = sum(count * timing.seconds(train_set.rows, tested) for train_set, count in fitted)
    grown = max(train_set.rows for train_set, _ in fitted) > timing.rows
    note = f"measured up to {timing.rows:,} rows, then taken to grow as rows^{timing.growth:.1f}" if grown else ""
    return CostLine("evaluator_models", name, (Work(models, "fit", seconds / models),), note)


def _neural_line(name: str, settings: NeuralModelSpec, plan: RunPlan, timings: TimingCache) -> CostLine:
    fitted = [(train_set, fits(settings, train_set, plan.seeds)) for train_set in plan.train_sets]
    models = sum(count for _, count in fitted)
    steps = sum(count * _steps(settings, train_set.rows) for train_set, count in fitted)
    predicted = models * sum(plan.test_rows.values())
    work = _work(timings.neural(settings), model=models, step=steps, row=predicted)
    return CostLine("evaluator_models", name, work)


def _leaning_line(spec: DatasetSpec, plan: RunPlan, timings: TimingCache) -> CostLine | None:
    """Trainings that ask whether models lean on properties, at most: how many there are only the rows tell."""
    name = leaning_evaluator(spec.representations, spec.evaluators)
    if name is None or spec.source.format in CHOICE_FORMATS:
        return None
    settings, models = spec.evaluators[name], 2 * TRAININGS * MOST_CANDIDATES
    (full,) = (train_set.rows for train_set in plan.train_sets if train_set.name == "full")
    rows, tested = most_rows_of_set(full, plan.evaluators, plan.seeds), sum(plan.test_rows.values())
    note = f"at most, with {MOST_CANDIDATES} properties that go with the label"
    if isinstance(settings, ClassicalModelSpec):
        each = timings.classical(settings).seconds(rows, tested)
        return CostLine("evaluator_models", f"{name}{_LEANING}", (Work(models, "fit", each),), note)
    assert not isinstance(settings, FineTunedSpec)  # such an evaluator is not asked
    steps = models * _steps(settings, rows)
    work = _work(timings.neural(settings), model=models, step=steps, row=models * tested)
    return CostLine("evaluator_models", f"{name}{_LEANING}", work, note)


def _recipe_line(name: str, recipe: Recipe, plan: RunPlan, timings: TimingCache) -> CostLine:
    """Return the later stages alone: the first is trained once, for the evaluator that the recipe starts from."""
    models = sum(fits(recipe.settings, train_set, plan.seeds) for train_set in plan.train_sets_of(name))
    stages = [(stage.settings, rows) for stage in recipe.stages if (rows := _stage_rows(stage, plan)) is not None]
    steps = models * sum(_steps(settings, rows) for settings, rows in stages)
    predicted = models * sum(plan.test_rows.values())
    work = _work(timings.neural(recipe.settings), model=models, step=steps, row=predicted)
    unread = [one for one in recipe.sets if one not in plan.fine_tune_rows]
    notes = [f"without the stages on {', '.join(unread)}, which could not be read"] if unread else []
    if any(plan.weak_models[one.weak_model].assumed for one in recipe.forgettable):
        notes.append(_ASSUMED)
    return CostLine("evaluator_models", name, work, "; ".join(notes))


_ASSUMED = (
    f"forgettable rows taken to be {100 * ASSUMED_SHARE:g} % of full, which only a run can tell; "
    "a later check has the number"
)


def _stage_rows(stage: RecipeStage, plan: RunPlan) -> int | None:
    """Rows that a later stage trains on, at most; None where they could not be read."""
    if stage.forgettable is None:
        return plan.fine_tune_rows.get(stage.rows)
    return rows_of(stage.forgettable, plan.weak_models)


def _weak_model_line(weak_model: PlannedWeakModel, plan: RunPlan, timings: TimingCache) -> CostLine:
    """Trainings on full and the predictions of natural test sets; an evaluator's own training stands with it."""
    if weak_model.evaluator is not None:
        note = f"the first training of {weak_model.evaluator}, which is counted with evaluator_models"
        return CostLine("forgettable_sets", weak_model.name, (), note)
    models = weak_model.trainings
    (full,) = (train_set.rows for train_set in plan.train_sets if train_set.name == "full")
    tested = sum(rows for split, rows in plan.rows.items() if split != "train")
    steps = models * _steps(weak_model.settings, full)
    work = _work(timings.neural(weak_model.settings), model=models, step=steps, row=models * tested)
    return CostLine("forgettable_sets", weak_model.name, work)


def _work(timing: NeuralTiming | None, **counts: int) -> tuple[Work, ...]:
    """Return counts by unit, each unit a field of the timing."""
    return tuple(Work(count, unit, None if timing is None else getattr(timing, unit)) for unit, count in counts.items())


def _steps(settings: NeuralModelSpec, rows: int) -> int:
    return settings.epochs * math.ceil(rows / settings.for_rows(rows).batch_size)
