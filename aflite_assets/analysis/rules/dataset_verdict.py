"""The verdict on a dataset and one filtering of it: rules alone, on numbers. Their words are in `sentences`.

High predictability alone is no shortcut: an easy task is easy. The rules are this project's and stand in
docs/evaluation.md; how often they err on planted and clean data is measured by `benchmarks/verdicts.py`.
"""

import math
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
    "shortcut_found_mixed",
    "shortcut_found_harms",
    "shortcut_found",
    "learnable_no_shortcut_shown",
    "class_balance_only",
    "nothing_found",
    "cannot_tell",
]
"""The most informative code comes first."""

Effect = Literal["helps", "mixed", "harms"]

_SETTLED = -1.0
"""Points: a challenge set whose simultaneous interval reaches lower is not settled, whatever the others show."""


@dataclass(frozen=True)
class Comparison:
    """A deciding comparison: filtered against its control on a whole challenge set, of an evaluator that may judge.

    `difference` with the ends `low` and `high` of its 95 % interval: points, the mean over gold labels if the set has
    labels; None if it was not run. `test_rows`, `groups` (worth of groups of equal size) and `seeds` (the fewer of the
    two sides) are its basis. `beyond_natural`: how many points more than on natural rows (`natural_contrast`), and the
    p-value of that (Holm over the comparisons); None if it is unknown. `unit`: what `test_rows` counts (`TestSet`).
    """

    evaluator: str
    test_set: str
    difference: float | None
    low: float | None
    high: float | None
    verdict: Verdict
    test_rows: int
    groups: float
    seeds: int
    beyond_natural: tuple[float, float] | None = None
    unit: Unit = "row"

    @property
    def shows_shortcut(self) -> bool:
        """Whether filtered beats its control, and by more than on natural rows.

        Rows near the border between classes may simply teach more, but then on every kind of rows.
        """
        points, p_value = self.beyond_natural or (0.0, 1.0)
        return self.verdict.side == "above" and points > 0 and p_value <= 1 - CONFIDENCE

    @property
    def is_unsettled(self) -> bool:
        """Whether a loss of over a point is not excluded, at 95 % for all deciding comparisons together."""
        low = self.verdict.simultaneous_low
        return self.verdict.side == "open" and low is not None and low < _SETTLED


@dataclass(frozen=True)
class VerdictEvidence:
    """The numbers that a verdict rests on.

    `bias`: the starting bias over chance; None if the filter's result has none. `cues`: the candidate cues of removed
    rows that are shown and count as shortcuts. `comparisons`: the deciding ones of this filtering, judged together with
    those of the report's other filterings, the one to state first at the front.
    """

    bias: BiasExcess | None
    cues: tuple[Cue, ...]
    comparisons: tuple[Comparison, ...]

    @property
    def gains(self) -> tuple[Comparison, ...]:
        """The comparisons in which filtered is better than its control."""
        return tuple(one for one in self.comparisons if one.verdict.side == "above")

    @property
    def losses(self) -> tuple[Comparison, ...]:
        """The comparisons in which filtered is worse than its control."""
        return tuple(one for one in self.comparisons if one.verdict.side == "below")

    @property
    def effect(self) -> Effect | None:
        """Whether filtering helps: there are gains and no loss, losses and no gain, both, or neither (None)."""
        if self.gains:
            return "mixed" if self.losses else "helps"
        return "harms" if self.losses else None


@dataclass(frozen=True)
class DatasetVerdict:
    """A code, what is lacking if it is "cannot_tell", and its evidence."""

    code: Code
    shortfalls: tuple[Shortfall, ...]
    evidence: VerdictEvidence

    @property
    def shortcut(self) -> bool:
        """Whether the verdict is that there is a shortcut."""
        return self.code.startswith("shortcut_found")


def dataset_verdict(evidence: VerdictEvidence) -> DatasetVerdict:
    """Return the first of these that holds.

    1. cannot_tell: permutations hardly move the labels of these groups (`ChanceScores.labels_moved`), or the interval
       of the starting bias over chance is wider than 5 points, and reaches under 2 points.
    2. nothing_found: its upper end is under 2 points.
    3. class_balance_only: the same of the mean over classes, so that nothing but how often classes are predicted is
       left.
    4. shortcut_found: a candidate cue of removed rows is shown that counts as a shortcut, or filtered beats its control
       on a challenge set by more than on natural rows. It helps, harms or is mixed by all deciding comparisons.
    5. cannot_tell: no shortcut is shown, and no deciding comparison had enough rows, groups or seeds.
    6. learnable_no_shortcut_shown.
    """
    code, lacking = _rule(evidence)
    return DatasetVerdict(code, lacking, evidence)


def _rule(evidence: VerdictEvidence) -> tuple[Code, tuple[Shortfall, ...]]:
    bias = evidence.bias
    if bias is None or not bias.labels_moved:
        return "cannot_tell", ()
    if bias.rows.width > WIDEST and bias.rows.low < LEAST:
        return "cannot_tell", (_wider_than_needed(bias.rows),)
    if bias.rows.high < LEAST:
        return "nothing_found", ()
    if bias.classes.high < LEAST:
        return "class_balance_only", ()
    if evidence.cues or any(one.shows_shortcut for one in evidence.comparisons):
        codes: dict[Effect | None, Code] = {
            "helps": "shortcut_found_helps", "mixed": "shortcut_found_mixed", "harms": "shortcut_found_harms"
        }  # fmt: skip
        return codes.get(evidence.effect, "shortcut_found"), ()
    judged = any(one.verdict.side is not None for one in evidence.comparisons)
    lacking = () if judged else next(filter(None, map(shortfalls, evidence.comparisons)), ())
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
