"""Model of the field `filter` in a dataset's YAML file: AFLite's settings, the treatment of other splits, and all that
`filter: {preset: paper}` implies, except for the settings of studies.
"""

import math
from typing import Annotated, Literal, Self, TypeGuard

from pydantic import Field, StrictFloat, StrictInt, model_validator

from aflite_assets.specs.models.settings import Name, SplitName, StrictSpec

Count = Annotated[StrictInt, Field(ge=1)] | Annotated[StrictFloat, Field(gt=0, le=1)]
"""A whole number is a count of rows; a number with a decimal point is a share (`1.0` is all rows, `1` is one row)."""

EvaluationRows = Literal["pooled", "scored", "kept"]
"""Treatment of rows in splits other than train. pooled: the rows are filtered together with the train rows, so that
train and test keep the same distribution (ICML 2020, section 1). scored: the rows are not trained on, and are removed
by the same rule as train rows. kept: the rows are not filtered.
"""

SuspectedErrors = Literal["keep", "quarantine"]
"""Treatment of rows with suspected label errors: filter them like all other rows, or remove them before filtering."""

Ranking = Literal["predictability", "label_probability", "vocabulary"]
"""Criterion that selects the rows of a slice among the rows that pass the threshold: highest predictability, highest
label probability, or fewest lost words.
"""

_PAPER = {"stop_at_chance": False, "copies": "apart", "groups": "ignore"}
_PAPER_BY_WORDS = {"comparison": "greater", "early_stop": False, "classifier": "both", "evaluation_rows": "kept"}


def is_papers(values: object) -> TypeGuard[dict[str, object]]:
    """Return True if a dataset's YAML values ask for the papers' settings by `filter: {preset: paper}`."""
    settings = values.get("filter") if isinstance(values, dict) else None
    return isinstance(settings, dict) and settings.get("preset") == "paper"


def with_paper_preset(values: dict[str, object]) -> dict[str, object]:
    """Return a dataset's YAML values, completed with the papers' settings outside of `filter`. Explicit settings in the
    file take precedence.

    The preset changes two things. First, warm-up rows are drawn without stratifying by class. Second, the train set
    `full` includes the warm-up rows. Values of a wrong type are left unchanged, so that validation reports them.
    """
    if not is_papers(values):
        return values
    values, warmup = {"full_includes_warmup": True, **values}, values.get("warmup", {})
    if isinstance(warmup, dict) and warmup.get("size") != "auto":
        values = {**values, "warmup": {"draw": "random", **warmup}}
    return values


def compared_name(representation: str, rank: Ranking) -> str:
    """Return the name of a filtered set that is only compared with other filtered sets. A set for comparison has the
    same representation as a main filtered set, but another ranking.
    """
    return f"{representation}_by_{rank}"


_OVER_GUESSING, _ROUNDING = 0.6, 1e-9
"""Position of the recommended threshold on the scale from the accuracy of guessing (0) to an accuracy of 1 (1), and the
tolerance for rounding. With four answers per question, the recommended threshold is 0.9.
"""


def advised_threshold(guessed: float) -> float:
    """Return the recommended removal threshold, given the share of rows in the largest class."""
    return min(math.ceil(100 * (guessed + _OVER_GUESSING * (1 - guessed)) - _ROUNDING) / 100, 1.0)


class FilterChanges(StrictSpec):
    """Settings of the filter for a single representation. For unset fields, the settings for all
    representations apply.
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

    target_size: Count = Field(
        0.5, description="smallest number of train rows to keep; a share refers to the train rows in the pool"
    )
    train_size: Count | None = Field(
        None,
        description="number of rows that each classifier is trained on; default: the number of warm-up rows, or a "
        "tenth of the pool without warm-up rows",
    )
    slice_size: Count = Field(0.02, description="largest number of rows of the pool to remove per iteration")
    n_partitions: int = Field(64, ge=1)
    threshold: float = Field(0.75, ge=0, le=1)
    selection: Literal["greedy", "gumbel", "gumbel_over_threshold"] = "greedy"
    classifier: Literal["logistic", "linear_svm", "both"] = "logistic"
    inverse_regularization: float = Field(1.0, gt=0)
    remove: Literal["rows", "groups"] = "rows"
    stop_at_chance: bool | None = Field(
        None,
        description="default: remove nothing if the classifiers of the first pass learned nothing except class "
        "shares; true: also end after two consecutive passes with no more bias than with permuted labels, and remove "
        "nothing in such passes; false: do neither, as in the papers",
    )
    comparison: Literal["at_least", "greater"] = Field(
        "at_least",
        description="at_least: rows with a score of at least the threshold may be removed (Le Bras et al. 2020); "
        "greater: only rows with a score above the threshold (Mishra and Sachdeva 2020)",
    )
    early_stop: bool = Field(
        True,
        description="true: end after the first iteration in which fewer than `slice_size` rows pass the threshold; "
        "false: end only at `target_size`, or if no row passes (Mishra and Sachdeva 2020)",
    )
    copies: Literal["together", "apart"] = Field(
        "together",
        description="together: exact copies of a row have a common predictability and are removed together; apart: "
        "each copy is treated as a separate row, as in the papers",
    )
    groups: Literal["whole", "ignore"] = Field(
        "whole",
        description="whole: a group is never split between warm-up and pool, or between the training and held-out "
        "rows of a classifier; ignore: rows are drawn one by one, as in the papers",
    )
    representations: dict[Name, FilterChanges] = Field(
        default_factory=dict,
        description="different settings for individual representations: `target_size`, `train_size`, `slice_size`, "
        "`n_partitions` and `threshold`",
    )
    preset: Literal["paper"] | None = Field(
        None,
        description="paper: use the papers' settings instead of this project's defaults (`stop_at_chance: false`, "
        "`copies: apart`, `groups: ignore`; with `rank: vocabulary` also `comparison: greater`, `early_stop: false`, "
        "`classifier: both`, `evaluation_rows: kept`)",
    )
    rank: Ranking = Field(
        "predictability",
        description="selects the rows of a slice among the rows that pass the threshold. predictability: rows with "
        "the highest predictability; label_probability: rows with the highest mean held-out probability of their "
        "label in the same pass; vocabulary: rows whose removal loses the fewest words, for datasets with texts and "
        "`evaluation_rows: kept` (Mishra and Sachdeva 2020)",
    )
    ties: Literal["random", "label_probability"] = Field(
        "random",
        description="selects which of the rows with equal predictability are removed first. random: rows drawn with "
        "the seed; label_probability: rows with the highest mean held-out probability of their label in the same pass",
    )
    balance: Literal["none", "classes"] = Field(
        "none",
        description="none: a slice has the first rows of any class, as in the papers; classes: a slice is divided "
        "among the classes in proportion to their remaining rows, and the part of a class is not filled if too few of "
        "its rows pass",
    )
    compare: tuple[Literal["predictability"], ...] = Field(
        (),
        max_length=1,
        description="with `rank: vocabulary`, also filter each representation by predictability, to compare "
        "the rankings; the set `REPRESENTATION_by_predictability` has separate controls and "
        "evaluators",
    )
    evaluation_rows: EvaluationRows | dict[SplitName, EvaluationRows] = Field(
        "pooled",
        description="treatment of the rows in all other splits, or in each named split (the rest is pooled). pooled: "
        "filter them together with the train rows; scored: do not train on them, but remove them by the same rule; "
        "kept: do not filter them, so that they are independent evidence",
    )
    suspected_label_errors: SuspectedErrors | dict[SplitName, SuspectedErrors] = Field(
        "keep",
        description="treatment of rows with label errors suspected by confident learning. keep: filter them like all "
        "other rows; quarantine: remove them from the train rows before the first iteration; for other splits, use a "
        "mapping such as {train: quarantine, test: quarantine}",
    )

    @property
    def quarantined_splits(self) -> frozenset[str]:
        """Names of splits from which rows with suspected label errors are removed before filtering."""
        decision = self.suspected_label_errors
        decisions = decision if isinstance(decision, dict) else {"train": decision}
        return frozenset(split for split, one in decisions.items() if one == "quarantine")

    @property
    def asks_whether_learnt(self) -> bool:
        """True if no rows may be removed when the classifiers learned nothing in the first pass."""
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
        """Add the settings of the preset `paper` if it is selected. Explicit settings in the file take precedence."""
        if not isinstance(values, dict) or values.get("preset") != "paper":
            return values
        by_words = _PAPER_BY_WORDS if values.get("rank") == "vocabulary" else {}
        by_groups = {"groups": "whole"} if values.get("remove") == "groups" else {}
        return {**_PAPER, **by_words, **by_groups, **values}

    @model_validator(mode="after")
    def _settings_fit(self) -> Self:
        if self.groups == "ignore" and self.remove == "groups":
            raise ValueError(
                "`groups` is 'ignore', but `remove` is 'groups', which needs the groups; remove one of the two settings"
            )
        if self.preset == "paper" and self.stop_at_chance:
            raise ValueError(
                "`preset` is 'paper', but `stop_at_chance` is true, which the papers do not use; remove one of the "
                "two settings"
            )
        if self.rank == "vocabulary" and self.selection != "greedy":
            raise ValueError(self._draws("rank"))
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
        if self.quarantined_splits and self.classifier == "linear_svm":
            raise ValueError(self._lacks_probabilities("suspected_label_errors", "quarantine"))
        return self

    def _draws(self, name: str) -> str:
        return (
            f"`{name}` is '{getattr(self, name)}', but `selection` is '{self.selection}', which draws rows by "
            "predictability; remove one of the two settings"
        )

    def _lacks_probabilities(self, name: str, value: str) -> str:
        return (
            f"`{name}` is '{value}', but `classifier` is 'linear_svm', which gives no probabilities; set `classifier` "
            f"to 'logistic' or 'both', or remove `{name}`"
        )

    def _check_order(self, name: str, value: str) -> None:
        if value not in ("label_probability", "classes"):
            return
        if value == "label_probability" and self.classifier == "linear_svm":
            raise ValueError(self._lacks_probabilities(name, value))
        if self.selection != "greedy":
            raise ValueError(self._draws(name))
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

    def evaluation_rows_of(self, split: str) -> EvaluationRows:
        """Return the value of `evaluation_rows` for a split other than `train`."""
        treated = self.evaluation_rows
        return treated.get(split, "pooled") if isinstance(treated, dict) else treated
