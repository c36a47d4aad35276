"""Two published analyses with planted differences, and what is found between them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse, write_analysis
from aflite_assets.analysis.between_results import SideChange, between_results
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.rows.table import write_predictions, write_row_tables
from tests.analysis.rows.test_predictions import examples_of
from tests.planted_cues import STOP, WORD, scanned


def published(data: BenchmarkData, folder: Path) -> Path:
    """The files of `analysis` of these records."""
    folder.mkdir()
    write_analysis(analyse(data), folder)
    write_row_tables(data, folder)
    write_predictions(data, examples_of(data), folder)
    return folder


@pytest.fixture(scope="module")
def first(planted: BenchmarkData, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(replace(planted, scan=scanned(STOP, WORD)), tmp_path_factory.mktemp("first") / "analysis")


def test_a_result_does_not_differ_from_itself(first: Path) -> None:
    found = between_results(first, first)
    assert found.moved == found.changed_cues == ()
    assert len(found.accuracies) == 12  # linear on three train sets and forest on full, on three test sets
    assert all(one.paired and one.difference.difference == 0 for one in found.accuracies)
    assert found.sides == (SideChange("roberta", 1200, 402, 0, 0),)


def test_a_planted_gain_alone_has_moved(first: Path, planted: BenchmarkData, done_cell: Any, tmp_path: Path) -> None:
    shares = {"filtered": (0.80, 0.70, 0.90)}  # hans: 64 -> 90 %
    cells = [
        done_cell(planted.test_sets, shares[one.train_set], evaluator="linear", train_set=one.train_set, seed=one.seed,
                  train_rows=400)
        if one.evaluator == "linear" and one.train_set in shares else one
        for one in planted.cells
    ]  # fmt: skip
    found = between_results(first, published(replace(planted, cells=tuple(cells)), tmp_path / "second"))
    (moved,) = found.moved
    assert (moved.evaluator, moved.train_set, moved.test_set, moved.paired) == ("linear", "filtered", "hans", True)
    assert (moved.first, moved.second) == (pytest.approx(0.64), pytest.approx(0.90))
    assert moved.difference.difference == pytest.approx(26.0)
    assert moved.difference.low > 15
    assert found.cues == ()  # the second was not scanned


def test_other_test_rows_are_compared_unpaired(first: Path, planted: BenchmarkData, tmp_path: Path) -> None:
    test_sets = tuple(
        replace(one, labels=np.roll(one.labels, 1)) if one.name == "hans" else one for one in planted.test_sets
    )
    found = between_results(first, published(replace(planted, test_sets=test_sets), tmp_path / "second"))
    assert {one.test_set: one.paired for one in found.accuracies} == {"hans": False, "test": True, "validation": True}
    paired = {one.test_set: one.difference for one in found.accuracies if one.train_set == "full"}
    assert paired["hans"].high - paired["hans"].low > 8  # as wide as two intervals of 300 rows


def test_a_cue_is_gone_new_weaker_or_as_before(first: Path, planted: BenchmarkData, tmp_path: Path) -> None:
    weaker = replace(WORD, balanced=0.58, low=0.56, high=0.6)
    other = replace(STOP, number=3, name="digit (text)")
    found = between_results(first, published(replace(planted, scan=scanned(weaker, other)), tmp_path / "second"))
    assert [(one.name, one.first, one.second, one.state) for one in found.cues] == [
        (STOP.name, 0.75, None, "gone"),
        (WORD.name, 0.682, 0.58, "weaker"),
        ("digit (text)", None, 0.75, "new"),
    ]
    slightly = replace(WORD, balanced=0.67, low=0.64, high=0.7)
    found = between_results(first, published(replace(planted, scan=scanned(STOP, slightly)), tmp_path / "third"))
    assert found.changed_cues == ()


def test_rows_that_changed_sides_are_counted(first: Path, planted: BenchmarkData, tmp_path: Path) -> None:
    (filtered,) = planted.filtered
    kept = filtered.rows["kept"].to_numpy(zero_copy_only=False).copy()
    left, returned = np.flatnonzero(kept)[:7], np.flatnonzero(~kept)[:3]
    kept[left], kept[returned] = False, True
    place = filtered.rows.column_names.index("kept")
    rows = filtered.rows.set_column(place, "kept", pa.array(kept))
    changed = replace(planted, filtered=(replace(filtered, rows=rows),))
    found = between_results(first, published(changed, tmp_path / "second"))
    assert found.sides == (SideChange("roberta", 1200, 395, 3, 7),)
