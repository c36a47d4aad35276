"""Partitions scored elsewhere, in any shares, give the bits that one engine gives here."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterResult, FilterSettings, FilterState, filter_dataset
from aflite_assets.algorithm.inputs import check_inputs
from aflite_assets.algorithm.linear.engine import SetCounts, SummedClassifiers, WholeIteration, preparation
from aflite_assets.algorithm.spreading import IterationWork, PartitionScorer, shares

ROWS, WIDTH = 2400, 24


@dataclass
class Elsewhere:
    """Scorers of this process, each with an engine of its own; `lost`: numbers of the calls before which one is new."""

    scorers: list[PartitionScorer]
    make: Any
    lost: frozenset[int] = frozenset()
    calls: int = 0

    @property
    def count(self) -> int:
        return len(self.scorers)

    def score(self, work: IterationWork, numbers: Sequence[range]) -> Iterator[SetCounts]:
        for place, part in enumerate(numbers):
            if self.calls in self.lost:
                self.scorers[place] = self.make()
            self.calls += 1
            counted = self.scorers[place].score(work, part)
            arrays = [getattr(counted.counts, field.name) for field in fields(counted.counts)]
            kept = [part for of_kind in counted.classifiers for part in of_kind.parts]
            for array in [*arrays, *kept, counted.evaluations]:
                array.setflags(write=False)  # as what comes from another process
            yield counted


def rows_of(classes: int, *, seed: int = 0, width: int = WIDTH, signal: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, classes, ROWS)
    features = rng.normal(size=(ROWS, width)) + rng.normal(size=(classes, width))[labels] * 0.5
    return (features * np.geomspace(1.0, 0.1, width)).astype(np.float32), labels


def settings_of(**changes: Any) -> FilterSettings:
    given = {"target_size": 1500, "train_size": 600, "slice_size": 300, "n_partitions": 13, "threshold": 0.6}
    return FilterSettings(**(given | changes))


def filtered(
    classes: int,
    scorers: int | None,
    *,
    settings: FilterSettings | None = None,
    lost: frozenset[int] = frozenset(),
    memory_limit: int = 2**30,
    width: int = WIDTH,
    **marked: Any,
) -> FilterResult:
    features, labels = rows_of(classes, width=width)
    given: dict[str, Any] = {"settings": settings or settings_of(), "seed": 3}
    inputs = check_inputs(
        features, labels, memory_limit=memory_limit, **({"groups": None, "score_only": None} | marked)
    )

    def make() -> PartitionScorer:
        return PartitionScorer(inputs, given["settings"], seed=3, memory_limit=memory_limit)

    elsewhere = None if scorers is None else Elsewhere([make() for _ in range(scorers)], make, lost)
    result = filter_dataset(
        features, labels, **given, memory_limit=memory_limit, keep_probabilities=True, scorers=elsewhere, **marked
    )
    assert elsewhere is None or elsewhere.calls >= 3
    return result


def assert_same_bits(one: FilterResult, other: FilterResult) -> None:
    for name in ("kept_rows", "removed_rows", "predictability", "held_out_count", "label_probability", "probabilities"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    if one.instead_shares is not None and other.instead_shares is not None:
        np.testing.assert_array_equal(one.instead_shares, other.instead_shares)
    assert (one.instead_shares is None) == (other.instead_shares is None)
    without_time = [[replace(record, seconds=0.0) for record in result.iterations] for result in (one, other)]
    assert without_time[0] == without_time[1]


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs of any size go through the kernels."""
    monkeypatch.setattr(preparation, "_is_small", lambda inputs, settings: False)


@pytest.mark.parametrize("scorers", [1, 2, 5, 13, 20])
def test_the_number_of_scorers_changes_no_bit(scorers: int) -> None:
    assert_same_bits(filtered(3, scorers), filtered(3, None))


@pytest.mark.parametrize(
    ("classes", "changes"),
    [(2, {}), (3, {"classifier": "both"}), (12, {}), (4, {"inverse_regularization": 100.0})],
)
def test_kinds_of_classifiers(classes: int, changes: dict[str, Any]) -> None:
    settings = settings_of(**changes)
    assert_same_bits(filtered(classes, 4, settings=settings), filtered(classes, None, settings=settings))


def test_sums_of_small_and_large_probabilities_are_exact() -> None:
    """In float64, sums of float32 numbers hang on their order where these lie far enough apart."""
    features, labels = rows_of(3)
    settings = settings_of(inverse_regularization=1e5, train_size=60)  # models that disagree about a row, all sure
    inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=2**30)
    scorer = PartitionScorer(inputs, settings, seed=3, memory_limit=2**30)
    work = IterationWork(0, np.arange(ROWS), WholeIteration(13, 60.0), None, keep_probabilities=True)
    together = scorer.score(work, range(13)).counts
    apart = scorer.score(work, range(7, 13)).counts.plus(scorer.score(work, range(7)).counts)
    np.testing.assert_array_equal(apart.matrix_sums, together.matrix_sums)
    np.testing.assert_array_equal(apart.label_sums, together.label_sums)


def test_classifiers_are_added_up_alike_in_any_portions() -> None:
    rng = np.random.default_rng(0)
    classifiers = (rng.normal(size=(11, 2, 3)) * 10.0 ** rng.integers(-15, 15, (11, 2, 3))).astype(np.float32)

    def mean(at_once: int, *edges: int) -> np.ndarray:
        summed = SummedClassifiers(at_once)
        for portion in np.split(classifiers, edges):
            summed.add(portion)
        return summed.mean()

    expected = sum(part.astype(np.float64).sum(axis=0) for part in np.split(classifiers, [4, 8])) / 11
    np.testing.assert_allclose(mean(4), expected, rtol=1e-9)
    for edges in [(1, 2, 10), (3, 7), (4, 8), (0, 5, 5)]:
        np.testing.assert_array_equal(mean(4, *edges), mean(4))
    assert (mean(3) != mean(4)).any()


def test_training_sets_of_unequal_size() -> None:
    """Tolerance and coordinates hang on the mean size of all of an iteration's sets."""
    groups = np.random.default_rng(1).zipf(1.6, ROWS).clip(max=120)
    groups = np.repeat(np.arange(ROWS), groups)[:ROWS]
    assert_same_bits(filtered(3, 5, groups=groups), filtered(3, None, groups=groups))


def test_rows_that_are_only_scored() -> None:
    groups, score_only = np.arange(ROWS) // 3, np.arange(ROWS) >= 2100
    settings = settings_of(target_size=1300, train_size=400)
    marked: dict[str, Any] = {"groups": groups, "score_only": score_only, "settings": settings}
    assert_same_bits(filtered(3, 4, **marked), filtered(3, None, **marked))


def test_a_pool_that_is_streamed_and_not_rotated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_is_rotated", lambda *given: False)
    given: dict[str, Any] = {"memory_limit": 2**18, "width": 40, "settings": settings_of(n_partitions=9)}
    assert_same_bits(filtered(3, 4, **given), filtered(3, None, **given))


def test_a_scorer_that_begins_anew_in_the_middle() -> None:
    assert_same_bits(filtered(3, 3, lost=frozenset({4, 7})), filtered(3, None))


def test_a_run_goes_on_elsewhere() -> None:
    features, labels = rows_of(3)
    settings, states = settings_of(), list[FilterState]()
    whole = filter_dataset(
        features, labels, settings=settings, seed=3, on_iteration=lambda record, state: states.append(state)
    )
    inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=2**30)
    scorer = PartitionScorer(inputs, settings, seed=3, memory_limit=2**30)
    elsewhere = Elsewhere([scorer], lambda: scorer)
    resumed = filter_dataset(features, labels, settings=settings, seed=3, resume=states[0], scorers=elsewhere)
    np.testing.assert_array_equal(resumed.kept_rows, whole.kept_rows)
    np.testing.assert_array_equal(resumed.predictability, whole.predictability)


def test_a_small_job_stays_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preparation, "_is_small", lambda inputs, settings: True)
    features, labels = rows_of(3)
    elsewhere = Elsewhere([], None)
    given: dict[str, Any] = {"settings": settings_of(), "seed": 3}
    here = filter_dataset(features, labels, **given)
    np.testing.assert_array_equal(
        filter_dataset(features, labels, **given, scorers=elsewhere).kept_rows, here.kept_rows
    )


def test_shares() -> None:
    assert shares(64, 3) == [range(21), range(21, 43), range(43, 64)]
    assert shares(2, 5) == [range(1), range(1, 2)]
