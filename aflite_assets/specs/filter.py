"""Model of the field `filter` in a dataset's YAML file: AFLite's settings, and the treatment of validation and test
rows.
"""

import math
from typing import Annotated, Literal, Self

from pydantic import Field, StrictFloat, StrictInt, model_validator

from aflite_assets.specs.models.settings import Name, SplitName, StrictSpec

Count = Annotated[StrictInt, Field(ge=1)] | Annotated[StrictFloat, Field(gt=0, le=1)]
"""A whole number is a count of rows; a number with a decimal point is a share (`1.0` is all rows, `1` is one row)."""


EvaluationRows = Literal["pooled", "scored", "kept"]


"""Treatment of rows in splits other than train.

pooled: they are filtered as train rows are, so that train and test keep the same distribution (ICML 2020, section 1).
scored: they are not trained on, and are removed by the same rule as train rows. kept: they are not filtered.
"""


SuspectedErrors = Literal["keep", "quarantine"]


"""Treatment of rows whose labels are suspected: they are filtered like all others, or removed before filtering."""


Ranking = Literal["predictability", "label_probability", "vocabulary"]


"""The criterion by which rows at or over the threshold form a slice: the highest predictability, the highest
probability of their label, or the fewest words lost.
"""


_PAPER = {"stop_at_chance": False, "copies": "apart", "groups": "ignore"}
_PAPER_BY_WORDS = {"comparison": "greater", "early_stop": False, "classifier": "both", "evaluation_rows": "kept"}


def compared_name(representation: str, rank: Ranking) -> str:
    """Return the name of a filtered set for comparison, made from a representation with a different ranking than the
    main filtered set.
    """
    return f"{representation}_by_{rank}"


_OVER_GUESSING, _ROUNDING = 0.6, 1e-9
"""Share of the way from guessing to always right at which the advised threshold lies: 0.9 for four answers."""


def advised_threshold(guessed: float) -> float:
    """Return the recommended threshold, given the share of rows in the largest class."""
    return min(math.ceil(100 * (guessed + _OVER_GUESSING * (1 - guessed)) - _ROUNDING) / 100, 1.0)


class FilterChanges(StrictSpec):
    """Settings of the filter for a single representation. Missing fields have the values that are set for all
    representations.
    """

    target_size: Count | None = None
    train_size: Count | None = None
    slice_size: Count | None = None
    n_partitions: int | None = Field(None, ge=1)
    threshold: float | None = Field(None, ge=0, le=1)

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError(
                "the mapping of changed settings is empty; add a setting such as `target_size`, or remove the "
                "representation"
            )
        return self


class FilterSpec(StrictSpec):
    """Settings of AFLite. A share in `target_size` refers to the train rows. Other shares refer to the pool, which is
    the set of rows that are filtered.
    """

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
    )
    comparison: Literal["at_least", "greater"] = Field(
        "at_least",
        description="at_least: rows at or over the threshold may be removed (Le Bras et al. 2020); greater: rows over "
        "it (Mishra and Sachdeva 2020)",
    )
    early_stop: bool = Field(
        True,
        description="end after the first iteration in which fewer rows than slice_size pass the threshold; false: end "
        "only at target_size, or where no row passes (Mishra and Sachdeva 2020)",
    )
    copies: Literal["together", "apart"] = Field(
        "together",
        description="together: exact copies of a row have one predictability and are removed together; apart: each "
        "is a row of its own, as in the papers",
    )
    groups: Literal["whole", "ignore"] = Field(
        "whole",
        description="whole: rows of a group are never split between warm-up and pool, nor between a classifier's "
        "training and held-out rows; ignore: rows are drawn one by one, as in the papers",
    )
    representations: dict[Name, FilterChanges] = Field(
        default_factory=dict,
        description="settings that single representations have of their own: target_size, train_size, slice_size, "
        "n_partitions, threshold",
    )
    preset: Literal["paper"] | None = Field(
        None,
        description="paper: what the papers say in place of every default of ours: stop_at_chance: false, copies: "
        "apart, groups: ignore, and with rank: vocabulary also comparison: greater, early_stop: false, "
        "classifier: both and evaluation_rows: kept",
    )
    rank: Ranking = Field(
        "predictability",
        description="which of the rows at or over the threshold make a slice: predictability, those of the highest; "
        "label_probability, those of the highest mean held-out probability of their label in the same pass; "
        "vocabulary, those with which the fewest words of the rows left go, for datasets with texts and with "
        "evaluation_rows: kept (Mishra and Sachdeva 2020)",
    )
    ties: Literal["random", "label_probability"] = Field(
        "random",
        description="which of the rows of equal predictability go first: random, drawn from the seed; "
        "label_probability, those of the highest mean held-out probability of their label in the same pass",
    )
    balance: Literal["none", "classes"] = Field(
        "none",
        description="none: a slice has the first rows of any class, as in the papers; classes: each class has its part "
        "of a slice, by its share of the rows left, and leaves places empty of which too few rows pass",
    )
    compare: tuple[Literal["predictability"], ...] = Field(
        (),
        max_length=1,
        description="with rank: vocabulary, filter each representation by predictability too, as "
        "<representation>_by_predictability with its own controls and evaluators, to compare the rankings",
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
    )

    @property
    def quarantined_splits(self) -> frozenset[str]:
        """Names of splits from which rows with suspected label errors are removed before filtering."""
        decision = self.suspected_label_errors
        decisions = decision if isinstance(decision, dict) else {"train": decision}
        return frozenset(split for split, one in decisions.items() if one == "quarantine")

    @property
    def asks_whether_learnt(self) -> bool:
        """True if the filter must remove no rows when the classifiers learned nothing in the first pass."""
        return self.stop_at_chance is not False

    @property
    def keeps_copies_together(self) -> bool:
        """True if exact copies of a row are removed together."""
        return self.copies == "together"

    def of_representation(self, name: str) -> Self:
        """Return the filter's settings for one representation, including the changes for this representation."""
        changes = self.representations.get(name)
        own = {} if changes is None else changes.model_dump(exclude_none=True)
        return self.model_copy(update={**own, "representations": {}})

    @model_validator(mode="before")
    @classmethod
    def _with_preset(cls, values: object) -> object:
        """Add the settings of a preset. Explicit settings in the file take precedence."""
        if not isinstance(values, dict) or values.get("preset") != "paper":
            return values
        by_words = _PAPER_BY_WORDS if values.get("rank") == "vocabulary" else {}
        by_groups = {"groups": "whole"} if values.get("remove") == "groups" else {}
        return {**_PAPER, **by_words, **by_groups, **values}

    @model_validator(mode="after")
    def _groups_fit(self) -> Self:
        if self.groups == "ignore" and self.remove == "groups":
            raise ValueError(
                "`groups` is 'ignore', but `remove` is 'groups', which needs the groups; remove one of the two settings"
            )
        return self

    @model_validator(mode="after")
    def _preset_fits(self) -> Self:
        if self.preset == "paper" and self.stop_at_chance:
            raise ValueError(
                "`preset` is 'paper', but `stop_at_chance` is true, which the papers do not use; remove one of the "
                "two settings"
            )
        return self

    @model_validator(mode="after")
    def _rankings_fit(self) -> Self:
        if self.rank == "vocabulary" and self.selection != "greedy":
            raise ValueError(
                f"`rank` is 'vocabulary', but `selection` is '{self.selection}', which draws rows by predictability; "
                "remove one of the two settings"
            )
        for name in ("rank", "ties", "balance"):
            self._check_order(name, getattr(self, name))
        if self.compare and self.rank == "label_probability":
            raise ValueError(
                "`compare` is set, but `rank` is 'label_probability'; remove `compare`, and use a second dataset "
                "file for the comparison"
            )
        if self.rank in self.compare:
            raise ValueError(
                f"`compare` contains '{self.rank}', which is already the value of `rank`; remove `compare`, or set "
                "`rank: vocabulary`"
            )
        return self

    def _check_order(self, name: str, value: str) -> None:
        if value not in ("label_probability", "classes"):
            return
        if value == "label_probability" and self.classifier == "linear_svm":
            raise ValueError(
                f"`{name}` is '{value}', but `classifier` is 'linear_svm', which gives no probabilities; set "
                f"`classifier` to 'logistic' or 'both', or remove `{name}`"
            )
        if self.selection != "greedy":
            raise ValueError(
                f"`{name}` is '{value}', but `selection` is '{self.selection}', which draws rows by predictability; "
                "remove one of the two settings"
            )
        if self.rank == "vocabulary":
            raise ValueError(
                f"`rank` is 'vocabulary', which orders rows by their words, but `{name}` is '{value}'; remove one of "
                "the two settings"
            )
        if value == "classes" and self.remove == "groups":
            raise ValueError(
                "`balance` is 'classes', but `remove` is 'groups', and a group may contain several classes; remove "
                "one of the two settings"
            )
        treated = self.evaluation_rows
        if name != "rank" and "scored" in (treated.values() if isinstance(treated, dict) else (treated,)):
            raise ValueError(
                f"`{name}` is '{value}', but `evaluation_rows` is 'scored', which needs a single cut-off; set "
                f"`evaluation_rows` to 'pooled' or 'kept', or remove `{name}`"
            )

    def ranked_by(self, rank: Ranking) -> Self:
        """Return a copy of the filter settings with `rank` as the only ranking."""
        return self.model_copy(update={"rank": rank, "compare": ()})

    @model_validator(mode="after")
    def _suspects_need_probabilities(self) -> Self:
        if self.quarantined_splits and self.classifier == "linear_svm":
            raise ValueError(
                "`suspected_label_errors` is 'quarantine', but `classifier` is 'linear_svm', which gives no "
                "probabilities; set `classifier` to 'logistic' or 'both', or remove `suspected_label_errors`"
            )
        return self

    def evaluation_rows_of(self, split: str) -> EvaluationRows:
        """Return the value of `evaluation_rows` for a split other than `train`."""
        return (
            self.evaluation_rows.get(split, "pooled")
            if isinstance(self.evaluation_rows, dict)
            else self.evaluation_rows
        )
