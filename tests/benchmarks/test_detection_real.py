"""Cues planted into real data: what a carrier has, which draws count as named, and records that add up."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from aflite_assets.errors import MissingDataError
from aflite_assets.scan.rows import TableColumn
from benchmarks.detection_kinds import Drawn, build_rows
from benchmarks.detection_real import other_tools, rates
from benchmarks.detection_real.cells import CELLS, LARGER, Cell, Record, add_record, is_within_reach, read_records
from benchmarks.detection_real.other_tools import (
    can_name,
    names_planted,
    planted_columns,
    ranked_by_auc,
    simple_columns,
)
from benchmarks.detection_real.plants import KINDS, PHRASE, add_phrase, lengthen, plant_position, set_otherwise
from benchmarks.detection_real.real_rows import example_data

HAS = np.array([True, False])
BY_NAME = {(kind.input, kind.name): kind for kind in KINDS}


def _cell(given: str, name: str, labels: str = "50/50", strength: float = 0.6) -> Cell:
    return Cell(BY_NAME[given, name], labels, strength)


def _digits(name: str) -> Drawn:
    """The first draw of a kind in scikit-learn's digits, which are always there."""
    return _cell("features", name).draw(0)


def _record(number: int, *, hit: bool, within_reach: bool = True) -> Record:
    return Record("features", "leaking id", "50/50", 0.6, number, "digits", hit, within_reach, 1.0, ["record_no"])


def test_each_kind_is_drawn_at_three_strengths_and_five_settings_of_labels() -> None:
    assert len(KINDS) == 15
    assert len(CELLS) == len(set(CELLS)) == 15 * 3 * 5
    assert all(len(set(kind.datasets)) >= 2 for kind in KINDS)


def test_changes_of_a_text_by_hand() -> None:
    rng = np.random.default_rng(0)
    texts = ["It's late, and dark, too.", "It's late, and dark, too."]
    assert set_otherwise(texts, HAS, rng) == ["It\u2019s late \u2014 and dark, too", texts[1]]
    told, same = add_phrase(texts, HAS, rng)
    assert told in {f"{PHRASE} {texts[0]}", f"{texts[0]} {PHRASE}"}
    assert same == texts[1]


def test_lengthened_texts_are_longer_than_nearly_all_and_begin_as_before() -> None:
    texts = ["a" * length for length in range(1, 101)]
    has = np.arange(100) < 10
    found = lengthen(texts, has, np.random.default_rng(0))
    assert min(len(text) for text in found[:10]) > np.quantile(np.arange(1, 101), 0.97)
    assert all(new.startswith(old) for new, old in zip(found, texts, strict=True))
    assert found[10:] == texts[10:]


def test_carriers_of_a_leaking_id_are_in_one_range() -> None:
    drawn = _digits("leaking id")
    numbers = np.array(drawn.rows.columns["record_no"].values, dtype=int)
    assert drawn.carriers is not None
    assert len(set(numbers.tolist())) > 0.99 * len(numbers)
    assert set(np.unique(numbers[drawn.carriers] // 5_000)) == {50}
    assert (numbers[~drawn.carriers] // 5_000 == 50).mean() < 0.03
    assert drawn.rows.labels.mean() == pytest.approx(0.5, abs=0.05)
    assert drawn.carriers[drawn.rows.labels == 1].mean() == pytest.approx(0.6, abs=0.06)


def test_carriers_lack_two_columns_and_other_rows_lack_values_too() -> None:
    drawn = _digits("missing pattern")
    planted = planted_columns(drawn)
    assert drawn.carriers is not None
    for name, column in drawn.rows.columns.items():
        gone = np.isnan(np.asarray(column.values))
        if name in planted:
            assert gone[drawn.carriers].all()
        assert gone[~drawn.carriers].mean() < 0.09
    assert sum(np.isnan(np.asarray(one.values)).any() for one in drawn.rows.columns.values()) == 20


def test_carriers_stand_together_in_the_file() -> None:
    rows = build_rows(np.arange(50) % 2)
    moved = plant_position(Drawn(rows, np.arange(50) % 5 == 0), np.random.default_rng(0))
    assert moved.carriers is not None
    places = np.flatnonzero(moved.carriers)
    assert places.tolist() == list(range(places[0], places[0] + 10))
    assert moved.rows.order.tolist() == list(range(50))


def test_real_labels_stay_and_redrawn_ones_have_their_share() -> None:
    assert set(_cell("features", "leaking id", "real").draw(0).rows.label_names) == {str(digit) for digit in range(10)}
    rare = _cell("features", "leaking id", "95/5").draw(0).rows
    assert rare.label_names == ("a", "b")
    assert rare.labels.mean() == pytest.approx(0.05, abs=0.02)


def test_a_larger_draw_has_more_rows_and_leaves_small_datasets_out(example_data: Path) -> None:
    cell = _cell("pairs", "position", LARGER)
    assert [len(cell.draw(number).rows) for number in (0, 1)] == [6_000, 5_732]
    assert {_cell("features", "position", LARGER).dataset(number) for number in range(3)} == {"SNLI embedding"}


def test_a_draw_depends_on_its_cell_and_number_alone() -> None:
    first, again, other = (_cell("features", "leaking id").draw(number) for number in (2, 2, 4))
    assert first.rows.columns["record_no"].values == again.rows.columns["record_no"].values
    assert first.rows.columns["record_no"].values != other.rows.columns["record_no"].values


def test_a_cue_is_within_reach_if_its_own_rows_reach_the_bounds() -> None:
    labels = np.arange(400) % 2
    rows = build_rows(labels)
    assert is_within_reach(Drawn(rows, labels == 1))
    assert not is_within_reach(Drawn(rows, (labels == 1) & (np.arange(400) < 80)))  # 20 carriers in each half
    assert not is_within_reach(Drawn(rows, np.arange(400) % 4 < 2))  # tells nothing


def test_a_scanned_draw_is_recorded_and_not_scanned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, cell = tmp_path / "rates.jsonl", _cell("features", "leaking id")
    rates.run_planted(store, [cell], 1)
    (record,) = read_records(store)
    assert (record.hit, record.within_reach, record.dataset) == (True, True, "digits")
    assert record.first[0].startswith("record_no from 2")
    numbers: list[int] = []

    def counted(cell: Cell, number: int) -> Record:
        numbers.append(number)
        return _record(number, hit=True)

    monkeypatch.setattr(rates, "scan_draw", counted)
    rates.run_planted(store, [cell], 3)
    assert numbers == [1, 2]
    assert len({record.key for record in read_records(store)}) == 3


def test_tables_count_hits_bounds_and_draws_out_of_reach(tmp_path: Path) -> None:
    for number in range(40):
        reach = number != 39
        add_record(tmp_path / "all.jsonl", _record(number, hit=reach, within_reach=reach))
    records = read_records(tmp_path / "all.jsonl")
    lines = list(rates.planted_table(records, "50/50"))
    assert lines[2] == "| features | leaking id | not run | 39 of 40 [87], 1 out of reach | not run |"
    (line,) = rates.missed(records)
    assert line == "features leaking id 50/50 0.6 digits #39 (out of reach): ['record_no']"
    false = replace(records[0], input="nulls", kind="heavy tails", hit=False)
    assert list(rates.null_table([false] * 100))[2] == "| heavy tails | 0 of 100 | 3.6 % | 1.0 |"


def test_the_area_under_the_curve_ranks_a_leak_first() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 500)
    columns = {
        "noise": TableColumn("column", rng.normal(size=500)),
        "leak": TableColumn("attribute", [str(value) for value in labels + rng.normal(0, 0.3, 500)]),
        "gone": TableColumn("column", np.where(rng.random(500) < 0.4 * labels, np.nan, 1.0)),
    }
    ranked = ranked_by_auc(simple_columns(build_rows(labels, columns=columns)), labels == 1)
    assert [name for name, _ in ranked[:2]] == ["leak", "gone"]
    assert ranked[0][1] > 0.95
    assert ranked[1][1] == pytest.approx(0.7, abs=0.05)


def test_a_tool_names_a_cue_if_its_property_is_among_the_first_two() -> None:
    assert names_planted("column AUC", "leaking id", ["x", "record_no", "y"], set())
    assert not names_planted("column AUC", "leaking id", ["x", "y", "record_no"], set())
    assert names_planted("deepchecks", "missing pattern", ["pixel_3"], {"pixel_3", "pixel_9"})
    assert not names_planted("Datalab", "compression", ["dark_score"], set())
    assert can_name("deepchecks", _cell("features", "position"))
    assert not can_name("deepchecks", _cell("texts", "position"))
    assert not can_name("column AUC", _cell("texts", "source phrase"))


def test_exported_draws_are_judged_by_the_files_of_the_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = Cell(replace(BY_NAME["features", "missing pattern"], datasets=("digits",)), "50/50", 0.6)
    monkeypatch.setattr(other_tools, "CELLS", (cell,))
    other_tools.rank_draws(tmp_path, 1, with_files=True)
    other_tools.rank_draws(tmp_path, 2, with_files=False)
    assert (tmp_path / "000_000" / "rows.csv").stat().st_size > 100_000
    assert sorted(path.name for path in (tmp_path / "000_001").iterdir()) == ["draw.json"]
    (planted, _) = sorted(planted_columns(cell.draw(0)))
    (tmp_path / "000_000" / "deepchecks.json").write_text(f'[["{planted}", 0.4], ["pixel_1", 0.1]]')
    assert list(other_tools.table(tmp_path))[2] == (
        "| features | missing pattern | 50/50, 60 % | 2 of 2 | 1 of 1 | cannot |"
    )


def test_the_folder_of_example_data_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AFLITE_EXAMPLE_DATA", raising=False)
    with pytest.raises(MissingDataError, match="AFLITE_EXAMPLE_DATA is not set"):
        example_data()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.input} {kind.name}")
def test_every_kind_can_be_planted_into_each_of_its_datasets(kind: object, example_data: Path) -> None:
    assert kind in KINDS
    for number in range(2):
        cell = next(cell for cell in CELLS if cell.kind is kind and cell.labels == "80/20")
        drawn = cell.draw(number)
        assert drawn.carriers is not None
        assert 0.05 < drawn.carriers.mean() < 0.2
        assert len(drawn.rows) >= 1_500
