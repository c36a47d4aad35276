"""Model of the field `warmup` in a dataset's YAML file, which sets how the train rows of the encoders are drawn."""

from typing import Literal, Self

from pydantic import Field, model_validator

from aflite_assets.specs.filter import Count
from aflite_assets.specs.models.settings import StrictSpec


class WarmupSpec(StrictSpec):
    """Settings of the warm-up rows, which are train rows that are used only for training the encoders."""

    size: Count | Literal["auto"] = Field(
        0.1,
        description="number or share of train rows; auto: chosen by the encoders' learning curves on samples of "
        "growing size",
    )
    draw: Literal["by_class", "random"] = Field(
        "by_class",
        description="by_class: rows are drawn in proportion to the classes; random: rows are drawn regardless of "
        "class, as in the papers (set by `filter: {preset: paper}`)",
    )

    @model_validator(mode="after")
    def _curves_are_drawn_by_class(self) -> Self:
        if self.size == "auto" and self.draw == "random":
            raise ValueError("`draw` is 'random', but `size` is 'auto', which draws rows by class; remove `draw`")
        return self
