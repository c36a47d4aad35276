"""Representation bias at the start of filtering, minus the representation bias for permuted labels, computed from
arrays.
"""

from dataclasses import dataclass

import numpy as np

from aflite_assets.algorithm import ChanceScores
from aflite_assets.analysis.intervals import LEAST_DEGREES, effective_groups, group_codes, upper_quantile
from aflite_assets.errors import InvalidInputError


@dataclass(frozen=True)
class Excess:
    """A bias minus the bias for permuted labels, and the two-sided 95 % interval of the difference.

    `bias` and `shuffled_labels` are in [0, 1]; the difference and the interval are in points (hundredths). `rows`:
    number of scored rows. `groups`: number of equal-sized groups that carry as much information as the groups of rows.
    `all_groups`: number of groups of any size, or None if it is unknown.
    """

    difference: float
    low: float
    high: float
    bias: float
    shuffled_labels: float
    rows: int
    groups: float
    all_groups: int | None = None

    @property
    def width(self) -> float:
        """Width of the interval, in points."""
        return self.high - self.low


@dataclass(frozen=True)
class BiasExcess:
    """The excess of the bias above chance, computed for all rows and as the mean over classes.

    The mean over classes depends neither on class sizes nor on how often each class is predicted. `labels_moved`:
    whether permutations moved enough labels to show chance (`ChanceScores.labels_moved`). `probabilities`: the excess
    of the mean predicted probability of each row's own label, averaged over classes; None if the classifier has no
    probabilities. For C classes, a mean probability above 1/C means that the predicted probabilities, mixed into the
    class shares in a small proportion, lower the held-out log loss.
    """

    rows: Excess
    classes: Excess
    labels_moved: bool = True
    probabilities: Excess | None = None

    @property
    def learnt(self) -> Excess:
        """The excess of the probabilities if there are any, else of the mean over classes: the most sensitive sign of
        learning beyond class shares.
        """
        return self.classes if self.probabilities is None else self.probabilities

    @property
    def is_learnt(self) -> bool:
        """True if the classifiers learnt significantly more than the class shares."""
        return self.learnt.low > 0


def bias_excess(
    predictability: np.ndarray,
    labels: np.ndarray,
    chance: ChanceScores,
    groups: np.ndarray | None = None,
    *,
    label_probability: np.ndarray | None = None,
) -> BiasExcess:
    """Return the bias at the start of filtering minus the mean bias of the passes over permuted labels.

    `predictability`: float in [0, 1] for each row that entered the first iteration, NaN if never held out. `labels`:
    int64. `groups`: one code per row, equal for rows that belong together, or None if every row is its own group.
    `label_probability`: the mean held-out probability of each row's label, float in [0, 1], in the order of
    `predictability`.

    Let m be the mean predictability (or the mean over C classes of the class means m_c), and b_1 ... b_K this mean in
    each of the K passes over permuted labels. The difference is m minus the mean of b, with variance max(V, W) + W / K.
    V is the variance between groups of rows, G/(G-1) sum_g (sum of a group's influences)^2. In V, the influence of row
    i is (d_i - mean d) / n. Here d_i is the score of row i minus the mean score of the row's class in the passes over
    permuted labels. For the mean over classes, the influence is (p_i - m_c) / (C n_c), where p_i is the row's score or
    the probability of its label. W is the variance of b, scaled down if the passes had only a sample of the rows. The
    formula has the larger of V and W, because classifiers trained on the same rows make correlated errors. The degrees
    of freedom of t are the number of equal-sized groups minus one.
    """
    scored = ~np.isnan(predictability)
    if len(labels) != len(predictability) or not scored.any():
        raise InvalidInputError(
            f"there are {int(scored.sum())} scores for {len(labels)} labels; give one entry of `predictability` per "
            "label, and at least one that is not NaN"
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
    """Return the mean score of each class over the passes, or `missing` for a class that no pass scored."""
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
    return Excess(100 * difference, low, high, mean, float(chance.mean()), len(influences), effective, present)
