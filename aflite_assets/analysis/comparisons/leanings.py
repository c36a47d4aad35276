"""The table of properties on which models may lean: tests of every candidate, and whether it is a shortcut."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.analysis.comparisons.challenge_falls import challenge_falls
from aflite_assets.analysis.inputs.leanings import LeaningInputs, TrainSetName
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.intervals import CONFIDENCE, group_codes, holm, label_mean_interval
from aflite_assets.analysis.rules.dataset_verdict import Skill
from aflite_assets.analysis.rules.leaning import (
    FEWEST_CARRIERS,
    NOWHERE,
    BrokenTie,
    Leaning,
    Predictions,
    PropertyLeaning,
    WhyUntold,
    broken_tie,
    constructed_test,
    leaning,
    property_skill,
)
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.groups import headline_set
from aflite_assets.analysis.scores.judges import judging
from aflite_assets.analysis.tidy import TidyTable, record_of

LEANINGS = TidyTable("leanings", PropertyLeaning, derived=("leans", "shortcut"))


def property_leanings(data: BenchmarkData) -> tuple[PropertyLeaning, ...]:
    """Return the tests of every candidate: shortcuts first, then what models lean on, each kind the surest first."""
    tested = [_tested(data, one) for one in data.leanings]
    adjusted = iter(holm([p for one in tested if (p := one.p_value) is not None]))
    broken = [_broken_ties(data, one) for one in data.leanings]
    broken_p = iter(holm([each.p_value for ties in broken for each in ties]))
    found = []
    for of, test, ties in zip(data.leanings, tested, broken, strict=True):
        adjusted_p = None if test.p_value is None else next(adjusted)
        surest = min(((next(broken_p), number) for number, _ in enumerate(ties)), default=None)
        shown = None if surest is None or surest[0] > 1 - CONFIDENCE else (surest[0], ties[surest[1]])
        found.append(_record(of, test, adjusted_p, shown))
    return tuple(sorted(found, key=lambda one: (not one.shortcut, not one.leans, one.adjusted_p or 0.0)))


def best_skill(data: BenchmarkData) -> Skill | None:
    """Return the skill of the best evaluator that can judge on the first natural test set; None without one."""
    natural = headline_set(one for one in data.test_sets if not one.challenge)
    if natural is None or natural.unit != "row" or not len(natural.labels):
        return None
    classes = len(data.label_names)
    chance = np.full(len(natural.labels), 1 / classes)
    found = []
    for name in judging(data).judges:
        if right := trained_right(data, name, "full", "", natural):
            over = label_mean_interval(right, [chance] * len(right), natural.labels, natural.groups)
            by_chance = 100 * (1 - 1 / classes)
            found.append((over.difference / by_chance, over.low / by_chance, name))
    if not found:
        return None
    alone = [
        property_skill(one.pointed[natural.name], natural.labels, classes)
        for one in data.leanings
        if natural.name in one.pointed
    ]
    skill, low, name = max(found)
    falls = challenge_falls(data)
    holds = None if not falls else not any(one.named for one in falls)
    return Skill(name, skill, low, max(alone, default=0.0), holds)


@dataclass(frozen=True)
class _Tested:
    """The test of one candidate: by `training`, or on a constructed set, with its p-value.

    `fall`: the evaluator that leans there, the set and the points. `why`: what is lacking for either.
    """

    training: Leaning
    p_value: float | None = None
    fall: tuple[str, str, float] | None = None
    why: WhyUntold | None = None


def _record(
    of: LeaningInputs, test: _Tested, adjusted_p: float | None, broken: tuple[float, BrokenTie] | None
) -> PropertyLeaning:
    pull, untied = test.training.pull, test.training.untied
    numbers: dict[str, object] = {}
    if test.fall is None and pull is not None and untied is not None:
        numbers = {"pull": pull.difference, "low": pull.low, "high": pull.high, "untied": untied.difference}
    if test.fall is not None:
        numbers |= {"fallen_on": test.fall[1], "fall": test.fall[2]}
    if broken is not None:
        tie = broken[1]
        numbers |= {
            "broken_on": tie.test_set,
            "natural_tie": tie.natural,
            "challenge_tie": tie.challenge,
            "loss": tie.loss.difference,
            "loss_low": tie.loss.low,
            "loss_high": tie.loss.high,
            "broken_p": broken[0],
        }
    evaluator = of.evaluator if test.fall is None else test.fall[0]
    own = {"evaluator": evaluator, "carriers": test.training.carriers, "adjusted_p": adjusted_p}
    return record_of(PropertyLeaning, of.of, **own, **numbers, p_value=test.p_value, why=test.why)


def _tested(data: BenchmarkData, of: LeaningInputs) -> _Tested:
    """Test on the first natural test set, and if carriers are few there on challenge sets of the same classes too."""
    natural = _natural_set(data, of)
    if natural is None or not len(natural.labels):
        return _Tested(Leaning(0), why="no test set")
    found, why = Leaning(0), _why_untrained(of)
    if why is None:
        found, why = _on(of, [natural]), "few carriers"
        if found.carriers < FEWEST_CARRIERS:
            found = _on(of, [natural, *_of_own_classes(data, of)])
    elsewhere = [] if of.of.reason is None else _on_constructed(data, of, natural)
    tests = len(elsewhere) + (found.p_value is not None)
    p_value, evaluator, test_set, points = min(elsewhere, default=(1.0, "", "", 0.0))
    if found.p_value is not None and found.p_value <= p_value:
        return _Tested(found, min(1.0, tests * found.p_value))
    if not elsewhere:
        return _Tested(found, why=why)
    return _Tested(found, min(1.0, tests * p_value), (evaluator, test_set, points))


def _natural_set(data: BenchmarkData, of: LeaningInputs) -> TestSet | None:
    return headline_set(one for one in data.test_sets if not one.challenge and one.name in of.pointed)


def _why_untrained(of: LeaningInputs) -> WhyUntold | None:
    if of.trained:
        return None
    return "few rows without the tie" if of.too_few_rows else "not trained"


def _on_constructed(data: BenchmarkData, of: LeaningInputs, natural: TestSet) -> list[tuple[float, str, str, float]]:
    """Return p-values of leaning on constructed challenge sets that break the tie, with evaluator, set and points.

    Whoever made such a set took the property out or turned it round, as an edit of the rows would. Every evaluator that
    can judge is asked, as one may do without a property, or not see it, on which others lean.
    """
    sets = {one.name: one for one in _of_own_classes(data, of) if one.collected == "constructed"}
    here, found = (natural.labels, of.pointed[natural.name], natural.groups), []
    for fall in challenge_falls(data):
        if (one := sets.get(fall.test_set)) is None:
            continue
        there = one.labels, of.pointed[one.name], one.groups
        right = trained_right(data, fall.evaluator, "full", "", one)
        if (test := constructed_test(here, there, right, (fall.fall, fall.p_value))) is not None:
            found.append((test[1], fall.evaluator, fall.test_set, test[0]))
    return found


def _of_own_classes(data: BenchmarkData, of: LeaningInputs) -> list[TestSet]:
    sets = [one for one in data.test_sets if one.challenge and one.collected != "adversarially"]
    names = data.label_names
    return [one for one in sets if one.name in of.pointed and one.label_names == names and _keeps(one)]


def _keeps(one: TestSet) -> bool:
    return one.class_map is None or one.class_map.tolist() == list(range(len(one.label_names)))


def _on(of: LeaningInputs, tests: Sequence[TestSet]) -> Leaning:
    labels = np.concatenate([one.labels for one in tests])
    pointed = np.concatenate([of.pointed[one.name] for one in tests])
    return leaning(_predicted(of, "tied", tests), _predicted(of, "independent", tests), labels, pointed, _groups(tests))


def _predicted(of: LeaningInputs, name: TrainSetName, tests: Sequence[TestSet]) -> Predictions:
    return [np.concatenate(each) for each in zip(*(of.predicted[name, one.name] for one in tests), strict=True)]


def _groups(tests: Sequence[TestSet]) -> np.ndarray | None:
    """Groups of rows of several sets, each with groups of its own; None if no set has any."""
    if all(one.groups is None for one in tests):
        return None
    codes, start = [], 0
    for one in tests:
        own = group_codes(one.groups, len(one.labels))
        codes.append(own + start)
        start += int(own.max(initial=-1)) + 1
    return np.concatenate(codes)


def _broken_ties(data: BenchmarkData, of: LeaningInputs) -> list[BrokenTie]:
    """Return what each challenge set says of the tie; adversarial sets say nothing, since models fail there anyway."""
    natural = _natural_set(data, of)
    sets = [one for one in data.test_sets if one.challenge and one.collected != "adversarially"]
    found = []
    for one in sets if natural is not None else ():
        assert natural is not None
        pointed = of.pointed.get(one.name)
        right = trained_right(data, of.evaluator, "full", "", one)
        if pointed is None or not len(pointed) or not right:
            continue
        own = pointed if one.class_map is None else np.append(one.class_map, NOWHERE)[pointed]
        here = natural.labels, of.pointed[natural.name], natural.groups
        tie = broken_tie(one.name, here, (one.labels, own, one.groups), right)
        found += [] if tie is None else [tie]
    return found
