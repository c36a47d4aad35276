"""The table of properties that models may rely on. The table contains the tests of every candidate property, and states
whether the property is a shortcut.
"""

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from aflite_assets.analysis.comparisons.falls import challenge_falls, fair_sets
from aflite_assets.analysis.inputs.records import BenchmarkData, LeaningInputs, LeaningSet, TestSet
from aflite_assets.analysis.intervals import CONFIDENCE, group_codes, label_mean_interval
from aflite_assets.analysis.rules import leaning as rules
from aflite_assets.analysis.rules.dataset_verdict import Skill
from aflite_assets.analysis.rules.leaning import NOWHERE, BrokenTie, Leaning, Predictions, PropertyLeaning, WhyUntold
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.judges import judging
from aflite_assets.analysis.scores.subsets import headline_set
from aflite_assets.analysis.tidy import TidyTable, record_of
from aflite_assets.p_values import holm

LEANINGS = TidyTable("leanings", PropertyLeaning, derived=("leans", "shortcut"))


def property_leanings(data: BenchmarkData) -> tuple[PropertyLeaning, ...]:
    """Return the tests of every candidate property: shortcuts first, then other properties that models rely on.

    Among shortcuts, and among other properties, the most significant test comes first.
    """
    found = [_tested(data, one) for one in data.leanings]
    adjusted = iter(holm([p for one in found if (p := one.p_value) is not None]))
    broken = [_broken_ties(data, one) for one in data.leanings]
    broken_p = iter(holm([each.p_value for ties in broken for each in ties]))
    for place, ties in enumerate(broken):
        if found[place].p_value is not None:
            found[place] = replace(found[place], adjusted_p=next(adjusted))
        surest, tie = min(((next(broken_p), number) for number, _ in enumerate(ties)), default=(1.0, 0))
        if surest <= 1 - CONFIDENCE:
            found[place] = _with_tie(found[place], ties[tie], surest)
    return tuple(sorted(found, key=lambda one: (not one.shortcut, not one.leans, one.adjusted_p or 0.0)))


def _with_tie(one: PropertyLeaning, tie: BrokenTie, broken_p: float) -> PropertyLeaning:
    ties = {"natural_tie": tie.natural, "challenge_tie": tie.challenge, "broken_p": broken_p}
    loss = {"loss": tie.loss.difference, "loss_low": tie.loss.low, "loss_high": tie.loss.high}
    return record_of(PropertyLeaning, one, broken_on=tie.test_set, **ties, **loss)


def best_skill(data: BenchmarkData) -> Skill | None:
    """Return the skill, on the first natural test set, of the best evaluator that is independent of the filter.

    Return None if no evaluator is independent of the filter.
    """
    natural = headline_set(data.test_sets)
    if natural is None or natural.unit != "row" or not len(natural.labels):
        return None
    classes = len(data.label_names)
    chance = np.full(len(natural.labels), 1 / classes)
    by_chance, found = 100 * (1 - 1 / classes), []
    for name in judging(data).judges:
        if right := trained_right(data, name, "full", "", natural):
            over = label_mean_interval(right, [chance] * len(right), natural.labels, natural.groups)
            found.append((over.difference / by_chance, over.low / by_chance, name))
    if not found:
        return None
    pointed = [one.pointed[natural.name] for one in data.leanings if natural.name in one.pointed]
    alone = [rules.property_skill(each, natural.labels, classes) for each in pointed]
    skill, low, name = max(found)
    falls = challenge_falls(data)
    holds = None if not falls else not any(one.named for one in falls)
    return Skill(name, skill, low, max(alone, default=0.0), holds)


def _tested(data: BenchmarkData, of: LeaningInputs) -> PropertyLeaning:
    """Test one property on the first natural test set.

    If few rows of the natural test set carry the property, challenge sets with the same classes are used too.
    """
    natural, found = _natural_set(data, of), Leaning(0)
    if natural is None or not len(natural.labels):
        return record_of(PropertyLeaning, of.of, of, carriers=0, p_value=None, why="no test set")
    why: WhyUntold | None = "few rows without the tie" if of.too_few_rows else "not trained"
    if of.trained:
        found, why = _on(of, [natural]), "few carriers"
        if found.carriers < rules.FEWEST_CARRIERS:
            found = _on(of, [natural, *_of_own_classes(data, of)])
    elsewhere = [] if of.of.reason is None else _on_constructed(data, of, natural)
    tests, own_p = len(elsewhere) + (found.p_value is not None), found.p_value
    p_value, evaluator, test_set, lost = min(
        elsewhere, default=(1.0, of.evaluator, None, None), key=itemgetter(0, 1, 2)
    )
    own: dict[str, Any] = {"carriers": found.carriers, "evaluator": evaluator, "p_value": None, "why": why}
    if own_p is not None and own_p <= p_value:
        assert found.pull is not None  # there is a p-value
        assert found.untied is not None
        own |= {"evaluator": of.evaluator, "p_value": min(1.0, tests * own_p), "why": None}
        own |= {"pull": found.pull.difference, "untied": found.untied.difference}
        return record_of(PropertyLeaning, of.of, found.pull, **own)
    if elsewhere:
        assert lost is not None  # the p-value is from a constructed set
        own |= {"fallen_on": test_set, "fall": lost.points, "fall_of": lost.of, "why": None}
        own |= {"p_value": min(1.0, tests * p_value)}
    return record_of(PropertyLeaning, of.of, **own)


def _natural_set(data: BenchmarkData, of: LeaningInputs) -> TestSet | None:
    return headline_set(one for one in data.test_sets if one.name in of.pointed)


def _on_constructed(
    data: BenchmarkData, of: LeaningInputs, natural: TestSet
) -> Sequence[tuple[float, str, str | None, rules.ConstructedLoss | None]]:
    """Test reliance on the property on constructed challenge sets in which the property does not predict the label.

    For each test of reliance, return the p-value, the evaluator, the test set and the loss of accuracy. In a
    constructed challenge set, the authors removed or reversed the property. Every evaluator that can judge filtering is
    tested, because some evaluators may ignore a property that others rely on.
    """
    sets = {one.name: one for one in _of_own_classes(data, of) if one.collected == "constructed"}
    here, found = (natural.labels, of.pointed[natural.name], natural.groups), []
    for fall in challenge_falls(data):
        if (one := sets.get(fall.test_set)) is None:
            continue
        there = one.labels, of.pointed[one.name], one.groups
        right = trained_right(data, fall.evaluator, "full", "", one)
        if (lost := rules.constructed_loss(here, there, right, (fall.fall, fall.p_value))) is not None:
            found.append((lost.p_value, fall.evaluator, fall.test_set, lost))
    return found


def _of_own_classes(data: BenchmarkData, of: LeaningInputs) -> list[TestSet]:
    sets = (one for one in fair_sets(data) if one.name in of.pointed and one.label_names == data.label_names)
    own = list(range(len(data.label_names)))
    return [one for one in sets if one.class_map is None or one.class_map.tolist() == own]


def _on(of: LeaningInputs, tests: Sequence[TestSet]) -> Leaning:
    labels = np.concatenate([one.labels for one in tests])
    pointed = np.concatenate([of.pointed[one.name] for one in tests])
    return rules.leaning(
        _predicted(of, "tied", tests), _predicted(of, "independent", tests), labels, pointed, _groups(tests)
    )


def _predicted(of: LeaningInputs, name: LeaningSet, tests: Sequence[TestSet]) -> Predictions:
    return [np.concatenate(each) for each in zip(*(of.predicted[name, one.name] for one in tests), strict=True)]


def _groups(tests: Sequence[TestSet]) -> np.ndarray | None:
    """Return group codes for the rows of several test sets, or None if no test set has groups.

    Groups of different test sets never share a code.
    """
    if all(one.groups is None for one in tests):
        return None
    codes, start = [], 0
    for one in tests:
        own = group_codes(one.groups, len(one.labels))
        codes.append(own + start)
        start += int(own.max(initial=-1)) + 1
    return np.concatenate(codes)


def _broken_ties(data: BenchmarkData, of: LeaningInputs) -> list[BrokenTie]:
    """Compare the association of property and label on natural rows with the association on each challenge set.

    Adversarial sets are left out, because models fail on adversarial rows for other reasons.
    """
    natural = _natural_set(data, of)
    if natural is None:
        return []
    here, found = (natural.labels, of.pointed[natural.name], natural.groups), []
    for one in fair_sets(data):
        pointed, right = of.pointed.get(one.name), trained_right(data, of.evaluator, "full", "", one)
        if pointed is not None and len(pointed) and right:
            own = pointed if one.class_map is None else np.append(one.class_map, NOWHERE)[pointed]
            found.append(rules.broken_tie(one.name, here, (one.labels, own, one.groups), right))
    return [tie for tie in found if tie is not None]
