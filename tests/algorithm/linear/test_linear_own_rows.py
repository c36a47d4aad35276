"""Own curvature of training sets with few rows per class: its inverse, where it is used, and what it saves."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch

from aflite_assets.algorithm.linear.compiled_fitting import CompiledProblems
from aflite_assets.algorithm.linear.compiled_passes import CompiledPasses
from aflite_assets.algorithm.linear.coordinates import Coordinates, Sample, coordinates_at
from aflite_assets.algorithm.linear.lbfgs import advance_all
from aflite_assets.algorithm.linear.losses import HINGE, SOFTMAX, curvature_of
from aflite_assets.algorithm.linear.own_choice import ROWS, OwnCurvature, own_curvature
from aflite_assets.algorithm.linear.own_rows import OwnRows, precondition
from aflite_assets.algorithm.linear.pool import Frame, PoolFeatures
from aflite_assets.algorithm.linear.threads import Threads
from aflite_assets.algorithm.linear.training_sets import TrainingSets

POOL, WIDTH, CLASSES, SETS = 3000, 32, 40, 4
STRENGTH = 0.7
MEMORY = 2**28
NEEDED = 4 * (POOL * WIDTH + SETS * CLASSES * ROWS * (ROWS + 3) + 2 * (300 * CLASSES + ROWS * (WIDTH + ROWS)))
"""Bytes of the features, of what is held and of what passes through memory, with 300 rows per set and two threads."""


@pytest.fixture
def threads() -> Iterator[Threads]:
    with ThreadPoolExecutor(2) as executor:
        yield Threads(executor, 2)


@dataclass(frozen=True)
class Problem:
    """Sets of one pool in the sample's basis, and coordinates at a start."""

    features: np.ndarray
    sets: TrainingSets
    coordinates: Coordinates
    weights: torch.Tensor
    intercepts: torch.Tensor

    def curvature(self, threads: Threads) -> OwnCurvature:
        return OwnCurvature(self.features, self.sets, self.coordinates, threads)

    def chosen(self, threads: Threads, problem: int, number: int) -> OwnRows:
        """Rows of one problem, trained on set `number`, at the start."""
        curvature = self.curvature(threads)
        own = curvature.nothing_yet(SETS)
        choose(curvature, own, [problem], [number], self.weights[None], self.intercepts[None])
        return own


def choose(
    curvature: OwnCurvature,
    own: OwnRows,
    problems: list[int],
    numbers: list[int],
    weights: torch.Tensor,
    intercepts: torch.Tensor,
    *,
    strengths: Sequence[float] = (STRENGTH,),
) -> None:
    felt = np.broadcast_to(np.array(strengths, np.float32), len(problems))
    curvature.choose(own, np.array(problems), np.array(numbers), felt.copy(), weights, intercepts)


def problem_of(size: int, *, classes: int = CLASSES, turned: bool = True) -> Problem:
    rng = np.random.default_rng(size)
    codes = rng.integers(0, classes, POOL)
    values = rng.normal(size=(POOL, WIDTH)) + 0.8 * rng.normal(size=(classes, WIDTH))[codes]
    values *= np.geomspace(1.0, 0.1, WIDTH)
    sample = Sample.of(torch.from_numpy(values - values.mean(axis=0)).float())
    sample = sample.rotated() if turned else sample
    sets = [np.sort(rng.choice(POOL, size, replace=False)) for _ in range(SETS)]
    weights = torch.from_numpy(0.3 * rng.normal(size=(classes, WIDTH))).float()
    intercepts = torch.from_numpy(0.3 * rng.normal(size=classes)).float()
    coordinates = coordinates_at(
        sample,
        torch.from_numpy(codes),
        weights,
        intercepts,
        loss=SOFTMAX,
        train_size=float(size),
        strength=STRENGTH,
    )
    training = TrainingSets.of(sets, codes, n_classes=classes)
    return Problem(sample.features.numpy(), training, coordinates, weights, intercepts)


def dense_curvature(problem: Problem, number: int) -> np.ndarray:
    """Of z, in float64: per output its rows of most curvature as they are and the others as so much of the pool's."""
    coordinates = problem.coordinates.double()
    slots = problem.sets[number]
    rows = torch.from_numpy(problem.features[slots]).double()
    scores = rows @ problem.weights.double().T + problem.intercepts.double()
    scores = scores.masked_fill(~torch.from_numpy(problem.sets.seen[number]), -torch.inf)
    own = curvature_of(scores, torch.from_numpy(problem.sets.codes[slots]), SOFTMAX).own
    least = 1e-3 * float(own.sum(dim=0).mean())
    size = CLASSES * (WIDTH + 1)
    raw, to_raw = torch.zeros(size, size, dtype=torch.float64), torch.eye(size, dtype=torch.float64)
    to_raw[:CLASSES, :CLASSES] = coordinates.dense
    for output in range(CLASSES):
        order = own[:, output].argsort(descending=True)
        taken, left = order[:ROWS], own[order[ROWS:], output].sum()
        penalty = STRENGTH * coordinates.scales[output] ** 2
        share = left / coordinates.mass[output]
        at = [CLASSES + output * WIDTH + column for column in range(WIDTH)] + [output]
        vectors = (rows[taken] - coordinates.centres[output]) * coordinates.scales[output]
        vectors = torch.cat([vectors, torch.ones(len(taken), 1, dtype=torch.float64)], dim=1)
        block = torch.diag(torch.cat([penalty + (1 - penalty) * share, (left + least)[None]]))
        block += vectors.T @ (own[taken, output, None] * vectors)
        raw[np.ix_(at, at)] = block
    return (to_raw.T @ raw @ to_raw).numpy()


def inverse_curvature(problem: Problem, number: int) -> np.ndarray:
    """Of z, in float64: outputs apart, but 1 / strength for what the weights of all classes seen have in common."""
    coordinates, weights = problem.coordinates.double(), CLASSES * WIDTH
    parts = coordinates.weights(torch.eye(coordinates.size, dtype=torch.float64))
    to_classifiers = torch.cat([part.flatten(1) for part in parts], dim=1).T.numpy()
    seen = problem.sets.seen[number]
    common = np.zeros((len(to_classifiers),) * 2)
    common[:weights, :weights] = np.kron(np.outer(seen, seen) / seen.sum(), np.eye(WIDTH))
    apart = np.eye(len(common)) - common
    outputs_apart = to_classifiers @ np.linalg.solve(dense_curvature(problem, number), to_classifiers.T)
    to_z = np.linalg.inv(to_classifiers)
    return to_z @ (apart @ outputs_apart @ apart + common / STRENGTH) @ to_z.T


@pytest.mark.parametrize("size", [30, 300], ids=["all rows taken", "some rows taken"])
def test_the_inverse_is_that_of_the_dense_matrix(size: int, threads: Threads) -> None:
    problem = problem_of(size)
    own = problem.chosen(threads, 1, 2)
    assert own.chosen.tolist() == [False, True, False, False]
    assert own.roots.shape == (SETS, CLASSES, min(size, ROWS))
    assert (own.shares[1].max() < 1e-5) == (size <= ROWS)
    vector = np.random.default_rng(0).normal(size=problem.coordinates.size).astype(np.float32)
    expected = inverse_curvature(problem, 2) @ vector.astype(np.float64)
    scales, centres = problem.coordinates.scales.numpy(), problem.coordinates.centres.numpy()
    precondition(1, vector, own, scales, centres, np.float32(STRENGTH))
    assert np.linalg.norm(vector - expected) <= 1e-3 * np.linalg.norm(expected)


def test_chosen_are_the_rows_of_most_curvature(threads: Threads) -> None:
    problem = problem_of(300)
    own, slots = problem.chosen(threads, 0, 3), problem.sets[3]
    scores = torch.from_numpy(problem.features[slots]) @ problem.weights.T + problem.intercepts
    curvature = curvature_of(scores, torch.from_numpy(problem.sets.codes[slots]), SOFTMAX).own.numpy()
    for output in range(CLASSES):
        most = np.sort(curvature[:, output])[::-1][:ROWS]
        at = np.searchsorted(slots, own.slots[0, output])
        assert len(set(at)) == ROWS
        np.testing.assert_allclose(own.roots[0, output] ** 2, most, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(curvature[at, output], most, rtol=1e-4, atol=1e-7)


def test_of_equal_rows_the_first_are_chosen(threads: Threads) -> None:
    problem = problem_of(300)
    own = replace(problem, features=np.zeros_like(problem.features)).chosen(threads, 0, 1)
    assert (own.slots[0] == problem.sets[1][:ROWS]).all()


def test_a_class_that_a_set_lacks_has_no_curvature_but_the_penalty(threads: Threads) -> None:
    problem = problem_of(30)
    lacking = np.flatnonzero(~problem.sets.seen[0])
    assert len(lacking) > 5
    own = problem.chosen(threads, 0, 0)
    assert (own.roots[0, lacking] == 0).all()
    vector = np.ones(problem.coordinates.size, np.float32)
    scales = problem.coordinates.scales.numpy()
    precondition(0, vector, own, scales, problem.coordinates.centres.numpy(), np.float32(STRENGTH))
    found = vector[CLASSES:].reshape(CLASSES, WIDTH)[lacking]
    np.testing.assert_allclose(found, 1 / (STRENGTH * scales[lacking] ** 2), rtol=1e-4)


def test_every_problem_gets_the_rows_of_its_own_set_classifier_and_strength(threads: Threads) -> None:
    problem = problem_of(300)
    problems, numbers, strengths = [3, 0, 2], [1, 2, 0], [0.3, 0.7, 2.0]
    weights = torch.stack([problem.weights, 2 * problem.weights, -problem.weights])
    intercepts = torch.stack([problem.intercepts, -problem.intercepts, 2 * problem.intercepts])
    curvature = problem.curvature(threads)
    together, alone = curvature.nothing_yet(SETS), curvature.nothing_yet(SETS)
    choose(curvature, together, problems, numbers, weights, intercepts, strengths=strengths)
    for at in range(3):
        one = slice(at, at + 1)
        choose(curvature, alone, problems[one], numbers[one], weights[one], intercepts[one], strengths=strengths[one])
    assert together.chosen.tolist() == [True, False, True, True]
    for name in ("slots", "roots", "inverses", "shares", "intercepts", "seen"):
        np.testing.assert_array_equal(getattr(together, name)[problems], getattr(alone, name)[problems])
    assert not np.array_equal(together.slots[0], together.slots[2])


def with_one(value: float, weights: torch.Tensor) -> torch.Tensor:
    weights = weights.clone()
    weights[3, 5] = value
    return weights


UNUSABLE = {
    "infinite": lambda weights: with_one(torch.inf, weights),
    "no number": lambda weights: with_one(torch.nan, weights),
    "sure of every row": lambda weights: 1e20 * weights,
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_at_a_classifier_without_curvature_what_is_known_stays(name: str, threads: Threads) -> None:
    problem = problem_of(300)
    own = problem.chosen(threads, 0, 0)
    before = [part.copy() for part in own]
    weights = UNUSABLE[name](problem.weights)[None]
    choose(problem.curvature(threads), own, [0, 1], [1, 1], weights.repeat(2, 1, 1), problem.intercepts.repeat(2, 1))
    assert own.chosen.tolist() == [True, False, False, False]
    for part, known in zip(own, before, strict=True):
        np.testing.assert_array_equal(part[:1], known[:1])


@pytest.mark.parametrize(
    ("change", "used"),
    [
        ({}, True),
        ({"size": ROWS * CLASSES}, True),
        ({"size": ROWS * CLASSES + 1}, False),
        ({"loss": HINGE}, False),
        ({"features": None}, False),
        ({"memory_left": NEEDED - 1}, False),
        ({"memory_left": NEEDED}, True),
        ({"classes": 20}, False),
        ({"classes": 21}, True),
        ({"turned": False}, False),
    ],
    ids=lambda value: str(value),
)
def test_where_own_rows_are_looked_for(change: dict[str, object], used: bool, threads: Threads) -> None:
    options = {"size": 300, "classes": CLASSES, "turned": True, "loss": SOFTMAX, "memory_left": MEMORY} | change
    problem = problem_of(options["size"], classes=options["classes"], turned=options["turned"])  # type: ignore[arg-type]
    features = options.get("features", problem.features)
    found = own_curvature(
        features,  # type: ignore[arg-type]
        problem.sets,
        problem.coordinates,
        loss=options["loss"],  # type: ignore[arg-type]
        threads=threads,
        memory_left=options["memory_left"],  # type: ignore[arg-type]
    )
    assert (found is not None) == used


def test_nothing_is_held_where_nothing_is_asked_for() -> None:
    own = OwnRows.none(7)
    assert own.chosen.tolist() == [False] * 7
    assert sum(part.nbytes for part in own) == 7


@dataclass(frozen=True)
class WatchedCurvature(OwnCurvature):
    """Remembers whose rows were chosen."""

    asked: list[int] = field(default_factory=list)

    def choose(
        self,
        own: OwnRows,
        problems: np.ndarray,
        numbers: np.ndarray,
        strengths: np.ndarray,
        weights: torch.Tensor,
        intercepts: torch.Tensor,
    ) -> None:
        self.asked.extend(problems)
        super().choose(own, problems, numbers, strengths, weights, intercepts)


def compiled_problems(problem: Problem, threads: Threads, curvature: OwnCurvature | None) -> CompiledProblems:
    frame = Frame(np.zeros(WIDTH), 1.0, WIDTH)
    rows = np.arange(POOL)
    pool = PoolFeatures(
        problem.features, rows, frame, np.dtype(np.float32), memory_limit=MEMORY, threads=threads.executor
    )
    passes = CompiledPasses(pool, problem.sets, rows[:0], loss=SOFTMAX, outputs=CLASSES, threads=threads)
    assert passes.resident is not None
    return CompiledProblems(
        passes,
        threads,
        problem.coordinates,
        problem.weights,
        problem.intercepts,
        numbers=torch.arange(SETS),
        strengths=torch.full((SETS,), STRENGTH),
        memory=10,
        curvature=curvature,
    )


def test_the_optimum_is_the_same_and_reached_in_fewer_evaluations(threads: Threads) -> None:
    problem = problem_of(120)
    tolerance = torch.full((SETS,), 2e-3)
    found, evaluations = [], []
    for curvature in (None, problem.curvature(threads)):
        problems = compiled_problems(problem, threads, curvature)
        evaluations.append(advance_all(problems, tolerance=tolerance, most_evaluations=300, patience=60))
        assert (problems.norms <= tolerance).all()
        weights, intercepts = problems.classifiers()
        scores = torch.from_numpy(problem.features) @ weights.mT + intercepts[:, None]
        scores = scores.masked_fill(~torch.from_numpy(problem.sets.seen)[:, None], -torch.inf)
        found.append(torch.softmax(scores, dim=2))
    assert (found[0] - found[1]).norm() <= 1e-3 * found[0].norm()
    assert evaluations[1].max() < evaluations[0].min()


def test_rows_are_looked_at_late_and_again_while_progress_stalls(threads: Threads) -> None:
    problem = problem_of(120)
    curvature = WatchedCurvature(problem.features, problem.sets, problem.coordinates, threads)
    problems = compiled_problems(problem, threads, curvature)
    for _ in range(9):
        problems.advance(torch.arange(SETS))
    assert curvature.asked == []
    problems.advance(torch.tensor([0, 2]))
    assert curvature.asked == [0, 2]
    for _ in range(60):
        problems.advance(torch.tensor([1]))
    assert set(curvature.asked) <= {0, 1, 2}
    assert curvature.asked.count(0) == 1
    assert 6 <= curvature.asked.count(1) <= 10


def test_without_rows_in_memory_there_is_nothing_to_look_at(threads: Threads) -> None:
    problem = problem_of(120)
    frame = Frame(np.zeros(WIDTH), 1.0, WIDTH)
    rows = np.arange(POOL)
    pool = PoolFeatures(
        problem.features, rows, frame, np.dtype(np.float32), memory_limit=2**16, threads=threads.executor
    )
    passes = CompiledPasses(pool, problem.sets, rows[:0], loss=SOFTMAX, outputs=CLASSES, threads=threads)
    assert passes.resident is None
