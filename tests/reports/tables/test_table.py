from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell

TEST, OTHER = Heading("test", ("10 rows",)), Heading("other")
COLUMNS = (
    Column(Heading("size")), *(Column(Heading(name), group) for group in (TEST, OTHER) for name in ("full", "kept"))
)  # fmt: skip


def table(rows: tuple[Row, ...]) -> Table:
    return Table("accuracy_a", "x", "Accuracy", ("evaluator", "trained on"), COLUMNS, rows)


def test_columns_share_headings_and_rows_too() -> None:
    names = [("p", "full"), ("p", "random"), ("q", "full")]
    made = table(tuple(Row(name, (TableCell("1"),) * 5) for name in names))
    assert [(group, [one.heading.text for one in columns]) for group, columns in made.head] == [
        (None, ["size"]), (TEST, ["full", "kept"]), (OTHER, ["full", "kept"]),
    ]  # fmt: skip
    assert [(shared, len(rows)) for shared, rows in made.bodies] == [(("p",), 2), (("q",), 1)]
    assert [one.plain for one in made.columns[:3]] == ["size", "test, full (10 rows)", "test, kept (10 rows)"]


def test_rows_apart_have_a_body_of_their_own() -> None:
    cells = (TableCell("1"),) * 5
    made = table((Row(("p", "full"), cells), Row(("p", "minus"), cells, apart=True)))
    assert [[row.headings[1] for row in rows] for _, rows in made.bodies] == [["full"], ["minus"]]
