"""What a run of one dataset costs on this machine, from a quick measurement; the counts are those of `plan`."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from aflite_assets.command_line.preview.filter_timing import scored_rows
from aflite_assets.command_line.preview.model_timing import EncodingSpeed, NeuralSpeed
from aflite_assets.command_line.preview.run_plan import RunPlan, fits
from aflite_assets.command_line.preview.timing_cache import TimingCache
from aflite_assets.data.examples import Examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models import ClassicalModelSpec, IdentityEncoderSpec
from aflite_assets.specs.recipes import Recipe, recipes_of
from aflite_assets.stages.pipeline import STAGES

ASSUMED_WIDTH = 768
"""Width of an encoder that could not be measured: that of the base size of most text encoders."""

AUTO_NOTE = "the learning curve of warmup.size auto; what follows is counted as if it chose the largest sample"


@dataclass(frozen=True)
class Work:
    """Something done `count` times; `seconds` for each, None where it could not be measured."""

    count: int
    unit: str
    seconds: float | None


@dataclass(frozen=True)
class CostLine:
    """The cost of one stage for one model.

    `spent` seconds went into the measurement, 0 where an earlier line had made it; `note` says what was assumed.
    """

    stage: str
    what: str
    work: tuple[Work, ...]
    spent: float
    note: str = ""

    @property
    def seconds(self) -> float | None:
        """The estimate; None where a part of it could not be measured."""
        parts = [work.count * work.seconds for work in self.work if work.seconds is not None]
        return sum(parts) if len(parts) == len(self.work) else None


@dataclass(frozen=True)
class CostEstimate:
    """Every line, and the device that neural models were measured on: cpu or cuda."""

    lines: tuple[CostLine, ...]
    device: str

    @property
    def seconds(self) -> float:
        """Of all lines that could be measured."""
        return sum(line.seconds or 0.0 for line in self.lines)

    @property
    def not_measured(self) -> tuple[CostLine, ...]:
        """Lines without an estimate."""
        return tuple(line for line in self.lines if line.seconds is None)


def estimate_cost(
    spec: DatasetSpec, raw: Examples, plan: RunPlan, *, device: DeviceSettings, log: Callable[[str], None]
) -> CostEstimate:
    """Measure each distinct model and the filter on few of `raw`'s rows, and multiply by the plan's counts.

    Train sets are counted as if the filter ran to its target size, and with the controls that may not be needed. Every
    stage has a process of its own, whose start is most of what a small dataset costs. What the other stages take
    (statistics, the report) is seconds to minutes and left out. `log` is told what is being measured.

    Raises:
        ModelError: the device is not there, or a model cannot be trained on these data.
    """
    resolved = device.resolve().type
    measured = TimingCache(raw, plan, device, log)
    start, spent = measured.start()
    lines = [CostLine("each stage", "its process", (Work(len(STAGES), "start", start),), spent)]
    for name, settings in spec.representations.items():
        lines += _encoder_lines(name, settings, plan, measured)
    for name, settings in spec.representations.items():
        lines.append(_filter_line(name, settings, plan, measured))
    recipes = recipes_of(spec.evaluators)
    for name, evaluator in spec.evaluators.items():
        if name in recipes:
            lines.append(_recipe_line(name, recipes[name], plan, measured))
            continue
        classical = isinstance(evaluator, ClassicalModelSpec)
        lines.append((_classical_line if classical else _neural_line)(name, evaluator, plan, measured))
    lines += _distance_lines(spec.distance_encoder, plan, measured)
    return CostEstimate(tuple(lines), resolved)


def _encoder_lines(name: str, settings: Any, plan: RunPlan, measured: TimingCache) -> Iterator[CostLine]:
    if isinstance(settings, IdentityEncoderSpec):
        return
    training, spent = measured.neural(settings)
    if plan.curve is not None:
        sizes = plan.curve.samples
        steps, asked = sum(_steps(settings, rows) for rows in sizes), len(sizes) * plan.curve.held_back
        work = _work(training, model=len(sizes), step=steps, row=asked)
        yield CostLine("warmup_split", name, work, spent, AUTO_NOTE)
        spent = 0.0
    work = _work(training, model=1, step=_steps(settings, plan.warmup_rows))
    yield CostLine("warmup_models", name, work, spent)
    encoding, spent = measured.encoding(settings)
    yield CostLine("embeddings", name, _work(encoding, model=1, row=plan.embedded_rows), spent)


def _distance_lines(settings: Any, plan: RunPlan, measured: TimingCache) -> Iterator[CostLine]:
    """One training on all train rows and the features of every row; the distances themselves are left out."""
    if settings is None or isinstance(settings, IdentityEncoderSpec):
        return
    training, trained = measured.neural(settings)
    encoding, encoded = measured.encoding(settings)
    work = _work(training, model=1, step=_steps(settings, plan.rows["train"]))
    work += _work(encoding, row=sum(plan.rows.values()))
    yield CostLine("bias_evidence", "distance_encoder", work, trained + encoded)


def _filter_line(name: str, settings: Any, plan: RunPlan, measured: TimingCache) -> CostLine:
    width, note = None, ""
    if not isinstance(settings, IdentityEncoderSpec):
        encoding, _ = measured.encoding(settings)
        width = ASSUMED_WIDTH if encoding is None else encoding.width
        note = "" if encoding else f"the encoder taken to be {ASSUMED_WIDTH} wide"
    speed, spent = measured.filter(width)
    if speed.rows < plan.pool_rows:
        note = "; ".join([*filter(None, [note]), f"measured on {speed.rows:,} rows"])
    iterations = plan.most_iterations * plan.filter_runs
    work = (Work(iterations, "iteration", speed.row * scored_rows(plan) / plan.most_iterations),)
    return CostLine("filtered_sets", name, work, spent, note)


def _classical_line(name: str, settings: Any, plan: RunPlan, measured: TimingCache) -> CostLine:
    speed, spent = measured.classical(settings)
    fitted = [(train_set, fits(settings, train_set, plan.seeds)) for train_set in plan.train_sets]
    models, tested = sum(count for _, count in fitted), sum(plan.test_rows.values())
    seconds = sum(count * speed.seconds(train_set.rows, tested) for train_set, count in fitted)
    grown = max(train_set.rows for train_set, _ in fitted) > speed.rows
    note = _growth(speed.rows, speed.growth) if grown else ""
    return CostLine("evaluator_models", name, (Work(models, "fit", seconds / models),), spent, note)


def _neural_line(name: str, settings: Any, plan: RunPlan, measured: TimingCache) -> CostLine:
    neural, spent = measured.neural(settings)
    fitted = [(train_set, fits(settings, train_set, plan.seeds)) for train_set in plan.train_sets]
    models = sum(count for _, count in fitted)
    steps = sum(count * _steps(settings, train_set.rows) for train_set, count in fitted)
    work = _work(neural, model=models, step=steps, row=models * sum(plan.test_rows.values()))
    return CostLine("evaluator_models", name, work, spent)


def _recipe_line(name: str, recipe: Recipe, plan: RunPlan, measured: TimingCache) -> CostLine:
    """The later stages alone: the first is trained once, for the evaluator that the recipe starts from."""
    neural, spent = measured.neural(recipe.settings)
    models = sum(fits(recipe.settings, train_set, plan.seeds) for train_set in plan.train_sets)
    rows = plan.fine_tune_rows
    steps = models * sum(_steps(stage.settings, rows[stage.rows]) for stage in recipe.stages if stage.rows in rows)
    work = _work(neural, model=models, step=steps, row=models * sum(plan.test_rows.values()))
    gone = [one for one in recipe.sets if one not in rows]
    note = f"without the stages on {', '.join(gone)}, which could not be read" if gone else ""
    return CostLine("evaluator_models", name, work, spent, note)


def _work(speed: NeuralSpeed | EncodingSpeed | None, **counts: int) -> tuple[Work, ...]:
    """Counts by unit, each unit a field of the speed that was measured."""
    return tuple(
        Work(count, unit, None if speed is None else float(getattr(speed, unit))) for unit, count in counts.items()
    )


def _steps(settings: Any, rows: int) -> int:
    return int(settings.epochs) * math.ceil(rows / settings.batch_size)


def _growth(rows: int, power: float) -> str:
    return f"measured up to {rows:,} rows, then taken to grow as rows^{power:.1f}"
