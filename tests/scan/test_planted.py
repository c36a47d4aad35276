"""Every planted kind is named by one of the first two cues, and rows without a cue give none."""

import re

import numpy as np
import pytest

from aflite_assets.scan.scan import ScanSettings, scan_rows
from benchmarks.detection import has_artefact, is_named, scanned
from benchmarks.detection_kinds import NULLS, PLANTED

FIRST_NAMES = {
    "id range": "record_no at most",
    "missing pattern": "number of missing values at least 2",
    "typography": "ends with a letter or digit (text)",
    "source phrase": "the words 'marlowe wire' (text)",
    "length": "of text at least",
    "position": "row number in the file (from 1) from",
    "corner patch": "bright patch of one colour in the bottom right corner",
    "JPEG quality": "JPEG quality = 90",
    "values of a column": "staff is ",
}
ARTEFACTS = {"id range", "missing pattern", "typography", "position", "corner patch", "JPEG quality"}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_cue_is_named(kind: str) -> None:
    drawn = PLANTED[kind](np.random.default_rng(11), 0.6)
    result = scan_rows(drawn.rows, settings=ScanSettings(), seed=0)
    assert drawn.carriers is not None
    assert is_named(result, drawn.carriers)
    first = result.cues[0]
    assert FIRST_NAMES[kind] in first.name
    assert (first.label, first.base_rate) == ("b", pytest.approx(0.5, abs=0.06))
    assert first.share_of_class == pytest.approx(0.6, abs=0.06)
    assert first.balanced == pytest.approx(0.775, abs=0.05)
    assert first.low < first.balanced < first.high
    assert first.is_artefact == (kind in ARTEFACTS)


def test_record_numbers_of_one_range_are_an_artefact_with_its_ends() -> None:
    drawn = PLANTED["id range"](np.random.default_rng(3), 0.5)
    result = scan_rows(drawn.rows, settings=ScanSettings(), seed=0)
    values = np.array(drawn.rows.columns["record_no"].values, dtype=float)
    (cue,) = result.artefacts
    assert drawn.carriers is not None
    end = float(cue.name.removeprefix("record_no at most "))
    assert values[drawn.carriers].max() <= end < 10_400  # the other numbers begin at 10,000
    assert (cue.kind, cue.reason, cue.rows) == ("identifier", "artefact", (values <= end).sum())
    assert cue.p_value <= 0.01
    assert has_artefact(result)


TRUE_WORD = re.compile("the words? '(?:[a-z]+ )?[qx]e[a-j]{3}")


@pytest.mark.parametrize("kind", NULLS)
def test_rows_without_a_cue_give_no_artefact(kind: str) -> None:
    drawn = NULLS[kind](np.random.default_rng(5))
    result = scanned(drawn, 0)
    assert result.can_tell
    assert not has_artefact(result)
    assert all(TRUE_WORD.match(cue.name) for cue in result.candidates), "only the words that tell the class are cues"
    assert bool(result.candidates) == (kind in {"hundreds of true words", "wrong labels"})
    assert result.surface is not None
    assert result.surface.low < result.surface.chance + 0.02


def test_weak_artefacts_are_found_together() -> None:
    """Forty columns of missing values, each of which says almost nothing."""
    from aflite_assets.scan.rows import TableColumn
    from benchmarks.detection_kinds import build_rows, draw_labels

    rng = np.random.default_rng(0)
    labels = draw_labels(rng, 4_000)
    values = {f"x{place}": rng.normal(size=4_000) for place in range(40)}
    for column in values.values():
        column[rng.random(4_000) < np.where(labels == 1, 0.30, 0.24)] = np.nan
    columns = {name: TableColumn("column", column) for name, column in values.items()}
    result = scan_rows(build_rows(labels, columns=columns), settings=ScanSettings(), seed=0)
    assert result.surface is not None
    assert result.is_spread
    assert result.surface.balanced > 0.6
    assert [cue for cue in result.cues if "is missing" in cue.name] == []


def test_values_of_one_column_are_one_cue_that_lists_them() -> None:
    drawn = PLANTED["values of a column"](np.random.default_rng(2), 0.6)
    result = scanned(drawn, 0)
    cue = result.cues[0]
    start, _, last = cue.name.removeprefix("staff is ").rpartition(" or ")
    assert sorted([*start.split(", "), last]) == ["'S-00'", "'S-01'", "'S-02'", "'S-03'", "'S-04'"]
    assert (result.carriers[:, 0] == drawn.carriers).all()
    assert [one.name for one in result.cues if one.label == "b" and "staff" in one.name] == [cue.name]
    assert cue.synonyms == ()
    assert cue.tested_rows == pytest.approx(cue.rows / 2, rel=0.1)
    assert cue.tested_precision == pytest.approx(cue.precision, abs=0.03)
    assert cue.precision == pytest.approx(0.6 / 0.65, abs=0.03)
