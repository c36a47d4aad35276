"""Learning curves, and the sizes at which the curves stop rising.

A warm-up curve shows the accuracy of an encoder by the number of warm-up rows. Section 2 of Le Bras et al., ICML 2020,
chooses the warm-up rows "based on the learning curve in low-data regime" but does not explain how. This module defines
its own rule for the elbow of a learning curve.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from aflite_assets.analysis.intervals import wilson_interval
from aflite_assets.analysis.tidy import TidyTable


@dataclass(frozen=True)
class LearningCurve:
    """Number of held-back rows that an encoder predicted correctly, by the number of rows that it was trained on.

    `rows`: sizes of the train samples, ascending. `right`: for each sample, the number of correct predictions of
    held-back rows by the encoder that was trained on the sample. `largest_class`: number of held-back rows of the most
    frequent class, which is also the number of correct predictions if this class is always guessed.
    """

    representation: str
    rows: tuple[int, ...]
    right: tuple[int, ...]
    held_back_rows: int
    largest_class: int

    @property
    def elbow(self) -> int:
        """The smallest sample whose accuracy is not clearly below the best accuracy.

        If an encoder gets worse with more rows, the cause is chance in training. Accuracies are first replaced by the
        nearest non-decreasing values (isotonic regression). The elbow is the first size whose smoothed value lies
        inside Wilson's 95 % interval of the last value, which is the highest. Source: the rule of one standard error
        (Breiman et al. 1984, Classification and Regression Trees, section 3.4.3), with Wilson's interval instead of the
        standard error.
        """
        from scipy.optimize import isotonic_regression

        fitted = isotonic_regression([right / self.held_back_rows for right in self.right]).x.clip(0, 1).tolist()
        lowest = wilson_interval(fitted[-1], self.held_back_rows).low
        return next(size for size, accuracy in zip(self.rows, fitted, strict=True) if accuracy >= lowest)


def chosen_rows(curves: Iterable[LearningCurve]) -> int:
    """Return the largest elbow of the curves.

    All representations share one warm-up split, which must be large enough for every representation.
    """
    return max(curve.elbow for curve in curves)


@dataclass(frozen=True)
class CurvePoint:
    """One size of a learning curve: accuracy with Wilson's bounds, and whether the size is the `elbow` and was
    `chosen`.

    All accuracies lie in [0, 1]; `most_frequent_class` is the accuracy of always guessing the most frequent class.
    """

    representation: str
    rows: int
    held_back_rows: int
    right: int
    accuracy: float
    interval_low: float
    interval_high: float
    most_frequent_class: float
    elbow: bool
    chosen: bool


WARMUP_CURVE = TidyTable("warmup_curve", CurvePoint)


def curve_points(curves: Sequence[LearningCurve]) -> tuple[CurvePoint, ...]:
    """Return one point per representation and size."""
    return tuple(point for curve in curves for point in points_at(curve, curve.right, chosen_rows(curves)))


def points_at(curve: LearningCurve, right: Sequence[float], chosen: int) -> Iterator[CurvePoint]:
    """Yield one point per size. The numbers of correct rows in `right` may be means over training runs."""
    elbow, held_back = curve.elbow, curve.held_back_rows
    for rows, whole, accuracy in zip(curve.rows, curve.right, [one / held_back for one in right], strict=True):
        shares = (accuracy, *wilson_interval(accuracy, held_back), curve.largest_class / held_back)
        yield CurvePoint(curve.representation, rows, held_back, whole, *shares, rows == elbow, rows == chosen)


Flaw = Literal["no better than guessing", "still rises", "never rises"]


def curve_flaw(points: Sequence[CurvePoint]) -> Flaw | None:
    """Return the reason why the elbow of a curve cannot be trusted, or None if the curve rises and then stops rising.

    The smallest size of a curve is accepted as its elbow.
    """
    if guesses(points):
        return "no better than guessing"
    return "still rises" if points[-1].elbow else None


def guesses(points: Sequence[Any]) -> bool:
    """Return True if no point of a curve is above the accuracy of always guessing the most frequent class."""
    return bool(max(point.interval_low for point in points) <= points[0].most_frequent_class)
