"""The model of `filter` in a dataset's YAML file: AFLite's settings, and what happens to rows beside the train rows."""

from typing import Annotated, Literal, Self

from pydantic import Field, StrictFloat, StrictInt, model_validator

from aflite_assets.specs.models import SplitName, StrictSpec

Count = Annotated[StrictInt, Field(ge=1)] | Annotated[StrictFloat, Field(gt=0, le=1)]
"""A whole number is a count of rows, a number with a decimal point a share (`1.0` is all, `1` is one row)."""


EvaluationRows = Literal["pooled", "scored", "kept"]


"""What the filter does with rows of splits other than train.

pooled: they are filtered as train rows are, so that train and test stay one distribution (ICML 2020, section 1).
scored: nothing is trained on them, and they leave by the law by which train rows leave. kept: they are left alone.
"""


SuspectedErrors = Literal["keep", "quarantine"]


"""What is done with rows whose labels are suspected: they are filtered like any others, or taken out before that."""


Ranking = Literal["predictability", "vocabulary"]


"""By what the rows at or over the threshold make a slice: the highest predictability, or the fewest words lost."""


def compared_name(representation: str, rank: Ranking) -> str:
    """What a representation's filtered set by another ranking is called, beside that of the filter itself."""
    return f"{representation}_by_{rank}"


class FilterSpec(StrictSpec):
    """AFLite's settings. The target is about train rows; other shares are of the pool, the rows that are filtered."""

    target_size: Count = Field(0.5, description="train rows to keep at least; a share is of those in the pool")
    train_size: Count | None = Field(None, description="default: as many as the warm-up rows, or a tenth of the pool")
    slice_size: Count = Field(0.02, description="most rows of the pool to remove per iteration")
    n_partitions: int = Field(64, ge=1)
    threshold: float = Field(0.75, ge=0, le=1)
    selection: Literal["greedy", "gumbel", "gumbel_over_threshold"] = "greedy"
    classifier: Literal["logistic", "linear_svm", "both"] = "logistic"
    inverse_regularization: float = Field(1.0, gt=0)
    remove: Literal["rows", "groups"] = "rows"
    stop_at_chance: bool | None = Field(
        None,
        description="default: remove nothing where the first pass's classifiers learnt nothing beyond class shares; "
        "true: end, too, after two passes in a row with no more bias than permuted labels give, and remove nothing in "
        "such a pass; false: neither, as in the papers",
        exclude_if=lambda stops: stops is None,  # so that results which it does not concern are found again
    )
    preset: Literal["paper"] | None = Field(
        None,
        description="paper: no default that the papers do not have, which is stop_at_chance: false, and exact copies "
        "of a row are removed one by one",
        exclude_if=lambda preset: preset is None,  # so that results which it does not concern are found again
    )
    rank: Ranking = Field(
        "predictability",
        description="which of the rows at or over the threshold make a slice: predictability, those of the highest; "
        "vocabulary, those with which the fewest words of the rows left go, for datasets with texts and with "
        "evaluation_rows: kept (Mishra and Sachdeva 2020)",
        exclude_if=lambda rank: rank == "predictability",  # so that results which it does not concern are found again
    )
    compare: tuple[Literal["predictability"], ...] = Field(
        (),
        max_length=1,
        description="with rank: vocabulary, filter each representation by predictability too, as "
        "<representation>_by_predictability with its own controls and evaluators, to compare the rankings",
        exclude_if=lambda rankings: not rankings,  # so that results which it does not concern are found again
    )
    evaluation_rows: EvaluationRows | dict[SplitName, EvaluationRows] = Field(
        "pooled",
        description="what the filter does with the rows of the other splits, or of each named one (the others are "
        "pooled): pooled filters them with the train rows, scored lets them leave by the same law without training on "
        "them, kept leaves them alone, as independent evidence",
    )
    suspected_label_errors: SuspectedErrors | dict[SplitName, SuspectedErrors] = Field(
        "keep",
        description="what is done with rows whose labels confident learning suspects: keep filters them like any "
        "others, quarantine takes those of train out before the first iteration; rows of other splits only where a "
        "mapping names them, as in {train: quarantine, test: quarantine}",
        exclude_if=lambda decision: decision == "keep",  # so that results which it does not concern are found again
    )

    @property
    def quarantined_splits(self) -> frozenset[str]:
        """The splits whose suspected rows are taken out."""
        decision = self.suspected_label_errors
        decisions = decision if isinstance(decision, dict) else {"train": decision}
        return frozenset(split for split, one in decisions.items() if one == "quarantine")

    @property
    def asks_whether_learnt(self) -> bool:
        """Whether nothing is removed if the first pass's classifiers learnt nothing."""
        return self.preset is None and self.stop_at_chance is not False

    @property
    def keeps_copies_together(self) -> bool:
        """Whether exact copies of a row are removed together."""
        return self.preset is None

    @model_validator(mode="after")
    def _preset_fits(self) -> Self:
        if self.preset == "paper" and self.stop_at_chance:
            raise ValueError(
                "preset is paper, but stop_at_chance is true, which is not in the papers; leave one of them out"
            )
        return self

    @model_validator(mode="after")
    def _rankings_fit(self) -> Self:
        if self.rank == "vocabulary" and self.selection != "greedy":
            raise ValueError(
                f"rank is vocabulary, but selection {self.selection} draws rows by their predictability; leave "
                "selection out, or leave rank out"
            )
        if self.rank in self.compare:
            raise ValueError(
                f"compare names {self.rank}, which is the filter's own rank; leave compare out, or set rank: vocabulary"
            )
        return self

    def ranked_by(self, rank: Ranking) -> Self:
        """The same filter by one ranking alone."""
        return self.model_copy(update={"rank": rank, "compare": ()})

    @model_validator(mode="after")
    def _suspects_need_probabilities(self) -> Self:
        if self.quarantined_splits and self.classifier == "linear_svm":
            raise ValueError(
                "suspected_label_errors is quarantine, but classifier linear_svm has no probabilities to suspect "
                "labels by; set classifier to logistic or both, or leave suspected_label_errors out"
            )
        return self

    def evaluation_rows_of(self, split: str) -> EvaluationRows:
        """What is done with the rows of one split other than train."""
        return (
            self.evaluation_rows.get(split, "pooled")
            if isinstance(self.evaluation_rows, dict)
            else self.evaluation_rows
        )
