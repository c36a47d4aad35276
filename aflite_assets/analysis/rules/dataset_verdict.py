"""Rules for the verdict on a dataset and one of its filterings. The rules use only numbers; the sentences about a
verdict are in `reports.sentences`.

High predictability alone does not show a shortcut, because a task may simply be easy. The rules were designed for this
project and are documented in docs/evaluation.md. `benchmarks/verdict_rates.py` measures the error rates of the rules on
simulated data.
"""

import math
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.inputs.records import Unit
from aflite_assets.analysis.rules.bias_excess import BiasExcess, Excess
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.analysis.rules.verdicts import FEWEST_GROUPS, FEWEST_ROWS, Shortfall, Verdict

WIDEST = 5.0
"""Largest width, in points, of the interval for the starting bias minus chance. A wider interval that begins near
chance allows no conclusion.
"""

LEAST = 2.0
"""Smallest relevant difference between the starting bias and chance, in points. A significantly smaller difference
counts as none.
"""

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
"""Codes of verdicts, the most informative code first."""

LEAST_SKILL = 0.2
"""A task counts as easy only if the lower bound of the best evaluator's skill is at least this number."""

MOST_BY_PROPERTY = 0.8
"""A task counts as easy only if the skill of every single property is below this share of the best evaluator's skill.
"""

Effect = Literal["helps", "mixed", "harms"]

_SETTLED = -1.0
"""Limit in points. A challenge set is not settled if its simultaneous interval begins below the limit, regardless of
the other sets.
"""


@dataclass(frozen=True)
class Comparison:
    """A decisive comparison of `filtered` with its control, on a whole challenge set.

    `evaluator`: an evaluator that can judge filtering. `difference`: in points, with its 95 % interval, averaged over
    gold labels if the set has labels; None if the comparison was not run. `test_rows` is a number of rows or questions
    (`unit`), `groups` a number of equal-sized groups, and `seeds` the smaller number of seeds of the two sides.
    `all_groups`: the number of groups of any size, or None if it is unknown.
    `constructed`: whether the dataset's file declares that the set was made without looking at a model's errors.
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
    all_groups: int | None = None

    @property
    def is_unsettled(self) -> bool:
        """True if a loss of more than one point cannot be excluded.

        The confidence is 95 % for all decisive comparisons together.
        """
        low = self.verdict.simultaneous_low
        return self.verdict.side == "open" and low is not None and low < _SETTLED


@dataclass(frozen=True)
class Skill:
    """Skill of the best evaluator that is independent of the filter, trained on `full` and tested on natural test rows.

    A skill of 0 is chance level, and 1 means that every prediction is correct; accuracy is averaged over gold labels.
    `low`: the lower end of the skill's 95 % interval; `property_skill`: the skill of the best candidate property.
    `holds_elsewhere`: whether the evaluator keeps its accuracy on challenge sets (has no named `ChallengeFall`); None
    if unknown.
    """

    evaluator: str
    skill: float
    low: float
    property_skill: float
    holds_elsewhere: bool | None

    @property
    def shows_easy(self) -> bool:
        """True if the evaluator learnt more than a single property and keeps its accuracy on challenge sets."""
        learnt = self.low >= LEAST_SKILL and self.property_skill < MOST_BY_PROPERTY * self.skill
        return learnt and bool(self.holds_elsewhere)


@dataclass(frozen=True)
class VerdictEvidence:
    """The numbers that a verdict is based on.

    `bias`: the bias at the start of filtering minus chance. `comparisons`: the decisive comparisons of this filtering;
    a report states the first comparison first. `leanings`: the candidate properties, shortcuts first. `skill`: the
    skill of the best evaluator, or None if no evaluator can judge. `artefacts`: names of properties that are no part of
    the task, predict the label by themselves and are visible in a single row; the strongest comes first.
    """

    bias: BiasExcess | None
    comparisons: tuple[Comparison, ...]
    leanings: tuple[PropertyLeaning, ...] = ()
    skill: Skill | None = None
    artefacts: tuple[str, ...] = ()

    @property
    def leaning(self) -> PropertyLeaning | None:
        """The property that models rely on most significantly. Shortcuts come before properties that may be part of the
        task.

        A topic word that is not a shortcut is left out, because the word may well be part of the task.
        """
        return next((one for one in self.leanings if one.shortcut or (one.leans and one.kind != "topic word")), None)

    @property
    def gains(self) -> tuple[Comparison, ...]:
        """The comparisons in which `filtered` is better than its control."""
        return tuple(one for one in self.comparisons if one.verdict.side == "above")

    @property
    def losses(self) -> tuple[Comparison, ...]:
        """The comparisons in which `filtered` is worse than its control."""
        return tuple(one for one in self.comparisons if one.verdict.side == "below")

    @property
    def proven_gains(self) -> tuple[Comparison, ...]:
        """The gains that prove that filtering helps.

        A proven gain is on a challenge set that is declared as constructed, or on which a shortcut's association with
        the label is significantly weaker. If the rows of a challenge set were chosen because a model got them wrong,
        every other model seems better, and a gain proves nothing.
        """
        broken = {name for one in self.leanings if one.shortcut for name in (one.broken_on, one.fallen_on)}
        return tuple(one for one in self.gains if one.constructed or one.test_set in broken)

    @property
    def leading(self) -> Comparison | None:
        """The comparison that advice on rows is about: the first proven gain, or else the first comparison."""
        return next(iter((*self.proven_gains, *self.comparisons)), None)

    @property
    def effect(self) -> Effect | None:
        """The effect of filtering: "helps", "harms", "mixed", or None if there is neither a proven gain nor a loss.

        Filtering "helps" if there are proven gains and no loss, and "harms" if there are losses and no proven gain. The
        effect is "mixed" if there are proven gains and losses.
        """
        if self.proven_gains:
            return "mixed" if self.losses else "helps"
        return "harms" if self.losses else None


@dataclass(frozen=True)
class DatasetVerdict:
    """A verdict: its code, the evidence, and, if the code is "cannot_tell", the quantities that are too small for a
    decision.
    """

    code: Code
    shortfalls: tuple[Shortfall, ...]
    evidence: VerdictEvidence

    @property
    def shortcut(self) -> bool:
        """True if the verdict is that there is a shortcut."""
        return self.code.startswith("shortcut_found")


def dataset_verdict(evidence: VerdictEvidence) -> DatasetVerdict:
    """Apply the rules for verdicts in order, and return the first verdict whose condition holds. In the rules, the
    starting excess is the representation bias at the start of filtering minus the bias by chance.

    `shortcut_found` (rule 1): models rely on a property that is no part of the task. A property is no part of the
        task if the dataset's file declares so, or if the property is an artefact by nature. A loss of accuracy on a
        challenge set in which property and label are hardly associated also shows that the property is no part of
        the task. All decisive comparisons together show whether filtering helps, harms or does both.
    `leans_on` (rule 2): models rely on a property that may or may not be part of the task.
    `artefact_tells` (rule 3): a property that is no part of the task predicts the label of held-out rows by itself
        (`scan`). No test shows that models rely on the property.
    `cannot_tell` (rule 4): permutations hardly move the labels of the groups (`ChanceScores.labels_moved`). Rule 4
        also applies if the interval of the starting excess begins below 2 points and is wider than 5 points.
    `nothing_found` (rule 5): before filtering, the bias is less than 2 points above chance, by the upper end of the
        interval.
    `class_balance_only` (rule 6): before filtering, the mean bias over classes is less than 2 points above chance, by
        the upper end of its interval. In rule 6, the bias shows only how often each class is predicted. Rules 5 and 6
        do not apply if the probabilities of the labels exceed chance significantly and by at least 2 points
        (`BiasExcess.learnt`). For example, if the classes have shares of 95 % and 5 %, hardly any prediction changes,
        even if the classifiers learn much.
    `cannot_tell` (rule 7): the classifiers did not learn significantly more than the class shares.
    `helps_no_shortcut_named` (rule 8): a decisive comparison shows a proven gain (`proven_gains`), and no decisive
        comparison shows a loss.
    `cannot_tell` (rule 9): no decisive comparison had enough rows, groups or seeds.
    `easy` (rule 10): the best evaluator is well above chance in the mean over gold labels and keeps its accuracy on
        challenge sets. No candidate property predicts the label nearly as well as the evaluator, and models rely on
        no property, not even on a topic word.
    `learnable_no_shortcut_shown` (rule 11): none of the other conditions holds.
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
    """Return the quantities that are too small for a verdict on a comparison.

    Return an empty tuple if the comparison has a verdict or no result.
    """
    if comparison.difference is None or comparison.verdict.side is not None:
        return ()
    lacking = [] if comparison.seeds >= 2 else [Shortfall("seeds", comparison.seeds, 2)]
    if comparison.test_rows < FEWEST_ROWS:
        what: Literal["test rows", "test questions"] = "test rows" if comparison.unit == "row" else "test questions"
        lacking.append(Shortfall(what, comparison.test_rows, FEWEST_ROWS))
    elif comparison.groups < FEWEST_GROUPS:
        present = math.floor(comparison.groups)
        lacking.append(Shortfall("test groups", present, FEWEST_GROUPS, _unequal(present, comparison.all_groups)))
    return tuple(lacking)


def _wider_than_needed(excess: Excess) -> Shortfall:
    """Return how many rows (or groups, if rows belong together) would make the interval narrow enough."""
    grouped = excess.groups < 0.99 * excess.rows
    present = math.floor(excess.groups) if grouped else excess.rows
    factor = (excess.width / WIDEST) ** 2
    needed = math.ceil(factor * max(present, 1))
    return Shortfall(
        "groups" if grouped else "rows", present, needed, _unequal(present, excess.all_groups) if grouped else None
    )


def _unequal(effective: int, groups: int | None) -> int | None:
    """Return the number of groups if it differs from the effective number of groups, or None."""
    return groups if groups is not None and groups > effective else None
