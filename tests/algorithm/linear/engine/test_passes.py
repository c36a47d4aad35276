"""The two kinds of passes against each other: compiled float32, and torch in float64."""

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from aflite_assets.algorithm.linear.engine.compiled_passes import CompiledPasses
from aflite_assets.algorithm.linear.engine.fitting import summed
from aflite_assets.algorithm.linear.engine.passes import Counts, TorchPasses
from aflite_assets.algorithm.linear.engine.pool import PoolFeatures, Standardization
from aflite_assets.algorithm.linear.engine.training_sets import TrainingSets
from aflite_assets.algorithm.linear.losses import HINGE, SIGMOID, SOFTMAX
from aflite_assets.algorithm.linear.threads import Threads

ROWS, WIDTH, SETS = 330, 21, 5
CASES = [(SIGMOID, 1), (HINGE, 1), (SOFTMAX, 3), (HINGE, 3), (SOFTMAX, 10), (HINGE, 10)]
ALL = np.arange(ROWS)
STREAMED = 60_000


@pytest.fixture
def threads() -> Iterator[Executor]:
    with ThreadPoolExecutor(3) as pool:
        yield pool


@dataclass(frozen=True)
class Case:
    features: np.ndarray
    sets: TrainingSets
    loss: int
    outputs: int
    threads: Executor

    def pool(self, dtype: np.dtype, memory_limit: int) -> PoolFeatures:
        standardization = Standardization.of(self.features, dtype)
        return PoolFeatures(self.features, ALL, standardization, dtype, memory_limit=memory_limit, threads=self.threads)

    def compiled(self, counted: np.ndarray = ALL, *, memory_limit: int = 2**30, n_threads: int = 1) -> CompiledPasses:
        pool = self.pool(np.dtype(np.float32), memory_limit)
        assert pool.resident is (memory_limit != STREAMED)
        return CompiledPasses(
            pool, self.sets, counted, loss=self.loss, outputs=self.outputs, threads=Threads(self.threads, n_threads)
        )

    def by_torch(
        self, counted: np.ndarray = ALL, *, kind: type = np.float64, memory_limit: int = 2**30, resident: bool = False
    ) -> TorchPasses:
        pool = self.pool(np.dtype(kind), memory_limit)
        return TorchPasses(
            pool,
            self.sets,
            counted,
            loss=self.loss,
            device=torch.device("cpu"),
            memory_limit=memory_limit,
            resident=torch.from_numpy(next(pool.blocks()).features) if resident else None,
        )

    def models(self, dtype: torch.dtype, numbers: list[int] | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights as wide as a padded row of that type, and intercepts."""
        rng = np.random.default_rng((self.loss, self.outputs))
        padded = 32 if dtype == torch.float32 else 24
        weights = torch.zeros(SETS, self.outputs, padded, dtype=dtype)
        weights[:, :, :WIDTH] = torch.from_numpy(rng.normal(size=(SETS, self.outputs, WIDTH)) * 0.5)
        intercepts = torch.from_numpy(rng.normal(size=(SETS, self.outputs)) * 0.5).to(dtype)
        chosen = list(range(SETS)) if numbers is None else numbers
        return weights[chosen], intercepts[chosen]

    def gradients(
        self, passes: CompiledPasses | TorchPasses, dtype: torch.dtype, numbers: list[int] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        chosen = list(range(SETS)) if numbers is None else numbers
        weights, intercepts = passes.gradients(*self.models(dtype, numbers), torch.tensor(chosen))
        assert weights.dtype == intercepts.dtype == dtype
        assert not weights[:, :, WIDTH:].any()
        return weights[:, :, :WIDTH].numpy(), intercepts.numpy()

    def counts(self, passes: CompiledPasses | TorchPasses, dtype: torch.dtype) -> Counts:
        counts = Counts.zeros(
            ROWS, max(2, self.outputs), label=self.loss != HINGE, matrix=self.loss != HINGE, classes=True
        )
        passes.count(*self.models(dtype), counts)
        return counts


def case_of(loss: int, outputs: int, threads: Executor, *, sizes: tuple[int, ...] = (17, 60, 111, 200, 329)) -> Case:
    rng = np.random.default_rng(outputs)
    classes = max(2, outputs)
    features = rng.normal(size=(ROWS, WIDTH)).astype(np.float32) * 3.0 + 5.0
    codes = rng.integers(0, classes, ROWS)
    subsets = [np.sort(rng.choice(ROWS, size, replace=False)) for size in sizes]
    if outputs > 1 and len(set(sizes)) > 1:  # the first set lacks the last class
        subsets[0] = subsets[0][codes[subsets[0]] < classes - 1]
    return Case(features, TrainingSets.of(subsets, codes, n_classes=classes), loss, outputs, threads)


def assert_close(actual: np.ndarray, expected: np.ndarray, *, rtol: float = 1e-4) -> None:
    """Within a share of the largest entry of each set."""
    for number in range(len(expected)):
        largest = np.abs(expected[number]).max()
        assert largest > 0.1
        np.testing.assert_allclose(actual[number], expected[number], rtol=0, atol=rtol * largest)


def assert_same(actual: Counts, expected: Counts, *, atol: float = 1e-5) -> None:
    np.testing.assert_array_equal(actual.correct, expected.correct)
    np.testing.assert_array_equal(actual.class_counts, expected.class_counts)
    np.testing.assert_allclose(actual.label_sums, expected.label_sums, rtol=0, atol=atol)
    np.testing.assert_allclose(actual.matrix_sums, expected.matrix_sums, rtol=0, atol=atol)


@pytest.mark.parametrize("memory_limit", [2**30, STREAMED])
@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_gradients_in_float32_and_float64(loss: int, outputs: int, memory_limit: int, threads: Executor) -> None:
    case = case_of(loss, outputs, threads)
    expected = case.gradients(case.by_torch(), torch.float64)
    compiled = case.gradients(case.compiled(memory_limit=memory_limit), torch.float32)
    in_torch = case.gradients(case.by_torch(kind=np.float32, memory_limit=memory_limit), torch.float32)
    streamed = case.gradients(case.by_torch(memory_limit=memory_limit), torch.float64)
    for number in range(2):
        assert_close(compiled[number], expected[number])
        assert_close(in_torch[number], expected[number])
        assert_close(streamed[number], expected[number], rtol=1e-12)


@pytest.mark.parametrize("numbers", [None, [0, 3, 4]])
@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_sets_of_one_size_have_the_same_gradients_side_by_side_as_one_by_one(
    loss: int, outputs: int, numbers: list[int] | None, threads: Executor
) -> None:
    case = case_of(loss, outputs, threads, sizes=(90,) * SETS)
    side_by_side, one_by_one = case.by_torch(), case.by_torch(memory_limit=STREAMED)
    actual = case.gradients(side_by_side, torch.float64, numbers)
    expected = case.gradients(one_by_one, torch.float64, numbers)
    for number in range(2):
        assert_close(actual[number], expected[number], rtol=1e-12)
    assert side_by_side._gathered is not None
    assert one_by_one._gathered is None


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_blocks_and_threads_do_not_change_a_bit_of_compiled_gradients(
    loss: int, outputs: int, threads: Executor
) -> None:
    case = case_of(loss, outputs, threads)
    expected = case.gradients(case.compiled(), torch.float32)
    for memory_limit, n_threads in ((2**30, 3), (STREAMED, 1), (STREAMED, 2), (STREAMED, 8)):
        passes = case.compiled(memory_limit=memory_limit, n_threads=n_threads)
        for actual, wanted in zip(case.gradients(passes, torch.float32), expected, strict=True):
            np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("memory_limit", [2**30, STREAMED])
@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_counts_in_float32_and_float64(loss: int, outputs: int, memory_limit: int, threads: Executor) -> None:
    case = case_of(loss, outputs, threads)
    expected = case.counts(case.by_torch(), torch.float64)
    held_out = SETS * ROWS - len(case.sets.slots)
    assert 0.02 * held_out < expected.correct.sum() < 0.9 * held_out
    assert expected.class_counts.sum() == held_out
    own = expected.class_counts[ALL, case.sets.codes]
    np.testing.assert_array_equal(own, expected.correct)
    assert expected.matrix_sums.sum() == pytest.approx(held_out if loss != HINGE else 0.0)
    assert_same(case.counts(case.compiled(memory_limit=memory_limit), torch.float32), expected)
    assert_same(case.counts(case.by_torch(kind=np.float32, memory_limit=memory_limit), torch.float32), expected)
    assert_same(case.counts(case.by_torch(memory_limit=memory_limit), torch.float64), expected, atol=1e-12)


@pytest.mark.parametrize("n_threads", [2, 3, 8])
def test_threads_do_not_change_a_bit_of_compiled_counts(n_threads: int, threads: Executor) -> None:
    case = case_of(SOFTMAX, 3, threads)
    expected = case.counts(case.compiled(), torch.float32)
    for memory_limit in (2**30, STREAMED):
        actual = case.counts(case.compiled(memory_limit=memory_limit, n_threads=n_threads), torch.float32)
        assert_same(actual, expected, atol=0.0)


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_a_pool_held_on_the_device_gives_the_same_as_a_streamed_one(loss: int, outputs: int, threads: Executor) -> None:
    case = case_of(loss, outputs, threads)
    held, streamed = case.by_torch(resident=True), case.by_torch(memory_limit=STREAMED)
    pairs = zip(case.gradients(held, torch.float64), case.gradients(streamed, torch.float64), strict=True)
    for actual, expected in pairs:
        assert_close(actual, expected, rtol=1e-12)
    assert_same(case.counts(held, torch.float64), case.counts(streamed, torch.float64), atol=1e-12)


@pytest.mark.parametrize("numbers", [[3], [0, 4], [4, 2, 1]])
@pytest.mark.parametrize(("loss", "outputs"), [(SIGMOID, 1), (SOFTMAX, 3), (HINGE, 10)])
def test_gradients_of_some_of_the_sets(loss: int, outputs: int, numbers: list[int], threads: Executor) -> None:
    case = case_of(loss, outputs, threads)
    everything = case.gradients(case.by_torch(), torch.float64)
    in_torch = case.gradients(case.by_torch(), torch.float64, numbers)
    compiled = case.gradients(case.compiled(n_threads=2), torch.float32, numbers)
    for number in range(2):
        np.testing.assert_array_equal(in_torch[number], everything[number][numbers])
        assert_close(compiled[number], everything[number][numbers])


@pytest.mark.parametrize("memory_limit", [2**30, STREAMED])
@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_slots_that_are_not_counted_stay_zero(loss: int, outputs: int, memory_limit: int, threads: Executor) -> None:
    case = case_of(loss, outputs, threads)
    subsets = [case.sets[number] for number in range(SETS - 1)]
    trained = np.unique(np.concatenate(subsets))
    never = np.setdiff1d(ALL, trained)
    left_out = never[::2]
    assert len(left_out) > 10
    case = Case(
        case.features, TrainingSets.of([*subsets, subsets[0]], case.sets.codes, n_classes=max(2, outputs)),
        loss, outputs, threads,
    )  # fmt: skip
    counted = np.setdiff1d(ALL, left_out)
    everything = case.counts(case.by_torch(), torch.float64)
    for passes, dtype in (
        (case.by_torch(counted, memory_limit=memory_limit), torch.float64),
        (case.compiled(counted, memory_limit=memory_limit), torch.float32),
    ):
        actual = case.counts(passes, dtype)
        np.testing.assert_array_equal(actual.correct[counted], everything.correct[counted])
        assert not actual.correct[left_out].any()
        if loss != HINGE:
            np.testing.assert_allclose(actual.label_sums[counted], everything.label_sums[counted], atol=1e-5)
            assert not actual.label_sums[left_out].any()
            assert not actual.matrix_sums[left_out].any()


def test_counts_without_probabilities_share_the_right_predictions() -> None:
    counts = Counts.zeros(4, 3, label=True, matrix=True)
    assert [counts.correct.shape, counts.label_sums.shape, counts.matrix_sums.shape] == [(4,), (4,), (4, 3)]
    fewer = counts.without_probabilities()
    fewer.correct[2] += 5
    assert len(counts.class_counts) == 0
    counted = Counts.zeros(4, 3, label=True, matrix=False, classes=True)
    counted.without_probabilities().class_counts[1, 2] += 1
    assert counted.class_counts.tolist() == [[0] * 3, [0, 0, 1], [0] * 3, [0] * 3]
    assert counts.correct.tolist() == [0, 0, 5, 0]
    assert len(fewer.label_sums) == len(fewer.matrix_sums) == 0
    assert len(Counts.zeros(4, 3, label=False, matrix=False).label_sums) == 0


@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_a_set_in_parts_has_the_gradients_of_the_whole(loss: int, outputs: int, threads: Executor) -> None:
    case = case_of(loss, outputs, threads)
    parts = TrainingSets.of(np.array_split(case.sets[3], 4), case.sets.codes, n_classes=case.sets.seen.shape[1])
    parts = replace(parts, seen=np.repeat(case.sets.seen[3:4], 4, axis=0))
    expected, expected_intercepts = case.gradients(case.compiled(), torch.float32, [3])
    models = case.models(torch.float32, [3])
    gradients = summed(replace(case, sets=parts).compiled(n_threads=2).gradients, 4)
    sums, intercept_sums = gradients(*models, torch.tensor([0]))
    assert_close(sums[:, :, :WIDTH].numpy(), expected, rtol=1e-5)
    assert_close(intercept_sums.numpy(), expected_intercepts, rtol=1e-5)


@pytest.mark.parametrize("memory_limit", [2**30, STREAMED])
def test_no_slot_counted(memory_limit: int, threads: Executor) -> None:
    case = case_of(SOFTMAX, 3, threads)
    for passes, dtype in (
        (case.by_torch(ALL[:0], memory_limit=memory_limit), torch.float64),
        (case.compiled(ALL[:0], memory_limit=memory_limit), torch.float32),
    ):
        actual = case.counts(passes, dtype)
        assert not actual.correct.any()
        assert not actual.matrix_sums.any()
