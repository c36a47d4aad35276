"""Learning curves, and the sizes at which the curves stop rising.

A warm-up curve shows the accuracy of an encoder by the number of warm-up rows. A sample curve shows the accuracy of one
model by the size of a growing sample. Section 2 of Le Bras et al., ICML 2020, chooses the warm-up rows "based on the
learning curve in low-data regime" but does not explain how. This module defines its own rule for the elbow of a
learning curve. The growing sample is from Mishra and Sachdeva 2020 (SustaiNLP), Algorithm 1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.intervals import wilson_interval
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.studies.sample.specs.settings import StopRule


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


@dataclass(frozen=True)
class SampleCurve:
    """A learning curve of one model for a growing sample: `right` has one number per size and training run.

    `stop`: the rule that ends the growth. `rows` lists the sizes in the order of the growth.
    """

    rows: tuple[int, ...]
    right: tuple[tuple[int, ...], ...]
    held_back_rows: int
    largest_class: int
    stop: StopRule

    @property
    def means(self) -> LearningCurve:
        """A learning curve of the means over the training runs of each size, rounded to whole rows."""
        right = tuple(round(sum(each) / len(each)) for each in self.right)
        return LearningCurve("sample", self.rows, right, self.held_back_rows, self.largest_class)

    @property
    def chosen(self) -> int:
        """The size at which accuracy stopped increasing, or the largest size if accuracy never stopped.

        The rule "flat" is the rule of `LearningCurve.elbow`. With the rule "falls" (from Algorithm 1), the sample grows
        until a size is not better than the previous size, which is then chosen.
        """
        if self.stop == "flat":
            return self.means.elbow
        sums = [sum(each) for each in self.right]
        stops = (size for size, before, after in zip(self.rows, sums, sums[1:], strict=False) if after <= before)
        return next(stops, self.rows[-1])

    @property
    def ended(self) -> bool:
        """True if the sample need not grow further, because `NO_BETTER` larger samples were not better than the chosen
        sample.
        """
        return self.rows.index(self.chosen) + NO_BETTER[self.stop] < len(self.rows)


NO_BETTER: Mapping[StopRule, int] = {"flat": 2, "falls": 1}
"""Growth ends after this number of samples that are larger than the chosen sample but not better. With two, a single
bad training run does not end the growth.
"""


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


@dataclass(frozen=True)
class SamplePoint:
    """One size of the growing sample, as in `CurvePoint`, with the mean, lowest and highest accuracy over `repeats`
    training runs.
    """

    rows: int
    held_back_rows: int
    right: float
    accuracy: float
    interval_low: float
    interval_high: float
    repeats: int
    lowest: float
    highest: float
    most_frequent_class: float
    elbow: bool
    chosen: bool


WARMUP_CURVE = TidyTable("warmup_curve", CurvePoint)
SAMPLE_CURVE = TidyTable("sample_curve", SamplePoint)


def curve_points(curves: Sequence[LearningCurve]) -> tuple[CurvePoint, ...]:
    """Return one point per representation and size."""
    return tuple(point for curve in curves for point in _points(curve, curve.right, chosen_rows(curves)))


def sample_points(curve: SampleCurve | None) -> tuple[SamplePoint, ...]:
    """Return one point per size, or an empty list if there is no curve."""
    if curve is None:
        return ()
    means, found = [sum(each) / len(each) for each in curve.right], []
    for point, mean, each in zip(_points(curve.means, means, curve.chosen), means, curve.right, strict=True):
        lowest, highest = (one / curve.held_back_rows for one in (min(each), max(each)))
        found.append(record_of(SamplePoint, point, right=mean, repeats=len(each), lowest=lowest, highest=highest))
    return tuple(found)


def _points(curve: LearningCurve, right: Sequence[float], chosen: int) -> Iterator[CurvePoint]:
    """Yield one point per size. The numbers of correct rows in `right` may be means over training runs."""
    elbow, held_back = curve.elbow, curve.held_back_rows
    for rows, whole, accuracy in zip(curve.rows, curve.right, [one / held_back for one in right], strict=True):
        shares = (accuracy, *wilson_interval(accuracy, held_back), curve.largest_class / held_back)
        yield CurvePoint(curve.representation, rows, held_back, whole, *shares, rows == elbow, rows == chosen)


Flaw = Literal["no better than guessing", "still rises", "never rises"]


def curve_flaw(points: Sequence[CurvePoint] | Sequence[SamplePoint]) -> Flaw | None:
    """Return the reason why the size chosen from a curve cannot be trusted, or None if the curve rises and then stops
    rising.

    The chosen size is the elbow of a warm-up curve, or the size of a sample. The smallest size of a curve is accepted
    as the elbow of a warm-up curve, but not as the size of a sample.
    """
    first, last = points[0], points[-1]
    if max(point.interval_low for point in points) <= first.most_frequent_class:
        return "no better than guessing"
    if isinstance(last, CurvePoint):
        return "still rises" if last.elbow else None
    if last.chosen:
        return "still rises"
    return "never rises" if first.chosen else None
