"""Gains on a challenge set minus the gain on natural rows of the same class and difficulty. The contrasts have
intervals but no verdicts.

If the rows of a challenge set were chosen because one model got them wrong, every other model has a higher accuracy on
this challenge set. A gain on a challenge set is evidence about shortcuts only if it exceeds the gain on equally hard
natural rows.
"""

from collections.abc import Sequence

import numpy as np

from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.intervals import CrossedInterval, Trainings, contrast_interval, group_codes
from aflite_assets.analysis.scores.accuracy import gold_margins, trained_right
from aflite_assets.analysis.scores.score_tables import Place
from aflite_assets.analysis.scores.subsets import headline_set

BINS = 10
"""Number of bins of difficulty per class. Each bin holds the same number of challenge rows."""

FEWEST_IN_STRATUM = 5
"""A stratum (a class and a bin of difficulty) is compared if it has at least this number of natural rows."""

LEAST_OVERLAP = 0.8
"""Smallest share of the challenge set that must lie in strata with enough natural rows. Each gold label has the same
weight.
"""


def natural_contrast(data: BenchmarkData, place: Place, against: str, here: TestSet) -> CrossedInterval | None:
    """Return the gain of `place` over `against` on the challenge set `here`, minus the gain on natural rows.

    The natural rows belong to the natural test set that the report's summary uses. Natural test sets that did not enter
    the filter are preferred, because challenge rows did not enter the filter either.

    A constructed challenge set is compared with all natural rows. A challenge set that was not constructed is compared
    within strata, and each stratum weighs as much as in the challenge set. A stratum holds rows of one gold class with
    similar margins (`accuracy.gold_margins`), averaged over the training runs on `full`. Rows that one model got wrong
    may have normal margins for another model. The function makes strata with the margins of each evaluator in turn, and
    returns the contrast with the lowest lower bound. Margins are computed among the classes of each test set. If the
    challenge set merges classes, natural rows seem harder than they would be with the merged classes.

    Return None if there is no natural test set, if a side is not trained, or if the evaluator itself has no margins.
    Return None as well if the strata with natural rows hold less than `LEAST_OVERLAP` of the challenge set.
    """
    there = headline_set(test for test in data.test_sets if not test.pooled) or headline_set(data.test_sets)
    if there is None or min(_groups(here), _groups(there)) < 2:
        return None
    sides = [
        [trained_right(data, place.evaluator, train_set, str(place.representation), test) for test in (here, there)]
        for train_set in (place.train_set, against)
    ]
    if not all(side[0] and len(side[0]) == len(side[1]) for side in sides):
        return None
    if here.collected == "constructed":
        return weighed_contrast(sides, (np.ones(len(here.row_ids)), np.ones(len(there.row_ids))), (here, there))
    margins = {name: _mean_margins(data, name, (here, there)) for name in data.plain_evaluators}
    known = [each for each in margins.values() if each is not None]
    labels = there.labels if here.class_map is None else here.class_map[there.labels]  # as classes of the challenge set
    weights = [stratum_weights(here.labels, mine, labels, natural) for mine, natural in known]
    if margins[place.evaluator] is None or any(each is None for each in weights):
        return None
    found = [weighed_contrast(sides, each, (here, there)) for each in weights if each is not None]
    return min(found, key=lambda contrast: contrast.low)


def weighed_contrast(
    sides: Sequence[Sequence[Trainings]], weights: tuple[np.ndarray, np.ndarray], tests: tuple[TestSet, TestSet]
) -> CrossedInterval:
    """Return `contrast_interval` for weighted rows; `sides` and `weights` have one entry per test set in `tests`."""
    first, second = ([[right * w for right in each] for each, w in zip(side, weights, strict=True)] for side in sides)
    return contrast_interval(first, second, [one.groups for one in tests])


def _mean_margins(
    data: BenchmarkData, evaluator: str, tests: tuple[TestSet, TestSet]
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the margin of each row of both test sets, averaged over the training runs on `full`.

    Return None if there are no probabilities.
    """
    full = data.cells_of(evaluator, "full", None)
    margins = [[one for cell in full if isinstance(one := gold_margins(cell, test), np.ndarray)] for test in tests]
    return (np.mean(margins[0], axis=0), np.mean(margins[1], axis=0)) if all(margins) else None


def stratum_weights(
    here_labels: np.ndarray, here_difficulty: np.ndarray, there_labels: np.ndarray, there_difficulty: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return float64 weights of challenge rows and of natural rows, each with mean 1.

    A stratum consists of the rows of one class in one of `BINS` bins of difficulty. The bin edges are quantiles over
    the challenge rows of the class. Each stratum has the same total weight among challenge rows and among natural rows.
    All classes of the challenge set have equal weight. Rows of strata with fewer than `FEWEST_IN_STRATUM` natural rows
    get weight 0. Labels are int64; -1 marks natural rows of a class that the challenge set does not have. Return None
    if the strata with weight 0 hold more than 1 - `LEAST_OVERLAP` of the challenge set's weight.
    """
    here, there = np.zeros(len(here_labels)), np.zeros(len(there_labels))
    classes = np.unique(here_labels)
    for label in classes:
        mine, natural = here_labels == label, there_labels == label
        edges = np.quantile(here_difficulty[mine], np.linspace(0, 1, BINS + 1)[1:-1])
        bins = np.searchsorted(edges, here_difficulty[mine], side="right")
        natural_bins = np.searchsorted(edges, there_difficulty[natural], side="right")
        challenge_rows = np.bincount(bins, minlength=BINS)
        natural_rows = np.bincount(natural_bins, minlength=BINS)
        compared = natural_rows >= FEWEST_IN_STRATUM
        share = np.where(compared, challenge_rows, 0) / mine.sum() / len(classes)
        here[mine] = np.where(compared[bins], 1 / mine.sum() / len(classes), 0.0)
        there[natural] = (share / np.maximum(natural_rows, 1))[natural_bins]
    if here.sum() < LEAST_OVERLAP:
        return None
    return here * (len(here) / here.sum()), there * (len(there) / there.sum())


def _groups(test_set: TestSet) -> int:
    return len(np.unique(group_codes(test_set.groups, len(test_set.row_ids))))
