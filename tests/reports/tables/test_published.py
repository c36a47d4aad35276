from statistics import fmean
from typing import get_args

import pytest

from aflite_assets.reports.tables.published import (
    NO_GAIN,
    PublishedTable,
    every_table,
    paper_records,
    paper_table,
    published_tables,
)
from aflite_assets.reports.tables.table import Table
from aflite_assets.specs.report_settings import ReportSpec
from aflite_assets.text import DASH

TABLES = [(name, table) for name, tables in every_table().items() for table in tables]
RANGES = {"forgettable rows": (1000, 100_000), "overlap": (0, 1)}


def value(name: str, source: str, row: str, column: str) -> float | None:
    table = next(one for one in published_tables(name) if one.source.startswith(source))
    return table.rows[row][table.columns.index(column)].value


def values_of(table: PublishedTable) -> dict[str, list[float | None]]:
    return {row: [cell.value for cell in cells] for row, cells in table.rows.items()}


def test_specs_may_name_them_all() -> None:
    (literal, _) = get_args(ReportSpec.model_fields["published"].annotation)
    assert set(get_args(literal)) == set(every_table())


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_rows_are_as_long_as_the_heading(name: str, table: PublishedTable) -> None:
    for cells in table.rows.values():
        assert len(cells) == len(table.columns)
        for column, (text, number, deviation) in zip(table.columns, cells, strict=True):
            least, most = RANGES.get(column.split(",")[0], (-100, 100))
            assert number is None or least <= number <= most
            assert (number is None) == (text in (DASH, NO_GAIN))
            assert deviation is None or 0 < deviation < 20


@pytest.mark.parametrize(("name", "table"), [(n, t) for n, t in TABLES if t.kind == "in_distribution"])
def test_differences_are_filtered_minus_full(name: str, table: PublishedTable) -> None:
    for row, values in values_of(table).items():
        full, filtered, difference = values[0], values[-2], values[-1]
        if full is not None and filtered is not None and difference is not None:
            assert filtered - full == pytest.approx(difference, abs=0.051), row


@pytest.mark.parametrize(
    ("name", "source", "row", "column", "expected"),
    [
        ("snli", "ICML 2020, Table 3", "RoBERTa", "filtered (RoBERTa), 92k", 62.6),
        ("snli", "ICML 2020, Table 3", "ESIM+ELMo", "filtered (BERT), 109k", 54.2),
        ("snli", "ICML 2020, Table 3", "human", "filtered (ESIM+GloVe), 138k", 82.3),
        ("snli", "ICML 2020, Table 3", "RoBERTa, single pass", "filtered (RoBERTa), 92k", 72.1),
        ("snli", "ICML 2020, Table 1", "filtered (RoBERTa), 182k", "HANS constituent", 38.5),
        ("snli", "ICML 2020, Table 1", "random, 182k", "HANS lexical overlap", 56.6),
        ("snli", "ICML 2020, Table 2", "filtered (RoBERTa), 182k", "round 3", 52.8),
        ("multi_nli", "ICML 2020, Table 4", "RoBERTa", "filtered (RoBERTa)", 66.2),
        ("qnli", "ICML 2020, Table 4", "RoBERTa", "filtered (RoBERTa)", 77.7),
        ("imagenet", "ICML 2020, Table 5", "filtered (EfficientNet-B7), 40 %", "EfficientNet-B7", 10.4),
        ("imagenet", "ICML 2020, Table 6", "EfficientNet-B7", "filtered (EfficientNet-B7)", 63.5),
        ("imagenet", "ICLR 2020", "EfficientNet-B7", "filtered, top-5", 60.6),
        ("multi_nli", "EACL 2021, Table 1", "BiLSTM", "forgettable rows", 46_740),
        ("qqp", "EACL 2021, Table 1", "BiLSTM", "accuracy", 84.3),
        ("fever_nli", "EACL 2021, Table 1", "BERT-base", "forgettable rows", 21_066),
        ("multi_nli", "EACL 2021, Tables 2 and 3", "F(BoW)", "overlap, others", 0.30),
        ("qqp", "EACL 2021, Tables 2 and 3", "F(BiLSTM)", "overlap, others", 0.50),
        ("fever_nli", "EACL 2021, Tables 2 and 3", "F(BERT)", "negation, refutes", 6.3),
        ("multi_nli", "EACL 2021, Table 4", "BERT + F(HANS), about 200,000", "HANS", 69.5),
        ("qqp", "EACL 2021, Table 5", "BERT + F(BoW)", "PAWS", 48.8),
        ("fever_nli", "EACL 2021, Table 6", "BERT + F(BiLSTM)", "Symmetric, version 1", 61.7),
        ("multi_nli", "EACL 2021, Table 7", "F(BERT), 17,748", "MultiNLI matched", 49.6),
        ("qqp", "EACL 2021, Table 8", "XLNet-large + F(BoW)", "PAWS", 65.2),
        ("fever_nli", "EACL 2021, Table 9", "BERT-large + F(BoW)", "Symmetric, version 1", 67.8),
        ("multi_nli", "EACL 2021, Table 10", "BERT + F(BiLSTM)", "entailment, low", 72.4),
        ("qqp", "EACL 2021, Table 11", "BERT + F(BoW)", "non-paraphrase, high", 86.4),
        ("multi_nli", "EACL 2021, Figure 5", "XLNet-large + F(BoW)", "HANS", 83.1),
        ("snli", "SustaiNLP 2020, Table 1", "25,000", "SNLI test", 80.96),
        ("snli", "SustaiNLP 2020, Table 2", "10k", "ANLI R3", 31.67),
        ("snli", "SustaiNLP 2020, Table 3", "15k", "Stress competence", 50.24),
    ],
)
def test_spot_checks(name: str, source: str, row: str, column: str, expected: float) -> None:
    assert value(name, source, row, column) == expected


def _values(name: str, source: str) -> dict[str, list[float | None]]:
    return values_of(next(one for one in published_tables(name) if one.source == source))


@pytest.mark.parametrize(("name", "classes"), [("multi_nli", 3), ("qqp", 2), ("fever_nli", 3)])
def test_published_forgettable_sets_are_balanced(name: str, classes: int) -> None:
    sizes = [values[0] for values in _values(name, "EACL 2021, Table 1").values()]
    assert [size % classes for size in sizes if size is not None] == [0, 0, 0]


@pytest.mark.parametrize(("name", "source"), [("multi_nli", "EACL 2021, Table 4"), ("qqp", "EACL 2021, Table 5")])
def test_printed_averages_are_those_of_the_two_columns(name: str, source: str) -> None:
    for inside, outside, average in _values(name, source).values():
        assert inside is not None
        assert outside is not None
        assert average == pytest.approx((inside + outside) / 2, abs=0.0501)


@pytest.mark.parametrize(("name", "source"), [("multi_nli", "EACL 2021, Table 10"), ("qqp", "EACL 2021, Table 11")])
def test_an_accuracy_lies_between_those_of_high_and_low_overlap(name: str, source: str) -> None:
    for values in _values(name, source).values():
        whole, high, low, other, other_high, other_low = (one or 0.0 for one in values)
        assert low < whole < high or high < whole < low
        assert other_low < other < other_high or other_high < other < other_low


def test_sizes_of_the_sets_are_those_trained_on() -> None:
    size = {row: count for row, (count, _) in _values("multi_nli", "EACL 2021, Table 1").items()}
    said = {f"F({'BERT' if row == 'BERT-base' else row}), {count:,.0f}" for row, count in size.items()}
    assert said <= set(_values("multi_nli", "EACL 2021, Table 7"))
    assert {f"BERT + {one}" for one in said} <= set(_values("multi_nli", "EACL 2021, Table 4"))


def test_contradictions_of_the_paper_stand_in_notes() -> None:
    notes = {(name, one.source): one.note for name, one in TABLES}
    for key, said in {
        ("multi_nli", "EACL 2021, Table 7"): "The text gives F(BERT) 37.9 on MultiNLI, which is the table's HANS",
        ("multi_nli", "EACL 2021, Table 4"): "BERT has 84.5 and 63.1 in Table 7",
        ("multi_nli", "EACL 2021, Tables 2 and 3"): "F(BiLSTM) is another exception here",
        ("qqp", "EACL 2021, Table 5"): "The text gives BERT 91.3 on QQP and 32.2 on PAWS",
        ("fever_nli", "EACL 2021, Table 6"): "84.4 in Table 1, and 87.2 in Table 9",
    }.items():
        assert said in notes[key]


def _with_minus_without() -> dict[str, dict[str, float]]:
    """What Table 2 of SustaiNLP 2020 has more than its Table 3, by size and column, in points."""
    tables = {one.source[-7:]: one for one in published_tables("snli") if one.source.startswith("SustaiNLP")}
    ranked, unranked = (values_of(tables[name]) for name in ("Table 2", "Table 3"))
    columns = tables["Table 2"].columns
    assert columns == tables["Table 3"].columns
    return {
        size: {
            name: round((first or 0.0) - (second or 0.0), 2)
            for name, first, second in zip(columns, ranked[size], values, strict=True)
        }
        for size, values in unranked.items()
    }


def test_what_the_ranking_adds_in_print() -> None:
    gaps = _with_minus_without()
    every = [gap for of_size in gaps.values() for gap in of_size.values()]
    assert (sum(gap > 0 for gap in every), sum(gap < 0 for gap in every), every.count(0)) == (40, 14, 1)
    assert round(fmean(every), 2) == 0.98
    by_size = {size: round(fmean(of_size.values()), 2) for size, of_size in gaps.items()}
    assert by_size == {"5k": 0.75, "8k": 1.64, "10k": 2.57, "12k": -0.34, "15k": 0.27}
    by_column = [round(fmean(of_size[name] for of_size in gaps.values()), 2) for name in gaps["5k"]]
    assert by_column == [0.18, 0.26, -0.06, 0.83, 2.77, 0.85, 3.05, 0.09, 0.26, 1.23, 1.31]


def test_the_notes_on_a_small_sample_say_what_its_numbers_do() -> None:
    tables = {one.kind: one for one in published_tables("snli") if one.source.startswith("SustaiNLP")}
    assert list(tables) == ["sample_curve", "fine_action", "rankings"]
    rows = values_of(tables["fine_action"])
    curve = {size: values[0] for size, values in values_of(tables["sample_curve"]).items()}
    assert rows["20k"][0] == curve["20,000"] == max(one for one in curve.values() if one is not None)
    assert all((values[0] or 0) > (rows["20k"][0] or 0) for size, values in rows.items() if size != "20k")
    best = [max(rows, key=lambda row: values[row]) for values in _columns(rows)]
    full = [name for name, row in zip(tables["fine_action"].columns, best, strict=True) if row == "550k"]
    assert full == [
        "SNLI test", "Diagnostics knowledge", "Diagnostics lexical semantics", "Stress competence", "Stress noise",
    ]  # fmt: skip
    assert "The full set is best on SNLI, knowledge, lexical semantics, competence and noise" in (
        tables["fine_action"].note
    )
    assert (round(100 * 10 / 550, 1), round(100 * 15 / 550, 1), 4_939 + 5_058 + 4_983) == (1.8, 2.7, 14_980)
    assert "40 higher, 14 lower, 1 equal, by 0.98 points in the mean" in tables["rankings"].note


def _columns(rows: dict[str, list[float | None]]) -> list[dict[str, float]]:
    return [
        {row: value or 0.0 for row, value in zip(rows, column, strict=True)}
        for column in zip(*rows.values(), strict=True)
    ]


def test_no_name_has_none() -> None:
    assert published_tables(None) == ()


def test_deviations_stand_beside_their_values() -> None:
    (table,) = (one for one in published_tables("snli") if one.kind == "zero_shot")
    assert table.rows["random, 182k"][0] == ("56.6 ±14.7", 56.6, 14.7)
    assert sum(cell.deviation is not None for _, one in TABLES for row in one.rows.values() for cell in row) == 89


def test_what_is_no_number_or_no_kind_is_refused() -> None:
    entry = {"kind": "two_phase", "source": "s", "caption": "c", "columns": "a | b", "rows": {"r": f"1,234 | {DASH}"}}
    made = PublishedTable.model_validate(entry)
    assert [cell.value for cell in made.rows["r"]] == [1234, None]
    with pytest.raises(ValueError, match="could not convert string to float: 'x'"):
        PublishedTable.model_validate(entry | {"rows": {"r": "1 | x"}})
    with pytest.raises(ValueError, match="Input should be 'zero_shot'"):
        PublishedTable.model_validate(entry | {"kind": "other"})
    with pytest.raises(ValueError, match="Extra inputs are not permitted"):
        PublishedTable.model_validate(entry | {"notes": "n"})


def _table(name: str, source: str) -> Table:
    return paper_table(next(one for one in published_tables(name) if one.source == source))


def _texts(table: Table, row: str) -> list[str]:
    return next([cell.text for cell in each.cells] for each in table.rows if each.headings == (row,))


def test_counts_indices_and_points_are_written_as_such() -> None:
    assert _texts(_table("multi_nli", "EACL 2021, Table 1"), "BoW") == ["63,390", "64.0"]
    assert _texts(_table("multi_nli", "EACL 2021, Tables 2 and 3"), "F(BoW)") == ["0.26", "0.30", "9.9", "11.5"]
    assert _texts(_table("qnli", "ICML 2020, Table 4, under the heading of the other dataset; assigned as in its text "
                         "and ICLR Table 2"), "RoBERTa") == ["93.7", "77.7", "\N{MINUS SIGN}16.0"]  # fmt: skip


def test_as_many_decimals_as_in_print() -> None:
    assert _texts(_table("snli", "SustaiNLP 2020, Table 2"), "5k")[:4] == ["87.47", "32.60", "31.80", "28.00"]
    assert _texts(_table("snli", "SustaiNLP 2020, Table 1"), "25,000") == ["80.96"]


def test_a_deviation_stands_where_the_paper_has_one() -> None:
    table = _table("multi_nli", "EACL 2021, Table 4")
    assert _texts(table, "BERT + F(BoW), 63,390") == ["83.1 ±0.3", "70.5 ±0.7", "76.8 ±0.4"]
    assert _texts(table, "BERT + random, 63,390") == ["84.3", "63.6", "73.9"]


def test_what_the_paper_has_not_is_a_dash() -> None:
    table = {"kind": "two_phase", "source": "s", "caption": "c", "columns": "a", "rows": {"r": DASH}, "note": "n"}
    made = paper_table(PublishedTable.model_validate(table))
    assert (made.rows[0].cells[0].text, made.notes) == (DASH, ("n",))


def test_what_the_paper_says_without_a_number_is_a_row() -> None:
    table = next(one for one in published_tables("multi_nli") if one.source.startswith("EACL 2021, section 4.4"))
    # "For these test sets, we do not observe improvements when evaluating the robust model using F(BoW)"
    assert [cell.text for cell in paper_table(table).rows[0].cells] == [NO_GAIN] * 3
    start, phase = (
        value("multi_nli", "EACL 2021, Figure 5", f"BERT-base{one}", "MultiNLI matched, hard")
        for one in ("", " + F(BiLSTM, hypothesis only)")
    )
    assert table.rows["F(BiLSTM, hypothesis only)"][2].value == round((phase or 0) - (start or 0), 1) == 1.5
    found = [(one["printed"], one["value"]) for one in paper_records("multi_nli") if one["source"] == table.source]
    assert found == [*[(NO_GAIN, None)] * 3, (DASH, None), (DASH, None), ("1.5", 1.5)]


def test_counts_and_points_share_a_column() -> None:
    found = [row for row in paper_records("qqp") if row["row"] == "BiLSTM"]
    assert [(row["column"], row["value"]) for row in found] == [("forgettable rows", 76_634), ("accuracy", 84.3)]
