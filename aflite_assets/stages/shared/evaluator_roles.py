"""Roles of evaluators: those that see only one text of a pair, and those that have a second training phase."""

from collections.abc import Mapping

from aflite_assets.analysis.inputs.records import Cell, FineTuned
from aflite_assets.analysis.inputs.weak_models import SecondPhase
from aflite_assets.specs.models.fine_tuning import FineTunedSpec
from aflite_assets.specs.models.kinds import EvaluatorSpec, OneStageSpec
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.wording import counted


def first_stages(evaluators: Mapping[str, EvaluatorSpec]) -> dict[str, OneStageSpec]:
    """Return the settings with which each evaluator is trained on the train set."""
    recipes = recipes_of(evaluators)
    return {
        name: recipes[name].settings if isinstance(settings, FineTunedSpec) else settings
        for name, settings in evaluators.items()
    }


def partial_inputs(evaluators: Mapping[str, EvaluatorSpec]) -> tuple[str, ...]:
    """Return the evaluators that see only one text of a pair."""
    return tuple(name for name, stage in first_stages(evaluators).items() if getattr(stage, "inputs", None) is not None)


def fine_tuned_evaluators(evaluators: Mapping[str, EvaluatorSpec]) -> dict[str, FineTuned]:
    """Return the evaluators that are fine-tuned on challenge sets after their first training.

    The result maps each evaluator's name to the evaluator it starts from and to the challenge sets in training order.
    """
    recipes = recipes_of(evaluators).items()
    return {name: FineTuned(recipe.start, recipe.sets) for name, recipe in recipes if not recipe.drawn}


def second_phases(evaluators: Mapping[str, EvaluatorSpec]) -> dict[str, SecondPhase]:
    """Return the evaluators that have a second training phase on rows from weak models, in their order in the spec."""
    return {
        name: SecondPhase(
            recipe.start,
            tuple(stage.rows for stage in recipe.stages),
            recipe.drawn[0].weak_model,
            recipe.drawn[0].set_name,
            tuple(
                f"{counted(stage.settings.epochs, 'epoch')} at rate {stage.settings.learning_rate:g}"
                for stage in recipe.stages
            ),
            recipe.drawn[0].as_many_as,
        )
        for name, recipe in recipes_of(evaluators).items()
        if recipe.drawn
    }


def is_apart(cell: Cell, phases: Mapping[str, SecondPhase]) -> bool:
    """Return True if a cell belongs to no filtering: a second phase, or a train set about a study or a property."""
    return cell.evaluator in phases or (cell.representation is None and cell.train_set != "full")
