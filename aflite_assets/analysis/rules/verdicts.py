"""Verdicts on differences: when none is given, and many comparisons at once. Intervals are in `intervals`.

One comparison per representation is primary and judged by its own p-value. All others about whole test sets are one
family, those about parts of sets another, and each family is judged together (`intervals.holm`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.intervals import CONFIDENCE, CrossedInterval, holm

FEWEST_ROWS = 20
"""With fewer test rows there is no verdict: accuracies then move in steps of over 5 points."""

FEWEST_GROUPS = 10
"""With fewer groups of test rows (as many of equal size, `intervals.effective_groups`) there is no verdict."""

NOT_BY_LABEL = "not surely in the mean over gold labels"
"""Why a difference on all rows is open though its own interval and p-value show it."""

Family = Literal["primary", "whole sets", "parts of sets"]
Side = Literal["above", "below", "open"]
Bar = Literal["not run", "not the control", "about weights", "took part in the filter", "chosen by the filter"]


@dataclass(frozen=True)
class Claim:
    """One difference to judge. `bar`: why it can support no verdict, whatever its interval; None where it can.

    `label_mean`: the same difference as mean over gold labels, each of which weighs the same
    (`intervals.label_mean_interval`); None where there are no labels to weigh.
    """

    interval: CrossedInterval | None
    test_rows: int
    family: Family
    bar: Bar | None = None
    label_mean: CrossedInterval | None = None


@dataclass(frozen=True)
class Verdict:
    """The verdict on one difference.

    `side`: "above" or "below" where there is a difference, "open" where it was judged and none was found, None where it
    was not judged. `why`: the reason of None, and of "open" where the interval alone does not explain it. `family`:
    what it is judged with; `adjusted_p` in [0, 1]: its p-value among these, as it is of the primary, None without a
    verdict.
    """

    side: Side | None
    why: str | None
    family: Family | None = None
    adjusted_p: float | None = None

    @property
    def primary(self) -> bool:
        """Whether it is about the primary comparison of a representation."""
        return self.family == "primary"

    @property
    def found(self) -> bool:
        """Whether a difference was found."""
        return self.side in ("above", "below")


def judge(claims: Sequence[Claim], *, smallest_effect: float) -> tuple[Verdict, ...]:
    """A verdict for each claim of one report, in their order.

    `smallest_effect`, in points: a difference under it is never called one. Nor is one whose `label_mean` is not surely
    on the same side: where gold labels are of different sizes, a model that merely gives one class more often is right
    more often.
    """
    reasons = [_bar(claim) for claim in claims]
    adjusted: dict[int, float] = {}
    for family in dict.fromkeys(claim.family for claim in claims):
        positions = [place for place, claim in enumerate(claims) if claim.family == family and reasons[place] is None]
        p_values = [one.interval.p_value for place in positions if (one := claims[place]).interval is not None]
        adjusted |= zip(positions, p_values if family == "primary" else holm(p_values), strict=True)
    return tuple(
        Verdict(None, reason, one.family) if one.interval is None or reason is not None
        else _verdict(one, one.interval, adjusted[place], smallest_effect)
        for place, (one, reason) in enumerate(zip(claims, reasons, strict=True))
    )  # fmt: skip


def _bar(claim: Claim) -> str | None:
    """Why there is no verdict, whatever the numbers; None where there is one."""
    if claim.interval is None and claim.bar not in ("not the control", "about weights"):
        return "no rows" if not claim.test_rows else "not run"
    if claim.bar is not None or claim.interval is None:
        return claim.bar
    if not claim.interval.counts_training:
        return "one seed"
    if claim.test_rows < FEWEST_ROWS:
        return "few rows"
    return "few groups" if claim.interval.effective_groups < FEWEST_GROUPS else None


def _verdict(claim: Claim, interval: CrossedInterval, p_value: float, smallest_effect: float) -> Verdict:
    level, family = 1 - CONFIDENCE, claim.family
    if interval.p_value > level:
        return Verdict("open", None, family, p_value)
    if abs(interval.difference) < smallest_effect:
        points = f"{smallest_effect:g} point{'' if smallest_effect == 1 else 's'}"
        return Verdict("open", f"under {points}", family, p_value)
    if p_value > level:
        return Verdict("open", "one of many comparisons", family, p_value)
    above = interval.difference > 0
    if claim.label_mean is not None and not _surely(claim.label_mean, above=above):
        return Verdict("open", NOT_BY_LABEL, family, p_value)
    return Verdict("above" if above else "below", None, family, p_value)


def _surely(interval: CrossedInterval, *, above: bool) -> bool:
    return interval.low > 0 if above else interval.high < 0
