"""Challenge sets of edited copies: which rows are pairs, planted edits with their shares, and falls of the pairs."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.analysis.comparisons.edited_copies import (
    EDITS,
    edits_of,
    find_edited_copies,
    original_rows,
    set_edits,
)
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS, challenge_falls
from aflite_assets.analysis.inputs.edited_copies import Edit, EditedCopies
from aflite_assets.analysis.inputs.records import BenchmarkData, TestSet
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows
from aflite_assets.data.examples import Examples
from tests.planted_reports import ACCURACIES, done_cell

ROWS = 100
WORDS = ("river", "stone", "lamp", "garden", "wolf", "copper", "sail")


def rows_of(texts: Sequence[str], *, ids: Sequence[str] | None = None, first: int = 0, **others: Any) -> Examples:
    """Labelled rows (0, 1, 0, ...) with texts and ids."""
    table = pa.table(
        {
            "row_id": np.arange(first, first + len(texts)),
            "source_id": [f"q{row}" for row in range(len(texts))] if ids is None else list(ids),
            "split": ["test"] * len(texts),
            "label": np.arange(len(texts)) % 2,
            "text": list(texts),
            **others,
        }
    )
    return Examples(table, ("no", "yes"))


def sentences() -> list[str]:
    """Sentences that share few words, each with an exclamation mark at its end."""
    return [f"The {WORDS[row % 7]} {row} saw {WORDS[row // 7 % 7]} {row}!" for row in range(ROWS)]


def edited(row: int, text: str) -> str:
    """In 60 of 100 rows "not" is added, in 40 the exclamation mark is taken out, in 3 only the case changes."""
    if row < 60:
        text = text.replace(" saw ", " saw not ")
    if row % 5 < 2:
        return text.replace("!", "")
    return text.upper() if row in (62, 67, 72) else text


def test_planted_edits_of_texts_have_their_names_and_shares() -> None:
    natural = rows_of(sentences(), first=500)
    copies = rows_of([edited(row, text) for row, text in enumerate(sentences())])
    originals = original_rows(natural, copies)
    assert originals is not None
    assert originals.tolist() == list(range(ROWS))
    assert edits_of(natural, copies, originals) == (
        Edit("word", "text", "not", 60, 60, 0),
        Edit("sign", "text", "!", 40, 0, 40),
        Edit("capital letters", "text", "", 3, 0, 0),
    )


def test_a_moved_word_is_named_as_order_and_rare_edits_are_left_out() -> None:
    natural = rows_of(sentences() * 3, ids=[f"q{row}" for row in range(300)])
    texts = [f"!{text[:-1]}" if row < 30 else text for row, text in enumerate(sentences() * 3)]
    texts[50] += " once"
    copies = replace(natural, table=natural.table.set_column(4, "text", pa.array(texts)))
    assert edits_of(natural, copies, np.arange(300)) == (Edit("blanks or order", "text", "", 30, 0, 0),)


def test_columns_that_differ_have_their_directions() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(ROWS, 3)).astype(np.float32)
    moved = features.copy()
    moved[:, 1] += np.where(np.arange(ROWS) < 90, 2.0, -2.0).astype(np.float32)
    moved[:25, 2] = -9.0
    table = rows_of(["x"] * ROWS).table.drop_columns(["text"])
    natural, copies = (
        Examples(table.append_column("features", pa.array(list(each))), ("no", "yes")) for each in (features, moved)
    )
    assert original_rows(natural, copies) is not None
    assert edits_of(natural, copies, np.arange(ROWS)) == (
        Edit("column", "", "column 1", ROWS, 90, 10),
        Edit("column", "", "column 2", 25, 0, 25),
    )


def test_pairs_are_found_by_the_reports_row_ids_too_and_need_not_be_all_natural_rows() -> None:
    natural = rows_of(sentences(), first=500)
    some = [row for row in range(ROWS) if row % 10 < 4]  # labels 0, 1, 0, 1
    copies = rows_of([edited(row, sentences()[row]) for row in some], ids=[str(500 + row) for row in some])
    originals = original_rows(natural, copies)
    assert originals is not None
    assert originals.tolist() == some


def with_ids(copies: Examples, ids: list[str]) -> Examples:
    return replace(copies, table=copies.table.set_column(1, "source_id", pa.array(ids)))


@pytest.mark.parametrize("change", [
    lambda copies: with_ids(copies, [*copies.table["source_id"].to_pylist()[:-1], "q999"]),  # a row of its own
    lambda copies: replace(copies, table=copies.table.set_column(3, "label", pa.array(1 - copies.labels))),
    lambda copies: rows_of([f"quite another {WORDS[row % 5]} text" for row in range(ROWS)]),  # the same running numbers
    lambda copies: replace(copies, table=copies.table.slice(0, 19)),
])  # fmt: skip
def test_other_ids_labels_or_texts_are_no_pairs(change: Callable[[Examples], Examples]) -> None:
    copies = rows_of([edited(row, text) for row, text in enumerate(sentences())])
    assert original_rows(rows_of(sentences()), copies) is not None
    assert original_rows(rows_of(sentences()), change(copies)) is None


def test_images_with_names_are_pairs_and_with_numbers_are_not() -> None:
    rows = rows_of(["x"] * ROWS).table.drop_columns(["text"])
    named = Examples(rows.append_column("image", pa.array([{"path": "a"}] * ROWS)), ("no", "yes"))
    assert original_rows(named, named) is not None
    assert edits_of(replace(named), named, np.arange(ROWS)) == ()
    numbered = with_ids(named, [str(row) for row in range(ROWS)])
    assert original_rows(numbered, numbered) is None


def test_classes_are_compared_by_the_map_and_the_first_natural_set_with_all_originals_is_named() -> None:
    copies = rows_of([edited(row, text) for row, text in enumerate(sentences())])
    turned = replace(copies, table=copies.table.set_column(3, "label", pa.array(1 - copies.labels)))
    naturals = {"test": rows_of(sentences(), ids=[f"t{row}" for row in range(ROWS)]), "dev": rows_of(sentences())}
    (found,) = find_edited_copies(naturals, {"odd": turned}, {"odd": np.array([1, 0])})
    assert (found.test_set, found.natural_set, len(found.edits)) == ("odd", "dev", 3)
    assert find_edited_copies(naturals, {"odd": turned}, {}) == ()


def paired(planted: BenchmarkData, right: float = 0.5, originals: np.ndarray | None = None) -> BenchmarkData:
    """The planted benchmark whose challenge set `hans` has copies of test rows."""
    natural = next(one for one in planted.test_sets if one.name == "test")
    places = np.arange(len(natural.labels)) if originals is None else originals
    copy = TestSet("clean", True, places, natural.labels[places], natural.label_names, {})
    sets = (natural, copy)
    cells = tuple(
        done_cell(sets, (*ACCURACIES[cell.train_set][:2], right), **_place(cell)) for cell in planted.cells
        if cell.train_set == "full"
    )  # fmt: skip
    edits = (Edit("word", "text", "not", 62, 62, 0), Edit("sign", "text_pair", "!", 40, 8, 32))
    copies = (EditedCopies("clean", "test", places, edits),)
    return replace(planted, test_sets=sets, cells=cells, copies=copies)


def _place(cell: Any) -> dict[str, Any]:
    return {"evaluator": cell.evaluator, "train_set": "full", "seed": cell.seed, "train_rows": cell.train_rows}


def test_a_fall_of_copies_is_measured_from_their_originals(planted: BenchmarkData) -> None:
    fall = challenge_falls(paired(planted))[0]
    assert (fall.copies_of, fall.originals, fall.edited) == ("test", pytest.approx(fall.natural), True)
    assert fall.paired_fall == pytest.approx(fall.fall)
    assert fall.paired_low is not None
    assert fall.paired_high is not None
    assert fall.paired_low < fall.fall < fall.paired_high
    assert fall.alike == ()


def test_originals_that_are_as_hard_as_their_copies_show_no_effect_of_the_edits(planted: BenchmarkData) -> None:
    hard = np.flatnonzero(planted.test_sets[0].kept["roberta"])  # 60 % right, against 78 % of all rows
    data = paired(planted, right=0.6, originals=hard)
    assert data.test_sets[0] is planted.test_sets[0]
    fall = next(one for one in challenge_falls(data) if one.evaluator == "linear")
    assert fall.copies_of == "test"
    assert (fall.natural, fall.originals) == (pytest.approx(0.78, abs=0.01), pytest.approx(0.6, abs=0.01))
    assert (fall.named, fall.edited) == (True, False)
    assert fall.paired_fall == pytest.approx(0, abs=1)


def test_copies_on_which_an_evaluator_is_right_as_on_their_originals_are_alike(planted: BenchmarkData) -> None:
    data = paired(planted)
    own = [cell.predictions.filter(pc.field("test_set") == "test") for cell in data.cells if cell.predictions]
    cells = tuple(
        replace(cell, predictions=pa.concat_tables([each, _of_copies(each)]))
        for cell, each in zip(data.cells, own, strict=True)
    )
    assert {one.alike for one in challenge_falls(replace(data, cells=cells))} == {("test",)}


def _of_copies(own: pa.Table) -> pa.Table:
    first = own["row_id"].to_numpy().min()
    renamed = own.set_column(0, "test_set", pa.array(["clean"] * len(own)))
    return renamed.set_column(1, "row_id", pa.array(own["row_id"].to_numpy() - first))


def test_edits_have_the_names_of_the_source_and_shares_of_the_pairs(planted: BenchmarkData) -> None:
    data = paired(planted)
    pairs = len(data.copies[0].originals)
    named = replace(data, source=SourceRows(NO_SOURCE.places, {"text": "premise", "text_pair": "claim"}))
    first, second = set_edits(named)
    assert (first.place, first.name, first.pairs, first.differs) == ("premise", "not", pairs, 62 / pairs)
    assert (second.place, second.more, second.less) == ("claim", 8 / pairs, 32 / pairs)
    assert EDITS.from_arrow(EDITS.to_arrow([first, second])) == (first, second)
    fallen = challenge_falls(data)
    assert CHALLENGE_FALLS.from_arrow(CHALLENGE_FALLS.to_arrow(fallen)) == fallen
    column = (replace(data.copies[0], edits=(Edit("column", "", "column 1", 5, 5, 0),)),)
    source = SourceRows(NO_SOURCE.places, features=("age", "height"))
    (edit,) = set_edits(replace(data, copies=column, source=source))
    assert (edit.kind, edit.place, edit.name) == ("column", "", "height")
