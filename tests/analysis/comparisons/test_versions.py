"""Two results beside each other: which numbers moved, which rows changed sides, what differs."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.analysis.comparisons.versions import Changed, RowCounts, Version, compare_versions
from aflite_assets.analysis.rows.table import PREDICTIONS, TEST_ROWS
from aflite_assets.errors import DataError
from aflite_assets.reports.sentences.versions import comparison_line
from aflite_assets.scan.cues import CueProperty
from tests.planted_cues import STOP, WORD, scanned

ROWS = 200


def write_version(
    folder: Path, *, right: float, seed: int, first_id: int = 0, removed: tuple[int, ...] = (), rows: int = ROWS
) -> Version:
    """Two seeds of one evaluator on one test set, right on the first share of rows but for two at random."""
    folder.mkdir()
    keys = [f"test/{row}" for row in range(rows)]
    ids = [str(first_id + row) for row in range(rows)]
    blank = pa.nulls(rows, pa.string())
    columns = {"test_row": keys, "test_set": ["test"] * rows, "row_id": range(rows), "source_id": ids, "text": blank}
    columns |= {"text_pair": blank, "label": ["a"] * rows, "group": [None] * rows, "kept_by": [None] * rows}
    pq.write_table(pa.table(columns | {"categories": [[]] * rows}, TEST_ROWS), folder / "test_rows.parquet")
    tables = []
    for number in range(2):
        correct = (np.arange(rows) < right * rows).astype(float)
        flipped = np.random.default_rng([seed, number]).choice(rows, 2, replace=False)
        correct[flipped] = 1 - correct[flipped]
        facts = {"evaluator": ["linear"] * rows, "representation": [None] * rows, "train_set": ["full"] * rows}
        tables.append(
            pa.table(facts | {"seed": [number] * rows, "test_row": keys, "correct": correct}, schema=PREDICTIONS)
        )
    pq.write_table(pa.concat_tables(tables), folder / "predictions.parquet")
    status = ["removed" if row in removed else "kept" for row in range(rows)]
    kept = {"representation": ["given"] * rows, "row_id": range(rows), "source_id": ids, "split": ["train"] * rows}
    pq.write_table(pa.table(kept | {"label": ["a"] * rows, "status": status}), folder / "rows.parquet")
    return Version(folder.name, folder, {"filter": {"threshold": 0.75}}, {"rows": rows}, {})


def test_a_number_moves_beyond_the_interval_of_the_difference(tmp_path: Path) -> None:
    old = write_version(tmp_path / "old", right=0.6, seed=1)
    new = write_version(tmp_path / "new", right=0.8, seed=2)
    (one,) = compare_versions(old, new, smallest_effect=1.0).moved
    assert (one.evaluator, one.train_set, one.test_set, one.rows, one.paired) == ("linear", "full", "test", ROWS, True)
    assert one.difference is not None
    assert one.difference == pytest.approx(100 * (one.new - one.old))
    assert one.difference == pytest.approx(20, abs=2)
    assert one.low is not None
    assert one.high is not None
    assert 10 < one.low < one.difference < one.high < 30
    assert one.side == "above"


def test_the_same_accuracy_does_not_move(tmp_path: Path) -> None:
    compared = compare_versions(
        write_version(tmp_path / "old", right=0.6, seed=1),
        write_version(tmp_path / "new", right=0.6, seed=2),
        smallest_effect=1.0,
    )
    assert [one.side for one in compared.numbers] == ["open"]
    assert (compared.moved, compared.rows, compared.changed, compared.says_something) == ((), (), (), False)


@pytest.mark.parametrize(("right", "side"), [(0.9, "above"), (0.62, "open")])
def test_other_test_rows_are_samples_of_their_own(tmp_path: Path, right: float, side: str) -> None:
    old = write_version(tmp_path / "old", right=0.6, seed=1)
    new = write_version(tmp_path / "new", right=right, seed=2, first_id=150)
    (one,) = compare_versions(old, new, smallest_effect=1.0).numbers
    assert (one.paired, one.rows, one.side) == (False, ROWS, side)
    assert one.low is not None
    assert one.high is not None
    # Two independent shares of 200 rows: 1.96 * sqrt(p (1 - p) / 200 + q (1 - q) / 200) to either side.
    share, other = one.old, one.new
    half = 196 * np.sqrt(share * (1 - share) / ROWS + other * (1 - other) / ROWS)
    assert (one.high - one.low) / 2 == pytest.approx(half, rel=0.15)


def test_rows_that_changed_sides_are_found_by_their_ids(tmp_path: Path) -> None:
    old = write_version(tmp_path / "old", right=0.6, seed=1, removed=(10, 11, 12))
    new = write_version(tmp_path / "new", right=0.6, seed=1, first_id=2, removed=(10,))
    compared = compare_versions(old, new, smallest_effect=1.0)
    assert compared.counts == (RowCounts("given", ROWS - 2, to_kept=2, to_removed=0, only_old=2, only_new=2),)
    assert [(one.source_id, one.old, one.new) for one in compared.rows] == [
        ("10", "removed", "kept"),
        ("11", "removed", "kept"),
    ]


def test_settings_data_and_software_that_differ_are_named(tmp_path: Path) -> None:
    old = write_version(tmp_path / "old", right=0.6, seed=1)
    new = replace(
        write_version(tmp_path / "new", right=0.6, seed=1),
        settings={"filter": {"threshold": 0.8}, "evaluators": {"linear": {"kind": "linear"}}},
        data={"rows": 300},
        software={"numpy": "2.4"},
    )
    assert compare_versions(old, new, smallest_effect=1.0).changed == (
        Changed("setting", "filter.threshold", "0.75", "0.8"),
        Changed("setting", "evaluators", "not set", "set"),
        Changed("data", "rows", "200", "300"),
        Changed("software", "numpy", "not set", "2.4"),
    )


def test_a_result_without_predictions_is_named(tmp_path: Path) -> None:
    old = write_version(tmp_path / "old", right=0.6, seed=1)
    new = write_version(tmp_path / "new", right=0.6, seed=1)
    (old.folder / "predictions.parquet").unlink()
    with pytest.raises(DataError, match=r"the result old in .*/old lacks `predictions\.parquet`; refresh the"):
        compare_versions(old, new, smallest_effect=1.0)


def test_a_cue_is_gone_new_or_weaker_and_a_small_change_is_none(tmp_path: Path) -> None:
    old, new = (write_version(tmp_path / name, right=0.6, seed=1) for name in ("old", "new"))
    weaker, slightly = (
        replace(WORD, balanced=0.58, low=0.56, high=0.6),
        replace(WORD, balanced=0.67, low=0.64, high=0.7),
    )
    other = replace(STOP, name="digit (text)")
    before = replace(old, scan=scanned(STOP, WORD))
    compared = compare_versions(before, replace(new, scan=scanned(weaker, other)), smallest_effect=1.0)
    assert [(one.name, one.state, one.old, one.new) for one in compared.cues] == [
        (STOP.name, "gone", 0.75, None),
        (WORD.name, "weaker", 0.682, 0.58),
        ("digit (text)", "new", None, 0.75),
    ]
    assert compared.says_something
    assert comparison_line(compared).startswith(
        "Since old, 0 of 1 accuracy moved beyond the interval, 3 cues came, went"
    )
    assert compare_versions(before, replace(new, scan=scanned(STOP, slightly)), smallest_effect=1.0).cues == ()
    assert compare_versions(before, new, smallest_effect=1.0).cues == ()  # the second was not scanned


def test_a_range_that_moved_is_the_same_cue(tmp_path: Path) -> None:
    old, new = (write_version(tmp_path / name, right=0.6, seed=1) for name in ("old", "new"))
    income = (CueProperty("column", "income", "income"),)
    before = replace(WORD, name="income at most 3223", properties=income)
    after = replace(WORD, name="income at most 3212", properties=income)
    scans = [scanned(before), scanned(after)]
    pair = [replace(each, scan=scan) for each, scan in zip((old, new), scans, strict=True)]
    assert compare_versions(pair[0], pair[1], smallest_effect=1.0).cues == ()
    weaker = replace(pair[1], scan=scanned(replace(after, balanced=0.56, low=0.55, high=0.57)))
    (moved,) = compare_versions(pair[0], weaker, smallest_effect=1.0).cues
    assert (moved.name, moved.state, moved.old, moved.new) == ("income at most 3223", "weaker", 0.682, 0.56)
    both = replace(pair[0], scan=scanned(before, replace(after, number=2)))  # the equal name is the same cue
    assert [(one.name, one.state) for one in compare_versions(both, pair[1], smallest_effect=1.0).cues] == [
        ("income at most 3223", "gone")
    ]
