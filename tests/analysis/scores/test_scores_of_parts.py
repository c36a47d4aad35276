from dataclasses import replace

import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.score_tables import Place, points, score_table
from tests.planted_comparisons import cell_accuracy


def test_every_evaluator_and_train_set_has_a_score_on_every_part(planted: BenchmarkData) -> None:
    scores = score_table(planted)
    # The two splits have three classes each; filtered rows are filtered's own too.
    assert len(scores) == 2 * 3 * (2 + 2 + 2 * 3 + 12) + 2 * 2
    seeds = [cell for cell in planted.cells if (cell.evaluator, cell.train_set) == ("linear", "random")]
    hans = planted.test_sets[2]
    mask = (hans.categories["heuristic"] == "constituent") & (hans.labels == 1)
    place = Place("roberta", "linear", "random", "hans", "all", "heuristic", "constituent", "non-entailment")
    found = scores[place]
    assert found.accuracy is not None
    accuracies = [cell_accuracy(cell, hans, mask) for cell in seeds]
    assert found.accuracy == pytest.approx(sum(one or 0.0 for one in accuracies) / 3)
    assert (found.seeds, found.test_rows, found.whole) == (3, 50, False)
    assert scores[Place("roberta", "forest", "random", "test", "full")].status == "not run"


def test_full_has_a_score_with_each_representation(by_hand: BenchmarkData) -> None:
    scores = score_table(by_hand)
    a, b = (scores[Place(name, "p", "full", "test", "filtered")] for name in ("a", "b"))
    assert (a.test_rows, b.test_rows) == (3, 4)
    a, b = (scores[Place(name, "p", "full", "odd")] for name in ("a", "b"))
    assert replace(a, representation="b") == b


def test_points_need_both_scores(by_hand: BenchmarkData) -> None:
    scores = score_table(by_hand)
    done, missing = scores[Place("a", "p", "full", "odd")], scores[Place("b", "q", "random", "odd")]
    assert points(done, scores[Place("a", "p", "filtered", "odd")]) == -43.75
    assert [points(done, missing), points(missing, done), points(done, None)] == [None] * 3
