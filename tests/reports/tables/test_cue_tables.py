"""The table of the scan's cues: natures, shares, intervals, other sets; hostile names; what is left out."""

from dataclasses import replace

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.cue_tables import MOST_SHOWN, browsed_cues, cue_tables
from aflite_assets.scan.cues import CUES_WITH_ROWS
from aflite_assets.text import DASH
from tests.planted_cues import STOP, WORD, scanned


def test_a_cue_has_a_line_with_its_numbers_and_where_it_does_not_hold(planted: BenchmarkData) -> None:
    (table,) = cue_tables(analyse(replace(planted, scan=scanned(STOP, WORD))))
    first, second = table.rows
    assert first.headings == ("artefact", STOP.name)
    assert [cell.plain for cell in first.cells] == [
        "contradiction", "320", "60.0", "10.0", "75.0", "40.0", "75.0, [71.0, 79.0]",
        "it tells nothing on “hans”: 50 % [45 %, 55 %]; it holds on “test”: 74 % [70 %, 78 %]",
    ]  # fmt: skip
    assert (second.headings[0], second.cells[-1].text) == ("yours to judge", DASH)
    assert table.notes == (
        "Surface alone, all artefacts in one linear model of all classes: 40 % balanced accuracy [38 %, 42 %], chance "
        "33 %.",
        "With 1,200 rows, a cue of less than 61 % balanced accuracy can be missed. A cue that is not among the "
        "tested properties is not detected at all.",
    )


def test_cues_that_a_stronger_one_explains_are_counted_not_shown(planted: BenchmarkData) -> None:
    many = [replace(WORD, number=place, name=f"word {place}") for place in range(MOST_SHOWN + 2)]
    explained = replace(WORD, number=99, explained_by=0)
    (table,) = cue_tables(analyse(replace(planted, scan=scanned(*many, explained))))
    assert len(table.rows) == MOST_SHOWN
    assert table.notes[-1].startswith("3 more cues, which are weaker or explained by a stronger one")


def test_cues_link_to_their_rows_as_far_as_these_are_known(planted: BenchmarkData) -> None:
    beyond = replace(WORD, number=CUES_WITH_ROWS)
    data = replace(planted, scan=scanned(STOP, WORD, beyond))
    (table,) = cue_tables(analyse(data))
    assert [row.rows_at for row in table.rows] == ["rows-cue-0", "rows-cue-1", ""]
    assert browsed_cues(analyse(data)) == (STOP, WORD)
    assert browsed_cues(analyse(replace(data, scan=None))) == ()


def test_without_a_cue_or_a_scan_there_is_no_table(planted: BenchmarkData) -> None:
    assert cue_tables(analyse(replace(planted, scan=scanned()))) == ()
    assert cue_tables(analyse(planted)) == ()


def test_a_hostile_name_is_one_safe_line(planted: BenchmarkData) -> None:
    hostile = replace(WORD, name="the word '<b>\n\u202e' (text)", label="\x1b[31m")
    (table,) = cue_tables(analyse(replace(planted, scan=scanned(hostile))))
    shown = " ".join((*table.rows[0].headings, table.rows[0].cells[0].text))
    assert not {"\n", "\u202e", "\x1b"} & set(shown)
