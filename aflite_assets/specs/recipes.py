"""Recipes of evaluators that are trained in several stages: the settings of each stage, and checks of the settings. The
package `models` trains the evaluators.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aflite_assets.specs.models.kinds import EvaluatorSpec, NeuralModelSpec
from aflite_assets.specs.models.settings import FineTunedSpec, FineTuneStage
from aflite_assets.wording import did_you_mean


@dataclass(frozen=True)
class ForgettableRows:
    """A set of rows for a stage of training, identified by the name of a weak model and the name of one of its sets.

    `as_many_as`: the name of another weak model that determines the size of the set, or None.
    """

    weak_model: str
    set_name: str
    as_many_as: str | None = None


@dataclass(frozen=True)
class RecipeStage:
    """Train rows and settings of one stage after the first stage.

    `rows`: a description of the rows for users, or the name of the challenge set. `forgettable`: the set of forgettable
    rows, or None for a challenge set.
    """

    rows: str
    settings: NeuralModelSpec
    forgettable: ForgettableRows | None = None


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
        return tuple(dict.fromkeys(stage.rows for stage in self.stages if stage.forgettable is None))

    @property
    def forgettable(self) -> tuple[ForgettableRows, ...]:
        """Sets of forgettable rows in the recipe's stages. If a recipe uses forgettable rows, its first stage is
        trained on the train set `full` only.
        """
        return tuple(stage.forgettable for stage in self.stages if stage.forgettable is not None)


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
    if stage.forgettables is None:
        assert stage.rows is not None
        return RecipeStage(stage.rows, settings)
    name = set_name(stage.take, stage.share, as_many_as=stage.as_many_as)
    chosen = ForgettableRows(stage.forgettables, name, stage.as_many_as)
    rows = f"{set_name(stage.take, stage.share)} rows of {chosen.weak_model}"
    cut = "" if stage.as_many_as is None else f", as many as of {stage.as_many_as}"
    return RecipeStage(rows + cut, settings, chosen)


def set_name(take: str, share: float | None = None, *, as_many_as: str | None = None) -> str:
    """Return the name of a weak model's set of rows: `forgettable`, `forgettable_as_many_as_<model>`, `random`, or for
    example `highest_loss_10` (for 10 %).
    """
    if as_many_as is not None:
        return f"{take}_as_many_as_{as_many_as}"
    return take if share is None else f"{take}_{100 * share:g}".replace(".", "_")


def _stage_settings(start: NeuralModelSpec, stage: FineTuneStage) -> NeuralModelSpec:
    """Return the settings of a stage: the starting evaluator's settings with the changes of the stage. A stage always
    trains for all epochs.

    Early stopping is turned off, because the validation rows come from the dataset and not from the stage's row set.
    """
    changes = stage.model_dump(include={"epochs", "batch_size", "learning_rate"}, exclude_none=True)
    return start.model_copy(update={"early_stopping": None, **changes})


def check_recipes(
    evaluators: Mapping[str, EvaluatorSpec],
    fine_tune: Mapping[str, str | None],
    highest_loss: Mapping[str, Sequence[float]],
) -> None:
    """Raise an error if a recipe is inconsistent with the other settings.

    `fine_tune`: the setting `fine_tune` of every challenge set. `highest_loss`: the setting `highest_loss` of every
    weak model.

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
                else:
                    _check_forgettables(place, stage, highest_loss)
                _check_batch(place, stage, start)


def _check_forgettables(place: str, stage: FineTuneStage, highest_loss: Mapping[str, Sequence[float]]) -> None:
    name = stage.forgettables
    assert name is not None
    if name not in highest_loss:
        raise ValueError(
            f"`{place}.forgettables` is {name!r}, but the models in `forgettables` are {list(highest_loss)}; add the "
            f"model to `forgettables`{did_you_mean(name, list(highest_loss))}"
        )
    if stage.share is not None and stage.share not in highest_loss[name]:
        raise ValueError(
            f"`{place}.share` is {stage.share}, but `forgettables.{name}.highest_loss` is {list(highest_loss[name])}; "
            "add the share to `highest_loss`, or remove `share` to use as many rows as are forgettable"
        )
    if stage.as_many_as is not None and (stage.as_many_as == name or stage.as_many_as not in highest_loss):
        others = [one for one in highest_loss if one != name]
        raise ValueError(
            f"`{place}.as_many_as` is {stage.as_many_as!r}, but the other models in `forgettables` are {others}; name "
            f"one of them, or remove `as_many_as`{did_you_mean(stage.as_many_as, others)}"
        )


def _check_start(place: str, name: str, evaluators: Mapping[str, EvaluatorSpec]) -> NeuralModelSpec:
    start = evaluators.get(name)
    if isinstance(start, NeuralModelSpec):
        return start
    neural = [evaluator for evaluator, settings in evaluators.items() if isinstance(settings, NeuralModelSpec)]
    remedy = f"name a neural evaluator of this dataset (there are {neural})"
    if start is None:
        raise ValueError(f"`{place}` is {name!r}, which is not an evaluator; {remedy}{did_you_mean(name, neural)}")
    if isinstance(start, FineTunedSpec):
        raise ValueError(
            f"`{place}` is {name!r}, which is also of kind 'fine_tuned'; {remedy} and list all stages here"
        )
    raise ValueError(f"`{place}` is {name!r}, whose kind {start.kind!r} cannot be trained further; {remedy}")


def _check_rows(place: str, name: str, fine_tune: Mapping[str, str | None]) -> None:
    ready = [challenge_set for challenge_set, split in fine_tune.items() if split is not None]
    if name not in fine_tune:
        raise ValueError(
            f"`{place}` is {name!r}, which is not in `challenge_sets`; name a challenge set with `fine_tune` (there "
            f"are {ready}){did_you_mean(name, ready)}"
        )
    if fine_tune[name] is None:
        raise ValueError(
            f"`{place}` is {name!r}, which has no rows to train on; set `challenge_sets.{name}.fine_tune` to a split "
            "of its source"
        )


def _check_batch(place: str, stage: FineTuneStage, start: NeuralModelSpec) -> None:
    if stage.batch_size is not None and stage.batch_size % start.gradient_accumulation:
        raise ValueError(
            f"`{place}.batch_size` is {stage.batch_size}, which is not a multiple of the starting evaluator's "
            f"`gradient_accumulation` ({start.gradient_accumulation}); change one of the two"
        )
