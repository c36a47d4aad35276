"""Rules for reporting differences: when a difference gets no verdict, how many comparisons are judged together, and how
much data is missing.

One family of comparisons decides whether filtering helps; the dataset's file fixes this family before the run. The
decisive family consists of all challenge sets, all representations, and all evaluators that learnt something and belong
to another model family than the filter. Comparisons on whole test sets that are not decisive form a second family.
Comparisons on parts of test sets form a third family. P-values are adjusted within each family (`p_values.holm`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from aflite_assets.analysis.intervals import CONFIDENCE, CrossedInterval, crossed_interval, upper_quantile
from aflite_assets.p_values import holm

FEWEST_ROWS = 20
"""Least number of test rows for a verdict. With fewer rows, an accuracy changes in steps of over 5 points."""

FEWEST_GROUPS = 10
"""Least number of groups of test rows for a verdict, counted in equal-sized groups (`intervals.effective_groups`)."""

FEWEST_RUNS = 8
"""Least number of filter runs for a statement about the procedure. With one run, a difference describes only the
filtered set that this run made. By a t-test, three runs find a true effect as large as the spread between runs in 18 %
of cases, and eight runs in 68 %.
"""

WIDEST_SAID = 20.0
"""Largest width of an interval in points. A wider interval that includes zero is uninformative and is only shown in
tables.
"""

_MOST_SEEDS = 100

NOT_BY_LABEL = "not surely in the mean over gold labels"
"""Reason for "open" if the difference on all rows is significant but the difference averaged over gold labels is
not.
"""

NOT_COMPARABLE = "too few natural rows of the same class and difficulty"
"""Reason for "open" if a gain on a challenge set cannot be compared with the gain on natural rows
(`Claim.contrast`).
"""

NOT_BEYOND_NATURAL = "no more than on natural rows of the same class and difficulty"
"""Reason for "open" if a gain on a challenge set does not exceed the gain on natural rows."""

Family = Literal["deciding", "whole sets", "parts of sets"]
Side = Literal["above", "below", "open"]
Bar = Literal[
    "not the control", "about weights", "took part in the filter", "chosen by the filter", "collected adversarially",
    "few filter runs",
]  # fmt: skip


@dataclass(frozen=True)
class Claim:
    """One difference between training runs, before a verdict is given.

    `bar`: the reason why the difference cannot get a verdict, regardless of its interval; None if the difference can
    get a verdict. `label_mean`: the difference averaged over gold labels (`intervals.label_mean_interval`); None if
    there are no labels. `contrast`: the gain on the challenge set minus the gain on natural rows; None if the two sets
    cannot be compared. `needs_contrast`: whether a gain also needs a significant contrast above zero.
    """

    interval: CrossedInterval | None
    test_rows: int
    family: Family
    bar: Bar | None = None
    label_mean: CrossedInterval | None = None
    contrast: CrossedInterval | None = None
    needs_contrast: bool = False

    @property
    def estimate(self) -> CrossedInterval | None:
        """The difference that counts in a decisive comparison: the mean over gold labels if there are labels."""
        return self.interval if self.label_mean is None else self.label_mean

    @property
    def judged(self) -> CrossedInterval | None:
        """The difference that gets a verdict, or None if there is no result."""
        return self.estimate if self.family == "deciding" else self.interval

    @property
    def p_value(self) -> float:
        """p-value of the judged difference. If a gain needs a contrast, the p-value also covers the excess over the
        gain on natural rows.
        """
        if self.judged is None:
            return 1.0
        if self.judged.difference <= 0 or not self.needs_contrast:
            return self.judged.p_value
        beyond = self.contrast
        return 1.0 if beyond is None or beyond.difference <= 0 else max(self.judged.p_value, beyond.p_value)


@dataclass(frozen=True)
class Verdict:
    """The verdict on one difference.

    `side` is "above" or "below" if a difference was found, "open" if no difference was found, and None if the
    difference was not judged. `why`: the reason why no difference was found or judged, such as "one seed" (only one
    training, so there is no verdict) or "under 1 point" (significant, but too small to be reported). `why` is None if a
    difference was found, or if the interval of an "open" difference includes zero. `adjusted_p`: p-value in [0, 1],
    adjusted within the `family` (Holm). `simultaneous_low`: the interval's lower end, in points, if the intervals of
    all decisive comparisons hold jointly at 95 % (Bonferroni).
    """

    side: Side | None
    why: str | None
    family: Family | None = None
    adjusted_p: float | None = None
    simultaneous_low: float | None = None


@dataclass(frozen=True)
class Shortfall:
    """A quantity that is too small for a decision: its unit, its present value, and a value that would be large
    enough.

    `unequal`: number of groups of unequal size, if `present` is their effective number (`intervals.effective_groups`)
    and smaller; otherwise None.
    """

    what: Literal["rows", "groups", "test rows", "test questions", "test groups", "seeds"]
    present: int
    needed: int
    unequal: int | None = None


def judge(claims: Sequence[Claim], *, smallest_effect: float) -> tuple[Verdict, ...]:
    """Return a verdict for each claim of one report, in the given order.

    `smallest_effect`: the smallest difference, in points, that is reported as a difference. Decisive comparisons are
    judged by the difference averaged over gold labels. In comparisons that are not decisive, a difference is reported
    only if `label_mean` is significant in the same direction. If gold labels differ in frequency, a model gains
    accuracy by merely predicting a frequent class more often.
    """
    verdicts = [Verdict(None, _bar(claim), claim.family) for claim in claims]
    for family in dict.fromkeys(claim.family for claim in claims):
        places = [place for place, claim in enumerate(claims) if claim.family == family and not verdicts[place].why]
        for place, p_value in zip(places, holm([claims[place].p_value for place in places]), strict=True):
            verdicts[place] = _verdict(claims[place], p_value, smallest_effect, len(places))
    return tuple(verdicts)


def _bar(claim: Claim) -> str | None:
    """Return the reason why a claim gets no verdict, or None if the claim gets a verdict."""
    if claim.interval is None and claim.bar not in ("not the control", "about weights"):
        return "not run" if claim.test_rows else "no rows"
    if claim.bar is not None or claim.interval is None:
        return claim.bar
    if not claim.interval.counts_training:
        return "one seed"
    if claim.test_rows < FEWEST_ROWS:
        return "few rows"
    return "few groups" if claim.interval.effective_groups < FEWEST_GROUPS else None


def _verdict(claim: Claim, adjusted_p: float, smallest_effect: float, family_size: int) -> Verdict:
    judged = claim.judged
    assert judged is not None  # a claim without a result gets no verdict
    significant = judged.p_value <= 1 - CONFIDENCE
    why = _objection(claim, judged, adjusted_p, smallest_effect) if significant else None
    found: Side = "above" if judged.difference > 0 else "below"
    side: Side = found if significant and why is None else "open"
    together = 1 - (1 - CONFIDENCE) / family_size
    low = judged.at_confidence(together)[0] if claim.family == "deciding" else None
    return Verdict(side, why, claim.family, adjusted_p, low)


def _objection(claim: Claim, judged: CrossedInterval, adjusted_p: float, smallest_effect: float) -> str | None:
    """Return the reason why a significant difference is not reported, or None if the difference is reported."""
    if abs(judged.difference) < smallest_effect:
        return f"under {smallest_effect:g} point{'' if smallest_effect == 1 else 's'}"
    if claim.p_value > 1 - CONFIDENCE:
        return NOT_COMPARABLE if claim.contrast is None else NOT_BEYOND_NATURAL
    if adjusted_p > 1 - CONFIDENCE:
        return "one of many comparisons"
    by_label = None if claim.family == "deciding" else claim.label_mean
    if by_label is not None and (by_label.low <= 0 if judged.difference > 0 else by_label.high >= 0):
        return NOT_BY_LABEL
    return None


def lacking(first: Sequence[np.ndarray], second: Sequence[np.ndarray], groups: np.ndarray | None) -> Shortfall | None:
    """Return the quantity (rows, groups or seeds) that is too small for an informative interval, and the approximate
    number needed.

    With the needed number of rows, groups or seeds, the interval of `crossed_interval` is `WIDEST_SAID` points wide.
    Return None if the interval excludes zero or is not wider than `WIDEST_SAID` points. Rows (or groups, if rows belong
    together) are too few if the interval would be too wide even without variance between training runs. The needed
    number of rows assumes that the interval's width falls with the square root of the number of rows. If there are
    enough rows, the number of seeds is too small. The needed number of seeds is the smallest number at which the
    formula of `crossed_spread` gives the target width, with unchanged variances. See `crossed_interval` for the
    arguments and errors.
    """
    interval = crossed_interval(first, second, groups)
    if not interval.low <= 0 <= interval.high or interval.high - interval.low <= WIDEST_SAID:
        return None
    rows = crossed_interval([np.mean(first, axis=0)], [np.mean(second, axis=0)], groups)
    width, trained = rows.high - rows.low, min(interval.trainings)
    if width > WIDEST_SAID or trained < 2:
        needed = math.ceil(interval.groups * (width / WIDEST_SAID) ** 2)
        return Shortfall("groups" if interval.groups < len(first[0]) else "rows", interval.groups, needed)
    return Shortfall("seeds", trained, _seeds(first, second, rows))


def _seeds(first: Sequence[np.ndarray], second: Sequence[np.ndarray], rows: CrossedInterval) -> int:
    degrees = rows.degrees_of_freedom
    between_rows = ((rows.high - rows.low) / 200 / upper_quantile(degrees)) ** 2
    apart = sum(float(np.var([one.mean() for one in side], ddof=1)) for side in (first, second))
    for seeds in range(min(len(first), len(second)) + 1, _MOST_SEEDS):
        own, trainings = 2 * (seeds - 1), apart / seeds
        total = trainings + between_rows
        free = total**2 / (trainings**2 / own + between_rows**2 / degrees)
        if 200 * upper_quantile(free) * math.sqrt(total) <= WIDEST_SAID:
            return seeds
    return _MOST_SEEDS
