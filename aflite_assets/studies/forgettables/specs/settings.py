"""Settings in a dataset's YAML file for forgettable rows and minority statistics (Yaghoobzadeh et al. 2021).

The module `fine_tuning` describes training on forgettable rows. The module `models.training.forgetting` counts
forgetting events.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from aflite_assets.specs.core import CoreSpec, check_known
from aflite_assets.specs.filter import is_papers
from aflite_assets.specs.models.kinds import EvaluatorSpec, NeuralModelSpec
from aflite_assets.specs.models.settings import Name, StrictSpec
from aflite_assets.specs.recipes import neural_names
from aflite_assets.specs.sources import CHOICE_FORMATS
from aflite_assets.studies.forgettables.specs.fine_tuning import ForgettableStage, set_name

NEGATION_WORDS = ("not", "no", "doesn't", "don't", "never", "any")
"""Negation words. The paper's Table 3 shows the share of second texts that contain them."""

Share = Annotated[float, Field(gt=0, lt=1)]


class ForgettablesSpec(StrictSpec):
    """A weak model that determines the forgettable rows, which are the rows that it forgets or never learns during
    training.
    """

    model: Annotated[NeuralModelSpec, Field(discriminator="kind")] | None = Field(
        None, description="a weak model that is trained on `full` only for this purpose"
    )
    evaluator: Name | None = Field(
        None, description="alternatively, an evaluator; the dynamics of its training on `full` are used"
    )
    balance: bool = Field(
        True,
        description="reduce every class to the size of the smallest class by a seeded random draw, as in the paper",
    )
    random_rows: Literal["by_class", "any_class"] = Field(
        "by_class",
        description="class sizes of the random control. by_class: with `balance`, the same number of rows per class "
        "as the forgettable rows; any_class: only the same total number, as in the paper (set by `filter: {preset: "
        "paper}`)",
    )
    seeds: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] | None = Field(
        None,
        description="seeds of the training runs; the rows of the first run are used, and the other runs measure "
        "agreement. Default: the dataset's seed, or the first of `seeds` for an evaluator",
    )
    alone: bool = Field(
        False,
        description="also train the evaluators on the forgettable rows alone, and on as many random rows (Table 7)",
    )
    highest_loss: tuple[Share, ...] = Field(
        (), description="shares of rows for additional sets of the rows with the highest loss in the last epoch"
    )

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if (self.model is None) == (self.evaluator is None):
            raise ValueError(
                "either `model` (a model to train) or `evaluator` (the name of an evaluator) is needed; set exactly "
                "one of them"
            )
        if self.seeds is not None and len(set(self.seeds)) < len(self.seeds):
            raise ValueError(
                f"`seeds` is {list(self.seeds)}, which repeats a seed; give every training run a different seed"
            )
        if len({set_name("highest_loss", share) for share in self.highest_loss}) < len(self.highest_loss):
            raise ValueError(
                f"`highest_loss` is {list(self.highest_loss)}, which repeats a share; give every set another share"
            )
        return self

    def training_seeds(self, *, seed: int, seeds: tuple[int, ...]) -> tuple[int, ...]:
        """Return the seeds with which the weak model is trained. `seed` is the dataset's seed, and `seeds` are the
        evaluators' seeds.
        """
        if self.seeds is not None:
            return self.seeds
        return (seed,) if self.evaluator is None else seeds[:1]

    def settings(self, evaluators: Mapping[str, EvaluatorSpec]) -> NeuralModelSpec:
        """Return the settings of the weak model."""
        if self.model is not None:
            return self.model
        assert self.evaluator is not None
        named = evaluators[self.evaluator]
        assert isinstance(named, NeuralModelSpec)
        return named


class MinoritiesSpec(StrictSpec):
    """The class that is associated with word overlap, the class that is associated with negation, and the negation
    words.
    """

    positive: str = Field(description="the class that is associated with overlapping texts, such as entailment")
    negative: str = Field(description="the class that is associated with negation words, such as contradiction")
    words: Annotated[tuple[str, ...], Field(min_length=1)] = NEGATION_WORDS

    @model_validator(mode="after")
    def _two_classes(self) -> Self:
        if self.positive == self.negative:
            raise ValueError(f"`positive` and `negative` are both {self.positive!r}; name two different classes")
        return self


class ForgettablesSettings(CoreSpec):
    """The settings `forgettables` and `minorities` of a dataset's YAML file."""

    with_models: ClassVar[tuple[str, ...]] = ("forgettables",)
    read_by: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "evaluator_models": ("forgettables",),
        "analysis": ("minorities",),
    }

    forgettables: dict[Name, ForgettablesSpec] = Field(
        default_factory=dict,
        description="weak models by name, for forgettable rows: train rows that a weak model predicts correctly in "
        "one epoch and wrongly in the next, or never correctly",
    )
    minorities: MinoritiesSpec | None = Field(
        None,
        description="classes for a comparison of all rows, random rows and forgettable rows by the overlap of their "
        "texts and their share of negations",
    )

    @model_validator(mode="before")
    @classmethod
    def _controls_as_in_the_paper(cls, values: object) -> object:
        """With `filter: {preset: paper}`, draw the random control without stratifying by class."""
        if not is_papers(values) or not isinstance(named := values.get("forgettables"), dict):
            return values
        control = {"random_rows": "any_class"}
        drawn = {name: control | one if isinstance(one, dict) else one for name, one in named.items()}
        return {**values, "forgettables": drawn}

    @model_validator(mode="after")
    def _forgettables_fit(self) -> Self:
        for name, settings in self.forgettables.items():
            if settings.evaluator is not None:
                _check_evaluator(f"forgettables.{name}", settings, self.evaluators, self.seeds)
        highest_loss = {name: settings.highest_loss for name, settings in self.forgettables.items()}
        for name, evaluator in self.evaluators.items():
            for number, stage in enumerate(getattr(evaluator, "stages", ())):
                _check_stage(f"evaluators.{name}.stages.{number}", stage, highest_loss)
        self._check_minorities()
        return self

    def _check_minorities(self) -> None:
        if self.minorities is None:
            return
        if not self.forgettables:
            raise ValueError("`minorities` is set, but `forgettables` has no model; add a model to `forgettables`")
        if self.columns.text_pair is None and self.source.format not in ("template_nli", *CHOICE_FORMATS):
            raise ValueError("`minorities` compares two texts, but `columns.text_pair` is not set; remove `minorities`")
        if self.labels is not None:
            for field in ("positive", "negative"):
                check_known(f"minorities.{field}", getattr(self.minorities, field), self.labels, "a class")


def _check_evaluator(
    place: str, settings: ForgettablesSpec, evaluators: Mapping[str, EvaluatorSpec], seeds: tuple[int, ...]
) -> None:
    named = settings.evaluator
    assert named is not None
    check_known(f"{place}.evaluator", named, neural_names(evaluators), "a neural evaluator, which has epochs")
    if getattr(evaluators[named], "early_stopping", None) is not None:
        raise ValueError(
            f"`{place}.evaluator` is {named!r}, which has a variable number of epochs because of `early_stopping`; "
            "name an evaluator without `early_stopping`, or set `model` instead"
        )
    check_known(f"{place}.seeds", settings.seeds or (), seeds, f"a seed of the evaluator {named!r}")


def _check_stage(place: str, stage: ForgettableStage, highest_loss: Mapping[str, Sequence[float]]) -> None:
    name = stage.forgettables
    if name is None:
        return
    remedy = "add the model to `forgettables`"
    check_known(f"{place}.forgettables", name, highest_loss, "a model in `forgettables`", remedy)
    if stage.share is not None and stage.share not in highest_loss[name]:
        raise ValueError(
            f"`{place}.share` is {stage.share}, but `forgettables.{name}.highest_loss` is {list(highest_loss[name])}; "
            "add the share to `highest_loss`, or remove `share` to use as many rows as are forgettable"
        )
    others = [one for one in highest_loss if one != name]
    remedy = "remove `as_many_as`"
    check_known(f"{place}.as_many_as", stage.as_many_as, others, "another model in `forgettables`", remedy)


PART = ForgettablesSettings
