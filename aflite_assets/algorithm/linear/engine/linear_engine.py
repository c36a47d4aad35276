"""The engine of one run of the filter. The engine chooses how rows are passed and at which precision, reuses memory
between iterations, and returns the counts of predictions.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np
import torch

from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.linear.engine.fitting import (
    CACHED_BYTES,
    PRECISIONS,
    Fits,
    Point,
    fit,
    pooled_start,
    sets_at_once,
    summed,
    tolerance_at,
)
from aflite_assets.algorithm.linear.engine.passes import Counts, TorchPasses, gathered_bytes, most_gathered
from aflite_assets.algorithm.linear.engine.pool import PoolFeatures, pool_on, working_memory
from aflite_assets.algorithm.linear.engine.preparation import draw, prepare
from aflite_assets.algorithm.linear.engine.results import (
    EngineTally,
    KeptClassifiers,
    SetCounts,
    SummedClassifiers,
    WholeIteration,
    tally_of,
    tally_of_counts,
)
from aflite_assets.algorithm.linear.engine.training_sets import TrainingSets
from aflite_assets.algorithm.linear.losses import HINGE, SIGMOID, SOFTMAX, Objective, n_outputs
from aflite_assets.algorithm.linear.solver.lbfgs import LossGradients
from aflite_assets.algorithm.linear.solver.preconditioner import Preconditioner, preconditioner_at
from aflite_assets.algorithm.linear.threads import Threads, one_torch_thread
from aflite_assets.algorithm.partitions import Purpose
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.tally import Tally, counts_classes

if TYPE_CHECKING:
    from aflite_assets.algorithm.linear.engine.compiled_passes import CompiledPasses

_log = logging.getLogger(__name__)

# Rows on which the start that all classifiers share is fitted, and parts of them that threads share.
_START_ROWS, _START_PARTS = 16384, 8


class _Collector(Protocol):
    def add(self, classifiers: np.ndarray) -> None: ...


_Collecting = TypeVar("_Collecting", bound=_Collector)


@dataclass(frozen=True)
class _Problem:
    """The data that all fits of one kind of classifier share within one iteration."""

    objective: Objective
    start: Point
    preconditioner: Preconditioner
    tolerance: float
    at_once: int


class LinearEngine:
    """An engine that scores rows with the classifiers in `settings`. One engine is created per run and used for every
    iteration.

    The engine uses as many threads as torch has when the engine is created. Torch itself uses one thread while the
    engine works. The engine is a context manager that ends its threads on exit.
    """

    def __init__(
        self, inputs: Inputs, settings: FilterSettings, *, seed: int, device: str, memory_limit: int, pool: np.ndarray
    ) -> None:
        """Prepare the engine for `pool`, the ascending row numbers at the start or resumption of the run. Later pools
        must be subsets of `pool`.
        """
        self._inputs, self._settings, self._seed, self._memory_limit = inputs, settings, seed, memory_limit
        self._threads = Threads.started(torch.get_num_threads())
        self._codes = np.searchsorted(inputs.classes, inputs.labels)
        with one_torch_thread():
            self._prepared = prepare(
                inputs,
                settings,
                self._codes,
                seed=seed,
                device=device,
                memory_limit=memory_limit,
                threads=self._threads,
            )
            self._pool = self._pool_of(pool, self._prepared.dtype)
            self._resident = pool_on(self._prepared.device, self._pool)
        self._working_memory = working_memory(self._prepared.device, memory_limit)

    def __enter__(self) -> "LinearEngine":
        return self

    def __exit__(self, *error: object) -> None:
        self._threads.executor.shutdown()

    @one_torch_thread()
    def tally(
        self,
        subsets: Sequence[np.ndarray],
        *,
        pool: np.ndarray,
        start: np.ndarray | None = None,
        keep_probabilities: bool = False,
        unpredicted: Sequence[np.ndarray] | None = None,
    ) -> EngineTally:
        """Fit every kind of classifier to every subset, and count its predictions for the other rows of `pool`.

        `subsets` and `pool`: ascending row numbers. `start`: the `start` of the previous iteration's tally, or None in
        the first iteration. `unpredicted`: for each subset, further rows of the pool that the subset's classifiers do
        not predict.
        """
        counts, evaluations, classifiers = self._count(
            SummedClassifiers,
            subsets,
            pool=pool,
            whole=WholeIteration.of(subsets),
            start=start,
            keep_probabilities=keep_probabilities,
            unpredicted=unpredicted,
        )
        return tally_of(
            counts,
            classifiers,
            evaluations,
            inputs=self._inputs,
            standardization=self._prepared.standardization,
            pool=pool,
            left_out=[*subsets, *(unpredicted or ())],
        )

    @one_torch_thread()
    def count(
        self,
        subsets: Sequence[np.ndarray],
        *,
        pool: np.ndarray,
        whole: WholeIteration,
        start: np.ndarray | None = None,
        keep_probabilities: bool = False,
        unpredicted: Sequence[np.ndarray] | None = None,
    ) -> SetCounts:
        """Return the counts for some subsets of an iteration. The counts of one subset do not depend on the other
        subsets in the call.
        """
        counts, evaluations, classifiers = self._count(
            KeptClassifiers,
            subsets,
            pool=pool,
            whole=whole,
            start=start,
            keep_probabilities=keep_probabilities,
            unpredicted=unpredicted,
        )
        return SetCounts(counts, tuple(classifiers), evaluations)

    @one_torch_thread()
    def tally_permuted(
        self, permuted: Sequence[np.ndarray], subsets: Sequence[Sequence[np.ndarray]], *, pool: np.ndarray
    ) -> list[Tally]:
        """Return one tally for each label vector in `permuted`. The classifiers of several label vectors are fitted
        together, because small jobs spend most of their time in calls to torch.

        `permuted`: permutations of the engine's labels, one label per input row. `subsets`: for each label vector, its
        training sets. All fits share the start and the preconditioner that belong to the engine's labels. The optima do
        not depend on the start and the preconditioner. The engine must not use the compiled passes (`is_exact`).
        """
        n_classes, in_pool = len(self._inputs.classes), self._pool.slots_of(pool)
        sets = [
            TrainingSets.of(
                [self._pool.slots_of(subset) for subset in own],
                np.searchsorted(self._inputs.classes, labels)[self._pool.rows],
                n_classes=n_classes,
            )
            for labels, own in zip(permuted, subsets, strict=True)
        ]
        whole = WholeIteration.of([subset for own in subsets for subset in own])
        counts = [self._zero_counts(matrix=False, classes=False) for _ in sets]
        for loss in self._losses():
            of_kind = [one.without_probabilities() if loss == HINGE else one for one in counts]
            self._add_permuted(sets, self._problem(loss, whole, pool, None), of_kind, in_pool)
        return [
            tally_of_counts(
                one.of_slots(in_pool),
                len(self._losses()),
                inputs=replace(self._inputs, labels=labels),
                pool=pool,
                n_sets=len(own),
                left_out=own,
            )
            for one, labels, own in zip(counts, permuted, subsets, strict=True)
        ]

    def _count(
        self,
        collector: Callable[[int], _Collecting],
        subsets: Sequence[np.ndarray],
        *,
        pool: np.ndarray,
        whole: WholeIteration,
        start: np.ndarray | None,
        keep_probabilities: bool,
        unpredicted: Sequence[np.ndarray] | None,
    ) -> tuple[Counts, np.ndarray, list[_Collecting]]:
        """Return the counts for the pool's rows, the numbers of gradients (kinds x sets), and a list of collected
        classifiers, one entry per kind.
        """
        self._pool.keep(pool)
        n_classes, in_pool = len(self._inputs.classes), self._pool.slots_of(pool)
        slots = [self._pool.slots_of(subset) for subset in subsets]
        left_out = [] if unpredicted is None else [self._pool.slots_of(rows) for rows in unpredicted]
        sets = TrainingSets.of(slots, self._codes[self._pool.rows], n_classes=n_classes, left_out=left_out)
        by_class = counts_classes(self._inputs, self._memory_limit)
        counts = self._zero_counts(matrix=keep_probabilities, classes=by_class)
        evaluations, collectors = [], []
        for number, loss in enumerate(self._losses()):
            problem = self._problem(loss, whole, pool, None if start is None else start[number])
            of_kind = counts.without_probabilities() if loss == HINGE else counts
            collectors.append(collector(problem.at_once))
            evaluations.append(self._add_predictions(sets, problem, of_kind, in_pool, collectors[-1]))
        return counts.of_slots(in_pool), np.stack(evaluations), collectors

    def _zero_counts(self, *, matrix: bool, classes: bool) -> Counts:
        return Counts.zeros(
            len(self._pool.rows),
            len(self._inputs.classes),
            label=self._settings.classifier != "linear_svm",
            matrix=matrix,
            classes=classes,
        )

    def _losses(self) -> tuple[int, ...]:
        logistic = SIGMOID if len(self._inputs.classes) == 2 else SOFTMAX
        return {"logistic": (logistic,), "linear_svm": (HINGE,), "both": (logistic, HINGE)}[self._settings.classifier]

    def _problem(self, loss: int, whole: WholeIteration, pool: np.ndarray, start: np.ndarray | None) -> _Problem:
        train_size, scale = whole.train_size, self._prepared.standardization.scale
        strength = 1.0 / (self._settings.inverse_regularization * scale * scale)
        objective = Objective(loss, n_outputs(len(self._inputs.classes)), strength)
        point = self._pooled(objective, train_size, pool) if start is None else self._unpacked(start)
        sample, codes = self._prepared.sample, self._prepared.sample_codes
        preconditioner = preconditioner_at(
            sample, codes, point.weights, point.intercepts, loss=loss, train_size=train_size, strength=strength
        )
        precision = PRECISIONS[point.weights.dtype]
        tolerance = tolerance_at(point, sample, codes, loss, train_size=train_size, precision=precision)
        most = sets_at_once(preconditioner.size, self._prepared.dtype.itemsize, self._working_memory)
        return _Problem(objective, point, preconditioner, tolerance, min(whole.n_sets, most))

    def _pooled(self, objective: Objective, train_size: float, pool: np.ndarray) -> Point:
        """Return the starting point that all fits share in the first iteration of a run."""
        trainable = pool[~self._inputs.score_only[pool]]
        drawn = self._pool.slots_of(draw(trainable, max(_START_ROWS, int(2 * train_size)), self._seed, Purpose.START))
        codes, n_classes = self._codes[self._pool.rows], len(self._inputs.classes)
        whole = TrainingSets.of([drawn], codes, n_classes=n_classes)
        n_parts = _START_PARTS if self._prepared.compiled else 1
        parts = TrainingSets.of(np.array_split(drawn, n_parts), codes, n_classes=n_classes)
        parts = replace(parts, seen=np.repeat(whole.seen, n_parts, axis=0))
        return pooled_start(
            summed(self._passes(parts, drawn[:0], objective).gradients, n_parts),
            whole,
            objective,
            self._prepared.sample,
            self._prepared.sample_codes,
            train_size=train_size,
            memory_limit=self._working_memory,
            threads=self._threads if self._prepared.compiled else None,
        )

    def _add_predictions(
        self, sets: TrainingSets, problem: _Problem, counts: Counts, counted: np.ndarray, collector: _Collector
    ) -> np.ndarray:
        """Fit the classifiers, add their predictions for the slots `counted`, and return the number of gradients that
        the fits computed.
        """
        evaluations = []
        for first in range(0, len(sets), problem.at_once):
            part = sets.part(first, min(first + problem.at_once, len(sets)))
            passes = self._passes(part, counted, problem.objective)
            threads = self._threads if self._prepared.compiled else None
            fits = self._fit(passes.gradients, part, problem, threads=threads, together=problem.at_once)
            self._repeat_in_float64(fits, part, problem)
            passes.count(fits.weights, fits.intercepts, counts)
            evaluations.append(fits.evaluations.numpy(force=True))
            collector.add(torch.cat([fits.weights, fits.intercepts[..., None]], dim=-1).numpy(force=True))
        return np.concatenate(evaluations)

    def _add_permuted(
        self, sets: Sequence[TrainingSets], problem: _Problem, counts: Sequence[Counts], counted: np.ndarray
    ) -> None:
        """Fit the classifiers of several label vectors, and add their predictions for the slots `counted`. `sets` and
        `counts` have one entry per label vector.
        """
        at_once = self._permuted_at_once(sets, problem)
        if at_once == 1:
            for own, of_labels in zip(sets, counts, strict=True):
                alone = replace(problem, at_once=min(problem.at_once, len(own)))
                self._add_predictions(own, alone, of_labels, counted, KeptClassifiers(len(own)))
            return
        for first in range(0, len(sets), at_once):
            batch, start = sets[first : first + at_once], 0
            fits = self._fit_permuted(batch, problem)
            for own, of_labels in zip(batch, counts[first : first + at_once], strict=True):
                part = fits.part(start, start + len(own))
                self._repeat_in_float64(part, own, problem)
                self._passes(own, counted, problem.objective).count(part.weights, part.intercepts, of_labels)
                start += len(own)

    def _fit_permuted(self, sets: Sequence[TrainingSets], problem: _Problem) -> Fits:
        """Fit the classifiers of several label vectors together. The pool is copied once per label vector, because the
        rows of a copy have the classes of one label vector.
        """
        joined, (block,) = TrainingSets.joined(sets), self._pool.blocks()
        copies = torch.from_numpy(block.features).repeat(len(sets), 1)
        passes = self._torch_passes(self._pool, joined, problem.objective, resident=copies)
        return self._fit(passes.gradients, joined, problem, together=len(joined))

    def _permuted_at_once(self, sets: Sequence[TrainingSets], problem: _Problem) -> int:
        """Return the number of label vectors whose classifiers are fitted together, at least 1.

        The copied rows must be small enough to be gathered, and L-BFGS must keep as many pairs as for one label vector.
        """
        itemsize, largest = self._prepared.dtype.itemsize, max(sets, key=lambda own: own.sizes.sum())
        copied = len(self._pool.rows) * self._pool.width * itemsize
        gathered = gathered_bytes(largest, self._pool.width, problem.objective.outputs, itemsize)
        vectors = len(largest) * problem.preconditioner.size * itemsize
        most = min(most_gathered(self._working_memory) // (copied + gathered), CACHED_BYTES // vectors)
        return max(1, min(most, problem.at_once // len(largest)))

    def _fit(
        self,
        gradients: LossGradients,
        sets: TrainingSets,
        problem: _Problem,
        *,
        threads: Threads | None = None,
        together: int = 1,
    ) -> Fits:
        return fit(
            gradients,
            sets,
            problem.objective,
            problem.preconditioner,
            problem.start,
            tolerance=problem.tolerance,
            memory_limit=self._working_memory,
            threads=threads,
            together=together,
        )

    def _repeat_in_float64(self, fits: Fits, sets: TrainingSets, problem: _Problem) -> None:
        """Repeat the fits that did not converge in float32, now in float64. The results replace the old results in
        place.
        """
        failed = np.flatnonzero(~fits.converged.numpy(force=True)).tolist()
        if not failed:
            return
        precise = problem.preconditioner.double()
        missed = 0
        for number in failed:
            rows, codes = self._pool.rows[sets[number]], sets.codes[sets[number]]
            alone = TrainingSets.of([np.arange(len(rows))], codes, n_classes=len(self._inputs.classes))
            start = Point(fits.weights[number].double(), fits.intercepts[number].double())
            again = self._fit(
                self._torch_passes(self._pool_of(rows, np.dtype(np.float64)), alone, problem.objective).gradients,
                alone,
                replace(problem, start=start, preconditioner=precise),
            )
            fits.weights[number], fits.intercepts[number] = again.weights[0], again.intercepts[0]
            missed += not again.converged[0]
        _log.info("%d of %d classifiers were fitted again in float64", len(failed), len(sets))
        if missed:
            _log.warning(
                "%d of %d classifiers did not converge; lower `inverse_regularization` (now %g), or scale all "
                "features to a similar range",
                missed,
                len(sets),
                self._settings.inverse_regularization,
            )

    def _pool_of(self, rows: np.ndarray, dtype: np.dtype) -> PoolFeatures:
        return PoolFeatures(
            self._inputs.features,
            rows,
            self._prepared.standardization,
            dtype,
            memory_limit=self._memory_limit,
            threads=self._threads.executor,
            hold=self._prepared.device.type == "cpu",
        )

    def _passes(self, sets: TrainingSets, counted: np.ndarray, objective: Objective) -> "CompiledPasses | TorchPasses":
        if not self._prepared.compiled:
            return self._torch_passes(self._pool, sets, objective, counted, self._resident)
        # Imported where it is used: loading the compiler takes longer than a small job.
        from aflite_assets.algorithm.linear.engine.compiled_passes import CompiledPasses

        return CompiledPasses(
            self._pool,
            sets,
            counted,
            loss=objective.loss,
            outputs=objective.outputs,
            threads=self._threads,
        )

    def _torch_passes(
        self,
        pool: PoolFeatures,
        sets: TrainingSets,
        objective: Objective,
        counted: np.ndarray | None = None,
        resident: torch.Tensor | None = None,
    ) -> TorchPasses:
        return TorchPasses(
            pool,
            sets,
            np.empty(0, dtype=np.int64) if counted is None else counted,
            loss=objective.loss,
            device=self._prepared.device,
            memory_limit=self._working_memory,
            resident=resident,
        )

    def _unpacked(self, start: np.ndarray) -> Point:
        """Convert the classifiers to padded and rotated features. The function `_packed` is the inverse."""
        standardization = self._prepared.standardization
        weights = torch.zeros(len(start), standardization.width, dtype=torch.float64)
        weights[:, : start.shape[1] - 1] = torch.from_numpy(start[:, :-1])
        if standardization.rotation is not None:
            weights = weights @ torch.from_numpy(standardization.rotation).double()
        like = self._prepared.sample.features
        return Point(weights.to(like), torch.from_numpy(start[:, -1].copy()).to(like))
