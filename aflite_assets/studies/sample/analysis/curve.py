"""The learning curve of one model for a growing sample (Mishra and Sachdeva 2020, SustaiNLP, Algorithm 1)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aflite_assets.analysis.inputs.learning_curve import Flaw, LearningCurve, guesses, points_at
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.studies.sample.specs.settings import StopRule


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


SAMPLE_CURVE = TidyTable("sample_curve", SamplePoint)


def sample_points(curve: SampleCurve | None) -> tuple[SamplePoint, ...]:
    """Return one point per size, or an empty list if there is no curve."""
    if curve is None:
        return ()
    means, found = [sum(each) / len(each) for each in curve.right], []
    for point, mean, each in zip(points_at(curve.means, means, curve.chosen), means, curve.right, strict=True):
        lowest, highest = (one / curve.held_back_rows for one in (min(each), max(each)))
        found.append(record_of(SamplePoint, point, right=mean, repeats=len(each), lowest=lowest, highest=highest))
    return tuple(found)


def sample_flaw(points: Sequence[SamplePoint]) -> Flaw | None:
    """Return the reason why the size of a sample cannot be trusted, or None if the curve rises and then stops rising.

    Unlike for the elbow of a warm-up curve, the smallest size is not accepted.
    """
    if guesses(points):
        return "no better than guessing"
    if points[-1].chosen:
        return "still rises"
    return "never rises" if points[0].chosen else None


def curve_of(data: BenchmarkData) -> SampleCurve | None:
    """Return the curve of a report, or None if all train rows are filtered."""
    found = data.studies.get("train_sample")
    return found if isinstance(found, SampleCurve) else None
