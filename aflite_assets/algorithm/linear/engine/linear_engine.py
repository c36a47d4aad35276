"""The engine of one run of the filter. The engine chooses how rows are passed and at which precision, reuses memory
between iterations, and returns the counts of predictions.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

import numpy as np
import torch

from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.linear.engine.fitting import (
    PRECISIONS,
    Fits,
    Point,
    fit,
    pooled_start,
    sets_at_once,
    tolerance_at,
)
from aflite_assets.algorithm.linear.engine.passes import Counts, DataPasses, SummedPasses, TorchPasses
from aflite_assets.algorithm.linear.engine.pool import PoolFeatures, Standardization, pool_on, working_memory
from aflite_assets.algorithm.linear.engine.preparation import draw, prepare
from aflite_assets.algorithm.linear.engine.training_sets import TrainingSets
from aflite_assets.algorithm.linear.losses import HINGE, SIGMOID, SOFTMAX, Objective, n_outputs
from aflite_assets.algorithm.linear.solver.preconditioner import Preconditioner, preconditioner_at
from aflite_assets.algorithm.linear.threads import Threads, one_torch_thread
from aflite_assets.algorithm.partitions import Purpose
from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.algorithm.tally import Tally, counts_classes, predicted_instead

_log = logging.getLogger(__name__)

# Rows on which the start that all classifiers share is fitted, and parts of them that threads share.
_START_ROWS, _START_PARTS = 16384, 8


@dataclass(frozen=True)
class EngineTally:
    """The counts of predictions in one iteration, and a starting point for the fits of the next iteration.

    `start`: the mean of the iteration's classifiers, for standardized features. `start` is float64, kinds of classifier
    x outputs x (width + 1), with intercepts in the last column. `evaluations`: the number of gradients that each fit
    computed, kinds of classifier x subsets.
    """

    tally: Tally
    start: np.ndarray
    evaluations: np.ndarray


@dataclass(frozen=True)
class WholeIteration:
    """Numbers that are common to all fits of an iteration: the number of training sets and their mean
    number of rows.
    """

    n_sets: int
    train_size: float

    @classmethod
    def of(cls, subsets: Sequence[np.ndarray]) -> "WholeIteration":
        """Return the number and the mean size of the given training sets."""
        return cls(len(subsets), sum(map(len, subsets)) / len(subsets))


class SummedClassifiers:
    """A running sum of the weights and intercepts of all classifiers of one kind. The rounding of the sum depends on
    `at_once`, but not on how many classifiers are added per call.

    The object holds the sum and the classifiers of at most `at_once` training sets. `at_once` is the number of training
    sets that are fitted at a time.
    """

    def __init__(self, at_once: int) -> None:
        self._at_once, self._waiting = at_once, np.empty((0, 0, 0), np.float32)
        self._total, self._n_sets = np.zeros((0, 0)), 0

    def add(self, classifiers: np.ndarray) -> None:
        """Add `classifiers`, which are for standardized rows: float32, sets x outputs x (padded width + 1), with
        intercepts in the last column.
        """
        if not self._n_sets:
            self._total, self._waiting = np.zeros(classifiers.shape[1:]), classifiers[:0]
        self._n_sets += len(classifiers)
        while len(classifiers):
            missing = self._at_once - len(self._waiting)
            self._waiting = np.concatenate([self._waiting, classifiers[:missing]])
            classifiers = classifiers[missing:]
            if len(self._waiting) == self._at_once:
                self._add_waiting()

    def mean(self) -> np.ndarray:
        """Return the mean classifier: float64, outputs x (padded width + 1)."""
        self._add_waiting()
        return self._total / self._n_sets

    def _add_waiting(self) -> None:
        self._total += torch.from_numpy(self._waiting).double().sum(dim=0).numpy()
        self._waiting = self._waiting[:0]


@dataclass(frozen=True)
class KeptClassifiers:
    """The classifiers of one kind, in the order in which they were added. Another process sums the classifiers with
    `SummedClassifiers`.
    """

    at_once: int
    parts: list[np.ndarray] = field(default_factory=list)

    def add(self, classifiers: np.ndarray) -> None:
        """Append `classifiers`, an array as in `SummedClassifiers.add`."""
        self.parts.append(classifiers)


class _Collector(Protocol):
    def add(self, classifiers: np.ndarray) -> None: ...


_Collecting = TypeVar("_Collecting", bound=_Collector)


@dataclass(frozen=True)
class SetCounts:
    """Counts and classifiers from the fits to some training sets of one iteration. The arrays may be read-only.

    `counts`: one entry per row of the pool. `classifiers`: one entry per kind of classifier. `evaluations`: the number
    of computed gradients per kind and training set.
    """

    counts: Counts
    classifiers: tuple[KeptClassifiers, ...]
    evaluations: np.ndarray


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
        counts = Counts.zeros(
            len(self._pool.rows),
            n_classes,
            label=self._settings.classifier != "linear_svm",
            matrix=keep_probabilities,
            classes=counts_classes(self._inputs, self._memory_limit),
        )
        evaluations, collectors = [], []
        for number, loss in enumerate(self._losses()):
            problem = self._problem(loss, whole, pool, None if start is None else start[number])
            of_kind = counts.without_probabilities() if loss == HINGE else counts
            collectors.append(collector(problem.at_once))
            evaluations.append(self._add_predictions(sets, problem, of_kind, in_pool, collectors[-1]))
        return counts.of_slots(in_pool), np.stack(evaluations), collectors

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
            SummedPasses(self._passes(parts, drawn[:0], objective), n_parts),
            whole,
            objective,
            self._prepared.sample,
            self._prepared.sample_codes,
            train_size=train_size,
            memory_limit=self._working_memory,
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
            fits = self._fit(passes, part, problem, together=problem.at_once)
            self._repeat_in_float64(fits, part, problem)
            passes.count(fits.weights, fits.intercepts, counts)
            evaluations.append(fits.evaluations.numpy(force=True))
            collector.add(torch.cat([fits.weights, fits.intercepts[..., None]], dim=-1).numpy(force=True))
        return np.concatenate(evaluations)

    def _fit(self, passes: DataPasses, sets: TrainingSets, problem: _Problem, *, together: int = 1) -> Fits:
        return fit(
            passes,
            sets,
            problem.objective,
            problem.preconditioner,
            problem.start,
            tolerance=problem.tolerance,
            memory_limit=self._working_memory,
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
            rows = self._pool.rows[sets[number]]
            alone = TrainingSets.of([np.arange(len(rows))], self._codes[rows], n_classes=len(self._inputs.classes))
            start = Point(fits.weights[number].double(), fits.intercepts[number].double())
            again = self._fit(
                self._torch_passes(self._pool_of(rows, np.dtype(np.float64)), alone, problem.objective),
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

    def _passes(self, sets: TrainingSets, counted: np.ndarray, objective: Objective) -> DataPasses:
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


def tally_of(
    counts: Counts,
    classifiers: Sequence[SummedClassifiers],
    evaluations: np.ndarray,
    *,
    inputs: Inputs,
    standardization: Standardization,
    pool: np.ndarray,
    left_out: Sequence[np.ndarray],
) -> EngineTally:
    """Combine the results of all training sets into the tally of the iteration. Each array of `left_out` holds the rows
    that the classifiers of one set did not predict.
    """
    kinds, n_sets = evaluations.shape
    held_out, correct = (np.zeros(len(inputs.labels), dtype=np.int64) for _ in range(2))
    held_out[pool] = n_sets
    for unpredicted in left_out:
        held_out[unpredicted] -= 1
    correct[pool] = counts.correct
    label = _means(counts.label_sums, pool, held_out) if len(counts.label_sums) else None
    matrix = _means(counts.matrix_sums, pool, held_out) if len(counts.matrix_sums) else None
    instead = None
    if len(counts.class_counts):
        codes = np.searchsorted(inputs.classes, inputs.labels[pool])
        by_class = np.require(counts.class_counts, requirements="W")
        instead = predicted_instead(by_class, codes, rows=pool, n_rows=len(inputs.labels))
    tally = Tally(correct, held_out * kinds, held_out, label, matrix, instead)
    start = [_packed(of_kind.mean(), standardization, inputs.features.shape[1]) for of_kind in classifiers]
    return EngineTally(tally, np.stack(start), evaluations)


def _packed(mean: np.ndarray, standardization: Standardization, width: int) -> np.ndarray:
    """Remove padding and rotation from the classifiers (outputs x (padded width + 1)), as in `EngineTally.start`."""
    weights, rotation = mean[:, :-1], standardization.rotation
    if rotation is not None:
        weights = (torch.from_numpy(weights) @ torch.from_numpy(rotation).double().T).numpy()
    return np.column_stack([weights[:, :width], mean[:, -1]])


def _means(sums: np.ndarray, rows: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """Divide sums by counts and return float32 means per input row. The mean of a row that was never held out is
    NaN.
    """
    means = np.full((len(held_out), *sums.shape[1:]), np.nan, dtype=np.float32)
    counted = held_out[rows] > 0
    divisors = held_out[rows[counted]]
    means[rows[counted]] = (sums[counted].T / divisors).T
    return means
