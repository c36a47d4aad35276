"""Plans for evaluators that are trained in several stages: base trainings that cells share, and rows of later stages.

A base training trains an evaluator, once per train set and seed, so that recipes can start from its weights. The
evaluator's own cell predicts with the weights of the base training, and every recipe continues to train these weights.
This module trains nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.results import PublishedResult, ResultKey
from aflite_assets.specs.models.fine_tuning import FineTunedSpec
from aflite_assets.specs.models.kinds import EvaluatorSpec, NeuralModelSpec, OneStageSpec
from aflite_assets.specs.recipes import Recipe, recipes_of
from aflite_assets.stages.evaluation.grid import (
    TRAINING_CODE,
    GridCell,
    cell_fields,
    input_fingerprint,
    recipe_fields,
    row_fingerprint,
    validation_fingerprint,
)
from aflite_assets.stages.evaluation.row_sets import row_sets
from aflite_assets.stages.shared.published import fine_tune_examples, read_challenge_sets, read_row_sets
from aflite_assets.stages.stage import StudyResults


@dataclass(frozen=True)
class BaseTraining:
    """A training run whose weights several cells use: the cell `cell`, trained with `settings`.

    `key`: the key of the stored weights.
    """

    cell: GridCell
    settings: NeuralModelSpec
    key: ResultKey

    @property
    def name(self) -> str:
        """Name of the stored result and of the nested run, distinct from every cell's name because it has a colon."""
        return f"weights:{self.cell.name}"

    @property
    def title(self) -> str:
        """Title of the nested run: the cell's title with the prefix `weights:`."""
        return f"weights:{self.cell.title}"


@dataclass(frozen=True)
class StageRows:
    """Rows on which recipes continue training after the base training; keys are names of row sets.

    `challenge_sets`: a fingerprint of the rows of each challenge set, or None if the set has no rows to train on.
    `drawn`: ids (int64) of train rows that studies draw, by name and seed. `problems`: for each missing set of rows,
    the reason why it is missing.
    """

    challenge_sets: Mapping[str, str | None]
    drawn: Mapping[tuple[str, int], np.ndarray]
    problems: Mapping[str, str]

    def problem(self, recipe: Recipe) -> str | None:
        """Return the reason why training rows of the recipe are missing, or None if no rows are missing."""
        return next((self.problems[stage.rows] for stage in recipe.stages if stage.rows in self.problems), None)

    def fingerprints(self, seed: int) -> dict[str, str | None]:
        """Return fingerprints of all sets of rows that recipes may use with `seed`; a missing set gets None."""
        drawn = {name: row_fingerprint(row_ids) for (name, each), row_ids in self.drawn.items() if each == seed}
        return dict.fromkeys(self.problems) | dict(self.challenge_sets) | drawn

    def row_ids(self, recipe: Recipe, seed: int) -> dict[str, np.ndarray]:
        """Return the ids of drawn train rows for each stage of the recipe, keyed by the name of the rows."""
        return {stage.rows: self.drawn[stage.rows, seed] for stage in recipe.stages if stage.drawn is not None}


@dataclass(frozen=True)
class CellPlans:
    """Keys of the cells' results, and the base trainings from which cells start, both by cell name.

    `recipes`: the recipe of each evaluator that is trained in several stages.
    """

    keys: Mapping[str, ResultKey]
    base_trainings: Mapping[str, BaseTraining]
    recipes: Mapping[str, Recipe]
    stage_rows: StageRows

    def problem(self, cell: GridCell) -> str | None:
        """Return the reason why the cell cannot be trained, or None if the cell can be trained."""
        recipe = self.recipes.get(cell.evaluator)
        return None if recipe is None else self.stage_rows.problem(recipe)


def plan_cells(
    evaluators: Mapping[str, EvaluatorSpec],
    grid: Sequence[GridCell],
    raw: Examples,
    tests: Mapping[str, Examples],
    challenges: PublishedResult,
    drawn: StudyResults,
    *,
    raw_version: str,
) -> CellPlans:
    """Compute the result keys of all cells and of the base trainings that cells share.

    A training run is a base training if a recipe in `grid` starts from its weights, or if a result in `drawn` contains
    its weights.

    Args:
        grid: every cell, including cells that this run does not train.
    """
    recipes = recipes_of(evaluators)
    seeds = {cell.seed for cell in grid if cell.evaluator in recipes}
    rows = _stage_rows(challenges, drawn, recipes, seeds)
    trained = {part.key for result in drawn.values() for part in result.parts.values()}
    validation = {name: validation_fingerprint(settings, raw) for name, settings in evaluators.items()}
    versions = {"raw_dataset": raw_version, "tests": input_fingerprint(tests)}
    shared = {replace(cell, evaluator=recipes[cell.evaluator].start).name for cell in grid if cell.evaluator in recipes}
    keys, base_trainings = {}, {}
    for cell in grid:
        recipe, settings = recipes.get(cell.evaluator), evaluators[cell.evaluator]
        base = cell if recipe is None else replace(cell, evaluator=recipe.start)
        own = cell_fields(first_settings(settings, recipe), base, validation[base.evaluator])
        stage_rows = rows.fingerprints(cell.seed)
        fields = own if recipe is None else recipe_fields(recipe, base, validation[base.evaluator], stage_rows)
        keys[cell.name] = ResultKey(TRAINING_CODE, fields, versions)
        base_key = weights_key(own, raw_version)
        if base.name in shared or base_key.digest in trained:
            first = first_settings(settings, recipe)
            assert isinstance(first, NeuralModelSpec)
            base_trainings[cell.name] = BaseTraining(base, first, base_key)
    return CellPlans(keys, base_trainings, recipes, rows)


def weights_key(fields: Mapping[str, object], raw_version: str) -> ResultKey:
    """Return the key under which the weights of a training are stored.

    `fields`: the fields of the training as returned by `cell_fields`.
    """
    return ResultKey(TRAINING_CODE, {**fields, "kept": "weights"}, {"raw_dataset": raw_version})


def first_settings(settings: EvaluatorSpec, recipe: Recipe | None) -> OneStageSpec:
    """Return the settings for an evaluator's training on the train set.

    A recipe uses the settings of the evaluator from which it starts; every other evaluator uses its own settings.
    """
    if recipe is not None:
        return recipe.settings
    assert not isinstance(settings, FineTunedSpec)
    return settings


def _stage_rows(
    challenges: PublishedResult, drawn: StudyResults, recipes: Mapping[str, Recipe], seeds: Collection[int]
) -> StageRows:
    fingerprints, problems = _fine_tune_sets(challenges, recipes)
    sets = {
        (stage, one.weak_model, one.name, one.seed): one.row_ids
        for stage, result in drawn.items()
        for one in read_row_sets(result)
    }
    found: dict[tuple[str, int], np.ndarray] = {}
    for stage in (stage for recipe in recipes.values() for stage in recipe.stages):
        if (wanted := stage.drawn) is None:
            continue
        for seed in seeds:
            key = (wanted.stage, wanted.weak_model, wanted.set_name)
            row_ids = sets.get((*key, seed), sets.get((*key, None)))
            if row_ids is None:
                problems[stage.rows] = row_sets()[wanted.stage].why_missing(drawn[wanted.stage], wanted)
            else:
                found[stage.rows, seed] = row_ids
    return StageRows(fingerprints, found, problems)


def _fine_tune_sets(
    challenges: PublishedResult, recipes: Mapping[str, Recipe]
) -> tuple[dict[str, str | None], dict[str, str]]:
    """Return a fingerprint of the rows to fine-tune on for each challenge set, and reasons for missing rows.

    The fingerprint is None if the challenge set has no rows to fine-tune on.
    """
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
            name, f"`challenge_sets` was computed before `fine_tune` was set for {name!r}; materialise it again"
        )
    return rows, problems
