"""Numbers of training runs and predictions in a run of the pipeline, derived from the plan in `run_plan`."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aflite_assets.command_line.preview.run_plan import RunPlan, fits
from aflite_assets.command_line.preview.weak_models import ASSUMED_SHARE, rows_of
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import NeuralModelSpec, OneStageSpec
from aflite_assets.specs.models.settings import FineTunedSpec, UntrainedSpec
from aflite_assets.specs.recipes import Recipe, recipes_of
from aflite_assets.specs.sources import CHOICE_FORMATS
from aflite_assets.stages.evaluation.leaning_sets import MOST_CANDIDATES, TRAININGS, most_rows_of_set
from aflite_assets.stages.shared.model_families import leaning_evaluator

GRID = "evaluator_models"
AUTO_NOTE = "the learning curve of warmup.size auto; later numbers assume that it chooses the largest sample"
SAMPLE_NOTE = "assuming that every size is tried; later numbers assume that the largest sample is chosen"

_OWN_TRAINING = "the first training of {}, which is counted with evaluator_models"
_LEANING = f"at most, with {MOST_CANDIDATES} properties that are associated with the label"
_ASSUMED = (
    f"assuming that {100 * ASSUMED_SHARE:g} % of `full` are forgettable; after a run, a check uses the real number"
)


@dataclass(frozen=True)
class Trainings:
    """Training runs of one model in a stage.

    `sizes`: number of train rows of each training run. `asked`: number of rows that each trained model predicts.

    `steps`: total number of optimiser steps, or None to compute the number from `sizes` and the model's epochs. `note`:
    a sentence about the assumptions behind the numbers.
    """

    stage: str
    what: str
    settings: OneStageSpec
    sizes: Sequence[int]
    asked: int = 0
    note: str = ""
    steps: int | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Return the numbers of models, optimiser steps and predicted rows of a neural model."""
        assert isinstance(self.settings, NeuralModelSpec)
        own = sum(steps_of(self.settings, rows) for rows in self.sizes)
        models, steps = len(self.sizes), own if self.steps is None else self.steps
        counts = {"model": models, "step": steps, "row": models * self.asked}
        return {unit: count for unit, count in counts.items() if count}


def trainings_of(spec: DatasetSpec, plan: RunPlan) -> Iterator[Trainings]:
    """Yield the training runs and predictions of all stages, including those on controls that may not be needed."""
    if spec.sample is not None and plan.sample is not None:
        model, sizes = spec.sample.model, [*plan.sample.samples] * spec.sample.repeats
        yield Trainings("train_sample", model.kind, model, sizes, plan.sample.held_back, SAMPLE_NOTE)
    for name, encoder in spec.representations.items():
        if isinstance(encoder, UntrainedSpec):
            continue
        if plan.curve is not None:
            yield Trainings("warmup_split", name, encoder, plan.curve.samples, plan.curve.held_back, AUTO_NOTE)
        yield Trainings("warmup_models", name, encoder, [plan.warmup_rows])
        yield Trainings("embeddings", name, encoder, [0], plan.embedded_rows)
    natural = sum(plan.rows.values()) - plan.rows["train"]
    for name, weak in plan.weak_models.items():
        note = "" if weak.evaluator is None else _OWN_TRAINING.format(weak.evaluator)
        yield Trainings("forgettable_sets", name, weak.settings, [plan.full] * weak.trainings, natural, note)
    yield from _grid(spec, plan)
    far = spec.distance_encoder
    if far is not None and not isinstance(far, UntrainedSpec):
        yield Trainings("bias_evidence", "distance_encoder", far, [plan.rows["train"]], sum(plan.rows.values()))


def _grid(spec: DatasetSpec, plan: RunPlan) -> Iterator[Trainings]:
    """Yield the training runs of the evaluators.

    Some training runs only test whether an evaluator relies on surface properties.
    """
    tested, recipes = sum(plan.test_rows.values()), recipes_of(spec.evaluators)
    for name, evaluator in spec.evaluators.items():
        if isinstance(evaluator, FineTunedSpec):
            yield _later_stages(name, recipes[name], plan, tested)
            continue
        counted = [(train_set.rows, fits(evaluator, train_set, plan.seeds)) for train_set in plan.train_sets]
        yield Trainings(GRID, name, evaluator, [rows for rows, count in counted for _ in range(count)], tested)
    asked = leaning_evaluator(spec.representations, spec.evaluators)
    if asked is None or spec.source.format in CHOICE_FORMATS:
        return
    settings, rows = spec.evaluators[asked], most_rows_of_set(plan.full, plan.evaluators, plan.seeds)
    assert not isinstance(settings, FineTunedSpec)  # such an evaluator is not asked
    yield Trainings(GRID, f"{asked} (leaning)", settings, [rows] * 2 * TRAININGS * MOST_CANDIDATES, tested, _LEANING)


def _later_stages(name: str, recipe: Recipe, plan: RunPlan, tested: int) -> Trainings:
    """Return the training runs of a recipe, without its first stage.

    The first stage belongs to the evaluator from which the recipe starts.
    """
    models = sum(fits(recipe.settings, train_set, plan.seeds) for train_set in plan.train_sets_of(name))
    unread = [one for one in recipe.sets if one not in plan.fine_tune_rows]
    notes = [f"without the stages on {', '.join(unread)}, which cannot be read"] if unread else []
    if any(plan.weak_models[one.weak_model].assumed for one in recipe.forgettable):
        notes.append(_ASSUMED)
    each = 0
    for stage in recipe.stages:
        weak = stage.forgettable
        rows = plan.fine_tune_rows.get(stage.rows, 0) if weak is None else rows_of(weak, plan.weak_models)
        each += steps_of(stage.settings, rows)
    return Trainings(GRID, name, recipe.settings, [0] * models, tested, "; ".join(notes), models * each)


def steps_of(settings: NeuralModelSpec, rows: int) -> int:
    """Return the number of optimiser steps of one training run on `rows` rows."""
    return settings.epochs * math.ceil(rows / settings.for_rows(rows).batch_size)
