"""Rules to decide whether a model relies on a property, from predictions of held-out rows.

A value of a property points to the class that it is associated with. A model relies on (leans on) the property if it
predicts this class too often for rows of other classes that have the value. Rows with a value may also resemble the
class for other reasons. A second model is therefore trained on rows without the association, and compared with the
first model. The pull is the excess of predictions of the class among rows with the value. If the pull does not come
from the association, the second model has an equally large pull. If the pull comes from reliance on the property, the
second model has a small pull.

Predictions cannot show whether a property belongs to the task. A property is no part of the task if the dataset's file
declares so, or if it is an artefact by nature. A loss of accuracy on a challenge set without the association also shows
that a property is no part of the task.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from aflite_assets.analysis.intervals import CONFIDENCE, CrossedInterval, crossed_interval, group_codes

FEWEST_CARRIERS = 30
"""A pull is computed if there are at least this many carriers (test rows with a value that points to another class than
their own).
"""

FEWEST_IN_CLASS = 5
"""A gold class counts in the pull towards another class if it has at least this many carriers and at least this many
other rows.
"""

LEAST_NAMED = 5.0
"""Smallest fall or loss on a challenge set, in points, that is named."""

NOWHERE = -1
"""Code, instead of a class number, for a value that is not associated with any class."""

WhyUntold = Literal["few carriers", "few rows without the tie", "not trained", "no test set"]

Pointed = tuple[np.ndarray, np.ndarray, np.ndarray | None]
"""Gold labels of a test set, the class that each row's value points to (or `NOWHERE`), and groups."""

Predictions = Sequence[np.ndarray]
"""Predicted classes of the same test rows, one int64 array per training run."""


@dataclass(frozen=True)
class Leaning:
    """The pull of predictions towards the class that a property's value points to; intervals are in points.

    `pull` is computed from models trained on rows in which property and label are associated. The pull is a mean over
    pairs of a class A of test rows and another class B. For each pair, the pull is a difference of two shares of rows
    of class A predicted as B. The first share is among rows with a value that points to B (`carriers`), and the second
    share is among the remaining rows of class A. `untied`: the pull of models trained on rows without the association;
    `halved`: half of `pull`, minus `untied`. `within`: accuracy on rows with a value that points to their own class,
    minus accuracy on the remaining rows of the class. All intervals are None with fewer than `FEWEST_CARRIERS`
    carriers.
    """

    carriers: int
    pull: CrossedInterval | None = None
    untied: CrossedInterval | None = None
    halved: CrossedInterval | None = None
    within: CrossedInterval | None = None

    @property
    def p_value(self) -> float | None:
        """p-value, in [0, 1], of the hypothesis that models do not rely on the property; None if unknown.

        If models rely on a property, three conditions hold. First, predictions show a pull towards the class of the
        value. Second, at least half of the pull comes from the association in the train rows. Third, predictions are
        not worse for rows with a value that points to their own class.
        """
        if self.pull is None or self.halved is None or self.within is None:
            return None
        return 1.0 if self.within.high < 0 else max(_one_sided(self.pull), _one_sided(self.halved))


def _one_sided(interval: CrossedInterval) -> float:
    """Return the two-sided p-value of a positive effect, or 1 if the effect is not positive."""
    return interval.p_value if interval.difference > 0 else 1.0


def pull_weights(labels: np.ndarray, pointed: np.ndarray, *, to_own: bool = False) -> tuple[np.ndarray, int]:
    """Return a weight for each row and each class that may be predicted, of shape (rows, classes), and the number of
    carriers used.

    The sum of the weights of the predicted classes is the mean of P(c predicted | k, points to c) - P(c predicted | k,
    points elsewhere) over pairs of a gold class k and a class c that values point to. A pair with n1 carriers and n0
    other rows of class k has the weight n1 n0 / (n1 + n0) (Mantel and Haenszel 1959, Journal of the National Cancer
    Institute 22:719). Only pairs with different k and c are used. If `to_own` is set, only pairs with k = c are used
    instead. `pointed`: the class that each row's value points to, or `NOWHERE`.
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
    """Compare the pull of two kinds of models: models trained on random rows, and models trained on rows without the
    association.

    `tied`: predictions of the models trained on random rows. `independent`: predictions of the models trained on rows
    in which property and label are independent. `labels`: the class of each test row, int64; `pointed`: the class that
    the row's value points to, int64; `groups`: one code per row, or None.
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
    """A challenge set in which a property is less associated with the label than on natural rows, and the resulting
    loss.

    The strength of the association, in points, is a mean over the classes that values point to. For one class, the
    strength compares the shares of rows with a value that points to the class: among the rows of the class, minus among
    all other rows. `natural`, `challenge`: the strength on natural rows and in the challenge set. `broken_p`: p-value
    of the hypothesis that `challenge` is at least half of `natural`. `loss`: the accuracy on agreeing rows minus the
    accuracy on contradicting rows of the same class, in points. In an agreeing row, the value points to the row's own
    class; in a contradicting row, to another class.
    """

    test_set: str
    natural: float
    challenge: float
    broken_p: float
    loss: CrossedInterval

    @property
    def p_value(self) -> float:
        """p-value of the hypothesis that the challenge set keeps the association or that there is no loss of
        accuracy.
        """
        return max(self.broken_p, _one_sided(self.loss))


def broken_tie(test_set: str, natural: Pointed, challenge: Pointed, right: Sequence[np.ndarray]) -> BrokenTie | None:
    """Compare the association of property and label on natural rows with the association in a challenge set.

    Compute the loss of accuracy on challenge rows with a label that contradicts the property. `right`: for each model
    trained on `full`, the correct predictions of challenge rows. Return None if no class has rows that agree with the
    property and rows that contradict the property.
    """
    labels, pointed, groups = challenge
    weights = _contradicting_weights(labels, pointed)
    if weights is None:
        return None
    loss = crossed_interval([len(labels) * weights * one for one in right], None, groups)
    return BrokenTie(test_set, *tie_strengths(natural, challenge), loss)


LossOf = Literal["set", "contradicting rows"]
"""Rows that lose accuracy. "set": a whole challenge set, compared with natural rows. "contradicting rows": rows of the
set with a value that points to another class, compared with rows of the same class with a value that points to their
own class.
"""


@dataclass(frozen=True)
class ConstructedLoss:
    """The loss of accuracy on a challenge set that was made without a property, and the p-value of the hypothesis of no
    loss.

    `points`: the loss of accuracy, in points.
    """

    points: float
    p_value: float
    of: LossOf


def constructed_loss(
    natural: Pointed, challenge: Pointed, right: Sequence[np.ndarray], fall: tuple[float, float]
) -> ConstructedLoss | None:
    """Return the loss of models on a challenge set that was made without a property.

    `broken_tie` computes the loss if the set has rows that agree with the property and rows that contradict it. If the
    set lacks agreeing or contradicting rows, the loss is `fall`, the fall in accuracy on the set (in points) with its
    p-value. A loss under `LEAST_NAMED` has the p-value 1. Return None if the association is not significantly weaker in
    the set, because the set then shows nothing about the property.
    """
    broken_p = tie_strengths(natural, challenge)[2]
    if broken_p > 1 - CONFIDENCE:
        return None
    tie = broken_tie("", natural, challenge, right)
    points, p_value = fall if tie is None else (tie.loss.difference, _one_sided(tie.loss))
    p_value = max(broken_p, p_value) if points >= LEAST_NAMED else 1.0
    return ConstructedLoss(points, p_value, "set" if tie is None else "contradicting rows")


def tie_strengths(natural: Pointed, challenge: Pointed) -> tuple[float, float, float]:
    """Return the strength of the association on natural and on challenge rows, in points, and a p-value.

    The p-value tests the hypothesis that the challenge rows keep at least half of the strength.
    """
    from scipy.special import ndtr

    (here, here_error), (there, there_error) = _tie(*natural), _tie(*challenge)
    gap, error = here / 2 - there, float(np.hypot(here_error / 2, there_error))
    return 100 * here, 100 * there, float(ndtr(-gap / error)) if error > 0 else float(gap <= 0)


def _contradicting_weights(labels: np.ndarray, pointed: np.ndarray) -> np.ndarray | None:
    """Return weights for a sum over correctly predicted rows.

    The sum is the accuracy of agreeing rows minus the accuracy of contradicting rows.
    """
    weights, points = np.zeros(len(labels)), pointed != NOWHERE
    if not points.any():
        return None
    of_class, agreeing = pull_weights(labels[points], pointed[points], to_own=True)
    weights[points] = of_class[np.arange(points.sum()), labels[points]]
    return weights if agreeing else None


def _tie(labels: np.ndarray, pointed: np.ndarray, groups: np.ndarray | None) -> tuple[float, float]:
    """Return the strength of the association, in [-1, 1], and its standard error between groups of rows."""
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
    """Return each row's contribution to the pull times the number of rows, so that the mean over rows is the pull."""
    inside = predicted < weights.shape[1]
    own = weights[np.arange(len(predicted)), np.where(inside, predicted, 0)]
    return np.asarray(len(predicted) * np.where(inside, own, 0.0))


def property_skill(pointed: np.ndarray, labels: np.ndarray, classes: int) -> float:
    """Return the skill of predicting, for each row, the class that the row's value points to.

    If the value points to no class, a random class is predicted. Skill is (a - 1/K) / (1 - 1/K) for K `classes` and an
    accuracy a averaged over gold labels.
    """
    right = np.where(pointed == NOWHERE, 1 / classes, pointed == labels)
    mean = float(np.mean([right[labels == label].mean() for label in np.unique(labels)]))
    return (mean - 1 / classes) / (1 - 1 / classes)


@dataclass(frozen=True)
class PropertyLeaning:
    """A property that is associated with the label, and whether models rely on it; docs/analysis.md describes the
    columns.

    `Candidate` explains the fields from `kind` to `overlap`. `Leaning` explains the fields from `carriers` to `untied`,
    in points. `fallen_on`: the constructed challenge set that shows most significantly that `evaluator` relies on the
    property. `fall`: the evaluator's loss of accuracy on the set `fallen_on`, in points. `fall_of`: the rows of
    `fallen_on` on which accuracy is lost. `p_value`: p-value of the hypothesis that models do not rely on the property;
    `adjusted_p`: `p_value` adjusted for all candidates (Holm). The fields from `broken_on` to `broken_p` describe the
    most significant `BrokenTie`, or are None if none is significant. `broken_p` is adjusted for all tested challenge
    sets.
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
        """True if the evaluator relies on the property; None if unknown."""
        return None if self.adjusted_p is None else self.adjusted_p <= 1 - CONFIDENCE

    @property
    def shortcut(self) -> bool:
        """True if the evaluator relies on the property and the property is no part of the task."""
        return bool(self.leans) and (self.reason is not None or self.broken_on is not None)
