from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.analysis.scores.accuracy import Score, cell_accuracy
from aflite_assets.analysis.scores.groups import cell_groups, train_rows
from aflite_assets.analysis.scores.score_table import Place, points, score_table
from aflite_assets.errors import InvalidInputError


def test_every_evaluator_and_train_set_has_a_score_on_every_part(planted: BenchmarkData) -> None:
    scores = score_table(planted)
    assert len(scores) == 2 * 3 * (2 + 2 + 12) + 2 * 2  # filtered rows are filtered's own too
    seeds = [cell for cell in planted.cells if (cell.evaluator, cell.train_set) == ("linear", "random")]
    hans = planted.test_sets[2]
    mask = (hans.categories["heuristic"] == "constituent") & (hans.labels == 1)
    place = Place("roberta", "linear", "random", "hans", "all", "heuristic", "constituent", "non-entailment")
    found = scores[place]
    assert found.accuracy is not None
    accuracies = [cell_accuracy(cell, hans, mask) for cell in seeds]
    assert found.accuracy.mean == pytest.approx(sum(one or 0.0 for one in accuracies) / 3)
    assert (found.accuracy.seeds, found.test_rows, place.whole) == (3, 50, False)
    assert scores[Place("roberta", "forest", "random", "test", "full")].status == "not run"


def test_full_has_a_score_with_each_representation(by_hand: BenchmarkData) -> None:
    scores = score_table(by_hand)
    a, b = (scores[Place(name, "p", "full", "test", "filtered")] for name in ("a", "b"))
    assert (a.test_rows, b.test_rows) == (3, 4)
    assert scores[Place("a", "p", "full", "odd")] == scores[Place("b", "p", "full", "odd")]


def test_points_need_both_scores(by_hand: BenchmarkData) -> None:
    scores = score_table(by_hand)
    done, missing = scores[Place("a", "p", "full", "odd")], scores[Place("b", "q", "random", "odd")]
    assert points(done, scores[Place("a", "p", "filtered", "odd")]) == -43.75
    assert [points(done, missing), points(missing, done), points(done, None)] == [None] * 3


def sizes_of(data: BenchmarkData, representation: str) -> dict[tuple[str, str], tuple[int, ...]]:
    return {(name, train_set): train_rows(cells) for name, train_set, cells in cell_groups(data, representation)}


def test_sizes_are_those_of_finished_seeds(make_by_hand: Any, by_hand: BenchmarkData) -> None:
    more = Cell("p", "random", "a", 2, 25, "failed", "stopped")
    sizes = sizes_of(make_by_hand(cells=(*by_hand.cells, more)), "a")
    assert (sizes["p", "full"], sizes["p", "random"], sizes["q", "random"]) == ((90,), (30,), (30,))
    assert sizes_of(by_hand, "b")["q", "random"] == ()


_BOTH: tuple[Literal["full", "filtered"], ...] = ("full", "filtered")


def mean(score: Score) -> float:
    assert score.accuracy is not None
    return score.accuracy.mean


def score_of(
    data: BenchmarkData, evaluator: str, train_set: str, tested_on: Literal["full", "filtered"] = "full"
) -> Score:
    return score_table(data)[Place("roberta", evaluator, train_set, "test", tested_on)]


def names_of(data: BenchmarkData) -> list[str]:
    return [train_set for _, train_set, _ in cell_groups(data, "roberta")]


@pytest.mark.parametrize(
    ("train_set", "removed", "kept", "sizes"),
    [("full", 0.90, 0.60, (1200,)), ("random", 0.86, 0.55, (400,)), ("filtered", 0.80, 0.70, (400,))],
)
def test_scores_are_the_planted_accuracies(
    planted: BenchmarkData, train_set: str, removed: float, kept: float, sizes: tuple[int, ...]
) -> None:
    full, filtered = (score_of(planted, "linear", train_set, rows) for rows in _BOTH)
    assert {
        train_rows(cells) for *names, cells in cell_groups(planted, "roberta") if names == ["linear", train_set]
    } == {sizes}
    assert (full.test_rows, filtered.test_rows) == (1000, 400)
    assert (mean(full), mean(filtered)) == pytest.approx((0.6 * removed + 0.4 * kept, kept))
    assert points(full, filtered) == pytest.approx(100 * 0.6 * (removed - kept))


def test_missing_cells_say_so(planted: BenchmarkData) -> None:
    assert score_of(planted, "forest", "random").status == "not run"
    failed = score_of(planted, "forest", "filtered")
    assert (failed.status, failed.reason) == ("failed", "loss became NaN in epoch 2")
    assert points(failed, score_of(planted, "forest", "filtered", "filtered")) is None


def test_scores_come_in_the_order_of_train_sets(planted: BenchmarkData, make_planted: Any) -> None:
    assert names_of(planted) == ["full", "random", "filtered"] * 2
    extra = Cell("linear", "single_pass_linear", "roberta", 0, 400, "not run")
    more = make_planted(cells=(*planted.cells, extra))
    assert names_of(more) == ["full", "random", "filtered", "single_pass_linear"] * 2


def test_a_train_set_without_a_cell_still_has_a_score(planted: BenchmarkData, make_planted: Any) -> None:
    only_full = make_planted(cells=tuple(cell for cell in planted.cells if cell.train_set == "full"))
    assert score_of(only_full, "linear", "filtered").status == "not run"


def test_a_set_that_was_not_filtered_has_no_score_on_filtered_rows(planted: BenchmarkData, make_planted: Any) -> None:
    whole = make_planted(test_sets=tuple(replace(one, kept={}) for one in planted.test_sets))
    assert {place.tested_on for place in score_table(whole)} == {"full", "all"}


def test_no_row_left_is_no_accuracy(planted: BenchmarkData, make_planted: Any) -> None:
    empty = make_planted(test_sets=(replace(planted.test_sets[0], kept={"roberta": np.zeros(1000, dtype=bool)}),))
    left = score_of(empty, "linear", "full", "filtered")
    assert (left.status, points(score_of(empty, "linear", "full"), left)) == ("no rows", None)


def test_unknown_representations_are_refused(planted: BenchmarkData) -> None:
    with pytest.raises(InvalidInputError, match=r"not filtered with 'bert'; its representations are \['roberta'\]"):
        cell_groups(planted, "bert")
