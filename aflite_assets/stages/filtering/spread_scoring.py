"""Scoring of an iteration's partitions by the workers of a cluster.

The algorithm defines how partitions are scored and summed.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from aflite_assets.algorithm import FilterSettings
from aflite_assets.cluster import Cluster, Needs, Shared, Work, Workers, map_in_order, map_or_share
from aflite_assets.cluster.protocol import Log
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.processors import threads_per_step

if TYPE_CHECKING:
    from aflite_assets.algorithm.linear.engine import SetCounts
    from aflite_assets.algorithm.spreading import IterationWork

MEMORY_LIMIT = 2**30
"""Bytes of memory per scorer, without the mapped features; the limit affects rounding, so all scorers share it."""


@dataclass(frozen=True)
class ScoredRows:
    """The data that every worker receives for a filter run: arguments of `filter_dataset`, with shared arrays."""

    features: Shared
    labels: Shared
    groups: Shared | None
    score_only: Shared | None
    settings: FilterSettings
    seed: int

    @classmethod
    def of(
        cls,
        cluster: Cluster,
        features: np.ndarray,
        labels: np.ndarray,
        *,
        groups: np.ndarray | None,
        score_only: np.ndarray | None,
        settings: FilterSettings,
        seed: int,
    ) -> "ScoredRows":
        """Share the data that workers need.

        Features that are memory-mapped from a file stay in the file, so a node can have less memory than the features
        need.
        """
        of_groups, scored = (None if each is None else cluster.share(each) for each in (groups, score_only))
        return cls(map_or_share(cluster, features), cluster.share(labels), of_groups, scored, settings, seed)

    def scorer(self) -> Work:
        """Return, in a worker, the function that scores ranges of partition numbers."""
        from aflite_assets.algorithm.inputs import check_inputs  # loads torch
        from aflite_assets.algorithm.spreading import PartitionScorer  # loads torch and numba

        groups, score_only = (None if each is None else each.get() for each in (self.groups, self.score_only))
        inputs = check_inputs(
            self.features.get(), self.labels.get(), groups=groups, score_only=score_only, memory_limit=MEMORY_LIMIT
        )
        scorer = PartitionScorer(inputs, self.settings, seed=self.seed, memory_limit=MEMORY_LIMIT)
        return partial(_scored, scorer.score)


def _scored(
    score: "Callable[[IterationWork, range], SetCounts]", numbers: range, work: "IterationWork", log: Log
) -> "SetCounts":
    return score(work, numbers)


class ClusterScorers:
    """An implementation of the algorithm's interface `Scorers` that uses the workers of a cluster.

    A worker that runs out of memory scores half as many partitions at a time.
    """

    def __init__(self, cluster: Cluster, workers: Workers, log: Log) -> None:
        self._cluster, self._workers, self._log = cluster, workers, log

    @property
    def count(self) -> int:
        """Number of workers that score at the same time."""
        return self._workers.count

    def score(self, work: "IterationWork", numbers: Sequence[range]) -> "Iterator[SetCounts]":
        """Score ranges of partitions, as defined by `Scorers`; the data common to all ranges is sent once per node."""
        common = self._cluster.share(work)
        return map_in_order(self._workers, numbers, common=common, log=self._log, halves=_halves)


def _halves(numbers: range) -> list[range]:
    middle = numbers.start + len(numbers) // 2
    return [range(numbers.start, middle), range(middle, numbers.stop)] if len(numbers) > 1 else []


@contextmanager
def cluster_scorers(
    cluster: Cluster, rows: Callable[[Cluster], ScoredRows], *, device: DeviceSettings, log: Log
) -> Iterator[ClusterScorers | None]:
    """Provide the scorers of a cluster for a `with` block.

    Provide None if the cluster does not distribute work, or if this machine's GPU does the scoring.
    """
    if not cluster.spreads or device.resolve().type != "cpu":
        yield None
        return
    with cluster.workers(rows(cluster).scorer, needs=Needs(threads_per_step()), log=log) as workers:
        yield ClusterScorers(cluster, workers, log)
