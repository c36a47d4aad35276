"""Model of the field `report` in a dataset's YAML file: settings that only the report uses."""

from typing import Annotated, Literal

from pydantic import Field

from aflite_assets.specs.models.settings import Name, StrictSpec


class PrimarySpec(StrictSpec):
    """The primary comparison of `filtered` with its control, which the report shows first. The choice of the primary
    comparison does not affect any other result.
    """

    evaluator: Name
    test_set: Name = Field(
        description="a challenge set, or a split that is not filtered (naming a split has no effect)"
    )


class ReportSpec(StrictSpec):
    """Settings of the report. Results other than the report do not depend on these settings."""

    scatter_features: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)]] | None = Field(
        None, description="two feature columns to plot"
    )
    published: Literal["snli", "multi_nli", "qqp", "fever_nli", "qnli", "imagenet"] | None = Field(
        None, description="name of the paper results that are shown beside the results of this dataset"
    )
    primary: PrimarySpec | None = Field(
        None,
        description="the comparison that the report states first if it is decisive; default: the decisive comparison "
        "with the clearest result",
    )
    smallest_effect: float = Field(
        1.0,
        ge=0,
        le=100,
        description="smallest relevant difference, in percentage points of accuracy; a smaller "
        "difference is never reported as a difference",
    )
