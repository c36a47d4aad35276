"""Which rows a slice takes by label probability and by class: against plain loops, and on the reference classifiers."""

from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterResult, FilterSettings, FilterState, InvalidInputError, filter_dataset
from aflite_assets.algorithm.selection import Candidates, choose_slice, shared_out
from tests.algorithm.test_reference_parity import ReferenceEngine

OPTIONS: tuple[dict[str, Any], ...] = (
    {"ranking": "label_probability"},
    {"ties": "label_probability"},
    {"balance": "classes"},
    {"ranking": "label_probability", "balance": "classes"},
    {"ties": "label_probability", "balance": "classes"},
)
SIZES: dict[str, Any] = {"target_size": 150, "train_size": 60, "slice_size": 23, "n_partitions": 12, "threshold": 0.6}


def unbalanced() -> tuple[np.ndarray, np.ndarray]:
    """300 rows of three classes, 70, 20 and 10 %; six in ten lie about the centre of their class."""
    rng = np.random.default_rng(5)
    labels = rng.choice(3, 300, p=(0.7, 0.2, 0.1))
    easy = rng.random(300) < 0.6
    return (rng.normal(size=(300, 4)) + 3.0 * easy[:, None] * np.eye(3, 4)[labels]).astype(np.float32), labels


def run(changes: dict[str, Any], **more: Any) -> FilterResult:
    features, labels = unbalanced()
    return filter_dataset(features, labels, settings=FilterSettings(**(SIZES | changes)), seed=3, **more)


def by_hand(
    score: np.ndarray, probability: np.ndarray, labels: np.ndarray, settings: FilterSettings, most: int
) -> set[int]:
    """The rows of a slice that no target cuts, in plain Python; equal keys must not occur."""
    main = probability if settings.ranking == "label_probability" else score
    rows = [row for row in range(len(labels)) if score[row] >= settings.threshold]
    rows.sort(key=lambda row: (-main[row], -probability[row]))
    if settings.balance == "none":
        return set(rows[:most])
    exact = [most * (labels == one).sum() / len(labels) for one in np.unique(labels)]
    places = [int(one) for one in exact]
    for place in sorted(range(len(exact)), key=lambda i: places[i] - exact[i])[: most - sum(places)]:
        places[place] += 1
    return {
        row
        for one, n in zip(np.unique(labels), places, strict=True)
        for row in [r for r in rows if labels[r] == one][:n]
    }


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_a_slice_is_what_a_plain_loop_takes(changes: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    settings = FilterSettings(**(SIZES | changes | {"threshold": 0.3}))
    for iteration in range(30):
        rows = int(rng.integers(40, 80))
        labels = np.append([0, 1, 2], rng.choice(3, rows - 3, p=(0.8, 0.15, 0.05)))
        probability, ones = rng.random(rows), np.ones(rows, dtype=np.int64)
        ties = "label_probability" in changes.values()
        score = np.round(rng.random(rows), 1) if ties else rng.random(rows)
        among = Candidates(np.arange(rows), np.arange(rows), ones, ones, score, probability, labels)
        chosen = choose_slice(among, settings=settings, allowed=20, room=rows, seed=0, iteration=iteration)
        assert set(chosen.rows.tolist()) == by_hand(score, probability, labels, settings, 20)


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_the_engine_takes_the_rows_that_the_reference_takes(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    result = run(changes)
    with monkeypatch.context() as patch:
        patch.setattr("aflite_assets.algorithm.linear.engine.LinearEngine", ReferenceEngine)
        expected = run(changes)
    assert len(set(result.kept_rows.tolist()) ^ set(expected.kept_rows.tolist())) <= 2
    assert [one.removed for one in result.iterations[:3]] == [one.removed for one in expected.iterations[:3]]


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_a_run_goes_on_with_the_same_rows(changes: dict[str, Any]) -> None:
    states: list[FilterState] = []
    whole = run(changes, on_iteration=lambda record, state: states.append(state))
    again = run(changes, resume=FilterState.from_arrays(states[1].to_arrays()))
    assert (again.kept_rows.tolist(), again.iterations) == (whole.kept_rows.tolist(), whole.iterations)
    first, second = again.last_label_probability, whole.last_label_probability
    assert (first is None) == (second is None) == ("label_probability" not in changes.values())
    if first is not None and second is not None:
        np.testing.assert_array_equal(first, second)


def test_class_shares_stay_while_every_class_has_rows_that_pass() -> None:
    labels = unbalanced()[1]
    before = np.bincount(labels) / 300
    result = run({"balance": "classes", "threshold": 0.0})
    assert len(result.kept_rows) == 150
    assert np.abs(np.bincount(labels[result.kept_rows]) / 150 - before).max() < 0.02
    plain = run({"threshold": 0.0})
    assert np.abs(np.bincount(labels[plain.kept_rows], minlength=3) / 150 - before).max() > 0.1


def test_where_the_target_cuts_a_slice_it_is_met_exactly() -> None:
    ones = np.ones(40, dtype=np.int64)
    labels = np.repeat([0, 1], 20)
    score = np.where(labels == 0, 0.9, 0.1)
    score[20] = 0.8
    among = Candidates(np.arange(40), np.arange(40), ones, ones, score, None, labels)
    settings = FilterSettings(**(SIZES | {"balance": "classes"}))
    chosen = choose_slice(among, settings=settings, allowed=20, room=8, seed=0, iteration=0)
    assert (len(chosen.rows), 20 in chosen.rows, chosen.reaches_target) == (8, True, True)
    full = choose_slice(among, settings=settings, allowed=20, room=30, seed=0, iteration=0)
    assert (len(full.rows), full.reaches_target, full.runs_out) == (11, False, False)


def test_it_ends_once_no_class_with_places_has_a_row_left_that_passes() -> None:
    ones = np.ones(40, dtype=np.int64)
    labels = np.append(np.zeros(39, dtype=np.int64), 1)
    score = np.append(np.zeros(39), 0.9)  # one row of a class whose part of a slice of ten is no row
    among = Candidates(np.arange(40), np.arange(40), ones, ones, score, None, labels)
    settings = FilterSettings(**(SIZES | {"balance": "classes"}))
    chosen = choose_slice(among, settings=settings, allowed=10, room=30, seed=0, iteration=0)
    assert (len(chosen.rows), chosen.runs_out, chosen.cutoff) == (0, True, None)


@pytest.mark.parametrize(
    ("places", "rows", "parts"), [(10, [70, 20, 10], [7, 2, 1]), (3, [50, 50], [2, 1]), (0, [4], [0])]
)
def test_places_are_shared_out_by_largest_remainder(places: int, rows: list[int], parts: list[int]) -> None:
    assert shared_out(places, np.array(rows)).tolist() == parts


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"ties": "label_probability", "classifier": "linear_svm"},
            '`ties` is "label_probability", but `classifier` is',
        ),
        (
            {"balance": "classes", "selection": "gumbel"},
            '`selection` is "gumbel", which draws rows .* but `balance` is',
        ),
        ({"balance": "classes", "remove": "groups"}, '`balance` is "classes", but `remove` is "groups"'),
        ({"ranking": "vocabulary", "balance": "classes"}, '`ranking` is "vocabulary", .* but `balance` is "classes"'),
        ({"ties": "first"}, "`ties` is 'first', which is unknown; give one of random, label_probability"),
    ],
)
def test_what_orders_rows_in_two_ways_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        FilterSettings(**(SIZES | changes))


def test_rows_that_are_only_scored_need_a_single_cut_off() -> None:
    with pytest.raises(InvalidInputError, match='`score_only` is True for 10 rows, but `balance` is "classes"'):
        run({"balance": "classes"}, score_only=np.arange(300) < 10)
    result = run({"ranking": "label_probability"}, score_only=np.arange(300) < 40)
    assert sum(one.scored_removed for one in result.iterations) > 5
