"""Estimated cost of a run on this machine.

The estimated cost of a stage is its duration in the last run. For a stage without a known duration, the amount of work
is multiplied by measured speeds.

The module `timing` measures the speeds.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aflite_assets.command_line.preview.run_plan import RunPlan, StudyPreview, Trainings, steps_of
from aflite_assets.command_line.preview.timing import Speeds
from aflite_assets.data.examples import Examples
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.family_registry import trains_in_one_thread
from aflite_assets.processors import processes_at_once
from aflite_assets.results import PublishedResult
from aflite_assets.specs.models.fine_tuning import FineTunedSpec
from aflite_assets.specs.models.kinds import ClassicalModelSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.specs.recipes import Recipe, recipes_of
from aflite_assets.specs.sources import CHOICE_FORMATS
from aflite_assets.stages.data.cue_scan import most_scanned
from aflite_assets.stages.evaluation.leaning_sets import MOST_CANDIDATES, TRAININGS, most_rows_of_set
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.model_families import leaning_evaluator
from aflite_assets.stages.shared.training_workers import WORTH, workers_with_memory
from aflite_assets.stages.stage import study_stages
from aflite_assets.studies import parts

ANY_DATA = 1.0
"""Fixed work of all stages, regardless of the data (statistics, publishing, the report), in units of one process
start.
"""

GRID = "evaluator_models"
LAST_RUN = "its last run"
AUTO_NOTE = "the learning curve of warmup.size auto; later numbers assume that it chooses the largest sample"

_LEANING = f"at most, with {MOST_CANDIDATES} properties that are associated with the label"


@dataclass(frozen=True)
class CostLine:
    """Estimated cost of one stage for one model: the amount of work, and wall-clock seconds.

    `seconds` is None if the speed could not be measured. `note`: a sentence about the assumptions of the estimate.
    """

    stage: str
    what: str
    counts: Mapping[str, int]
    seconds: float | None
    note: str = ""


@dataclass(frozen=True)
class CostEstimate:
    """Estimated cost of a run: all cost lines, the measured device (cpu or cuda), and the duration of the measurements.

    `sizes_known`: whether the number of kept rows is known from current results. `at_once`: number of processes that
    train small evaluators at the same time.
    """

    lines: tuple[CostLine, ...]
    device: str
    measuring_seconds: float
    sizes_known: bool = False
    at_once: int = 1

    @property
    def seconds(self) -> float:
        """Total seconds of all cost lines with a measured speed."""
        return sum(line.seconds or 0.0 for line in self.lines)

    @property
    def not_measured(self) -> tuple[CostLine, ...]:
        """Cost lines without an estimate."""
        return tuple(line for line in self.lines if line.seconds is None)


def estimate_cost(raw: Examples, plan: RunPlan, *, device: DeviceSettings, log: Callable[[str], None]) -> CostEstimate:
    """Estimate the seconds of each stage: those of its last run, or else the counts of work times measured speeds.

    The filter and each distinct model are measured on a few rows of `raw`. The time for loading a model is counted
    once, because one process runs all stages. Small evaluators are assumed to train in parallel. `log` receives a line
    for each measurement.

    Raises:
        ModelError: the device is not available, or a model cannot be trained on the data.
    """
    resolved, started, last = device.resolve().type, time.perf_counter(), last_seconds(plan.reused)
    speeds, left = Speeds(raw, plan, device, log), [stage for stage in STAGES if stage not in last]
    trainings = [one for one in trainings_of(plan) if one.stage not in last]
    start = speeds.start() * (1 + ANY_DATA * len(left) / len(STAGES))
    lines = [CostLine("all stages", "process and fixed work", {"start": 1}, start)]
    lines += [CostLine(stage, LAST_RUN, {}, seconds) for stage, seconds in last.items()]
    if "cue_scan" in left:
        rows = sum(min(rows, most_scanned(raw.modality)) for rows in (plan.rows["train"], *plan.test_rows.values()))
        lines.append(CostLine("cue_scan", "all properties", {"row": rows}, rows * speeds.scan()))
    for name, representation in plan.spec.filterings.items() if "filtered_sets" in left else ():
        runs = plan.spec.filter_seeds
        seconds, note = speeds.filter(plan.spec.representations[representation])
        counts = {"iteration": plan.most_iterations * runs}
        lines.append(CostLine("filtered_sets", name, counts, seconds * plan.row_scores * runs, note))
    trained = [_training_line(one, speeds) for one in trainings]
    at_once = _processes(trainings, trained) if resolved == "cpu" else 1
    lines += [
        replace(line, seconds=line.seconds / at_once) if line.seconds and _small(one) else line
        for one, line in zip(trainings, trained, strict=True)
    ]
    return CostEstimate(tuple(lines), resolved, time.perf_counter() - started, bool(plan.kept), at_once)


def _training_line(one: Trainings, speeds: Speeds) -> CostLine:
    if not isinstance(one.settings, ClassicalModelSpec):
        speed, counts = speeds.neural(one.settings), one.counts
        seconds = None if speed is None else sum(count * getattr(speed, unit) for unit, count in counts.items())
        return CostLine(one.stage, one.what, counts, seconds if counts else 0.0, one.note)
    fit, notes = speeds.classical(one.settings), [one.note] if one.note else []
    if max(one.sizes) > fit.rows:
        notes.append(f"measured up to {fit.rows:,} rows, then assumed to grow as rows^{fit.growth:.1f}")
    seconds = sum(fit.seconds(rows, one.asked) for rows in one.sizes)
    return CostLine(one.stage, one.what, {"fit": len(one.sizes)}, seconds, "; ".join(notes))


def _processes(trainings: Sequence[Trainings], lines: Sequence[CostLine]) -> int:
    """Return the number of processes that train small models in parallel.

    If there is little work, only one process is used (see `training_workers`).
    """
    seconds = sum(line.seconds or 0.0 for one, line in zip(trainings, lines, strict=True) if _small(one))
    return workers_with_memory(processes_at_once()) if seconds > WORTH else 1


def _small(one: Trainings) -> bool:
    return one.stage == GRID and trains_in_one_thread(one.settings)


def last_seconds(reused: Mapping[str, PublishedResult]) -> dict[str, float]:
    """Return the seconds that each stage took for the result that a run would reuse.

    The stage `evaluator_models` is left out if it reused training runs of an earlier result. A training run that
    several cells share counts once.
    """
    took = {stage: result.manifest["provenance"].get("seconds") for stage, result in reused.items()}
    if GRID in took:
        cells = {part.key for name, part in reused[GRID].parts.items() if not name.startswith("weights:")}
        took[GRID] = took[GRID] if reused[GRID].summary["fitted"] >= len(cells) else None
    return {stage: seconds for stage, seconds in took.items() if seconds is not None}


def trainings_of(plan: RunPlan) -> Iterator[Trainings]:
    """Yield the training runs and predictions of all stages, including those on controls that may not be needed."""
    spec = plan.spec
    of_studies = [each for one in parts("command_line.preview", StudyPreview) for each in one.trainings(plan)]
    selecting = {one.stage.name for one in study_stages() if one.role == "selects"}
    yield from (one for one in of_studies if one.stage in selecting)
    for name, encoder in spec.representations.items():
        if isinstance(encoder, UntrainedSpec):
            continue
        if plan.curve is not None:
            yield Trainings("warmup_split", name, encoder, plan.curve.samples, plan.curve.held_back, AUTO_NOTE)
        yield Trainings("warmup_models", name, encoder, [plan.warmup_rows])
        yield Trainings("embeddings", name, encoder, [0], plan.embedded_rows)
    yield from (one for one in of_studies if one.stage not in selecting)
    yield from _grid(plan)
    far = spec.distance_encoder
    if far is not None and not isinstance(far, UntrainedSpec):
        yield Trainings("bias_evidence", "distance_encoder", far, [plan.rows["train"]], sum(plan.rows.values()))


def _grid(plan: RunPlan) -> Iterator[Trainings]:
    """Yield the training runs of the evaluators.

    Some training runs only test whether an evaluator relies on surface properties.
    """
    spec, tested = plan.spec, sum(plan.test_rows.values())
    recipes = recipes_of(spec.evaluators)
    for name, evaluator in spec.evaluators.items():
        if isinstance(evaluator, FineTunedSpec):
            yield _later_stages(name, recipes[name], plan, tested)
            continue
        sizes = [one.rows for one in plan.train_sets for _ in range(one.fits(evaluator, len(spec.seeds)))]
        yield Trainings(GRID, name, evaluator, sizes, tested)
    asked = leaning_evaluator(spec.representations, spec.evaluators)
    if asked is None or spec.source.format in CHOICE_FORMATS:
        return
    settings, rows = spec.evaluators[asked], most_rows_of_set(plan.full, len(spec.evaluators), len(spec.seeds))
    assert not isinstance(settings, FineTunedSpec)  # such an evaluator is not asked
    yield Trainings(GRID, f"{asked} (leaning)", settings, [rows] * 2 * TRAININGS * MOST_CANDIDATES, tested, _LEANING)


def _later_stages(name: str, recipe: Recipe, plan: RunPlan, tested: int) -> Trainings:
    """Return the training runs of a recipe, without its first stage.

    The first stage belongs to the evaluator from which the recipe starts.
    """
    models = sum(train_set.fits(recipe.settings, len(plan.spec.seeds)) for train_set in plan.train_sets_of(name))
    unread = [one for one in recipe.sets if one not in plan.fine_tune_rows]
    notes = [f"without the stages on {', '.join(unread)}, which cannot be read"] if unread else []
    notes += dict.fromkeys(filter(None, (plan.weak_models[one.weak_model].assumption for one in recipe.drawn)))
    each = 0
    for stage in recipe.stages:
        drawn, challenge_rows = stage.drawn, plan.fine_tune_rows.get(stage.rows, 0)
        rows = challenge_rows if drawn is None else plan.weak_models[drawn.weak_model].set_rows[drawn.set_name]
        each += steps_of(stage.settings, rows)
    return Trainings(GRID, name, recipe.settings, [0] * models, tested, "; ".join(notes), models * each)
