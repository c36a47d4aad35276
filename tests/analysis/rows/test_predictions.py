"""Predictions of single test rows as files: their key, and the counts that they add up to."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rows.table import (
    PREDICTIONS,
    PREDICTIONS_FILE,
    TEST_ROWS,
    TEST_ROWS_FILE,
    write_predictions,
)
from aflite_assets.analysis.scores.score_tables import seed_scores
from aflite_assets.data.examples import Examples


def examples_of(data: BenchmarkData) -> dict[str, Examples]:
    """Rows of every test set, in another order than its own."""
    return {
        one.name: Examples(
            pa.table(
                {
                    "row_id": one.row_ids[::-1],
                    "source_id": [f"s{row_id}" for row_id in one.row_ids[::-1]],
                    "text": [f"text {row_id} of {one.name}" for row_id in one.row_ids[::-1]],
                }
            ),
            one.label_names,
        )
        for one in data.test_sets
    }


def test_the_key_is_unique_where_row_ids_are_not(planted: BenchmarkData, tmp_path: Path) -> None:
    # As in published results, each set's row ids begin anew.
    sets = tuple(replace(one, row_ids=np.arange(len(one.row_ids))) for one in planted.test_sets)
    data = replace(planted, test_sets=sets, cells=())
    write_predictions(data, examples_of(data), tmp_path)
    rows = pq.read_table(tmp_path / TEST_ROWS_FILE)
    assert rows.schema.equals(TEST_ROWS)
    assert rows.num_rows == sum(len(one.row_ids) for one in planted.test_sets)
    assert len(set(rows["row_id"].to_pylist())) < rows.num_rows == len(set(rows["test_row"].to_pylist()))


def test_rows_say_what_they_are(by_hand: BenchmarkData, tmp_path: Path) -> None:
    write_predictions(by_hand, examples_of(by_hand), tmp_path)
    rows = {row["test_row"]: row for row in pq.read_table(tmp_path / TEST_ROWS_FILE).to_pylist()}
    for test_set in by_hand.test_sets:
        for place, row_id in enumerate(test_set.row_ids.tolist()):
            row = rows[f"{test_set.name}/{row_id}"]
            assert (row["test_set"], row["row_id"]) == (test_set.name, row_id)
            assert row["label"] == test_set.label_names[test_set.labels[place]]
            assert row["group"] == (None if test_set.groups is None else test_set.groups[place])
            assert dict(row["categories"]) == {name: values[place] for name, values in test_set.categories.items()}
            kept = [name for name, each in test_set.kept.items() if each[place]] if test_set.kept else None
            assert row["kept_by"] == kept
            assert (row["source_id"], row["text"]) == (f"s{row_id}", f"text {row_id} of {test_set.name}")
            assert row["text_pair"] is None


@pytest.mark.parametrize("made", ["planted", "by_hand", "forgotten"])
def test_every_finished_training_is_there_once(made: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    data: BenchmarkData = request.getfixturevalue(made)
    write_predictions(data, examples_of(data), tmp_path)
    table = pq.read_table(tmp_path / PREDICTIONS_FILE)
    assert table.schema.equals(PREDICTIONS)
    keys = [tuple(row.values()) for row in table.drop_columns("correct").to_pylist()]
    assert len(set(keys)) == len(keys)
    cells = (*data.cells, *data.second_phases.cells)
    done = {(one.evaluator, one.train_set, one.representation, one.seed) for one in cells if one.status == "done"}
    assert {(one[0], one[2], one[1], one[3]) for one in keys} == done


def test_rows_kept_by_a_filter_add_up_to_its_score(planted: BenchmarkData, tmp_path: Path) -> None:
    write_predictions(planted, examples_of(planted), tmp_path)
    kept = {row["test_row"]: row["kept_by"] for row in pq.read_table(tmp_path / TEST_ROWS_FILE).to_pylist()}
    lines = pq.read_table(tmp_path / PREDICTIONS_FILE).to_pylist()
    counted = [one for one in seed_scores(planted) if one.tested_on == "filtered" and one.train_set == "filtered"]
    assert counted
    for one in counted:
        mine = [
            line["correct"]
            for line in lines
            if (line["evaluator"], line["train_set"], line["seed"]) == (one.evaluator, one.train_set, one.seed)
            and line["test_row"].startswith(f"{one.test_set}/")
            and one.representation in kept[line["test_row"]]
        ]
        assert (sum(mine), len(mine)) == (pytest.approx(one.correct), one.n)


def test_rows_kept_by_the_law_of_another_train_set_say_so(planted: BenchmarkData, tmp_path: Path) -> None:
    natural = next(one for one in planted.test_sets if not one.challenge)
    first = np.arange(len(natural.row_ids)) == 0
    own = replace(natural, own_kept={("roberta", "single_pass_model"): first})
    data = replace(planted, test_sets=(own,), cells=())
    write_predictions(data, examples_of(data), tmp_path)
    kept = pq.read_table(tmp_path / TEST_ROWS_FILE)["kept_by"].to_pylist()
    assert ["roberta.single_pass_model" in names for names in kept] == first.tolist()
    assert ["roberta" in names for names in kept] == natural.kept["roberta"].tolist()


def test_trainings_without_predictions_have_no_rows(planted: BenchmarkData, tmp_path: Path) -> None:
    cells = tuple(replace(cell, status="not run", predictions=None) for cell in planted.cells)
    write_predictions(replace(planted, cells=cells), examples_of(planted), tmp_path)
    assert pq.read_table(tmp_path / PREDICTIONS_FILE).num_rows == 0
    assert np.array_equal(pq.read_table(tmp_path / TEST_ROWS_FILE).schema.names, TEST_ROWS.names)
