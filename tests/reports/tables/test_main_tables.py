import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.reports.scores.accuracy import Score, cell_accuracy
from aflite_assets.reports.tables.main_tables import ChallengeRow, MainRow, challenge_table, filter_table, main_table


def mean(score: Score | None) -> float:
    assert score is not None
    assert score.accuracy is not None
    return score.accuracy.mean


def main_row(data: BenchmarkData, evaluator: str, train_set: str) -> MainRow:
    rows = main_table(data, "roberta")
    return next(row for row in rows if (row.evaluator, row.train_set) == (evaluator, train_set))


def hans_row(data: BenchmarkData, evaluator: str, train_set: str) -> ChallengeRow:
    rows = challenge_table(data, "roberta")
    return next(row for row in rows if (row.evaluator, row.train_set) == (evaluator, train_set))


@pytest.mark.parametrize(
    ("train_set", "removed", "kept", "sizes"),
    [("full", 0.90, 0.60, (1200,)), ("random", 0.86, 0.55, (400,)), ("filtered", 0.80, 0.70, (400,))],
)
def test_main_table_shows_the_planted_accuracies(
    planted: BenchmarkData, train_set: str, removed: float, kept: float, sizes: tuple[int, ...]
) -> None:
    row = main_row(planted, "linear", train_set)
    test = row.tests[0]
    assert row.train_rows == sizes
    assert (test.test_set, test.full.test_rows) == ("test", 1000)
    assert mean(test.full) == pytest.approx(0.6 * removed + 0.4 * kept)
    assert mean(test.filtered) == pytest.approx(kept)
    assert test.filtered is not None
    assert test.filtered.test_rows == 400
    assert test.drop == pytest.approx(100 * 0.6 * (removed - kept))


def test_missing_cells_say_so(planted: BenchmarkData) -> None:
    assert main_row(planted, "forest", "random").tests[0].full.status == "not run"
    failed = main_row(planted, "forest", "filtered").tests[0]
    assert (failed.full.status, failed.full.reason) == ("failed", "loss became NaN in epoch 2")
    assert failed.drop is None


def test_rows_come_in_the_order_of_train_sets(planted: BenchmarkData, make_planted: Any) -> None:
    assert [row.train_set for row in main_table(planted, "roberta")] == ["full", "random", "filtered"] * 2
    extra = Cell("linear", "single_pass_linear", "roberta", 0, 400, "not run")
    rows = main_table(make_planted(cells=(*planted.cells, extra)), "roberta")
    assert [row.train_set for row in rows] == ["full", "random", "filtered", "single_pass_linear"] * 2


def test_an_evaluator_without_a_cell_still_has_a_row(planted: BenchmarkData, make_planted: Any) -> None:
    only_full = make_planted(cells=tuple(cell for cell in planted.cells if cell.train_set == "full"))
    assert main_row(only_full, "linear", "filtered").tests[0].full.status == "not run"


def test_a_set_that_was_not_filtered_has_no_filtered_column(planted: BenchmarkData, make_planted: Any) -> None:
    sets = tuple(
        TestSet(s.name, s.challenge, s.row_ids, s.labels, s.label_names, {}, s.categories, s.class_map)
        for s in planted.test_sets
    )
    test = main_row(make_planted(test_sets=sets), "linear", "full").tests[0]
    assert (test.filtered, test.drop) == (None, None)


def test_no_row_left_is_no_accuracy(planted: BenchmarkData, make_planted: Any) -> None:
    s = planted.test_sets[0]
    empty = TestSet(s.name, False, s.row_ids, s.labels, s.label_names, {"roberta": np.zeros(1000, dtype=bool)})
    test = main_row(make_planted(test_sets=(empty,)), "linear", "full").tests[0]
    assert test.filtered is not None
    assert test.filtered.status == "no rows"
    assert test.drop is None


def test_unknown_representations_are_refused(planted: BenchmarkData) -> None:
    with pytest.raises(InvalidInputError, match=r"not filtered with 'bert'; its representations are \['roberta'\]"):
        main_table(planted, "bert")


def test_challenge_parts_are_labels_then_categories_by_label(planted: BenchmarkData) -> None:
    row = hans_row(planted, "linear", "full")
    assert [(part.category, part.label) for part in row.parts[:2]] == [(None, "entailment"), (None, "non-entailment")]
    assert [(part.category, part.label) for part in row.parts[2:5]] == [
        ("constituent", None),
        ("constituent", "entailment"),
        ("constituent", "non-entailment"),
    ]
    assert [part.score.test_rows for part in row.parts] == [150, 150] + [100, 50, 50] * 3


def test_challenge_numbers_are_masks_over_the_predictions(planted: BenchmarkData) -> None:
    row = hans_row(planted, "linear", "filtered")
    hans = planted.test_sets[2]
    assert mean(row.overall) == pytest.approx(0.64)
    mask = (hans.categories["heuristic"] == "subsequence") & (hans.labels == 1)
    cells = [c for c in planted.cells if (c.evaluator, c.train_set) == ("linear", "filtered")]
    part = next(p for p in row.parts if (p.category, p.label) == ("subsequence", "non-entailment"))
    assert mean(part.score) == pytest.approx(np.mean([cell_accuracy(c, hans, mask) for c in cells]))


def test_a_model_of_one_answer_is_right_on_one_half_alone(make_planted: Any, planted: BenchmarkData) -> None:
    hans = planted.test_sets[2]
    always = pa.table({"test_set": ["hans"] * 300, "row_id": hans.row_ids, "predicted": [0] * 300})
    data = make_planted(cells=(Cell("lazy", "full", None, 0, 9, "done", None, always),))
    row = hans_row(data, "lazy", "full")
    assert [mean(part.score) for part in row.parts] == [1, 0] + [0.5, 1, 0] * 3
    assert main_row(data, "lazy", "full").tests[0].full.status == "not run"


def test_many_gold_labels_are_not_split_by_label(make_planted: Any, planted: BenchmarkData) -> None:
    names = tuple("abcdef")
    many = TestSet(
        "c", True, np.arange(12), np.arange(12) % 6, names, {}, {"kind": np.array(["x", "y"] * 6)}, np.arange(3)
    )
    row = challenge_table(make_planted(test_sets=(many,)), "roberta")[0]
    assert [(part.category, part.label) for part in row.parts] == [("x", None), ("y", None)]


def test_filter_table_is_in_order_of_iterations(planted: BenchmarkData) -> None:
    filtered = planted.filtered[0]
    rows = filter_table(filtered)
    assert [row.iteration for row in rows] == list(range(8))
    assert rows[0].rows_in == 1200
    assert rows[-1].cutoff is None
    assert all(a.rows_in - a.removed == b.rows_in for a, b in itertools.pairwise(rows))
