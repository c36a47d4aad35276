"""Settings of a run, with checks that need no data. The module `inputs.py` checks the settings against the data."""

from dataclasses import asdict, dataclass
from math import isfinite
from numbers import Integral, Real
from typing import Literal, get_args

import numpy as np

from aflite_assets.errors import InvalidInputError

Selection = Literal["greedy", "gumbel", "gumbel_over_threshold"]
Classifier = Literal["logistic", "linear_svm", "both"]
RemovalUnit = Literal["rows", "groups"]
Ranking = Literal["predictability", "label_probability", "vocabulary"]
Comparison = Literal["at_least", "greater"]
Ties = Literal["random", "label_probability"]
Balance = Literal["none", "classes"]

_COUNTS = {
    "target_size": "give the smallest number of train rows to keep",
    "train_size": "give the number of rows that each classifier is trained on",
    "slice_size": "give the largest number of rows to remove per iteration",
    "n_partitions": "give the number of random partitions per iteration (64 is common; the papers give no value)",
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "selection": get_args(Selection),
    "classifier": get_args(Classifier),
    "remove": get_args(RemovalUnit),
    "ranking": get_args(Ranking),
    "comparison": get_args(Comparison),
    "ties": get_args(Ties),
    "balance": get_args(Balance),
}


@dataclass(frozen=True, kw_only=True)
class FilterSettings:
    """Parameters of AFLite (Algorithm 1, ICML 2020). The values are checked on creation, and numbers are stored as
    plain int and float.

    `target_size` (n in the paper), `train_size` (t), `slice_size` (k) and `n_partitions` (m) are whole numbers of at
    least 1. `threshold` (tau) lies in [0, 1]. `selection` "greedy" is greedy slicing (strategy B of the ICLR 2020
    submission), and "gumbel" is slice sampling (strategy C). Slice sampling draws from all rows that were held out,
    with probabilities proportional to their predictability. A run with slice sampling ends when no score reaches the
    threshold. "gumbel_over_threshold" draws like "gumbel", but only from the rows that pass the threshold. `classifier`
    is "logistic", "linear_svm" or "both". With "both", every partition gives two predictions per held-out row.
    `inverse_regularization` is scikit-learn's C, which multiplies the sum of the losses. A slice consists of single
    rows (`remove` "rows") or of whole groups ("groups"). With "groups", the rows of a group are removed together
    according to their mean predictability. A slice has at most `slice_size` rows, and a group that is too large for the
    rest of the slice is skipped. In the last slice before the target, only groups that fit are removed, so the filter
    may keep more rows than the target. `stop_at_chance` (not in the papers) ends the run after two consecutive passes
    at chance. A pass is at chance if its bias is at most the highest bias of passes over permuted labels
    (`chance.score_permuted`). A pass at chance removes nothing. Among the rows that pass the threshold, `ranking`
    chooses the rows of the slice. By default, the rows with the highest predictability are removed. The ranking
    "label_probability" (not in the papers) removes the rows with the highest mean held-out probability of their own
    label in the same pass. The ranking "vocabulary" removes rows so that as few words as possible disappear from the
    pool (see `vocabulary.py`). "vocabulary" needs `words` and the selection "greedy". A score equal to the threshold
    passes if `comparison` is "at_least" (ICML 2020), but not if `comparison` is "greater" (SustaiNLP 2020, Algorithm
    1). `early_stop` ends the run after the first slice that is not full (ICML 2020). Without `early_stop`, the run ends
    only at the target, or when no row passes (SustaiNLP 2020). `ties` (not in the papers) decides which rows of equal
    rank are removed first: random rows, or the rows with the highest label probability in the same pass. `balance`
    "classes" (not in the papers) divides a slice among the classes in proportion to their remaining rows. If too few
    rows of a class pass to fill the part of that class, the rest of the part stays empty. The run ends when no class
    fills its part.

    Raises:
        InvalidInputError: a field has a wrong type or lies outside its range.
    """

    target_size: int
    train_size: int
    slice_size: int
    n_partitions: int = 64
    threshold: float = 0.75
    selection: Selection = "greedy"
    classifier: Classifier = "logistic"
    inverse_regularization: float = 1.0
    remove: RemovalUnit = "rows"
    stop_at_chance: bool = False
    ranking: Ranking = "predictability"
    comparison: Comparison = "at_least"
    early_stop: bool = True
    ties: Ties = "random"
    balance: Balance = "none"

    def __post_init__(self) -> None:
        for name, remedy in _COUNTS.items():
            self._store(name, _count(name, getattr(self, name), remedy=remedy))
        for name, choices in _CHOICES.items():
            if (value := getattr(self, name)) not in choices:
                raise InvalidInputError(f"`{name}` is {value!r}, which is unknown; give one of {', '.join(choices)}")
        for name in ("stop_at_chance", "early_stop"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInputError(f"`{name}` is {getattr(self, name)!r}; give True or False")
        if self.ranking == "vocabulary" and self.selection != "greedy":
            raise InvalidInputError(
                f'`selection` is "{self.selection}", which orders rows by their scores, but `ranking` is '
                '"vocabulary"; use `selection="greedy"`, or leave `ranking` out'
            )
        self._check_order()
        if not _is_finite(self.threshold) or not 0.0 <= self.threshold <= 1.0:
            raise InvalidInputError(
                f"`threshold` is {self.threshold!r}, but it must be a number from 0 to 1; give the lowest "
                "predictability that a removed row may have (0.75 is common, and the papers give no value)"
            )
        if not _is_finite(self.inverse_regularization) or self.inverse_regularization <= 0.0:
            raise InvalidInputError(
                f"`inverse_regularization` is {self.inverse_regularization!r}, but it must be a finite number above 0; "
                "give scikit-learn's C (its default is 1.0, and larger values mean less regularization)"
            )
        for name in ("threshold", "inverse_regularization"):
            self._store(name, float(getattr(self, name)))

    @property
    def uses_label_probability(self) -> bool:
        """True if label probabilities affect which rows are removed."""
        return "label_probability" in (self.ranking, self.ties)

    @property
    def holds_others(self) -> bool:
        """True if a slice gives a rule for removing rows that are only scored. The rule requires that a single key
        orders all units.
        """
        return self.ranking != "vocabulary" and self.ties == "random" and self.balance == "none"

    def _check_order(self) -> None:
        """Raise an error if two settings contradict each other about the order of rows, or if the order needs values
        that are not computed.
        """
        changed = [(name, getattr(self, name)) for name in ("ranking", "ties", "balance")]
        changed = [(name, value) for name, value in changed if value in ("label_probability", "classes")]
        for name, value in changed:
            if value == "label_probability" and self.classifier == "linear_svm":
                raise InvalidInputError(
                    f'`{name}` is "{value}", but `classifier` is "linear_svm", which gives no probabilities; use '
                    f'"logistic" or "both", or leave `{name}` out'
                )
            if self.selection != "greedy":
                raise InvalidInputError(
                    f'`selection` is "{self.selection}", which draws rows by their predictability, but `{name}` is '
                    f'"{value}"; use `selection="greedy"`, or leave `{name}` out'
                )
            if self.ranking == "vocabulary":
                raise InvalidInputError(
                    f'`ranking` is "vocabulary", which orders rows by their words, but `{name}` is "{value}"; leave '
                    f"`ranking` or `{name}` out"
                )
            if value == "classes" and self.remove == "groups":
                raise InvalidInputError(
                    '`balance` is "classes", but `remove` is "groups" and a group may have rows of several classes; '
                    'use `remove="rows"`, or leave `balance` out'
                )

    def _store(self, name: str, value: float) -> None:
        # A frozen dataclass can only be completed this way; plain numbers keep a run's hash stable.
        object.__setattr__(self, name, value)

    def as_dict(self) -> dict[str, int | float | str]:
        """Return the fields by name, as plain values that can be written as JSON."""
        return asdict(self)

    def passes(self, scores: np.ndarray) -> np.ndarray:
        """Return a bool mask of the scores that pass the threshold. NaN does not pass."""
        return scores > self.threshold if self.comparison == "greater" else scores >= self.threshold


def check_sizes(settings: FilterSettings, *, pool_rows: int, counted_rows: int) -> None:
    """Check the conditions of Algorithm 1 on the sizes: t < n, k <= n and n <= number of rows.

    `pool_rows`: number of rows that may be trained on. `counted_rows`: number of pool rows that count towards the
    target size. If only some rows count, n is `target_size` scaled up from `counted_rows` to `pool_rows`.

    Raises:
        InvalidInputError: a size is wrong; the message begins with the name of the setting in backquotes.
    """
    if settings.target_size > counted_rows:
        raise InvalidInputError(
            f"`target_size` is {settings.target_size}, but only {counted_rows} rows count towards it; lower "
            "`target_size`"
        )
    left = settings.target_size * pool_rows // counted_rows
    target = (
        f"`target_size` is {left}"
        if left == settings.target_size
        else f"`target_size` corresponds to {left} rows of the pool"
    )
    if settings.train_size >= left:
        raise InvalidInputError(
            f"`train_size` is {settings.train_size}, but {target} and must be larger; lower `train_size`, or raise "
            "`target_size`"
        )
    if settings.slice_size > left:
        raise InvalidInputError(
            f"`slice_size` is {settings.slice_size}, but {target} and must not be smaller; lower `slice_size`, or "
            "raise `target_size`"
        )


def _count(name: str, value: object, *, remedy: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise InvalidInputError(f"`{name}` is {value!r}, but it must be a whole number of at least 1; {remedy}")
    return int(value)


def _is_finite(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and isfinite(value)
