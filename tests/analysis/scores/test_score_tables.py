"""The tidy tables of accuracies and seeds' scores: which places they have, and every number of planted predictions."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.intervals import wilson_interval
from aflite_assets.analysis.scores.score_tables import ACCURACIES, SCORES, Accuracy
from aflite_assets.studies.forgettables.analysis.accuracies import OVERLAP
from tests.planted_comparisons import SHARES, cell_accuracy


def scores(data: BenchmarkData, **where: Any) -> list[Accuracy]:
    """Those whose columns have these values; of all rows of a split the whole set, unless a label is named."""
    where = ({"label": None} if where.get("tested_on") == "full" else {}) | where
    found = analyse(data).of(ACCURACIES)
    return [one for one in found if all(getattr(one, name) == value for name, value in where.items())]


def drops(data: BenchmarkData, evaluator: str, train_set: str) -> dict[str, float | None]:
    """By test set how far the filtered rows lie below the full ones."""
    return {
        one.test_set: one.difference
        for one in analyse(data).of(DIFFERENCES)
        if (one.comparison, one.evaluator, one.pair) == ("means", evaluator, (train_set, train_set))
        and (one.tested_on, one.against_tested_on) == ("full", "filtered")
    }


@pytest.mark.parametrize(
    ("train_set", "removed", "kept", "size"),
    [("full", 0.90, 0.60, 1200), ("random", 0.86, 0.55, 400), ("filtered", 0.80, 0.70, 400)],
)
def test_the_planted_accuracies(planted: BenchmarkData, train_set: str, removed: float, kept: float, size: int) -> None:
    where = {"evaluator": "linear", "train_set": train_set, "test_set": "test"}
    (full,), (filtered,) = (scores(planted, **where, tested_on=rows) for rows in ("full", "filtered"))
    assert (full.train_rows, full.train_rows_most) == (size, size)
    assert (full.test_rows, filtered.test_rows) == (1000, 400)
    assert full.accuracy == pytest.approx(0.6 * removed + 0.4 * kept)
    assert filtered.accuracy == pytest.approx(kept)
    assert drops(planted, "linear", train_set)["test"] == pytest.approx(100 * 0.6 * (removed - kept))


def test_splits_are_scored_by_gold_label_too(planted: BenchmarkData) -> None:
    test, cell = planted.test_sets[0], planted.cells[0]
    of_class = {
        one.label: (one.accuracy, one.test_rows)
        for label in test.label_names
        for one in scores(planted, evaluator=cell.evaluator, train_set="full", test_set="test", label=label)
    }
    seeds = [one for one in planted.cells if (one.evaluator, one.train_set) == (cell.evaluator, "full")]
    for number, name in enumerate(test.label_names):
        inside = test.labels == number
        mean = np.mean([cell_accuracy(one, test, inside) for one in seeds])
        assert of_class[name] == (pytest.approx(mean), int(inside.sum()))


def test_splits_of_many_classes_are_scored_whole_alone(planted: BenchmarkData, make_planted: Any) -> None:
    names = tuple(f"class {number}" for number in range(21))
    test = replace(planted.test_sets[0], labels=np.arange(1000) % 21, label_names=names)
    data = make_planted(test_sets=(test,), cells=planted.cells[:1], label_names=names)
    assert {one.label for one in scores(data, test_set="test")} == {None}


def test_missing_results_say_so(planted: BenchmarkData) -> None:
    where = {"evaluator": "forest", "test_set": "test", "tested_on": "full"}
    (random,), (failed,) = (scores(planted, **where, train_set=name) for name in ("random", "filtered"))
    assert (random.status, random.accuracy, random.train_rows) == ("not run", None, None)
    assert (failed.status, failed.reason) == ("failed", "loss became NaN in epoch 2")
    assert drops(planted, "forest", "filtered") == {"test": None, "validation": None}


def test_train_sets_come_in_their_order(planted: BenchmarkData, make_planted: Any) -> None:
    def order(data: BenchmarkData) -> list[str]:
        return [one.train_set for one in scores(data, test_set="test", tested_on="full")]

    assert order(planted) == ["full", "random", "filtered"] * 2
    extra = Cell("linear", "single_pass_linear", "roberta", 0, 400, "not run")
    data = make_planted(cells=(*planted.cells, extra))
    assert order(data) == ["full", "random", "filtered", "single_pass_linear"] * 2


def test_an_evaluator_without_a_cell_still_has_a_score(planted: BenchmarkData, make_planted: Any) -> None:
    only_full = make_planted(cells=tuple(cell for cell in planted.cells if cell.train_set == "full"))
    found = scores(only_full, evaluator="linear", train_set="filtered", test_set="test", tested_on="full")
    assert [one.status for one in found] == ["not run"]


def test_a_set_that_was_not_filtered_has_no_filtered_rows(planted: BenchmarkData, make_planted: Any) -> None:
    sets = tuple(replace(one, kept={}) for one in planted.test_sets)
    data = make_planted(test_sets=sets)
    assert {one.tested_on for one in scores(data, test_set="test")} == {"full"}
    assert drops(data, "linear", "full") == {}


def test_no_row_left_is_no_accuracy(planted: BenchmarkData, make_planted: Any) -> None:
    s = planted.test_sets[0]
    empty = TestSet(s.name, False, s.row_ids, s.labels, s.label_names, {"roberta": np.zeros(1000, dtype=bool)})
    data = make_planted(test_sets=(empty,))
    (filtered,) = scores(data, evaluator="linear", train_set="full", tested_on="filtered")
    assert (filtered.status, filtered.accuracy, filtered.test_rows) == ("no rows", None, 0)
    assert drops(data, "linear", "full") == {"test": None}


def test_own_test_rows_are_those_of_the_law_that_made_the_train_set(planted: BenchmarkData, make_planted: Any) -> None:
    own = np.arange(1000) >= 600
    test = replace(planted.test_sets[0], own_kept={("roberta", "single_pass_linear"): own})
    once = replace(planted.cells[0], train_set="single_pass_linear", representation="roberta")
    data = make_planted(test_sets=(test,), cells=(*planted.cells[:9], once))
    found = scores(data, tested_on="own")
    assert [(one.train_set, one.test_rows) for one in found] == [("filtered", 400), ("single_pass_linear", 400)]
    assert found[1].accuracy == cell_accuracy(once, test, own)


def test_nothing_trained_is_no_score(make_planted: Any) -> None:
    analysis = analyse(make_planted(cells=()))
    assert (analysis.of(ACCURACIES), analysis.of(SCORES)) == ((), ())


def test_scores_are_there_with_what_they_are_of(by_hand: BenchmarkData) -> None:
    p = {"evaluator": "p", "train_set": "filtered", "representation": "b"}
    assert scores(by_hand, **p, tested_on="filtered")[0].accuracy == 0.625
    assert scores(by_hand, **p, column="kind", category="y", label=None)[0].accuracy == 1
    (missing,) = scores(by_hand, evaluator="q", train_set="random", representation="b", tested_on="full")
    assert (missing.status, missing.accuracy, missing.unfinished_seeds) == ("not run", None, 2)
    where = {"representation": "a", "evaluator": "p", "column": "kind", "category": "x", "label": "no"}
    assert [(one.train_set, one.accuracy, one.test_rows) for one in scores(by_hand, **where)] == [
        ("full", 0.75, 2), ("random", 0, 2), ("filtered", 1, 2),
    ]  # fmt: skip


def test_a_record_has_the_numbers_of_a_score(by_hand: BenchmarkData) -> None:
    (one,) = scores(by_hand, representation="a", evaluator="p", train_set="full", test_set="odd", column=None,
                    label=None)  # fmt: skip
    assert (one.status, one.accuracy, one.seeds, one.test_rows) == ("done", 0.375, 2, 8)
    assert one.interval_low is not None
    assert one.interval_high is not None
    assert one.interval_low < 0.375 < one.interval_high


def test_sizes_are_those_of_finished_seeds(make_by_hand: Any, by_hand: BenchmarkData) -> None:
    more = (Cell("p", "random", "a", 2, 25, "failed", "stopped"), replace(by_hand.cells[0], seed=2, train_rows=80))
    found = scores(make_by_hand(cells=(*by_hand.cells, *more)), test_set="test", tested_on="full")
    sizes = {(one.representation, one.evaluator, one.train_set): (one.train_rows, one.train_rows_most) for one in found}
    assert (sizes["a", "p", "full"], sizes["a", "p", "random"]) == ((80, 90), (30, 30))
    assert (sizes["a", "q", "random"], sizes["b", "q", "random"]) == ((30, 30), (None, None))


def test_every_part_of_a_challenge_set_has_a_score_once(by_hand: BenchmarkData) -> None:
    found = scores(by_hand, representation="a", evaluator="p", train_set="full", test_set="odd")
    parts = [(one.column, one.category, one.label) for one in found]
    assert len(set(parts)) == len(parts) == 3 + 6 + 7  # whole and gold labels; x and y; any rule, r and s, of one label
    whole = scores(by_hand, evaluator="p", train_set="filtered", test_set="odd", column=None, label=None)
    assert [one.seeds_deviation for one in whole] == pytest.approx([0.125 / np.sqrt(2), 0])
    q = scores(by_hand, representation="a", evaluator="q", train_set="filtered", test_set="odd")
    assert {one.unfinished_seeds for one in q} == {1}


def test_unfinished_seeds_are_counted_on_natural_sets(by_hand: BenchmarkData) -> None:
    where = {"evaluator": "q", "test_set": "test"}
    found: dict[tuple[str | None, str, str], int] = {
        (one.representation, one.train_set, one.tested_on): one.unfinished_seeds for one in scores(by_hand, **where)
    }
    assert [found[name, train_set, rows] for name, train_set, rows in (
        ("a", "full", "full"), ("a", "random", "full"), ("a", "random", "filtered"), ("a", "filtered", "filtered"),
        ("b", "random", "full"), ("b", "random", "filtered"), ("b", "filtered", "filtered"),
    )] == [0, 1, 1, 1, 2, 2, 0]  # fmt: skip


def test_intervals_are_wilsons_and_deviations_are_over_seeds(tuned: BenchmarkData) -> None:
    (full,) = scores(tuned, representation="a", evaluator="p_odd", train_set="full", test_set="odd", column=None,
                     label=None)  # fmt: skip
    interval = wilson_interval(5 / 8, 8)
    assert (full.accuracy, full.seeds) == (5 / 8, 2)
    assert full.seeds_deviation == pytest.approx(np.std([4 / 8, 6 / 8], ddof=1))
    assert (full.interval_low, full.interval_high, full.effective_rows) == (interval.low, interval.high, 8)


def test_five_likeliest_classes_have_a_score_of_their_own(many_classes: BenchmarkData) -> None:
    found = {(one.train_set, one.test_set, one.tested_on, one.top): one for one in scores(many_classes) if one.whole}
    assert [found["full", "test", "full", top].accuracy for top in (1, 5)] == [0.25, 0.375]
    assert [found["random", "mask", "all", top].accuracy for top in (1, 5)] == [0.25, 0.75]
    missing = found["filtered", "test", "filtered", 5]
    assert (missing.status, missing.reason) == ("no probabilities", "net gives none to add up")
    assert {one.top for one in scores(many_classes, column=None, label=None)} == {1, 5}


def test_overlap_parts_the_rows_of_each_class_at_the_mean(forgotten: BenchmarkData) -> None:
    rows = {(one.evaluator, one.label, one.category): one for one in scores(forgotten, column=OVERLAP)}
    labels = forgotten.test_sets[0].labels
    assert rows["net", "entailment", "all"].test_rows == int((labels == 0).sum())
    high = int(((labels == 0) & (np.arange(1_000) >= 500)).sum())
    assert rows["net", "entailment", "high"].test_rows == high
    assert rows["net", "others", "high"].test_rows == 500 - high
    assert {name for name, *_ in rows} == set(SHARES)
    assert {one.representation for one in rows.values()} == {None}


def test_seeds_have_their_own_counts(by_hand: BenchmarkData) -> None:
    found = [
        one
        for one in analyse(by_hand).of(SCORES)
        if (one.representation, one.evaluator, one.train_set, one.test_set) == ("a", "p", "full", "test")
        if one.label is None
    ]
    assert [(one.seed, one.tested_on, one.n, one.correct) for one in found] == [
        (0, "full", 6, 5), (0, "filtered", 3, 3), (1, "full", 6, 4), (1, "filtered", 3, 2),
    ]  # fmt: skip
    assert {(one.train_rows, one.unit, one.groups) for one in found} == {(90, "row", None)}


@pytest.mark.parametrize("what", ["by_hand", "planted", "hostile", "forgotten", "ranked", "tuned"])
def test_accuracies_are_the_means_of_the_seeds_scores(what: str, request: pytest.FixtureRequest) -> None:
    analysis = analyse(request.getfixturevalue(what))
    shares: dict[tuple[object, ...], list[float]] = {}
    for one in analysis.of(SCORES):
        key = (one.representation, one.evaluator, one.train_set, one.test_set, one.tested_on, one.column,
               one.category, one.label)  # fmt: skip
        shares.setdefault(key, []).append(one.correct / one.n if one.n else np.nan)
    found = {
        (one.representation, one.evaluator, one.train_set, one.test_set, one.tested_on, one.column, one.category,
         one.label): one.accuracy
        for one in analysis.of(ACCURACIES) if one.top == 1 and one.accuracy is not None
    }  # fmt: skip
    assert found == {key: pytest.approx(np.mean(each)) for key, each in shares.items() if not np.isnan(each).any()}
    assert found
