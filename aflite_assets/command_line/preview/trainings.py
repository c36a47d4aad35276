"""Numbers of training runs and predictions in a run of the pipeline, derived from the plan in `run_plan`."""

from collections.abc import Iterator

from aflite_assets.command_line.preview.run_plan import RunPlan, StudyPreview, Trainings, steps_of
from aflite_assets.specs.models.fine_tuning import FineTunedSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.specs.recipes import Recipe, recipes_of
from aflite_assets.specs.sources import CHOICE_FORMATS
from aflite_assets.stages.evaluation.leaning_sets import MOST_CANDIDATES, TRAININGS, most_rows_of_set
from aflite_assets.stages.shared.model_families import leaning_evaluator
from aflite_assets.stages.stage import study_stages
from aflite_assets.studies import parts

GRID = "evaluator_models"
AUTO_NOTE = "the learning curve of warmup.size auto; later numbers assume that it chooses the largest sample"

_LEANING = f"at most, with {MOST_CANDIDATES} properties that are associated with the label"


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
