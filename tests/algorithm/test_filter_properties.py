"""What holds for every run, on tiny data of many kinds: with groups and without, evaluation rows, every classifier."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from aflite_assets.algorithm import (
    FilterResult,
    FilterSettings,
    FilterState,
    IterationRecord,
    Scores,
    StopReason,
    filter_dataset,
    score_rows,
)
from aflite_assets.algorithm import partitions as partitions_module
from aflite_assets.algorithm.linear.engine import preparation

_LARGEST_GROUP = 4


def examples(number: int) -> hypothesis_settings:
    """The same examples every time."""
    return hypothesis_settings(
        max_examples=number,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


@dataclass(frozen=True)
class Case:
    """Arguments of a run. Classes and groups are numbered with gaps; every group fits into a training set.

    `compiled`: take the float32 path of large jobs, not the float64 path that such small ones take by themselves.
    """

    features: np.ndarray
    labels: np.ndarray
    groups: np.ndarray | None
    score_only: np.ndarray | None
    counted: np.ndarray | None
    settings: FilterSettings
    seed: int
    compiled: bool

    @property
    def trainable(self) -> np.ndarray:
        """bool per row: may be trained on."""
        return np.ones(len(self.labels), bool) if self.score_only is None else ~self.score_only

    @property
    def sized(self) -> np.ndarray:
        """bool per row: counted by the target size."""
        return self.trainable if self.counted is None else self.counted

    @property
    def given(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("settings", "seed", "groups", "score_only", "counted")}

    def run(self, **more: Any) -> FilterResult:
        with self.path():
            return filter_dataset(self.features, self.labels, **(self.given | more))

    def scores(self, **more: Any) -> Scores:
        with self.path():
            given = {name: value for name, value in (self.given | more).items() if name != "counted"}
            return score_rows(self.features, self.labels, **given)

    @contextmanager
    def path(self) -> Iterator[None]:
        """The engine's path that this case is about."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(preparation, "_is_small", lambda inputs, settings: not self.compiled)
            yield


def drawn_features(rng: np.random.Generator, codes: np.ndarray, kind: str, width: int) -> np.ndarray:
    noise = rng.normal(size=(len(codes), width))
    if kind == "noise":
        return noise
    if kind == "ties":  # few different rows, so that many decision values are equal
        return np.round(noise + codes[:, None] % 2)
    easy = rng.random(len(codes)) < 0.7
    return noise + 4.0 * easy[:, None] * np.resize(np.eye(3), (3, width))[codes]


@st.composite
def cases(draw: st.DrawFn, kinds: tuple[str, ...] = ("planted", "noise", "ties"), most_slices: int = 6) -> Case:
    """20 to 60 rows, 2 to 4 columns, 2 or 3 classes; the target is met after at most `most_slices` full slices."""
    rows, seed = draw(st.integers(20, 60)), draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    n_classes = draw(st.integers(2, 3))
    codes = np.append(np.arange(n_classes), rng.integers(0, n_classes, rows - n_classes))
    score_only = None
    if draw(st.booleans()):
        score_only = (rng.random(rows) < 0.25) & (np.arange(rows) >= n_classes)
    groups = (
        rng.permutation(np.arange(rows) // draw(st.integers(1, _LARGEST_GROUP))) * 7 if draw(st.booleans()) else None
    )
    counted = None
    if draw(st.booleans()):
        counted = (rng.random(rows) < 0.7) | (np.arange(rows) < 12)
        counted &= np.ones(rows, bool) if score_only is None else ~score_only
    trainable = rows if score_only is None else rows - int(score_only.sum())
    sized = trainable if counted is None else int(counted.sum())
    target_size = draw(st.integers(max(8, -(-sized // min(4, most_slices + 1))), max(8, sized)))
    least_slice = min(target_size, max(_LARGEST_GROUP, -(-(trainable - target_size) // most_slices)))
    chosen = FilterSettings(
        target_size=target_size,
        train_size=draw(st.integers(_LARGEST_GROUP, target_size - 1)),
        slice_size=draw(st.integers(least_slice, max(least_slice, min(target_size, 20)))),
        n_partitions=draw(st.integers(1, 5)),
        threshold=draw(st.sampled_from([0.0, 0.4, 0.5, 0.75, 1.0])),
        selection=draw(st.sampled_from(["greedy", "gumbel", "gumbel_over_threshold"])),
        classifier=draw(st.sampled_from(["logistic", "linear_svm", "both"])),
        inverse_regularization=draw(st.sampled_from([1.0, 0.05])),
        remove="rows" if groups is None else draw(st.sampled_from(["rows", "groups"])),
    )
    features = drawn_features(rng, codes, draw(st.sampled_from(kinds)), draw(st.integers(2, 4)))
    return Case(features, codes * 3 + 1, groups, score_only, counted, chosen, seed, draw(st.booleans()))


def states_of(case: Case, **more: Any) -> tuple[FilterResult, list[FilterState]]:
    states: list[FilterState] = []
    return case.run(on_iteration=lambda record, state: states.append(state), **more), states


def assert_identical(first: FilterResult, second: FilterResult) -> None:
    """Every field alike: arrays bit for bit, all else by equality (records leave seconds out)."""
    for field in fields(FilterResult):
        value, mate = getattr(first, field.name), getattr(second, field.name)
        if isinstance(value, np.ndarray):
            assert (value.dtype, value.shape, value.tobytes()) == (mate.dtype, mate.shape, mate.tobytes()), field.name
        else:
            assert value == mate, field.name


@given(case=cases())
@examples(30)
def test_a_run_keeps_its_bounds(case: Case) -> None:
    result, states = states_of(case)
    chosen, trainable, sized = case.settings, case.trainable, case.sized
    assert sorted([*result.kept_rows.tolist(), *result.removed_rows.tolist()]) == list(range(len(case.labels)))
    assert (np.diff(result.kept_rows) > 0).all()
    kept = int(sized[result.kept_rows].sum())
    assert kept >= chosen.target_size
    if chosen.remove == "rows":
        assert (kept == chosen.target_size) == (result.stop_reason is StopReason.TARGET_SIZE)
        if chosen.selection != "gumbel":
            short = [record.removed < chosen.slice_size for record in result.iterations[:-1]]
            assert not any(short[:-1])
    for record, state in zip(result.iterations, states, strict=True):
        gone = state.removed_rows[state.removed_in_iteration == record.iteration]
        assert trainable[gone].sum() == record.removed <= chosen.slice_size
        assert sized[gone].sum() == record.counted_removed
        assert record.counted_rows_in == sized.sum() - sized[state.removed_rows].sum() + record.counted_removed
        assert (~trainable[gone]).sum() == record.scored_removed
        assert_scores_in_range(record, state)
        if chosen.remove == "rows" and chosen.selection != "gumbel":
            assert (state.predictability[gone] >= chosen.threshold).all()
        if chosen.remove == "rows":
            assert (state.held_out_count[gone] > 0).all()
        if record.cutoff is not None and chosen.selection != "gumbel":
            assert record.cutoff >= chosen.threshold
    assert result.iterations[-1].removed == 0


def assert_scores_in_range(record: IterationRecord, state: FilterState) -> None:
    assert 0.0 <= record.representation_bias <= 1.0
    scored = state.held_out_count > 0
    assert (np.isnan(state.predictability) == ~scored).all()
    assert ((state.predictability[scored] >= 0.0) & (state.predictability[scored] <= 1.0)).all()
    if state.label_probability is not None:
        known = state.label_probability[~np.isnan(state.label_probability)]
        assert ((known >= 0.0) & (known <= 1.0)).all()


@given(case=cases())
@examples(25)
def test_groups_are_on_one_side_of_every_partition_and_go_whole(case: Case) -> None:
    groups = np.arange(len(case.labels)) if case.groups is None else case.groups
    draws: list[tuple[np.ndarray, list[np.ndarray]]] = []
    draw = partitions_module.draw_partitions

    def noted(rows: np.ndarray, groups: np.ndarray | None, **given: Any) -> list[np.ndarray]:
        subsets = draw(rows, groups, **given)
        draws.append((rows, subsets))
        return subsets

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("aflite_assets.algorithm.partitions.draw_partitions", noted)
        result = case.run()
    assert len(draws) == len(result.iterations)
    for rows, subsets in draws:
        assert case.trainable[rows].all()
        assert len(subsets) == case.settings.n_partitions
        for trained in subsets:
            assert 1 <= len(trained) <= case.settings.train_size
            assert not set(groups[trained]) & set(groups[np.setdiff1d(rows, trained)])
    if case.settings.remove == "groups":
        for part in (case.trainable, ~case.trainable):
            gone, kept = (rows[part[rows]] for rows in (result.removed_rows, result.kept_rows))
            assert not set(groups[gone]) & set(groups[kept])


@given(case=cases(most_slices=3))
@examples(20)
def test_the_same_settings_give_the_same_bits_and_leave_the_inputs_alone(case: Case) -> None:
    arrays = [array for array in vars(case).values() if isinstance(array, np.ndarray)]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    with_probabilities = {"keep_probabilities": case.settings.classifier != "linear_svm"}
    assert_identical(case.run(**with_probabilities), case.run(**with_probabilities))
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@given(case=cases(most_slices=3))
@examples(20)
def test_a_run_resumed_from_any_of_its_states_gives_the_same_bits(case: Case) -> None:
    with_probabilities = {"keep_probabilities": case.settings.classifier != "linear_svm"}
    whole, states = states_of(case, **with_probabilities)
    for number, state in enumerate(states):
        resumed, later = states_of(case, resume=through_a_file(state), **with_probabilities)
        assert_identical(resumed, whole)
        assert len(later) == len(states) - number - 1


def through_a_file(state: FilterState) -> FilterState:
    file = io.BytesIO()
    np.savez(file, **state.to_arrays())  # type: ignore[arg-type]
    file.seek(0)
    with np.load(file, allow_pickle=False) as arrays:
        return FilterState.from_arrays(arrays)


@given(case=cases(kinds=("planted", "noise")), order=st.randoms(use_true_random=False))
@examples(25)
def test_renaming_classes_and_moving_rows_changes_no_score(case: Case, order: Any) -> None:
    """With the partitions given. Features are drawn so that no two decision values of a row are equal."""
    moved = np.array(order.sample(range(len(case.labels)), len(case.labels)))
    names = np.array(order.sample(range(40), int(case.labels.max()) + 1))
    rows = np.flatnonzero(case.trainable)
    subsets = partitions_module.draw_partitions(
        rows,
        None if case.groups is None else case.groups[rows],
        train_size=min(case.settings.train_size, len(rows) - 1),
        n_partitions=case.settings.n_partitions,
        seed=case.seed,
        iteration=0,
    )
    base = case.scores(partitions=subsets)
    places = np.argsort(moved)
    other = Case(
        case.features[moved],
        names[case.labels][moved],
        None if case.groups is None else case.groups[moved],
        None if case.score_only is None else case.score_only[moved],
        None if case.counted is None else case.counted[moved],
        case.settings,
        case.seed + 1,
        case.compiled,
    ).scores(partitions=[places[subset] for subset in subsets])
    np.testing.assert_array_equal(other.held_out_count, base.held_out_count[moved])
    np.testing.assert_array_equal(other.predictability, base.predictability[moved])
    assert other.representation_bias == pytest.approx(base.representation_bias)
    assert other.scored_bias == pytest.approx(base.scored_bias, nan_ok=True)
    if base.label_probability is not None:
        assert other.label_probability is not None
        np.testing.assert_allclose(other.label_probability, base.label_probability[moved], atol=1e-5)
