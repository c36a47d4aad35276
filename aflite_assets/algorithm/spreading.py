"""Scoring of an iteration's partitions in other processes. The combined result is bit-identical to the result of a
single process.

The caller starts the processes and sends them their work (`Scorers`). A `PartitionScorer` scores the partitions in each
process.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Protocol

import numpy as np
import torch

from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.linear.engine import (
    EngineTally,
    KeptClassifiers,
    LinearEngine,
    SetCounts,
    SummedClassifiers,
    WholeIteration,
    tally_of,
)
from aflite_assets.algorithm.linear.engine.preparation import Preparation, prepare
from aflite_assets.algorithm.linear.threads import Threads, one_torch_thread
from aflite_assets.algorithm.partitions import draw_iteration
from aflite_assets.algorithm.settings import FilterSettings


@dataclass(frozen=True)
class IterationWork:
    """Data that every scorer needs for one iteration.

    `pool`: the rows at the start of the iteration, ascending int64. `start`: `EngineTally.start` of the previous
    iteration, or None in the first iteration. Each scorer draws the partitions that it scores.
    """

    iteration: int
    pool: np.ndarray
    whole: WholeIteration
    start: np.ndarray | None
    keep_probabilities: bool


class Scorers(Protocol):
    """Interface of a group of scorers. Each scorer is a `PartitionScorer` with the same inputs, settings and seed."""

    @property
    def count(self) -> int:
        """Number of scorers that work at the same time."""
        ...

    def score(self, work: IterationWork, numbers: Sequence[range]) -> Iterator[SetCounts]:
        """Return the results for each range of partition numbers, in the order of the ranges."""
        ...


class PartitionScorer:
    """A scorer of a run's partitions, used for one iteration after the other."""

    def __init__(self, inputs: Inputs, settings: FilterSettings, *, seed: int, memory_limit: int) -> None:
        """Prepare the scorer with the arguments of the run. `memory_limit` must be the same in all processes, because
        it affects rounding.
        """
        self._draw = partial(draw_iteration, inputs, settings, seed=seed)
        self._start = partial(LinearEngine, inputs, settings, seed=seed, device="cpu", memory_limit=memory_limit)
        self._engine: LinearEngine | None = None

    def score(self, work: IterationWork, numbers: range) -> SetCounts:
        """Fit the classifiers of the partitions `numbers` and count their predictions."""
        if self._engine is None:
            self._engine = self._start(pool=work.pool)
        drawn = self._draw(pool=work.pool, iteration=work.iteration, numbers=numbers)
        return self._engine.count(
            drawn.subsets,
            pool=work.pool,
            whole=work.whole,
            start=work.start,
            keep_probabilities=work.keep_probabilities,
            unpredicted=drawn.unpredicted,
        )


class SpreadEngine:
    """A replacement for `LinearEngine` that sends the partitions of a run to `scorers`. As a context manager, this
    class does nothing on exit.

    For any number of scorers, the results are bit-identical to the results of one `LinearEngine` on the same kind of
    machine. The results agree because a fit does not depend on other fits, counts are whole numbers, and probabilities
    are rounded so that their sums are exact. This class adds up the classifiers in a fixed order.
    """

    def __init__(self, inputs: Inputs, settings: FilterSettings, prepared: Preparation, scorers: Scorers) -> None:
        self._inputs, self._settings, self._prepared, self._scorers = inputs, settings, prepared, scorers

    @classmethod
    def of(
        cls, inputs: Inputs, settings: FilterSettings, *, seed: int, memory_limit: int, scorers: Scorers
    ) -> "SpreadEngine | None":
        """Return the engine, or None if the job is too small for the compiled kernels. Sending the work of a small job
        would take longer than the work itself.
        """
        threads = Threads.started(torch.get_num_threads())
        codes = np.searchsorted(inputs.classes, inputs.labels)
        try:
            with one_torch_thread():
                prepared = prepare(
                    inputs, settings, codes, seed=seed, device="cpu", memory_limit=memory_limit, threads=threads
                )
        finally:
            threads.executor.shutdown()
        return cls(inputs, settings, prepared, scorers) if prepared.compiled else None

    def __enter__(self) -> "SpreadEngine":
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def tally(
        self,
        subsets: Sequence[np.ndarray],
        *,
        pool: np.ndarray,
        iteration: int,
        start: np.ndarray | None = None,
        keep_probabilities: bool = False,
        unpredicted: Sequence[np.ndarray] | None = None,
    ) -> EngineTally:
        """Return the counts of predictions, as `LinearEngine.tally` does. `subsets` and `unpredicted` must be the
        random partitions that were drawn for `iteration`.
        """
        work = IterationWork(iteration, pool, WholeIteration.of(subsets), start, keep_probabilities)
        parts = self._scorers.score(work, shares(len(subsets), self._scorers.count))
        first = next(parts)
        counts, evaluations = first.counts, [first.evaluations]
        classifiers = [_added(SummedClassifiers(kept.at_once), kept) for kept in first.classifiers]
        for part in parts:
            counts = counts.plus(part.counts)
            evaluations.append(part.evaluations)
            classifiers = [_added(*of_kind) for of_kind in zip(classifiers, part.classifiers, strict=True)]
        return tally_of(
            counts,
            classifiers,
            np.concatenate(evaluations, axis=1),
            inputs=self._inputs,
            standardization=self._prepared.standardization,
            pool=pool,
            left_out=[*subsets, *(unpredicted or ())],
        )


def _added(summed: SummedClassifiers, kept: KeptClassifiers) -> SummedClassifiers:
    for fitted_at_once in kept.parts:
        summed.add(fitted_at_once)
    return summed


def shares(n_partitions: int, scorers: int) -> list[range]:
    """Return consecutive ranges of partition numbers, about equal in size: one per scorer, or fewer if there are too
    few partitions.
    """
    edges = np.linspace(0, n_partitions, min(scorers, n_partitions) + 1).round().astype(int).tolist()
    return [range(first, stop) for first, stop in pairwise(edges)]
