import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.cues import RemovedCue, read_cues

ROW = {"kind": "word", "name": "text_pair", "value": "not", "label_name": "contradiction", "class_share": 0.8,
       "rows": 50, "removed_rows": 40, "share_removed": 0.4, "share_expected": 0.2, "p_value": 0.01,
       "class_shares": [], "same_rows_as": None}  # fmt: skip


def read(*rows: dict[str, object]) -> tuple[RemovedCue, ...]:
    return read_cues(pa.Table.from_pylist([{**ROW, **row} for row in rows]))


def test_cues_are_adjusted_for_how_many_were_tested() -> None:
    cues = read({"p_value": 0.01}, {"p_value": 0.04}, {"p_value": 0.03})
    assert [cue.adjusted_p for cue in cues] == pytest.approx([0.03, 0.06, 0.06])
    assert [cue.shown for cue in cues] == [True, False, False]
    assert [cue.shown for cue in read({"p_value": 0.03}, {"p_value": 0.03})] == [False, False]


@pytest.mark.parametrize(("removed", "shown"), [(0.205, True), (0.009, False)])
def test_trifles_are_not_shown(removed: float, shown: bool) -> None:
    """A cue on nearly all rows of a class can be removed only a little more often, and is shown all the same."""
    (cue,) = read({"share_removed": removed, "share_expected": removed / 1.02, "p_value": 1e-9})
    assert cue.shown == shown
