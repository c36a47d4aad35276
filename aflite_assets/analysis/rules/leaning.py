"""Decision whether a model leans on a property: only numbers and rules, on predictions of held-out rows.

A model leans on a property if it predicts the class that the value points to too often on rows of other classes. Rows
with a value may resemble its class for other reasons. A model trained on rows without the tie serves as comparison: it
keeps all of such a spurious pull, but little of a real leaning. No prediction can show whether the property belongs to
the task. A property is no part of the task if the dataset's file says so, if it is an artefact by nature, or if a
challenge set breaks the tie and models lose accuracy there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from aflite_assets.analysis.intervals import CONFIDENCE, CrossedInterval, crossed_interval, group_codes

FEWEST_CARRIERS = 30
"""Fewest test rows of other classes than their value points to (carriers) for which a pull is computed."""

FEWEST_IN_CLASS = 5
"""A gold class with fewer carriers, or fewer other rows, is left out of the pull towards a class."""

LEAST_NAMED = 5.0
"""Least fall or loss on a challenge set that is named, in points."""

NOWHERE = -1
"""The code, in place of a class, of a value without a tie."""

WhyUntold = Literal["few carriers", "few rows without the tie", "not trained", "no test set"]

Pointed = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Gold labels of a test set, the class that each row's value points to (or `NOWHERE`), and groups."""

Predictions = Sequence[np.ndarray]
"""Predicted classes of the same test rows, one int64 array per training."""


@dataclass(frozen=True)
class Leaning:
    """The pull of predictions towards the class that a property points to; intervals are in points.

    `pull` compares two kinds of rows of the same class, by models trained on rows that keep the tie: rows whose value
    points to another class (`carriers`) and rows whose value does not point to it. The pull is the difference in how
    often they are predicted as that other class. `untied`: the pull on models trained on rows without the tie;
    `halved`: half of `pull` minus `untied`. `within`: how much more often rows of a class are predicted as it if their
    value points to it. All intervals are None with fewer than `FEWEST_CARRIERS` carriers.
    """

    carriers: int
    pull: CrossedInterval | None = None
    untied: CrossedInterval | None = None
    halved: CrossedInterval | None = None
    within: CrossedInterval | None = None

    @property
    def p_value(self) -> float | None:
        """p-value, in [0, 1], under the hypothesis of no leaning; None if it is unknown.

        Leaning needs three things: a pull; at least half of the pull comes from the tie; and rows of the class itself
        are not predicted as it less often because of the value.
        """
        if self.pull is None or self.halved is None or self.within is None:
            return None
        return 1.0 if self.within.high < 0 else max(_one_sided(self.pull), _one_sided(self.halved))


def _one_sided(interval: CrossedInterval) -> float:
    """Return the two-sided p-value of an effect over zero, or 1 if it is not over zero."""
    return interval.p_value if interval.difference > 0 else 1.0


def pull_weights(labels: np.ndarray, pointed: np.ndarray, *, to_own: bool = False) -> tuple[np.ndarray, int]:
    """Return weights of predicting each class for each row, (rows, classes), and the number of carriers that count.

    The weighted number of predictions is a mean over pairs of a gold class k and a class c that values point to: the
    mean of P(c predicted | k, points to c) - P(c predicted | k, points elsewhere). A pair weighs n1 n0 / (n1 + n0) for
    n1 and n0 rows of the two kinds (Mantel and Haenszel 1959, Journal of the National Cancer Institute 22:719). Pairs
    have k other than c; with `to_own`, they have k = c. `pointed`: per row a class or `NOWHERE`.
    """
    classes = int(max(labels.max(), pointed.max())) + 1
    weights, counted, total = np.zeros((len(labels), classes)), 0, 0.0
    for target in np.unique(pointed[pointed != NOWHERE]):
        for gold in np.unique(labels):
            own = labels == gold
            carriers, others = own & (pointed == target), own & (pointed != target)
            n1, n0 = int(carriers.sum()), int(others.sum())
            if bool(gold == target) != to_own or min(n1, n0) < FEWEST_IN_CLASS:
                continue
            share = n1 * n0 / (n1 + n0)
            weights[carriers, target] += share / n1
            weights[others, target] -= share / n0
            counted, total = counted + n1, total + share
    return weights / max(total, 1e-12), counted


def leaning(
    tied: Predictions,
    independent: Predictions,
    labels: np.ndarray,
    pointed: np.ndarray,
    groups: np.ndarray | None = None,
) -> Leaning:
    """Compare the pull on models trained on random rows (`tied`) with the pull on models trained on rows without the
    tie (`independent`).

    `labels`, `pointed`: the class of each test row and the class that its value points to, int64; `groups`: codes or
    None.
    """
    weights, carriers = pull_weights(labels, pointed)
    if carriers < FEWEST_CARRIERS:
        return Leaning(carriers)
    own, _ = pull_weights(labels, pointed, to_own=True)
    pulls, rest = ([_weighted(one, weights) for one in trained] for trained in (tied, independent))
    pull, untied = (crossed_interval(each, None, groups) for each in (pulls, rest))
    halved = crossed_interval([one / 2 for one in pulls], rest, groups)
    within = crossed_interval([_weighted(one, own) for one in tied], None, groups)
    return Leaning(carriers, pull, untied, halved, within)


@dataclass(frozen=True)
class BrokenTie:
    """A challenge set in which the tie between a property and the label is weaker than on natural rows, and the loss
    this causes.

    The tie is a mean over the classes that values point to, in points: how much more often rows of the class have such
    a value than other rows do. `natural` and `challenge` are the ties on the two sets; `broken_p` is the p-value for
    the second being at least half of the first. `loss`: by how many points accuracy is lower on rows whose value points
    to another class than on rows of the same class whose value points to it.
    """

    test_set: str
    natural: float
    challenge: float
    broken_p: float
    loss: CrossedInterval

    @property
    def p_value(self) -> float:
        """p-value for the tie not being broken in the set, or for no loss."""
        return max(self.broken_p, _one_sided(self.loss))


def broken_tie(test_set: str, natural: Pointed, challenge: Pointed, right: Sequence[np.ndarray]) -> BrokenTie | None:
    """Compare the tie on natural rows with that on a challenge set, and compute the loss on its contradicting rows.

    `right`: which challenge rows each training on full got right. Return None unless a class has rows of both kinds.
    """
    labels, pointed, groups = challenge
    weights = _contradicting_weights(labels, pointed)
    if weights is None:
        return None
    loss = crossed_interval([len(labels) * weights * one for one in right], None, groups)
    return BrokenTie(test_set, *tie_strengths(natural, challenge), loss)


LossOf = Literal["set", "contradicting rows"]
"""Rows that lose accuracy: a whole challenge set compared with natural rows, or the rows of the set whose value points
to a class other than their own, compared with rows of the same class whose value points to it.
"""


@dataclass(frozen=True)
class ConstructedLoss:
    """The `points` that models lose on a challenge set made without a property, and the p-value of no loss."""

    points: float
    p_value: float
    of: LossOf


def constructed_loss(
    natural: Pointed, challenge: Pointed, right: Sequence[np.ndarray], fall: tuple[float, float]
) -> ConstructedLoss | None:
    """Return the loss of models on a challenge set made without a property.

    If rows of the set have values that point to a class, the loss is that of rows that contradict them (`broken_tie`);
    otherwise it is the `fall` of accuracy, in points with its p-value. A loss under `LEAST_NAMED` has the p-value 1.
    Return None if the tie is not significantly broken: such a set shows nothing about the property.
    """
    broken_p = tie_strengths(natural, challenge)[2]
    if broken_p > 1 - CONFIDENCE:
        return None
    tie = broken_tie("", natural, challenge, right)
    points, p_value = fall if tie is None else (tie.loss.difference, _one_sided(tie.loss))
    p_value = max(broken_p, p_value) if points >= LEAST_NAMED else 1.0
    return ConstructedLoss(points, p_value, "set" if tie is None else "contradicting rows")


def tie_strengths(natural: Pointed, challenge: Pointed) -> tuple[float, float, float]:
    """Return the ties on natural and on challenge rows, in points, and the p-value for the second not being halved."""
    from scipy.special import ndtr

    (here, here_error), (there, there_error) = _tie(*natural), _tie(*challenge)
    gap, error = here / 2 - there, float(np.hypot(here_error / 2, there_error))
    return 100 * here, 100 * there, float(ndtr(-gap / error)) if error > 0 else float(gap <= 0)


def _contradicting_weights(labels: np.ndarray, pointed: np.ndarray) -> np.ndarray | None:
    """Return weights whose sum over right rows is the accuracy of agreeing rows minus that of contradicting rows."""
    weights, points = np.zeros(len(labels)), pointed != NOWHERE
    if not points.any():
        return None
    of_class, agreeing = pull_weights(labels[points], pointed[points], to_own=True)
    weights[points] = of_class[np.arange(points.sum()), labels[points]]
    return weights if agreeing else None


def _tie(labels: np.ndarray, pointed: np.ndarray, groups: np.ndarray | None) -> tuple[float, float]:
    """Return the tie, in [-1, 1], and its standard error between groups of rows."""
    (weights, residuals), targets = np.zeros((2, len(labels))), np.unique(pointed[pointed != NOWHERE])
    for target in targets:
        for inside, sign in ((labels == target, 1.0), (labels != target, -1.0)):
            if inside.any():
                has = pointed[inside] == target
                weights[inside] += sign * has / inside.sum() / len(targets)
                residuals[inside] += sign * (has - has.mean()) / inside.sum() / len(targets)
    by_group = np.bincount(group_codes(groups, len(labels)), weights=residuals)
    return float(weights.sum()), float(np.sqrt((by_group**2).sum()))


def _weighted(predicted: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return each row's contribution to the pull, times the number of rows, so that the mean over rows is the pull."""
    inside = predicted < weights.shape[1]
    own = weights[np.arange(len(predicted)), np.where(inside, predicted, 0)]
    return np.asarray(len(predicted) * np.where(inside, own, 0.0))


def property_skill(pointed: np.ndarray, labels: np.ndarray, classes: int) -> float:
    """Return the skill of predicting the class that the value points to, or a random class if it points to none.

    Skill is (a - 1/K) / (1 - 1/K) for K `classes` and an accuracy a averaged over gold labels.
    """
    right = np.where(pointed == NOWHERE, 1 / classes, pointed == labels)
    mean = float(np.mean([right[labels == label].mean() for label in np.unique(labels)]))
    return (mean - 1 / classes) / (1 - 1 / classes)


@dataclass(frozen=True)
class PropertyLeaning:
    """A property that is associated with the label, and whether models lean on it; docs/analysis.md describes the
    columns.

    Fields from `kind` to `overlap` are as in `Candidate`. Fields from `carriers` to `untied` are as in `Leaning`, in
    points. `fallen_on`: the constructed challenge set that shows most significantly that `evaluator` leans on the
    property; `fall`: how many points it loses there, and `fall_of`: on which rows. `p_value` is for no leaning;
    `adjusted_p` is adjusted for all candidates (Holm). Fields from `broken_on` to `broken_p` hold the most significant
    `BrokenTie` of all that were tested; its p-value is adjusted for these. Fields about the broken tie are None if none
    is significant.
    """

    kind: str
    name: str
    word: str
    values: tuple[str, ...]
    points_to: tuple[str, ...]
    reason: Literal["declared", "artefact"] | None
    overlap: float
    evaluator: str
    carriers: int
    pull: float | None = None
    low: float | None = None
    high: float | None = None
    untied: float | None = None
    fallen_on: str | None = None
    fall: float | None = None
    fall_of: LossOf | None = None
    p_value: float | None = None
    adjusted_p: float | None = None
    why: WhyUntold | None = None
    broken_on: str | None = None
    natural_tie: float | None = None
    challenge_tie: float | None = None
    loss: float | None = None
    loss_low: float | None = None
    loss_high: float | None = None
    broken_p: float | None = None

    @property
    def leans(self) -> bool | None:
        """Whether the evaluator leans on the property; None if that is unknown."""
        return None if self.adjusted_p is None else self.adjusted_p <= 1 - CONFIDENCE

    @property
    def shortcut(self) -> bool:
        """Whether the evaluator leans on the property and it is no part of the task."""
        return bool(self.leans) and (self.reason is not None or self.broken_on is not None)
