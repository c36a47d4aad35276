"""The papers' figures as cells: how counts, indices and points are written, and which values are published."""

from aflite_assets.reports.papers.published_tables import PublishedTable, published_tables
from aflite_assets.reports.tables.published import paper_records, paper_table
from aflite_assets.reports.tables.table import Table
from aflite_assets.text import DASH


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


def test_counts_and_points_share_a_column() -> None:
    found = [row for row in paper_records("qqp") if row["row"] == "BiLSTM"]
    assert [(row["column"], row["value"]) for row in found] == [("forgettable rows", 76_634), ("accuracy", 84.3)]
