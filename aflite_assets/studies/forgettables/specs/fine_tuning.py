"""Settings of a stage of training on forgettable rows, after the first stage of an evaluator."""

from collections.abc import Mapping
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from aflite_assets.specs.models.settings import CoreStage, DrawnRows, Name


class ForgettableStage(CoreStage):
    """The settings of a stage that choose train rows of a weak model."""

    sources: ClassVar[Mapping[str, str]] = {"forgettables": "a weak model that determines the forgettable rows"}

    forgettables: Name | None = Field(
        None,
        description="alternatively, train rows that this weak model forgets; the first stage is then trained on "
        "`full` only",
    )
    take: Literal["forgettable", "random", "never_learnt", "highest_loss"] = Field(
        "forgettable",
        description="with `forgettables`: rows to train on. random: as many random rows, drawn anew for each seed; "
        "never_learnt: rows that the weak model never predicted correctly; highest_loss: as many rows with the "
        "highest loss in the last epoch",
    )
    share: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="with `take: highest_loss`: the share of rows, which must be in `highest_loss` of the weak model",
    )
    as_many_as: Name | None = Field(
        None,
        description="another weak model that limits the number of rows per class; rows are drawn at random for each "
        "seed, so that the two models are compared with sets of the same size",
    )

    @property
    def drawn(self) -> DrawnRows | None:
        """The rows of a weak model, or rows that another study draws."""
        if self.forgettables is None:
            return super().drawn
        name = set_name(self.take, self.share, as_many_as=self.as_many_as)
        rows = f"{set_name(self.take, self.share)} rows of {self.forgettables}"
        cut = "" if self.as_many_as is None else f", as many as of {self.as_many_as}"
        return DrawnRows("forgettable_sets", self.forgettables, name, rows + cut, self.as_many_as)

    @model_validator(mode="after")
    def _take_fits(self) -> Self:
        if self.rows is not None and self.take != "forgettable":
            raise ValueError(
                f"`take` is '{self.take}', which works only with `forgettables`, but `rows` is set; remove `take`"
            )
        if self.share is not None and self.take != "highest_loss":
            raise ValueError(
                f"`share` works only with `take: highest_loss`, but `take` is '{self.take}'; remove `share`"
            )
        if self.as_many_as is not None and (self.forgettables is None or self.take != "forgettable"):
            raise ValueError(
                "`as_many_as` limits forgettable rows, but the stage trains on "
                f"{'a challenge set' if self.forgettables is None else self.take}; remove `as_many_as`"
            )
        return self


def set_name(take: str, share: float | None = None, *, as_many_as: str | None = None) -> str:
    """Return the name of a weak model's set of rows: `forgettable`, `forgettable_as_many_as_<model>`, `random`, or for
    example `highest_loss_10` (for 10 %).
    """
    if as_many_as is not None:
        return f"{take}_as_many_as_{as_many_as}"
    return take if share is None else f"{take}_{100 * share:g}".replace(".", "_")


PART = ForgettableStage
