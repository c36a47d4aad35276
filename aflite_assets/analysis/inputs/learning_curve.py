"""Learning curves and where they stop rising: of encoders for the warm-up rows, of a model for a growing sample.

The papers choose the warm-up rows "based on the learning curve in low-data regime" (ICML 2020, section 2) and do not
say how; the rule here is this project's. The growing sample is the coarse action of Mishra and Sachdeva 2020
(SustaiNLP), Algorithm 1. The models are trained in `stages`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aflite_assets.analysis.intervals import Interval, wilson_interval
from aflite_assets.errors import InvalidInputError
from aflite_assets.specs.sample import StopRule
from aflite_assets.text import count, percent
from aflite_assets.wording import counted


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

    def cautions(self) -> Iterator[str]:
        """What must be known before the elbow is trusted; nothing where the curve rises and flattens."""
        best = max(self.intervals, key=lambda interval: interval.low)
        guessing = self.largest_class / self.held_back_rows
        if best.low <= guessing:
            yield (
                f"{self.representation}: no sample taught its encoder more than the most frequent class gives "
                f"({percent(guessing)} %), so the curve does not say how many rows it needs; train it longer, or set "
                "warmup.size to a number"
            )
        elif self.elbow == self.rows[-1]:
            yield (
                f"{self.representation}: accuracy still rises at {count(self.rows[-1])} rows, the largest sample; its "
                "encoder may learn more from more rows: set warmup.size to a number to spend them"
            )


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


def curve_rows(curves: Sequence[LearningCurve]) -> list[dict[str, Any]]:
    """A row per representation and size: accuracy and bounds in [0, 1], whether it is the curve's elbow and chosen."""
    return [
        {
            "representation": curve.representation,
            "rows": rows,
            "held_back_rows": curve.held_back_rows,
            "right": right,
            "accuracy": accuracy,
            "interval_low": interval.low,
            "interval_high": interval.high,
            "most_frequent_class": curve.largest_class / curve.held_back_rows,
            "elbow": rows == curve.elbow,
            "chosen": rows == chosen_rows(curves),
        }
        for curve in curves
        for rows, right, accuracy, interval in zip(
            curve.rows, curve.right, curve.accuracies, curve.intervals, strict=True
        )
    ]


def choice_text(curves: Sequence[LearningCurve]) -> str:
    """One sentence: what was chosen and how many rows are spent in all."""
    chosen, held_back = chosen_rows(curves), curves[0].held_back_rows
    return (
        f"By their learning curves the encoders need a sample of {counted(chosen, 'row')}; with the {count(held_back)} "
        f"held-back rows that tell so, {counted(chosen + held_back, 'train row')} are spent on warm-up."
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

    @property
    def noise(self) -> float:
        """Half of Wilson's 95 % interval at the chosen size, in [0, 1]."""
        chosen = self.accuracies[self.rows.index(self.chosen)]
        return wilson_interval(chosen, self.held_back_rows).half_width

    def cautions(self) -> Iterator[str]:
        """What must be known before the sample is trusted; nothing where the curve rises and then stops."""
        best = max(self.means.intervals, key=lambda interval: interval.low)
        guessing = self.largest_class / self.held_back_rows
        if best.low <= guessing:
            yield (
                f"no sample taught the model more than the most frequent class gives ({percent(guessing)} %), so the "
                "curve does not say how many rows are enough; train sample.model longer, or raise sample.start"
            )
        elif self.chosen == self.rows[-1]:
            yield (
                f"accuracy still rises at {count(self.rows[-1])} rows, the largest sample, so a larger one may teach "
                "more; raise sample.most (the trainings so far are found again)"
            )
        elif self.chosen == self.rows[0]:
            yield (
                f"no larger sample that was tried is better by more than noise than {count(self.rows[0])} rows, the "
                f"smallest: {counted(self.held_back_rows, 'held-back row')} tell accuracies to about "
                f"±{percent(self.noise)} points. Compare full with sampled in the report; lower sample.start to see "
                "the curve rise"
            )


def last_before_no_rise(rows: Sequence[int], right: Sequence[int]) -> int:
    """The size before the first that is not better; the largest where each is better than the one before.

    Source: Mishra and Sachdeva 2020, Algorithm 1, "if increasing ... else break".
    """
    worse = (size for size, before, after in zip(rows, right, right[1:], strict=False) if after <= before)
    return next(worse, rows[-1])


def sample_rows(curve: SampleCurve) -> list[dict[str, Any]]:
    """A row per size: mean accuracy over the trainings and Wilson's bounds in [0, 1], lowest and highest of them."""
    flat_at = curve.means.elbow
    intervals = [wilson_interval(accuracy, curve.held_back_rows) for accuracy in curve.accuracies]
    return [
        {
            "rows": rows,
            "held_back_rows": curve.held_back_rows,
            "right": each[0] if len(each) == 1 else sum(each) / len(each),
            "accuracy": accuracy,
            "interval_low": interval.low,
            "interval_high": interval.high,
            "repeats": curve.repeats,
            "lowest": min(each) / curve.held_back_rows,
            "highest": max(each) / curve.held_back_rows,
            "most_frequent_class": curve.largest_class / curve.held_back_rows,
            "elbow": rows == flat_at,
            "chosen": rows == curve.chosen,
        }
        for rows, accuracy, each, interval in zip(curve.rows, curve.accuracies, curve.right, intervals, strict=True)
    ]


def sample_text(curve: SampleCurve) -> str:
    """What was chosen, by which rule, how many rows told so, and what they cannot tell."""
    rule = {
        "flat": "no larger one that was tried is better by more than noise",
        "falls": "the next larger one is not better",
    }[curve.stop]
    largest = "it is the largest that could be tried, and the accuracy still rises"
    why = largest if curve.chosen == curve.rows[-1] else rule
    return (
        f"A sample of {counted(curve.chosen, 'train row')} is filtered: {why}. That was asked of "
        f"{counted(curve.held_back_rows, 'held-back train row')}, which tell accuracies to about "
        f"±{percent(curve.noise)} points. They are drawn like the train rows: where a shortcut gives labels away, "
        "fewer rows look enough than the task needs."
    )
