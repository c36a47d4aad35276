"""Exchanged columns of texts and labels are suspected, in data that are read and in data that are refused."""

from collections.abc import Callable
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from aflite_assets.data.raw_table.swapped import seem_swapped
from aflite_assets.data.raw_table.table import RawTable, build_raw_table
from aflite_assets.errors import DataError
from aflite_assets.specs.columns import ColumnsSpec

Build = Callable[..., RawTable]
EXCHANGED = {"text": ["this is spam", "this is not", "hello", "bye"], "label": ["spam", "ham", "ham", "spam"]}
COLUMNS = {"text": "label", "label": "text"}


@pytest.mark.parametrize(
    ("rows", "labels", "texts", "suspected"),
    [(300, 300, 2, True), (63, 21, 4, True), (64, 21, 4, False), (300, 300, 61, False), (20, 20, 2, False),
     (300, 2, 300, False), (300, 300, 0, False)],
)  # fmt: skip
def test_many_labels_beside_few_texts_are_suspected(rows: int, labels: int, texts: int, suspected: bool) -> None:
    assert seem_swapped(rows, labels=labels, texts=texts) is suspected


@pytest.mark.parametrize("names", [("spam", "ham"), {"bad": "spam", "good": ("ham", "eggs")}])
def test_labels_that_are_refused_are_found_in_the_texts_column(build: Build, names: object) -> None:
    hint = (
        r"rows\) is not one of the classes in `labels`.*; `columns.text` and `columns.label` seem to be "
        r"swapped: 'label' has 2 distinct values and 'text' has texts; swap the two names"
    )
    with pytest.raises(DataError, match=hint):
        build({"train": EXCHANGED}, COLUMNS, label_names=names)


def test_more_texts_than_classes_can_be_are_found_too(build: Build) -> None:
    many = {"text": [f"a text, the {n}th" for n in range(1_001)], "label": [("a", "b")[n % 2] for n in range(1_001)]}
    with pytest.raises(
        DataError,
        match=r"so it seems to contain ids, texts or measurements instead of classes; set `columns.label` "
        r"to another column, or list these values in `labels` if each is a class.*; `columns.text` "
        r"and `columns.label` seem to be",
    ):
        build({"train": many}, COLUMNS)


@pytest.mark.parametrize(
    "texts",
    [
        pa.array([datetime(2026, 1, 2, tzinfo=UTC)] * 4, pa.timestamp("ns", "Nowhere/X")),
        pa.Array.from_buffers(pa.string(), 4, pa.array([b"\xff", b"\xfe", b"\xff", b"\xfe"]).buffers()),
    ],
    ids=["unknown time zone", "no UTF-8"],
)
def test_texts_that_cannot_be_read_do_not_hide_why_labels_were_refused(texts: pa.Array) -> None:
    table = pa.table({"text": texts, "label": ["yes", "no", "yes", "no"]})
    columns = ColumnsSpec(text="text", label="label")
    with pytest.raises(DataError, match=r"label 'no' \(2 rows\) is not one of the classes in `labels`, \['0', '1'\]"):
        build_raw_table({"train": table}, columns=columns, label_names=("0", "1"), unlabelled=(), limit=None, seed=0)


def test_other_mistakes_with_labels_have_no_such_hint(build: Build) -> None:
    with pytest.raises(DataError, match=r"rows\) is not one of the classes in `labels`") as error:
        build({"train": EXCHANGED}, {"text": "text"}, label_names=("spam", "hum"))
    assert "exchanged" not in str(error.value)
