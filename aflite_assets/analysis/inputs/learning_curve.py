"""Learning curves and where they stop rising: of encoders for the warm-up rows, of a model for a growing sample.

The papers choose the warm-up rows "based on the learning curve in low-data regime" (ICML 2020, section 2) and do not
say how; the rule here is this project's. The growing sample is the coarse action of Mishra and Sachdeva 2020
(SustaiNLP), Algorithm 1. The models are trained in `stages`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.intervals import Interval, wilson_interval
from aflite_assets.analysis.tidy import TidyTable
from aflite_assets.errors import InvalidInputError
from aflite_assets.specs.sample import StopRule


@dataclass(frozen=True)
class LearningCurve:
    """How many of the same held-back rows one representation's encoder got right, by the rows it was trained on.

    `rows`: sizes of the samples, ascending; `right`: held-back rows predicted right after each; `largest_class`:
    held-back rows of the most frequent class, which guessing gets right.

    Raises:
        InvalidInputError: no point, sizes that do not ascend, or counts that the held-back rows cannot give.
    """

    representation: str
    rows: tuple[int, ...]
    right: tuple[int, ...]
    held_back_rows: int
    largest_class: int

    def __post_init__(self) -> None:
        ascending = all(before < after for before, after in zip((0, *self.rows), self.rows, strict=False))
        counted_right = all(0 <= right <= self.held_back_rows for right in (*self.right, self.largest_class))
        if not self.rows or not ascending or len(self.rows) != len(self.right) or not counted_right:
            raise InvalidInputError(
                f"the learning curve of {self.representation!r} has the sizes {list(self.rows)} with "
                f"{list(self.right)} of {self.held_back_rows} held-back rows right; give a count for each of the "
                "ascending sizes"
            )

    @property
    def elbow(self) -> int:
        """The rows after which it rises no more than noise, see `elbow`."""
        return elbow(self.rows, self.right, self.held_back_rows)

    @property
    def accuracies(self) -> tuple[float, ...]:
        """In [0, 1], one per size."""
        return tuple(right / self.held_back_rows for right in self.right)

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Wilson's, one per size: how much the choice of held-back rows could move the accuracy."""
        return tuple(wilson_interval(accuracy, self.held_back_rows) for accuracy in self.accuracies)


def elbow(rows: Sequence[int], right: Sequence[int], held_back_rows: int) -> int:
    """The smallest sample whose accuracy the best one does not clearly surpass.

    `rows`: sizes of the samples, ascending; `right`: of `held_back_rows` rows, those that were predicted right.
    More rows do not make an encoder worse but by chance of training, so accuracies are first replaced by the
    non-decreasing values next to them (isotonic regression). The elbow
    is the first size at which this value reaches the lower end of Wilson's 95 % interval around the last, highest one.
    A flat curve has its elbow at the smallest size, one that still rises at the largest.

    Source: the rule of one standard error (Breiman et al. 1984, Classification and Regression Trees, section 3.4.3: the
    simplest model that cannot be distinguished from the best within the noise) with Wilson's interval for the error.
    """
    from scipy.optimize import isotonic_regression

    fitted = (isotonic_regression([n_correct / held_back_rows for n_correct in right]).x).clip(0, 1).tolist()
    lowest = wilson_interval(fitted[-1], held_back_rows).low
    return next(size for size, accuracy in zip(rows, fitted, strict=True) if accuracy >= lowest)


def chosen_rows(curves: Iterable[LearningCurve]) -> int:
    """The largest elbow: one warm-up split serves all representations, and none gets fewer rows than it needs."""
    return max(curve.elbow for curve in curves)


@dataclass(frozen=True)
class CurvePoint:
    """One size of a learning curve: accuracy with Wilson's bounds, whether it is the curve's elbow, and chosen.

    `right` of `held_back_rows` were predicted right; accuracies and `most_frequent_class`, which guessing gets right,
    lie in [0, 1].
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
    """A point per representation and size."""
    return tuple(
        CurvePoint(
            representation=curve.representation,
            rows=rows,
            held_back_rows=curve.held_back_rows,
            right=right,
            accuracy=accuracy,
            interval_low=interval.low,
            interval_high=interval.high,
            most_frequent_class=curve.largest_class / curve.held_back_rows,
            elbow=rows == curve.elbow,
            chosen=rows == chosen_rows(curves),
        )
        for curve in curves
        for rows, right, accuracy, interval in zip(
            curve.rows, curve.right, curve.accuracies, curve.intervals, strict=True
        )
    )


NO_BETTER: Mapping[StopRule, int] = {"flat": 2, "falls": 1}
"""Samples larger than the chosen one after which growth ends; with two, one bad training does not end it."""


@dataclass(frozen=True)
class SampleCurve:
    """How many of the same held-back rows one model got right, by the rows of the sample that it was trained on.

    `rows`: sizes of the samples, ascending, in the order in which they were tried; `right`: for each size a number per
    training, as many for all sizes; `largest_class`: held-back rows of the most frequent class; `stop`: the rule.

    Raises:
        InvalidInputError: no point, sizes that do not ascend, or counts that the held-back rows cannot give.
    """

    rows: tuple[int, ...]
    right: tuple[tuple[int, ...], ...]
    held_back_rows: int
    largest_class: int
    stop: StopRule

    def __post_init__(self) -> None:
        trainings = {len(each) for each in self.right}
        counts = [right for each in self.right for right in each]
        within = all(0 <= right <= self.held_back_rows for right in counts)
        if len(self.rows) != len(self.right) or len(trainings) != 1 or 0 in trainings or not within:
            raise InvalidInputError(
                f"the samples of {list(self.rows)} rows have {[list(each) for each in self.right]} of "
                f"{self.held_back_rows} held-back rows right; give each size as many counts as the others"
            )
        if self.stop not in ("flat", "falls"):
            raise InvalidInputError(f"stop is {self.stop!r}; choose flat or falls")
        self._as_learning_curve()  # which checks the sizes

    @property
    def repeats(self) -> int:
        """Trainings per size."""
        return len(self.right[0])

    @property
    def means(self) -> LearningCurve:
        """Each size's mean over its trainings, rounded to whole rows, as a learning curve with its intervals."""
        return self._as_learning_curve()

    def _as_learning_curve(self) -> LearningCurve:
        right = tuple(round(sum(each) / len(each)) for each in self.right)
        return LearningCurve("sample", self.rows, right, self.held_back_rows, self.largest_class)

    @property
    def chosen(self) -> int:
        """The size that is enough: the last before it stopped increasing, or the largest where it never did."""
        if self.stop == "flat":
            return self.means.elbow
        return last_before_no_rise(self.rows, [sum(each) for each in self.right])

    @property
    def ended(self) -> bool:
        """Whether no larger sample need be tried: so many larger ones than the chosen one were no better."""
        return self.rows.index(self.chosen) + NO_BETTER[self.stop] < len(self.rows)

    @property
    def accuracies(self) -> tuple[float, ...]:
        """Mean over the trainings in [0, 1], one per size."""
        return tuple(sum(each) / len(each) / self.held_back_rows for each in self.right)


def last_before_no_rise(rows: Sequence[int], right: Sequence[int]) -> int:
    """The size before the first that is not better; the largest where each is better than the one before.

    Source: Mishra and Sachdeva 2020, Algorithm 1, "if increasing ... else break".
    """
    worse = (size for size, before, after in zip(rows, right, right[1:], strict=False) if after <= before)
    return next(worse, rows[-1])


@dataclass(frozen=True)
class SamplePoint:
    """One size of the sample: mean accuracy over `repeats` trainings with Wilson's bounds, their lowest and highest.

    `right` of `held_back_rows` were predicted right, in the mean. `elbow`: after it accuracy rises no more than noise;
    `chosen`: it is filtered. Accuracies and `most_frequent_class`, which guessing gets right, lie in [0, 1].
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


SAMPLE_CURVE = TidyTable("sample_curve", SamplePoint)


def sample_points(curve: SampleCurve | None) -> tuple[SamplePoint, ...]:
    """A point per size; none without a curve."""
    if curve is None:
        return ()
    flat_at, chosen = curve.means.elbow, curve.chosen
    intervals = [wilson_interval(accuracy, curve.held_back_rows) for accuracy in curve.accuracies]
    return tuple(
        SamplePoint(
            rows=rows,
            held_back_rows=curve.held_back_rows,
            right=sum(each) / len(each),
            accuracy=accuracy,
            interval_low=interval.low,
            interval_high=interval.high,
            repeats=curve.repeats,
            lowest=min(each) / curve.held_back_rows,
            highest=max(each) / curve.held_back_rows,
            most_frequent_class=curve.largest_class / curve.held_back_rows,
            elbow=rows == flat_at,
            chosen=rows == chosen,
        )
        for rows, accuracy, each, interval in zip(curve.rows, curve.accuracies, curve.right, intervals, strict=True)
    )


Flaw = Literal["no better than guessing", "still rises", "never rises"]


def curve_flaw(points: Sequence[CurvePoint] | Sequence[SamplePoint]) -> Flaw | None:
    """Why the size that one curve gives cannot be trusted; None if the curve rises and then stops.

    The size is the elbow of a curve for the warm-up, which may be the smallest one, or the chosen one of a sample.
    """
    if max(point.interval_low for point in points) <= points[0].most_frequent_class:
        return "no better than guessing"
    first, last = points[0], points[-1]
    if isinstance(first, CurvePoint) or isinstance(last, CurvePoint):
        return "still rises" if last.elbow else None
    if last.chosen:
        return "still rises"
    return "never rises" if first.chosen else None
