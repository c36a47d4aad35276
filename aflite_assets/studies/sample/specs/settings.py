"""Settings of the sample that is filtered instead of all train rows.

The sample is drawn as in Algorithm 1 of Mishra and Sachdeva 2020 (SustaiNLP).
"""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from aflite_assets.specs.core import CoreSpec
from aflite_assets.specs.filter import FilterSpec, is_papers
from aflite_assets.specs.models.kinds import ClassicalModelSpec, OneStageSpec
from aflite_assets.specs.models.settings import StrictSpec

StopRule = Literal["flat", "falls"]


class SampleSpec(StrictSpec):
    """A random sample of the train rows, enlarged until a model trained on the sample stops improving."""

    start: int = Field(5_000, ge=2, description="number of rows in the first sample")
    step: int = Field(5_000, ge=1, description="number of rows that are added in each step")
    most: int = Field(ge=2, description="largest size of the sample, in rows")
    model: Annotated[OneStageSpec, Field(discriminator="kind")] = Field(
        description="model that is trained from scratch on each sample and predicts held-back train rows"
    )
    stop: StopRule = Field(
        "flat",
        description="flat: the smallest sample with two larger samples that are better only by noise, as for "
        "`warmup.size: auto`; falls: the last sample before a sample that is not better, as in the paper's algorithm",
    )
    repeats: int = Field(
        1,
        ge=1,
        le=100,
        description="number of training runs per sample, each with a different seed; their mean accuracy is used",
    )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes of all samples that may be tried, in rows, in ascending order."""
        return tuple(range(self.start, self.most + 1, self.step))

    @model_validator(mode="after")
    def _grows(self) -> Self:
        if len(self.sizes) < 2:
            raise ValueError(
                f"`start` {self.start} and `step` {self.step} give only one sample up to `most` {self.most}, but at "
                f"least two are compared; set `most` to {self.start + self.step} or more, or lower `start` or `step`"
            )
        return self

    @model_validator(mode="after")
    def _model_fits(self) -> Self:
        stopping = getattr(self.model, "early_stopping", None)
        if stopping is not None and stopping.split is not None:
            raise ValueError(
                f"`model.early_stopping.split` is {stopping.split!r}, but the size of the sample must depend on train "
                "rows only; remove `split`, so that a share of the sample is used instead"
            )
        if self.repeats > 1 and isinstance(self.model, ClassicalModelSpec):
            raise ValueError(
                f"`repeats` is {self.repeats}, but a model of kind {self.model.kind!r} is the same for every seed; "
                "remove `repeats`"
            )
        return self


class SampleSettings(CoreSpec):
    """The setting `sample` of a dataset's YAML file."""

    with_models: ClassVar[tuple[str, ...]] = ("sample",)

    sample: SampleSpec | None = Field(
        None,
        description="filter a random sample of the train rows instead of all train rows; the sample is as small as "
        "possible to learn the task",
    )

    @model_validator(mode="before")
    @classmethod
    def _sampled_as_in_the_paper(cls, values: object) -> object:
        """With `filter: {preset: paper}`, enlarge the sample as long as accuracy rises."""
        if is_papers(values) and isinstance(sample := values.get("sample"), dict):
            return {**values, "sample": {"stop": "falls", **sample}}
        return values

    @model_validator(mode="after")
    def _sample_fits(self) -> Self:
        if self.sample is not None:
            check_sample_fits(self.sample, self.filter)
        return self


def check_sample_fits(sample: SampleSpec, filtering: FilterSpec) -> None:
    """Raise an error if a number of rows in `filter` is too large even for the largest sample.

    Raises:
        ValueError: a number of rows in `filter` is larger than the largest sample, or larger than the target size
            allows.
    """
    most, target = sample.sizes[-1], filtering.target_size
    if isinstance(target, int) and target > most:
        raise ValueError(
            f"`filter.target_size` is {target}, but with `sample.most` {sample.most}, the filter gets at most {most} "
            f"rows; lower `filter.target_size`, or set `sample.most` to more than {target}"
        )
    if filtering.evaluation_rows not in ("scored", "kept"):
        return  # rows of other splits may be in the pool that these sizes are of
    left = target if isinstance(target, int) else round(target * most)
    for name, size, largest in (
        ("train_size", filtering.train_size, left - 1),
        ("slice_size", filtering.slice_size, left),
    ):
        if isinstance(size, int) and size > largest:
            raise ValueError(
                f"`filter.{name}` is {size}, but with `sample.most` {sample.most} and `filter.target_size` {target}, "
                f"it may be at most {largest}; set `filter.{name}` to a share such as 0.02, or raise `sample.most`"
            )


PART = SampleSettings
