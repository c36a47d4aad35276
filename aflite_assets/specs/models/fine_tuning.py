"""Settings of evaluators that are trained in several stages, with the rows that studies add."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from aflite_assets.specs.models.settings import CoreStage, Name, StrictSpec
from aflite_assets.specs.models.studies import with_studies

if TYPE_CHECKING:  # which studies are installed is known at run time alone
    _WithStudies = CoreStage
else:
    _WithStudies = with_studies(CoreStage, "specs.fine_tuning")


class FineTuneStage(_WithStudies):
    """One stage of training after the first stage. Unset fields have the values of the evaluator in `start`."""

    epochs: int | None = Field(None, ge=1, le=10_000)
    batch_size: int | None = Field(None, ge=1)
    learning_rate: float | None = Field(None, gt=0, lt=10)


class FineTunedSpec(StrictSpec):
    """An evaluator that is first trained like another evaluator, and then on one or more further sets of rows.

    The rows may come from challenge sets (ICML 2020, Table 2), or be train rows that a study draws.
    """

    kind: Literal["fine_tuned"]
    start: Name = Field(description="a neural evaluator of this dataset")
    stages: Annotated[tuple[FineTuneStage, ...], Field(min_length=1)]
