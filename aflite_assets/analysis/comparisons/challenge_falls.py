"""Falls of models trained on all rows, from natural test rows to challenge sets; whatever the filter does."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.intervals import CrossedInterval, contrast_interval, group_codes, label_weights
from aflite_assets.analysis.rules.leaning import LEAST_NAMED
from aflite_assets.analysis.rules.verdicts import FEWEST_GROUPS, FEWEST_ROWS
from aflite_assets.analysis.scores.accuracy import trained_right
from aflite_assets.analysis.scores.groups import headline_set
from aflite_assets.analysis.scores.judges import judging
from aflite_assets.analysis.tidy import TidyTable

ALIKE = 0.99
"""Share of the rows of two paired sets from which an evaluator that is right on both, or wrong, cannot tell them."""


@dataclass(frozen=True)
class ChallengeFall:
    """How far an evaluator trained on full falls from the first natural test set to a challenge set.

    `natural` and `challenge`: its accuracies, in [0, 1], in the mean over gold labels; `fall` with the ends of its 95 %
    interval in points, over 0 if it falls; `p_value` of no change. `alike`: other challenge sets that have the same
    gold labels row by row, such as edited copies of the same rows, and on which it is right on nearly the same rows.
    """

    evaluator: str
    natural_set: str
    test_set: str
    natural: float
    challenge: float
    fall: float
    low: float
    high: float
    p_value: float
    alike: tuple[str, ...] = ()

    @property
    def named(self) -> bool:
        """Whether the fall is sure and large enough to be named."""
        return self.fall >= LEAST_NAMED and self.low > 0


CHALLENGE_FALLS = TidyTable("challenge_falls", ChallengeFall, derived=("named",))


def challenge_falls(data: BenchmarkData) -> tuple[ChallengeFall, ...]:
    """Return the falls of the evaluators that can judge, those of one evaluator together and the largest first.

    Challenge sets that were collected adversarially are left out: models fail there because others did. So are
    questions, which have no gold labels to weigh, and sets that are too small for a verdict.
    """
    natural = headline_set(one for one in data.test_sets if not one.challenge)
    if natural is None or not _is_enough(natural):
        return ()
    sets = [one for one in data.test_sets if one.challenge and one.collected != "adversarially" and _is_enough(one)]
    found: list[ChallengeFall] = []
    for evaluator in judging(data).judges:
        before = trained_right(data, evaluator, "full", "", natural)
        right = {one: trained_right(data, evaluator, "full", "", one) for one in sets}
        for one, after in right.items() if before else ():
            if len(after) == len(before):
                alike = tuple(other.name for other in sets if _is_alike(one, other, after, right[other]))
                found.append(_fall(evaluator, natural, one, before, after, alike))
    largest: dict[str, float] = {}
    for each in found:
        largest[each.evaluator] = max(each.fall, largest.get(each.evaluator, each.fall))
    return tuple(sorted(found, key=lambda each: (-largest[each.evaluator], each.evaluator, -each.fall)))


def _is_enough(one: TestSet) -> bool:
    groups = len(np.unique(group_codes(one.groups, len(one.labels))))
    return one.unit == "row" and len(one.labels) >= FEWEST_ROWS and groups >= FEWEST_GROUPS


def _is_alike(one: TestSet, other: TestSet, first: Sequence[np.ndarray], second: Sequence[np.ndarray]) -> bool:
    if one is other or not np.array_equal(one.labels, other.labels) or len(first) != len(second):
        return False
    return float(np.mean([np.mean(a == b) for a, b in zip(first, second, strict=True)])) >= ALIKE


def _fall(
    evaluator: str,
    natural: TestSet,
    one: TestSet,
    before: Sequence[np.ndarray],
    after: Sequence[np.ndarray],
    alike: tuple[str, ...],
) -> ChallengeFall:
    interval = fall_interval((before, natural.labels, natural.groups), (after, one.labels, one.groups))
    here, there = (float(np.mean(_weighed(*each))) for each in ((before, natural.labels), (after, one.labels)))
    change = interval.difference, interval.low, interval.high, interval.p_value
    return ChallengeFall(evaluator, natural.name, one.name, here, there, *change, alike)


Asked = tuple[Sequence[np.ndarray], np.ndarray, np.ndarray | None]
"""Per training the rows of a test set that it got right, the gold labels, and the groups."""


def fall_interval(natural: Asked, challenge: Asked) -> CrossedInterval:
    """Return the accuracy on natural rows less that on challenge rows, both in the mean over gold labels, in points."""
    sides = [_weighed(*each[:2]) for each in (natural, challenge)]
    nothing = [[np.zeros(len(rows)) for rows in side] for side in sides]
    return contrast_interval(sides, nothing, (natural[2], challenge[2]))


def _weighed(right: Sequence[np.ndarray], labels: np.ndarray) -> list[np.ndarray]:
    """Multiply right answers so that their mean over rows is the mean over gold labels."""
    weights = label_weights(labels)
    return [one * weights for one in right]
