"""The table of accuracy by the value of an attribute, natural test set beside challenge set."""

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.accuracy_tables import BY_ATTRIBUTE
from tests.planted_attributes import wood_benchmark


def test_rows_intervals_and_differences_stand_beside_each_other(planted: BenchmarkData) -> None:
    (table,) = BY_ATTRIBUTE.tables(analyse(wood_benchmark(planted)))
    assert table.title == "Accuracy of models trained on all rows, by wood"
    assert [column.plain for column in table.columns] == [
        "test, accuracy (%)", "test, against other rows (points)", "plain, accuracy (%)",
        "plain, against other rows (points)",
    ]  # fmt: skip
    assert [row.headings for row in table.rows] == [("linear", "oak"), ("linear", "pine")]
    oak = table.rows[0].cells
    assert (oak[0].text, oak[0].small) == ("50.0", ("[44.4, 55.6]", "n = 300"))
    assert (oak[1].text, oak[1].shaded) == ("\N{MINUS SIGN}40.0", True)
    assert (oak[2].text, oak[2].small[1]) == ("50.0", "n = 900")
    assert [cell.shaded for cell in table.rows[1].cells] == [False] * 4


def test_without_attributes_there_is_no_table(planted: BenchmarkData) -> None:
    assert BY_ATTRIBUTE.tables(analyse(planted)) == ()
