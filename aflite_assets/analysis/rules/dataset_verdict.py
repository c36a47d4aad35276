"""The verdict on a dataset and one filtering of it: rules alone, on numbers. Their words are in `sentences`.

High predictability alone is no shortcut: an easy task is easy. The rules are this project's and stand in
docs/evaluation.md; how often they err on planted and clean data is measured by `benchmarks/verdicts.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.inputs.cues import Cue
from aflite_assets.analysis.inputs.records import Unit
from aflite_assets.analysis.intervals import CONFIDENCE
from aflite_assets.analysis.rules.bias_excess import BiasExcess, Excess
from aflite_assets.analysis.rules.verdicts import FEWEST_GROUPS, FEWEST_ROWS, Shortfall, Verdict

WIDEST = 5.0
"""Points: with a wider interval of the starting bias over chance, which begins near chance, nothing is said of it."""

LEAST = 2.0
"""Points: a starting bias that is surely less than this over chance is none."""

Code = Literal[
    "shortcut_found_helps",
    "shortcut_found_harms",
    "shortcut_found",
    "learnable_no_shortcut_shown",
    "class_balance_only",
    "nothing_found",
    "cannot_tell",
]
"""The most informative code comes first."""


@dataclass(frozen=True)
class Comparison:
    """Filtered against its control, evaluated on a whole set whose rows never entered the pool.

    `difference`: points, None if it was not run. `test_rows`, `groups` (worth of groups of equal size) and `seeds`
    (the fewer of the two sides) are what it rests on. `beyond_natural`: on a challenge set, how many points more
    than on the dataset's own test rows, and the p-value of that (Holm over challenge sets); None if it is unknown.
    `unit`: what `test_rows` counts, as in `TestSet`. `label_mean`: on a challenge set the difference as mean over gold
    labels with its low and high end, in points; `verdict` needs it to lie on the same side. `may_judge`: whether
    filters may be judged by its evaluator (`judges`).
    """

    evaluator: str
    test_set: str
    challenge: bool
    difference: float | None
    verdict: Verdict
    test_rows: int
    groups: float
    seeds: int
    beyond_natural: tuple[float, float] | None = None
    unit: Unit = "row"
    label_mean: tuple[float, float, float] | None = None
    may_judge: bool = True

    @property
    def shares_the_cost(self) -> bool:
        """Whether filtered is worse on rows drawn from the same data, on which the shortcut still holds."""
        return not self.challenge and self.verdict.side == "below"

    @property
    def is_gain(self) -> bool:
        """Whether filtered beats its control on a challenge set, and by more than on the dataset's own test rows.

        Only for evaluators that may judge: one that learnt nothing, or sees a part of the input, says nothing of the
        task. Rows near the border between classes may simply teach more, but then on every kind of rows.
        """
        points, p_value = self.beyond_natural or (0.0, 1.0)
        won = self.challenge and self.may_judge and self.verdict.side == "above"
        return won and points > 0 and p_value <= 1 - CONFIDENCE


@dataclass(frozen=True)
class VerdictEvidence:
    """The numbers that a verdict rests on.

    `bias`: the starting bias over chance; None if the filter's result has none. `cues`: the marks of removed rows that
    are shown and count as shortcuts. `comparisons` on whole sets outside the pool, judged together; `primary`: the one
    among them that is judged by itself, None without such a set.
    """

    bias: BiasExcess | None
    cues: tuple[Cue, ...]
    comparisons: tuple[Comparison, ...]
    primary: Comparison | None


@dataclass(frozen=True)
class DatasetVerdict:
    """A code, what is lacking if it is "cannot_tell", and its evidence. `gains`: challenge sets won."""

    code: Code
    shortfalls: tuple[Shortfall, ...]
    gains: tuple[Comparison, ...]
    evidence: VerdictEvidence

    @property
    def shortcut(self) -> bool:
        """Whether the verdict is that there is a shortcut."""
        return self.code.startswith("shortcut_found")


def dataset_verdict(evidence: VerdictEvidence) -> DatasetVerdict:
    """Return the first of these that holds.

    1. cannot_tell: the interval of the starting bias over chance is wider than 5 points, and reaches under 2 points.
    2. nothing_found: its upper end is under 2 points.
    3. class_balance_only: the same of the mean over classes, so that nothing but how often classes are predicted is
       left.
    4. shortcut_found_helps, _harms or shortcut_found: a mark of removed rows is shown that counts as a shortcut, or
       filtered beats its control on a challenge set by more than on the dataset's own test rows. It helps or harms by
       the verdict of the primary comparison; it harms on a challenge set alone, since rows that were drawn from the
       same data have the same shortcut, and there every filter costs.
    5. cannot_tell: no shortcut is shown, and the primary comparison lacks rows, groups or seeds.
    6. learnable_no_shortcut_shown.
    """
    gains = tuple(one for one in evidence.comparisons if one.is_gain)
    code, lacking = _rule(evidence, gains)
    return DatasetVerdict(code, lacking, gains, evidence)


def _rule(evidence: VerdictEvidence, gains: Sequence[Comparison]) -> tuple[Code, tuple[Shortfall, ...]]:
    bias, primary = evidence.bias, evidence.primary
    if bias is None:
        return "cannot_tell", ()
    if bias.rows.width > WIDEST and bias.rows.low < LEAST:
        return "cannot_tell", (_wider_than_needed(bias.rows),)
    if bias.rows.high < LEAST:
        return "nothing_found", ()
    if bias.classes.high < LEAST:
        return "class_balance_only", ()
    if evidence.cues or gains:
        side = None if primary is None else primary.verdict.side
        if side == "above":
            return "shortcut_found_helps", ()
        harms = primary is not None and primary.challenge and side == "below"
        return "shortcut_found_harms" if harms else "shortcut_found", ()
    lacking = () if primary is None else shortfalls(primary)
    return "cannot_tell" if lacking else "learnable_no_shortcut_shown", lacking


def shortfalls(comparison: Comparison) -> tuple[Shortfall, ...]:
    """Return what a comparison lacks for a verdict; nothing if it has one, or was not run."""
    if comparison.difference is None or comparison.verdict.side is not None:
        return ()
    lacking = [] if comparison.seeds >= 2 else [Shortfall("seeds", comparison.seeds, 2)]
    if comparison.test_rows < FEWEST_ROWS:
        what: Literal["test rows", "test questions"] = "test rows" if comparison.unit == "row" else "test questions"
        lacking.append(Shortfall(what, comparison.test_rows, FEWEST_ROWS))
    elif comparison.groups < FEWEST_GROUPS:
        lacking.append(Shortfall("test groups", math.floor(comparison.groups), FEWEST_GROUPS))
    return tuple(lacking)


def _wider_than_needed(excess: Excess) -> Shortfall:
    """Return how many rows (or groups, if rows belong together) would make the interval narrow enough."""
    grouped = excess.groups < 0.99 * excess.rows
    present = math.floor(excess.groups) if grouped else excess.rows
    factor = (excess.width / WIDEST) ** 2
    return Shortfall("groups" if grouped else "rows", present, math.ceil(factor * max(present, 1)))
