"""Runs of the filter that rank their candidates by vocabulary: planted words, twins, groups, resumption."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from aflite_assets.algorithm import (
    FilterResult,
    FilterSettings,
    FilterState,
    InvalidInputError,
    IterationRecord,
    RowWords,
    filter_dataset,
)
from aflite_assets.algorithm.partitions import Purpose, generator
from aflite_assets.algorithm.vocabulary import count_vocabulary, remove_lowest

ROWS, EASY, PLANTED = 240, 120, 30
BASE: dict[str, Any] = {
    "target_size": 150,
    "train_size": 60,
    "slice_size": 25,
    "n_partitions": 24,
    "ranking": "vocabulary",
    "threshold": 0.95,
}


@dataclass(frozen=True)
class Planted:
    """Rows 0 to 119 are easy, the others at 0; `own` are the easy rows with a word that no other has."""

    features: np.ndarray
    labels: np.ndarray
    words: RowWords
    own: np.ndarray


def to_words(sets: list[list[int]]) -> RowWords:
    return RowWords(np.cumsum([0, *map(len, sets)]), np.array([word for words in sets for word in words]))


@pytest.fixture
def planted() -> Planted:
    labels = np.arange(ROWS) % 2
    features = np.where(np.arange(ROWS) < EASY, 20.0 * labels - 10.0, 0.0)[:, None]
    own = np.sort(np.random.default_rng(2).choice(EASY, PLANTED, replace=False))
    sets = [[row % 5, 5 + row % 7, 12 + row % 11] for row in range(ROWS)]
    for row in own.tolist():
        sets[row].append(100 + row)
    return Planted(features, labels, to_words(sets), own)


def run(data: Any, *, seed: int = 0, changes: dict[str, Any] | None = None, **given: Any) -> FilterResult:
    settings = FilterSettings(**(BASE | (changes or {})))
    return filter_dataset(data.features, data.labels, settings=settings, seed=seed, **{"words": data.words, **given})


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_with_a_word_of_their_own_go_last_and_hard_ones_never(planted: Planted, seed: int) -> None:
    others = np.setdiff1d(np.arange(EASY), planted.own)
    result = run(planted, seed=seed, changes={"target_size": ROWS - len(others)})
    assert np.sort(result.removed_rows).tolist() == others.tolist()
    further = run(planted, seed=seed, changes={"target_size": ROWS - len(others) - 10})
    assert np.isin(others, further.removed_rows).all()
    assert np.isin(further.removed_rows, planted.own).sum() == 10
    assert further.removed_rows.max() < EASY


def test_by_predictability_words_decide_nothing(planted: Planted) -> None:
    removed = 90
    found = [
        np.isin(run(planted, seed=seed, changes={"ranking": "predictability"}).removed_rows, planted.own).sum()
        for seed in range(4)
    ]
    share = PLANTED / EASY
    deviation = np.sqrt(removed * share * (1 - share) * (EASY - removed) / (EASY - 1))
    assert np.abs(np.array(found) - removed * share).max() < 3 * deviation


def test_words_given_or_not_change_nothing_of_the_ranking_by_predictability(planted: Planted) -> None:
    states: list[FilterState] = []

    def keep(record: IterationRecord, state: FilterState) -> None:
        states.append(state)

    changes = {"ranking": "predictability"}
    for words in (None, planted.words):
        run(planted, changes=changes, words=words, on_iteration=keep)
    half = len(states) // 2
    for without, given in zip(states[:half], states[half:], strict=True):
        first, second = without.to_arrays(), given.to_arrays()
        assert first.keys() == second.keys()
        assert not {"own_words", "vocabulary_share", "iterations.distinct_words"} & first.keys()
        del first["iterations.seconds"], second["iterations.seconds"]
        assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def test_where_all_scores_pass_it_is_the_greedy_by_words_alone() -> None:
    rng = np.random.default_rng(9)
    sets = [np.unique((80 * rng.random(6) ** 2).astype(int)).tolist() for _ in range(ROWS)]
    words, pool, removed = to_words(sets), np.arange(ROWS), []
    data = Planted(np.zeros((ROWS, 1)), np.arange(ROWS) % 2, words, np.empty(0, np.int64))
    result = run(data, seed=4, changes={"threshold": 0.0})
    for iteration, allowed in enumerate([25, 25, 25, 15]):
        vocabulary = count_vocabulary(words, pool, np.arange(len(pool)), len(pool))
        ones = np.ones(len(pool), np.int64)
        ties = generator(4, Purpose.TIES, iteration).permutation(len(pool))
        given: dict[str, Any] = {"ties": ties, "sizes": ones, "counted": ones, "allowed": allowed, "room": len(pool)}
        gone = remove_lowest(vocabulary, np.arange(len(pool)), **given)
        assert result.iterations[iteration].distinct_words == vocabulary.distinct_words
        assert result.iterations[iteration].words_per_row == pytest.approx(np.mean([len(sets[row]) for row in pool]))
        assert result.own_words is not None
        assert result.own_words[pool[gone.units]].tolist() == gone.own_words[gone.units].tolist()
        removed += np.sort(pool[gone.units]).tolist()
        pool = np.delete(pool, gone.units)
    assert result.removed_rows.tolist() == removed


def test_what_is_recorded_of_words(planted: Planted) -> None:
    result = run(planted, changes={"target_size": 145})
    assert result.own_words is not None
    assert result.vocabulary_share is not None
    lengths = np.diff(planted.words.offsets)
    for record in result.iterations:
        entered = np.ones(ROWS, dtype=bool)
        entered[result.removed_rows[result.removed_in_iteration < record.iteration]] = False
        assert record.words_per_row == pytest.approx(lengths[entered].mean())
        assert record.distinct_words == 23 + entered[planted.own].sum()
    assert result.vocabulary_share.sum() == pytest.approx(23 + PLANTED, abs=1e-9)
    # A private word stays private: u is 1 of those that have one, removed or not, and 0 of the others.
    assert np.flatnonzero(result.own_words).tolist() == planted.own.tolist()
    assert result.own_words.max() == 1
    # The cut-off stays the lowest score that went, which says nothing of ties here.
    scores = result.predictability[result.removed_rows]
    assert [record.cutoff for record in result.iterations[:-1]] == pytest.approx(
        [scores[result.removed_in_iteration == number].min() for number in range(len(result.iterations) - 1)]
    )
    assert not [warning for warning in result.warnings if "drawn at random" in warning]


def test_of_twins_one_stays_until_the_rest_is_gone(planted: Planted) -> None:
    sets = [[row % 5, 5 + row % 7] for row in range(ROWS)]
    for row in (10, 11):
        sets[row] += [50, 51]
    twins = Planted(planted.features, planted.labels, to_words(sets), np.empty(0, np.int64))
    for seed in range(3):
        result = run(twins, seed=seed, changes={"target_size": ROWS - EASY + 1})
        assert len(np.setdiff1d([10, 11], result.removed_rows)) == 1
        assert result.own_words is not None
        assert sorted(result.own_words[[10, 11]].tolist()) == [0, 2]


@pytest.mark.parametrize("remove", ["rows", "groups"])
@pytest.mark.parametrize("change", [{}, {"threshold": 0.75}, {"stop_at_chance": True, "target_size": 125}])
def test_a_run_goes_on_with_the_same_bits_at_every_iteration(
    planted: Planted, remove: str, change: dict[str, Any]
) -> None:
    states: list[FilterState] = []
    given: dict[str, Any] = {"groups": np.arange(ROWS) // 2, "changes": {"remove": remove, "slice_size": 26, **change}}
    whole = run(planted, **given, on_iteration=lambda record, state: states.append(state))
    assert len(states) >= 4
    for state in states:
        again = run(planted, **given, resume=FilterState.from_arrays(state.to_arrays()))
        assert again.iterations == whole.iterations
        for name in ("kept_rows", "removed_rows", "removed_in_iteration", "predictability"):
            assert getattr(again, name).tobytes() == getattr(whole, name).tobytes()
        for name in ("own_words", "vocabulary_share"):
            first, second = getattr(again, name), getattr(whole, name)
            assert (first.dtype, first.tobytes()) == (second.dtype, second.tobytes())


def test_a_run_is_not_continued_with_other_words(planted: Planted) -> None:
    states: list[FilterState] = []
    run(planted, on_iteration=lambda record, state: states.append(state))
    numbers = planted.words.numbers.copy()
    numbers[-1] = 400
    with pytest.raises(InvalidInputError, match="`resume` is the state of a run with other inputs, settings or seed"):
        run(planted, words=RowWords(planted.words.offsets, numbers), resume=states[0])


def test_rows_in_another_order_leave_the_same_ones(planted: Planted) -> None:
    order = np.random.default_rng(1).permutation(ROWS)
    lengths = np.diff(planted.words.offsets)
    sets = [planted.words.numbers[start : start + length].tolist() for start, length in
            zip(planted.words.offsets, lengths, strict=False)]  # fmt: skip
    shuffled = Planted(planted.features[order], planted.labels[order], to_words([sets[row] for row in order]), order)
    others = np.setdiff1d(np.arange(EASY), planted.own)
    result = run(shuffled, changes={"target_size": ROWS - len(others)})
    assert np.sort(order[result.removed_rows]).tolist() == others.tolist()


def test_groups_leave_whole_by_the_words_of_all_their_rows(planted: Planted) -> None:
    groups = np.arange(ROWS) // 2
    result = run(planted, groups=groups, changes={"remove": "groups", "slice_size": 24, "target_size": 156})
    assert (np.bincount(groups[result.removed_rows]) % 2 == 0).all()
    with_own = np.unique(groups[planted.own])
    without = np.setdiff1d(np.arange(EASY // 2), with_own)
    gone = np.unique(groups[result.removed_rows])
    assert len(result.removed_rows) == 84
    assert np.isin(without, gone).all()  # before any group with a word of its own
    assert result.own_words is not None
    assert all(first == second for first, second in zip(result.own_words[::2], result.own_words[1::2], strict=True))
    levels = [result.own_words[group * 2] for group in gone]
    assert max(levels) <= min(result.own_words[group * 2] for group in np.setdiff1d(with_own, gone))
    assert [record.removed % 2 for record in result.iterations] == [0] * len(result.iterations)
    assert all(first.rows_in - first.removed == second.rows_in for first, second in pairwise(result.iterations))


@pytest.mark.parametrize("selection", ["gumbel", "gumbel_over_threshold"])
def test_it_takes_no_drawn_selection(selection: str) -> None:
    with pytest.raises(
        InvalidInputError, match=f'`selection` is "{selection}".*`ranking` is "vocabulary"; use `selection='
    ):
        FilterSettings(target_size=2, train_size=1, slice_size=1, ranking="vocabulary", selection=selection)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="`ranking` is 'length', which is unknown; give one of predictab"):
        FilterSettings(target_size=2, train_size=1, slice_size=1, ranking="length")  # type: ignore[arg-type]


def test_it_needs_words_and_no_rows_that_are_only_scored(planted: Planted) -> None:
    with pytest.raises(InvalidInputError, match=r'`ranking` is "vocabulary", but `words` is None; .* `RowWords\('):
        run(planted, words=None)
    with pytest.raises(InvalidInputError, match='`score_only` is True for 3 rows, but `ranking` is "vocabulary"'):
        run(planted, score_only=np.arange(ROWS) < 3)
    with pytest.raises(InvalidInputError, match=r"but 241 are needed"):
        run(planted, words=to_words([[0]]))


def test_by_predictability_nothing_is_recorded_of_words(planted: Planted) -> None:
    result = run(planted, changes={"ranking": "predictability"})
    assert (result.own_words, result.vocabulary_share) == (None, None)
    assert {(record.distinct_words, record.words_per_row) for record in result.iterations} == {(None, None)}


def test_more_threads_leave_the_same_rows(planted: Planted) -> None:
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append(run(planted, changes={"target_size": 140}))
    finally:
        torch.set_num_threads(before)
    one, three = results
    assert one.removed_rows.tolist() == three.removed_rows.tolist()
    assert one.own_words is not None
    assert three.own_words is not None
    assert one.own_words.tolist() == three.own_words.tolist()
