"""Settings of the questions that are kept in a test set. The package `analysis.inputs` selects the questions."""

from typing import Literal, Self

from pydantic import Field, model_validator

from aflite_assets.specs.filter import FilterSpec
from aflite_assets.specs.models.settings import StrictSpec

AnswerMeasure = Literal["length", "markup", "blanks", "digits", "hedges", "refusals", "negations", "overlap", "oddness"]
"""A measure of an answer, for rules that choose an answer without reading the question."""


class ChosenQuestions(StrictSpec):
    """Rules that select the questions or pairs of a test set by surface measures of their answers."""

    balanced_by: tuple[AnswerMeasure, ...] = Field(
        (),
        description="questions and preferences: measures such as [length]; for each measure, keep as many questions "
        "with a higher value for the right answer as with a lower value",
    )
    against: tuple[AnswerMeasure, ...] = Field(
        (),
        description="questions and preferences: measures such as [length]; keep only questions in which the right "
        "answer has the lower value of every measure, for example the shorter answer",
    )

    @model_validator(mode="after")
    def _apart(self) -> Self:
        both = sorted(set(self.balanced_by) & set(self.against))
        if both:
            raise ValueError(
                f"`balanced_by` and `against` both contain {both}; make a challenge set for each of the two settings"
            )
        return self

    def check_outside_pool(self, name: str, split: str, filter_spec: FilterSpec) -> None:
        """Raise an error if questions are selected from a split that is also filtered.

        Raises:
            ValueError: the split is also filtered.
        """
        if not (self.balanced_by or self.against):
            return
        policy = "pooled" if split == "train" else filter_spec.evaluation_rows_of(split)
        if policy != "kept":
            raise ValueError(
                f"`challenge_sets.{name}` selects questions from the dataset's own split {split!r}, but "
                f"`filter.evaluation_rows` is '{policy}' for this split, so scores on the questions would be biased; "
                f"set `filter.evaluation_rows: {{{split}: kept}}`, or name a split other than train"
            )
