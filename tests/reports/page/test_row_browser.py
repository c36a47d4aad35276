"""What the page knows of single rows: which are drawn, what is said of each, and that it fits."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.page.html import render_report
from aflite_assets.reports.page.row_browser import row_browser
from aflite_assets.reports.page.row_table import row_table, write_rows

BUDGET = 5_000_000


def read(data: BenchmarkData, **options: Any) -> dict[str, Any]:
    browser = row_browser(data, **{"budget": BUDGET, "seed": 0, **options})
    found: dict[str, Any] = json.loads(browser.json)
    return found


def test_rows_have_what_is_stored_of_them(with_rows: BenchmarkData) -> None:
    found = read(with_rows)
    (filtering,) = found["filterings"]
    assert (filtering["name"], filtering["threshold"], filtering["step"]) == ("roberta", 0.75, 1)
    assert filtering["cutoffs"][3] == pytest.approx(0.89)
    by_id = {found["rows"][fact["row"]]["id"]: fact for fact in filtering["rows"]}
    assert len(by_id) == 1200
    assert sum(fact["kept"] for fact in filtering["rows"]) == 402
    removed = by_id[343]
    assert (removed["kept"], removed["removed"], removed["passes"]) == (False, 3, 4)
    assert removed["scores"][0] is None
    assert removed["scores"][-1] == removed["score"]
    assert removed["instead"] == [[1, 0.25], [2, 0.0625]]
    assert removed["nearest"][1] == 0.875
    assert found["rows"][removed["nearest"][0]]["id"] == 1199
    assert [row_id for row_id, fact in by_id.items() if "suggested" in fact] == [0]
    assert "removed" not in by_id[1199]
    assert "nearest" not in by_id[1199]
    row = found["rows"][removed["row"]]
    assert (row["split"], row["label"], row["attributes"]) == ("train", 1, [["genre", "travel"]])


def test_words_that_mark_removed_rows_stand_by_themselves(with_rows: BenchmarkData) -> None:
    found = read(with_rows)
    assert found["words"] == [
        {
            "column": "text_pair",
            "word": "dogs",
            "said": {"0": {"label": "entailment", "shares": [0.3125, 0.125], "counts": True}},
        }
    ]
    texts = {json.dumps(row["texts"]) for row in found["rows"] if row["id"] == 3}
    # of text_pair alone: the same word of the first text is no such mark
    assert texts == {'[["Children play in the garden."], ["Two ", [0, "dogs"], " is sleeping on a couch."]]'}
    plain = [row for row in found["rows"] if row["id"] == 1]
    assert plain[0]["texts"][0] == ["Two dogs run along the beach."]


def test_a_random_sample_of_either_side_is_shown_and_said(with_rows: BenchmarkData) -> None:
    browser = row_browser(with_rows, budget=BUDGET, seed=3, most=50)
    facts = json.loads(browser.json)["filterings"][0]["rows"]
    assert [sum(fact["kept"] == side for fact in facts) for side in (True, False)] == [50, 50]
    assert [one.text for one in browser.shown] == [
        "50 of 402 kept rows, drawn at random",
        "50 of 798 removed rows, drawn at random",
    ]
    assert not any(one.left_out_for_size for one in browser.shown)
    assert browser.json == row_browser(with_rows, budget=BUDGET, seed=3, most=50).json
    assert browser.json != row_browser(with_rows, budget=BUDGET, seed=4, most=50).json


def test_filterings_share_rows(with_rows: BenchmarkData) -> None:
    one = with_rows.filtered[0]
    two = replace(with_rows, filtered=(one, replace(one, representation="other")), cells=())
    found = read(two, most=50)
    ids = [row["id"] for row in found["rows"]]
    assert len(set(ids)) == len(ids)
    first, second = ([fact["row"] for fact in each["rows"]] for each in found["filterings"])
    assert first == second


def test_fewer_rows_are_shown_where_the_page_would_be_too_large(make_planted: Any, image_examples: Any) -> None:
    data = make_planted(examples=image_examples(1400))
    whole = row_browser(data, budget=BUDGET, seed=0)
    assert len(whole.json) > 400_000
    browser = row_browser(data, budget=300_000, seed=0)
    assert len(browser.json) <= 300_000
    kept, removed = browser.shown
    assert kept.left_out_for_size
    assert abs(kept.shown - removed.shown) <= 1
    assert kept.shown > 50
    row = json.loads(browser.json)["rows"][0]
    assert row["image"].startswith("data:image/jpeg;base64,")
    page = render_report(data, most_bytes=5_700_000)
    assert len(page.encode()) <= 5_700_000
    assert "drawn at random (fewer, so that the page stays small)" in page


def test_hostile_text_cannot_leave_the_script_that_holds_it(hostile: BenchmarkData) -> None:
    text = row_browser(hostile, budget=BUDGET, seed=0).json
    assert text.isascii()
    assert not set("<>&") & set(text)
    row = json.loads(text)["rows"][0]
    assert row["attributes"][0][1].startswith("<script>alert(1)</script> ]]> \u2400\u2407")
    assert "\N{REPLACEMENT CHARACTER}evil" in row["attributes"][0][0]
    separators = Examples(
        hostile.examples.table.set_column(4, "text", pa.array(["a\u2028b\u2029c<!--</script>"] * 1400)),
        hostile.label_names,
    )
    text = row_browser(replace(hostile, examples=separators), budget=BUDGET, seed=0).json
    assert "\u2028" not in text
    assert "".join(map(str, json.loads(text)["rows"][0]["texts"][0])).startswith("a\u2028b\u2029c<!--</")


def test_long_texts_are_cut_and_long_filterings_thinned(with_rows: BenchmarkData) -> None:
    table = with_rows.examples.table.set_column(4, "text", pa.array(["x" * 2_345] * 1400))
    found = read(replace(with_rows, examples=Examples(table, with_rows.label_names)), most=5)
    assert found["rows"][0]["texts"][0] == ["x" * 2_000 + " … (345 more characters)"]


def test_rows_of_another_version_are_refused(with_rows: BenchmarkData) -> None:
    fewer = with_rows.examples.select(range(100, 1300))
    with pytest.raises(DataError, match="rows of the filtered set of 'roberta' are not in the dataset"):
        row_browser(replace(with_rows, examples=fewer), budget=BUDGET, seed=0)


def test_the_table_of_all_rows_reads_by_itself(with_rows: BenchmarkData, tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas")
    write_rows(with_rows, tmp_path / "rows.parquet")
    rows = pandas.read_parquet(tmp_path / "rows.parquet")
    assert len(rows) == 1200
    assert list(rows.columns[:6]) == ["representation", "row_id", "source_id", "split", "label", "text"]
    row = rows[rows.row_id == 343].iloc[0]
    assert (row.label, row.kept, row.removed_in_iteration, row["attribute.genre"]) == ("neutral", False, 3, "travel")
    assert list(row.predicted_instead) == ["neutral", "contradiction"]
    assert np.isnan(row.predictability_by_iteration[0])
    assert len(row.predictability_by_iteration) == 4
    assert row.nearest_kept == 1199
    assert rows[rows.suggested_label.notna()].row_id.tolist() == [0]
    assert rows[rows.row_id == 0].suggested_label.item() == "neutral"


def test_images_and_annotators_in_the_table_of_rows(
    make_planted: Callable[..., BenchmarkData], image_examples: Callable[..., Examples]
) -> None:
    table = image_examples(1400).table
    labels = pa.array([[0, 1], None] * 700, pa.list_(pa.int64()))
    examples = Examples(table.append_column("annotator_labels", labels), ("a", "b", "c"))
    data = make_planted(examples=examples, cells=(), test_sets=(), label_names=("a", "b", "c"))
    rows = row_table(data, data.filtered[0])
    assert rows["image"].type == pa.string()
    assert rows["image"].null_count == 1200  # the dataset holds the images themselves
    assert rows["annotator_labels"][:2].to_pylist() == [["a", "b"], None]
    assert rows["predictability_by_iteration"].null_count == 1200
    assert row_table(data, None).schema == rows.schema
