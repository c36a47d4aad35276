"""The engine of one run: which passes and precision to use, the memory between iterations, and the tally they give."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

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
from aflite_assets.algorithm.linear.engine.pool import PoolFeatures, pool_on, working_memory
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
    """The counts of one iteration, and where the next one may start.

    `start`: kinds of classifier x outputs x (width + 1), float64: the mean of this iteration's classifiers, for
    standardized features, intercepts last. `evaluations`: kinds x subsets, the gradients that each fit took.
    """

    tally: Tally
    start: np.ndarray
    evaluations: np.ndarray


@dataclass(frozen=True)
class _Problem:
    """What all fits of one kind in one iteration share."""

    objective: Objective
    start: Point
    preconditioner: Preconditioner
    tolerance: float


class LinearEngine:
    """Scores rows by the classifiers that `settings` names; made once for a run, used for each of its iterations.

    It works in as many threads as torch has where the engine is made; torch itself in one while the engine works. A
    context manager, which ends its threads.
    """

    def __init__(
        self, inputs: Inputs, settings: FilterSettings, *, seed: int, device: str, memory_limit: int, pool: np.ndarray
    ) -> None:
        """`pool`: the rows the run begins or goes on with, ascending; later ones must be among them."""
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
        """Fit every kind of classifier to every subset and count its predictions of the other rows of `pool`.

        `subsets` and `pool`: ascending rows. `start`: what the last iteration gave, None in the first. `unpredicted`:
        for each subset further rows of the pool that it leaves out.
        """
        self._pool.keep(pool)
        n_classes = len(self._inputs.classes)
        slots = [self._pool.slots_of(subset) for subset in subsets]
        left_out = [] if unpredicted is None else [self._pool.slots_of(rows) for rows in unpredicted]
        sets = TrainingSets.of(slots, self._codes[self._pool.rows], n_classes=n_classes, left_out=left_out)
        with_label = self._settings.classifier != "linear_svm"
        counts = Counts.zeros(
            len(self._pool.rows),
            n_classes,
            label=with_label,
            matrix=keep_probabilities,
            classes=counts_classes(self._inputs, self._memory_limit),
        )
        starts, evaluations = [], []
        for number, loss in enumerate(self._losses()):
            problem = self._problem(loss, float(sets.sizes.mean()), pool, None if start is None else start[number])
            counted = counts.without_probabilities() if loss == HINGE else counts
            mean, taken = self._add_predictions(sets, problem, counted, self._pool.slots_of(pool))
            starts.append(mean)
            evaluations.append(taken)
        left_rows = [*subsets, *(unpredicted or ())]
        return EngineTally(self._by_row(len(subsets), left_rows, pool, counts), np.stack(starts), np.stack(evaluations))

    def _losses(self) -> tuple[int, ...]:
        logistic = SIGMOID if len(self._inputs.classes) == 2 else SOFTMAX
        return {"logistic": (logistic,), "linear_svm": (HINGE,), "both": (logistic, HINGE)}[self._settings.classifier]

    def _problem(self, loss: int, train_size: float, pool: np.ndarray, start: np.ndarray | None) -> _Problem:
        scale = self._prepared.standardization.scale
        strength = 1.0 / (self._settings.inverse_regularization * scale * scale)
        objective = Objective(loss, n_outputs(len(self._inputs.classes)), strength)
        point = self._pooled(objective, train_size, pool) if start is None else self._unpacked(start)
        sample, codes = self._prepared.sample, self._prepared.sample_codes
        preconditioner = preconditioner_at(
            sample, codes, point.weights, point.intercepts, loss=loss, train_size=train_size, strength=strength
        )
        precision = PRECISIONS[point.weights.dtype]
        tolerance = tolerance_at(point, sample, codes, loss, train_size=train_size, precision=precision)
        return _Problem(objective, point, preconditioner, tolerance)

    def _pooled(self, objective: Objective, train_size: float, pool: np.ndarray) -> Point:
        """The shared start of a run's first iteration."""
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
        self, sets: TrainingSets, problem: _Problem, counts: Counts, counted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Fit, count predictions of the slots `counted`, and return the mean classifier and the evaluations taken."""
        step = sets_at_once(problem.preconditioner.size, self._prepared.dtype.itemsize, self._working_memory)
        total, evaluations = np.zeros((problem.objective.outputs, self._prepared.standardization.width + 1)), []
        for first in range(0, len(sets), step):
            part = sets.part(first, min(first + step, len(sets)))
            passes = self._passes(part, counted, problem.objective)
            fits = self._fit(passes, part, problem)
            self._repeat_in_float64(fits, part, problem)
            passes.count(fits.weights, fits.intercepts, counts)
            evaluations.append(fits.evaluations.numpy(force=True))
            total += torch.cat([fits.weights, fits.intercepts[..., None]], dim=-1).double().sum(dim=0).numpy(force=True)
        return self._packed(total / len(sets)), np.concatenate(evaluations)

    def _fit(self, passes: DataPasses, sets: TrainingSets, problem: _Problem) -> Fits:
        return fit(
            passes,
            sets,
            problem.objective,
            problem.preconditioner,
            problem.start,
            tolerance=problem.tolerance,
            memory_limit=self._working_memory,
        )

    def _repeat_in_float64(self, fits: Fits, sets: TrainingSets, problem: _Problem) -> None:
        """Fit again, in place, the classifiers that did not reach their optimum in float32."""
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
                _Problem(problem.objective, start, precise, problem.tolerance),
            )
            fits.weights[number], fits.intercepts[number] = again.weights[0], again.intercepts[0]
            missed += not again.converged[0]
        _log.info("%d of %d classifiers were fitted again in float64", len(failed), len(sets))
        if missed:
            _log.warning(
                "%d of %d classifiers did not reach their optimum: lower inverse_regularization, now %g, or bring the "
                "features to a common scale",
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

    def _packed(self, mean: np.ndarray) -> np.ndarray:
        """A mean classifier without padding and rotation: `EngineTally.start`."""
        weights, rotation = mean[:, :-1], self._prepared.standardization.rotation
        if rotation is not None:
            weights = (torch.from_numpy(weights) @ torch.from_numpy(rotation).double().T).numpy()
        return np.column_stack([weights[:, : self._inputs.features.shape[1]], mean[:, -1]])

    def _unpacked(self, start: np.ndarray) -> Point:
        """The reverse of `_packed`."""
        standardization = self._prepared.standardization
        weights = torch.zeros(len(start), standardization.width, dtype=torch.float64)
        weights[:, : start.shape[1] - 1] = torch.from_numpy(start[:, :-1])
        if standardization.rotation is not None:
            weights = weights @ torch.from_numpy(standardization.rotation).double()
        like = self._prepared.sample.features
        return Point(weights.to(like), torch.from_numpy(start[:, -1].copy()).to(like))

    def _by_row(self, n_subsets: int, left_out: Sequence[np.ndarray], pool: np.ndarray, counts: Counts) -> Tally:
        """Counts by slot as counts by input row; each array of `left_out` names rows that a subset did not predict."""
        rows, n_rows = self._pool.rows, len(self._inputs.labels)
        held_out, correct = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.int64)
        held_out[pool] = n_subsets
        for unpredicted in left_out:
            held_out[unpredicted] -= 1
        correct[rows] = counts.correct
        label = _means(counts.label_sums, rows, held_out) if len(counts.label_sums) else None
        matrix = _means(counts.matrix_sums, rows, held_out) if len(counts.matrix_sums) else None
        instead = None
        if len(counts.class_counts):
            instead = predicted_instead(counts.class_counts, self._codes[rows], rows=rows, n_rows=n_rows)
        return Tally(correct, held_out * len(self._losses()), held_out, label, matrix, instead)


def _means(sums: np.ndarray, rows: np.ndarray, held_out: np.ndarray) -> np.ndarray:
    """Sums by slot as float32 means by input row; NaN where a row was never held out."""
    means = np.full((len(held_out), *sums.shape[1:]), np.nan, dtype=np.float32)
    counted = held_out[rows] > 0
    divisors = held_out[rows[counted]]
    means[rows[counted]] = (sums[counted].T / divisors).T
    return means
