"""Recipes of evaluators that are trained in several stages: the settings of each stage, and checks of the settings. The
package `models` trains the evaluators.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aflite_assets.specs.core import check_known
from aflite_assets.specs.models.fine_tuning import FineTunedSpec, FineTuneStage
from aflite_assets.specs.models.kinds import EvaluatorSpec, NeuralModelSpec
from aflite_assets.specs.models.settings import DrawnRows


@dataclass(frozen=True)
class RecipeStage:
    """Train rows and settings of one stage after the first stage.

    `rows`: a description of the rows for users, or the name of the challenge set. `drawn`: the set of train rows that a
    study draws, or None for a challenge set.
    """

    rows: str
    settings: NeuralModelSpec
    drawn: DrawnRows | None = None


@dataclass(frozen=True)
class Recipe:
    """Recipe of an evaluator of kind `fine_tuned`: the name and settings of the starting evaluator, and the further
    stages.
    """

    start: str
    settings: NeuralModelSpec
    stages: tuple[RecipeStage, ...]

    @property
    def sets(self) -> tuple[str, ...]:
        """Challenge sets in the recipe's stages, without repeats, in the order of the stages."""
        return tuple(dict.fromkeys(stage.rows for stage in self.stages if stage.drawn is None))

    @property
    def drawn(self) -> tuple[DrawnRows, ...]:
        """Sets of train rows that studies draw, in the recipe's stages. If a recipe uses such rows, its first stage is
        trained on the train set `full` only.
        """
        return tuple(stage.drawn for stage in self.stages if stage.drawn is not None)


def recipes_of(evaluators: Mapping[str, EvaluatorSpec]) -> dict[str, Recipe]:
    """Return the recipes of evaluators that are trained in several stages, by name. The spec has already validated the
    recipes.
    """
    recipes = {}
    for name, settings in evaluators.items():
        if isinstance(settings, FineTunedSpec):
            start = evaluators[settings.start]
            assert isinstance(start, NeuralModelSpec)
            recipes[name] = Recipe(
                settings.start, start, tuple(_recipe_stage(start, stage) for stage in settings.stages)
            )
    return recipes


def _recipe_stage(start: NeuralModelSpec, stage: FineTuneStage) -> RecipeStage:
    settings = _stage_settings(start, stage)
    drawn = stage.drawn
    if drawn is not None:
        return RecipeStage(drawn.shown, settings, drawn)
    assert stage.rows is not None
    return RecipeStage(stage.rows, settings)


def _stage_settings(start: NeuralModelSpec, stage: FineTuneStage) -> NeuralModelSpec:
    """Return the settings of a stage: the starting evaluator's settings with the changes of the stage. A stage always
    trains for all epochs.

    Early stopping is turned off, because the validation rows come from the dataset and not from the stage's row set.
    """
    changes = stage.model_dump(include={"epochs", "batch_size", "learning_rate"}, exclude_none=True)
    return start.model_copy(update={"early_stopping": None, **changes})


def check_recipes(evaluators: Mapping[str, EvaluatorSpec], fine_tune: Mapping[str, str | None]) -> None:
    """Raise an error if a recipe is inconsistent with the other settings.

    `fine_tune`: the setting `fine_tune` of every challenge set. Studies check their own sets of rows.

    Raises:
        ValueError: a starting evaluator or a set of rows is unknown or unsuitable, or a batch size is not a multiple of
            `gradient_accumulation`.
    """
    for name, settings in evaluators.items():
        if isinstance(settings, FineTunedSpec):
            start = _check_start(f"evaluators.{name}.start", settings.start, evaluators)
            for number, stage in enumerate(settings.stages):
                place = f"evaluators.{name}.stages.{number}"
                if stage.rows is not None:
                    _check_rows(f"{place}.rows", stage.rows, fine_tune)
                _check_batch(place, stage, start)


def neural_names(evaluators: Mapping[str, EvaluatorSpec]) -> list[str]:
    """Return the names of the evaluators that are trained in epochs, in one stage."""
    return [name for name, settings in evaluators.items() if isinstance(settings, NeuralModelSpec)]


def _check_start(place: str, name: str, evaluators: Mapping[str, EvaluatorSpec]) -> NeuralModelSpec:
    start, neural = evaluators.get(name), neural_names(evaluators)
    remedy = "list all stages here" if isinstance(start, FineTunedSpec) else ""
    check_known(place, name, neural, "a neural evaluator of this dataset", remedy)
    assert isinstance(start, NeuralModelSpec)
    return start


def _check_rows(place: str, name: str, fine_tune: Mapping[str, str | None]) -> None:
    ready = [challenge_set for challenge_set, split in fine_tune.items() if split is not None]
    remedy = f"set `challenge_sets.{name}.fine_tune` to a split of its source" if name in fine_tune else ""
    check_known(place, name, ready, "one of `challenge_sets` with `fine_tune`", remedy)


def _check_batch(place: str, stage: FineTuneStage, start: NeuralModelSpec) -> None:
    if stage.batch_size is None:
        return
    if stage.batch_size % start.gradient_accumulation:
        raise ValueError(
            f"`{place}.batch_size` is {stage.batch_size}, which is not a multiple of the starting evaluator's "
            f"`gradient_accumulation` ({start.gradient_accumulation}); change one of the two"
        )
    pairs = start.rows_per_item * start.gradient_accumulation
    if stage.batch_size % pairs:
        raise ValueError(
            f"`{place}.batch_size` is {stage.batch_size}, but with the starting evaluator's `loss: {start.loss}` it "
            f"must be a multiple of {pairs}; change `batch_size`"
        )
