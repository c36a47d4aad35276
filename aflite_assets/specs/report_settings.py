"""Model of the field `report` in a dataset's YAML file: settings that only the report uses."""

from typing import Annotated, Literal

from pydantic import Field

from aflite_assets.specs.models.settings import Name, StrictSpec


class PrimarySpec(StrictSpec):
    """The primary comparison of `filtered` with its control, which the report shows first. The choice does not affect
    any result.
    """

    evaluator: Name
    test_set: Name = Field(
        description="a challenge set; a split may be named if its rows do not enter the filter's pool, to no effect"
    )


class ReportSpec(StrictSpec):
    """Settings of the report. No other result depends on them."""

    scatter_features: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | None = Field(
        None, description="two feature columns to plot"
    )
    published: Literal["snli", "multi_nli", "qqp", "fever_nli", "qnli", "imagenet"] | None = Field(
        None, description="the papers' own figures to show beside this dataset's"
    )
    primary: PrimarySpec | None = Field(
        None,
        description="the comparison that sentences state first, if it decides; default: the surest deciding one",
    )
    smallest_effect: float = Field(
        1.0, ge=0, le=100, description="points of accuracy; a smaller difference is never called one"
    )
