"""What evaluators of several stages start from: trainings that cells share, and rows of challenge sets. Trains nothing.

An evaluator that recipes start from is trained once per train set and seed: its own cell is asked with these weights,
and every recipe goes on from them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aflite_assets.data.examples import Examples
from aflite_assets.results import PublishedResult, ResultKey
from aflite_assets.specs.models import EvaluatorSpec, FineTunedSpec, NeuralModelSpec, OneStageSpec
from aflite_assets.specs.recipes import Recipe, recipes_of
from aflite_assets.stages.evaluation.grid import (
    GridCell,
    cell_fields,
    input_fingerprint,
    recipe_fields,
    validation_fingerprint,
)
from aflite_assets.stages.shared.published import fine_tune_examples, read_challenge_sets


@dataclass(frozen=True)
class BaseTraining:
    """A training that cells share: that of `cell` by `settings`; `key` names the part that holds its weights."""

    cell: GridCell
    settings: NeuralModelSpec
    key: ResultKey

    @property
    def name(self) -> str:
        """The part's name and the nested run's; no cell has a colon in its name."""
        return f"weights:{self.cell.name}"


@dataclass(frozen=True)
class FineTuneSets:
    """Fingerprints of the rows to train on by challenge set, None where there are none, and then why."""

    rows: Mapping[str, str | None]
    problems: Mapping[str, str]

    def problem(self, recipe: Recipe) -> str | None:
        """Why the recipe cannot be followed; None where it can."""
        return next((self.problems[name] for name in recipe.sets if name in self.problems), None)


@dataclass(frozen=True)
class CellPlans:
    """By the names of cells: their keys, and what those that share a training start from; recipes by evaluator."""

    keys: Mapping[str, ResultKey]
    base_trainings: Mapping[str, BaseTraining]
    recipes: Mapping[str, Recipe]
    sets: FineTuneSets

    def problem(self, cell: GridCell) -> str | None:
        """Why the cell cannot be trained at all; None where it can."""
        recipe = self.recipes.get(cell.evaluator)
        return None if recipe is None else self.sets.problem(recipe)


def plan_cells(
    evaluators: Mapping[str, EvaluatorSpec],
    grid: Sequence[GridCell],
    raw: Examples,
    tests: Mapping[str, Examples],
    challenges: PublishedResult,
    *,
    code_version: str,
    raw_version: str,
) -> CellPlans:
    """Keys of all cells and of the trainings that they share."""
    recipes = recipes_of(evaluators)
    sets = _fine_tune_sets(challenges, recipes)
    validation = {name: validation_fingerprint(settings, raw) for name, settings in evaluators.items()}
    versions = {"raw_dataset": raw_version, "tests": input_fingerprint(tests)}
    shared = {recipe.start: recipe.settings for recipe in recipes.values()}
    keys, base_trainings = {}, {}
    for cell in grid:
        recipe, settings = recipes.get(cell.evaluator), evaluators[cell.evaluator]
        base = cell if recipe is None else replace(cell, evaluator=recipe.start)
        own = cell_fields(first_settings(settings, recipe), base, validation[base.evaluator])
        fields = own if recipe is None else recipe_fields(recipe, base, validation[base.evaluator], sets.rows)
        keys[cell.name] = ResultKey(code_version, fields, versions)
        if base.evaluator in shared:
            base_key = ResultKey(code_version, {**own, "kept": "weights"}, {"raw_dataset": raw_version})
            base_trainings[cell.name] = BaseTraining(base, shared[base.evaluator], base_key)
    return CellPlans(keys, base_trainings, recipes, sets)


def first_settings(settings: EvaluatorSpec, recipe: Recipe | None) -> OneStageSpec:
    """What an evaluator is trained with on the train set: its own settings, or those its recipe starts from."""
    if recipe is not None:
        return recipe.settings
    assert not isinstance(settings, FineTunedSpec)
    return settings


def _fine_tune_sets(challenges: PublishedResult, recipes: Mapping[str, Recipe]) -> FineTuneSets:
    published = read_challenge_sets(challenges)
    rows: dict[str, str | None] = {}
    problems: dict[str, str] = {}
    for name in dict.fromkeys(name for recipe in recipes.values() for name in recipe.sets):
        facts = published.sets.get(name)
        if facts is not None and facts.fine_tune is not None:
            rows[name] = input_fingerprint({"rows": fine_tune_examples(challenges, name)})
            continue
        rows[name] = None
        problems[name] = "there are no rows to fine-tune on: " + published.missing.get(
            name, f"challenge_sets was made before the spec asked for those of {name!r}; materialise it again"
        )
    return FineTuneSets(rows, problems)
