"""Representation bias at the start of filtering, over that of permuted labels; from arrays."""

from dataclasses import dataclass

import numpy as np

from aflite_assets.algorithm import ChanceScores
from aflite_assets.analysis.intervals import LEAST_DEGREES, effective_groups, group_codes, upper_quantile
from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True)
class Excess:
    """A bias less that of permuted labels (both in [0, 1]), with its two-sided 95 % interval, in points (hundredths).

    `rows`: those that were scored; `groups`: how many groups of equal size they are worth.
    """

    difference: float
    low: float
    high: float
    bias: float
    shuffled_labels: float
    rows: int
    groups: float

    @property
    def width(self) -> float:
        """From the interval's lower to its upper end, in points."""
        return self.high - self.low


@dataclass(frozen=True)
class BiasExcess:
    """Over all rows, and as the mean over classes, in which a class's size and how often it is predicted cancel out.

    `labels_moved`: whether permutations moved enough labels to show what chance gives (`ChanceScores.labels_moved`).
    `probabilities`: of the probabilities that the rows' own labels were given, as the mean over classes; None if the
    classifier has none. Such a mean is over 1/C, for C classes, just if a little of these probabilities, mixed into
    class shares, lowers the held-out log loss of class shares: it is the slope there.
    """

    rows: Excess
    classes: Excess
    labels_moved: bool = True
    probabilities: Excess | None = None

    @property
    def learnt(self) -> Excess:
        """The excess that shows best whether anything was learnt beyond class shares."""
        return self.classes if self.probabilities is None else self.probabilities

    @property
    def is_learnt(self) -> bool:
        """Whether the classifiers surely learnt something beyond class shares."""
        return self.learnt.low > 0


def bias_excess(
    predictability: np.ndarray,
    labels: np.ndarray,
    chance: ChanceScores,
    groups: np.ndarray | None = None,
    *,
    label_probability: np.ndarray | None = None,
) -> BiasExcess:
    """Return the starting bias less the mean of the passes over permuted labels.

    `predictability`: float in [0, 1], one per row that entered the first iteration, NaN if never held out; `labels`:
    int64; `groups`: codes of rows that belong together, None if every row is its own. `label_probability`: float in
    [0, 1], beside `predictability`, the mean held-out probability of the row's label.

    With m the mean predictability (or the mean over C classes of the class means m_c), and b_1 ... b_K that of the
    passes: the difference is m - mean b, its variance max(V, W) + W / K. V is the variance between groups of rows,
    G/(G-1) sum_g (sum of a group's influences)^2. A row's influence is (d_i - mean d) / n, with d_i its score less the
    passes' mean for its class, since class shares stay as they are under permutation; or (p_i - m_c) / (C n_c), with
    p_i the row's score, or the probability that its label was given. W is
    the variance of b, in proportion if the passes had a sample of the rows. The larger of V and W counts, since
    classifiers trained on the same rows err together. t quantiles at the number of groups of equal size less one.
    """
    scored = ~np.isnan(predictability)
    if len(labels) != len(predictability) or not scored.any():
        raise InvalidInputError(
            f"the starting bias needs scores with labels, got {int(scored.sum())} scores and {len(labels)} labels"
        )
    scores = predictability[scored].astype(np.float64)
    _, codes, sizes = np.unique(labels[scored], return_inverse=True, return_counts=True)
    own = group_codes(None if groups is None else groups[scored], len(scores))
    share = min(1.0, chance.rows / len(scores))
    mean = float(scores.mean())
    apart = scores - _chance_of_classes(chance, mean)[codes]
    by_rows = (apart - apart.mean()) / len(scores)

    def of_classes(values: np.ndarray, by_chance: np.ndarray) -> Excess:
        means = np.bincount(codes, values) / sizes
        influences = (values - means[codes]) / (len(means) * sizes[codes])
        return _excess(float(means.mean()), np.nanmean(by_chance, axis=1), influences, own, share)

    probabilities = None
    if label_probability is not None and chance.class_probability is not None:
        probabilities = of_classes(label_probability[scored].astype(np.float64), chance.class_probability)
    return BiasExcess(
        _excess(mean, chance.bias, by_rows, own, share),
        of_classes(scores, chance.class_bias),
        chance.labels_moved,
        probabilities,
    )


def _chance_of_classes(chance: ChanceScores, missing: float) -> np.ndarray:
    """Mean over the passes by class; `missing` for a class that none of them scored."""
    passes, sums = (~np.isnan(chance.class_bias)).sum(axis=0), np.nansum(chance.class_bias, axis=0)
    return np.asarray(np.divide(sums, passes, out=np.full(len(passes), missing), where=passes > 0))


def _excess(mean: float, chance: np.ndarray, influences: np.ndarray, groups: np.ndarray, share: float) -> Excess:
    sizes = np.bincount(groups)
    effective, present = effective_groups(sizes), len(sizes)
    drawn = float(chance.var(ddof=1)) if len(chance) > 1 else 0.0
    between = present / max(present - 1, 1) * float((np.bincount(groups, influences) ** 2).sum())
    error = (max(between, drawn * share) + drawn / len(chance)) ** 0.5
    half = upper_quantile(max(effective - 1, LEAST_DEGREES)) * error if present > 1 else 1.0
    difference = mean - float(chance.mean())
    low, high = (100 * min(1.0, max(-1.0, bound)) for bound in (difference - half, difference + half))
    return Excess(100 * difference, low, high, mean, float(chance.mean()), len(influences), effective)
