"""The verdict on a dataset and one filtering of it: rules alone, on numbers. Their words are in `sentences`.

High predictability alone is no shortcut: an easy task is easy. The rules are this project's and stand in
docs/evaluation.md; how often they err on made data is measured by `benchmarks/verdict_rates.py`.
"""

import math
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.inputs.records import Unit
from aflite_assets.analysis.rules.bias_excess import BiasExcess, Excess
from aflite_assets.analysis.rules.leaning import PropertyLeaning
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
    "leans_on",
    "artefact_tells",
    "helps_no_shortcut_named",
    "easy",
    "learnable_no_shortcut_shown",
    "class_balance_only",
    "nothing_found",
    "cannot_tell",
]
"""The most informative code comes first."""

LEAST_SKILL = 0.2
"""Least lower end, of an easy task, of the skill of the best evaluator."""

MOST_BY_PROPERTY = 0.8
"""Largest share, of an easy task, of that skill that a property by itself does not reach."""

Effect = Literal["helps", "mixed", "harms"]

_SETTLED = -1.0
"""Points: a challenge set whose simultaneous interval reaches lower is not settled, whatever the others show."""


@dataclass(frozen=True)
class Comparison:
    """A deciding comparison: filtered against its control on a whole challenge set, of an evaluator that may judge.

    `difference` with its 95 % interval: points, the mean over gold labels if the set has labels; None if it was not
    run. `test_rows` (counted in `unit`), `groups` (worth of groups of equal size) and `seeds` (the fewer of the two
    sides) are its basis. `constructed`: whether the set is said to be made without looking at a model's errors.
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
    unit: Unit = "row"
    constructed: bool = False

    @property
    def is_unsettled(self) -> bool:
        """Whether a loss of over a point is not excluded, at 95 % for all deciding comparisons together."""
        low = self.verdict.simultaneous_low
        return self.verdict.side == "open" and low is not None and low < _SETTLED


@dataclass(frozen=True)
class Skill:
    """How far the best evaluator that can judge, trained on full, is above chance on natural test rows.

    A skill of 0 is that of chance, 1 that of being always right, by means over gold labels. `low`: the lower end of its
    95 % interval; `property_skill`: that of the best candidate property. `holds_elsewhere`: no named `ChallengeFall`.
    """

    evaluator: str
    skill: float
    low: float
    property_skill: float
    holds_elsewhere: bool | None

    @property
    def shows_easy(self) -> bool:
        """Whether the task is learnt, on challenge rows too, and not by one property."""
        learnt = self.low >= LEAST_SKILL and self.property_skill < MOST_BY_PROPERTY * self.skill
        return learnt and bool(self.holds_elsewhere)


@dataclass(frozen=True)
class VerdictEvidence:
    """The numbers that a verdict rests on.

    `bias`: the starting bias over chance. `comparisons`: the deciding ones of this filtering, the one to state first at
    the front. `leanings`: the candidate properties, shortcuts first. `skill`: None if no evaluator can judge.
    `artefacts`: names of properties that are no part of the task, tell the label by themselves, and can be seen in a
    row; the strongest first.
    """

    bias: BiasExcess | None
    comparisons: tuple[Comparison, ...]
    leanings: tuple[PropertyLeaning, ...] = ()
    skill: Skill | None = None
    artefacts: tuple[str, ...] = ()

    @property
    def leaning(self) -> PropertyLeaning | None:
        """The property that models lean on most surely, a shortcut if there is one.

        A word of a single text may well be the task, so that leaning on it is worth a line of the table alone.
        """
        return next((one for one in self.leanings if one.shortcut or (one.leans and one.kind != "topic word")), None)

    @property
    def gains(self) -> tuple[Comparison, ...]:
        """The comparisons in which filtered is better than its control."""
        return tuple(one for one in self.comparisons if one.verdict.side == "above")

    @property
    def losses(self) -> tuple[Comparison, ...]:
        """The comparisons in which filtered is worse than its control."""
        return tuple(one for one in self.comparisons if one.verdict.side == "below")

    @property
    def proven_gains(self) -> tuple[Comparison, ...]:
        """The gains on sets that are declared constructed, or in which the tie of a shortcut was seen to be broken.

        On any other set a gain is no proof, however large: where rows were chosen because a model got them wrong, a
        worse model gains.
        """
        broken = {name for one in self.leanings if one.shortcut for name in (one.broken_on, one.fallen_on)}
        return tuple(one for one in self.gains if one.constructed or one.test_set in broken)

    @property
    def effect(self) -> Effect | None:
        """Whether filtering helps: there are proven gains and no loss, losses and none, both, or neither (None)."""
        if self.proven_gains:
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

    1. shortcut_found: models lean on a property that is no part of the task: its file says so, it is an artefact by
       nature, or a challenge set breaks its tie with the label and models lose there. It helps, harms or is mixed by
       all deciding comparisons.
    2. leans_on: models lean on a property of which that is not known.
    3. artefact_tells: a property that is no part of the task tells the label by itself, in rows that it was not chosen
       on (`scan`); models were not shown to lean on it.
    4. cannot_tell: permutations hardly move the labels of these groups (`ChanceScores.labels_moved`), or the interval
       of the starting bias over chance is wider than 5 points, and reaches under 2 points.
    5. nothing_found: its upper end is under 2 points.
    6. class_balance_only: the same of the mean over classes, so that nothing but how often classes are predicted is
       left. Neither holds where probabilities show that 2 points or more were surely learnt (`BiasExcess.learnt`): of
       classes of 95 and 5 % hardly a prediction changes, whatever is learnt.
    7. cannot_tell: nothing was surely learnt beyond class shares.
    8. helps_no_shortcut_named: a deciding comparison shows a proven gain (`proven_gains`), and none a loss.
    9. cannot_tell: no deciding comparison had enough rows, groups or seeds.
    10. easy: the best evaluator is well above chance in the mean over gold labels, does not fall on challenge sets, and
       no candidate property by itself comes near it; models lean on none, not even on a topic word.
    11. learnable_no_shortcut_shown.
    """
    return DatasetVerdict(*_rule(evidence), evidence)


def _rule(evidence: VerdictEvidence) -> tuple[Code, tuple[Shortfall, ...]]:
    bias, leaning = evidence.bias, evidence.leaning
    if leaning is not None:
        codes: dict[Effect | None, Code] = {
            "helps": "shortcut_found_helps", "mixed": "shortcut_found_mixed", "harms": "shortcut_found_harms"
        }  # fmt: skip
        return codes.get(evidence.effect, "shortcut_found") if leaning.shortcut else "leans_on", ()
    if evidence.artefacts:
        return "artefact_tells", ()
    if bias is None or not bias.labels_moved:
        return "cannot_tell", ()
    if bias.rows.width > WIDEST and bias.rows.low < LEAST:
        return "cannot_tell", (_wider_than_needed(bias.rows),)
    well_learnt = bias.is_learnt and bias.learnt.difference >= LEAST
    if bias.rows.high < LEAST and not well_learnt:
        return "nothing_found", ()
    if bias.classes.high < LEAST and not well_learnt:
        return "class_balance_only", ()
    if not bias.is_learnt:
        return "cannot_tell", ()
    if evidence.effect == "helps":
        return "helps_no_shortcut_named", ()
    judged = any(one.verdict.side is not None for one in evidence.comparisons)
    lacking = () if judged else next(filter(None, map(shortfalls, evidence.comparisons)), ())
    if lacking:
        return "cannot_tell", lacking
    easy = evidence.skill is not None and evidence.skill.shows_easy and not any(one.leans for one in evidence.leanings)
    return "easy" if easy else "learnable_no_shortcut_shown", ()


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
