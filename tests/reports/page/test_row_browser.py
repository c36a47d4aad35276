"""What the page knows of single rows: which are drawn, what is said of each, and that it fits."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData, DataMap
from aflite_assets.analysis.inputs.source_rows import SOURCE_PLACES, SourceRows
from aflite_assets.analysis.rows.table import (
    INFORMATION,
    read_row_tables,
    row_table,
    write_row_tables,
)
from aflite_assets.data.examples import Examples
from aflite_assets.reports.page.row_browser import MOST_SUSPECTS, Shown, answers_by_row, row_browser
from aflite_assets.text import printable
from tests.planted_cues import ORDER, STOP, WORD, scanned
from tests.planted_reports import HOSTILE, rendered_page, report_inputs
from tests.undrawn import undrawn_page

BUDGET = 5_000_000


class Browser(NamedTuple):
    """The JSON of the browser, and the counts of its rows."""

    json: str
    shown: tuple[Shown, ...]


def browse(data: BenchmarkData, **options: Any) -> Browser:
    return Browser(*row_browser(analyse(data), report_inputs(data), **{"budget": BUDGET, "seed": 0, **options}))


def counts(browser: Browser) -> list[tuple[str, int, int, int]]:
    return [(one.side, one.shown, one.rows, one.suspects) for one in browser.shown]


def read(data: BenchmarkData, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(browse(data, **options).json)
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
    assert "".join(row["texts"][1]) == "The band is sleeping on a couch."
    assert row["lengths"] == [[5, 28], [7, 32]]


def _left_alone(data: BenchmarkData, *, suspects: int = 0) -> BenchmarkData:
    """The kept rows from 1000 on are of a split that the filter left alone; of the first rows labels are suspected."""
    (one,), (facts,) = data.filtered, data.row_facts.values()
    ids = one.rows["row_id"].to_numpy()
    splits = pa.array(np.where(ids >= 1000, "fresh", "train"))
    rows = one.rows.set_column(one.rows.column_names.index("split"), "split", splits)
    rows = rows.set_column(rows.column_names.index("label_probability"), "label_probability", pa.array(ids % 97 / 97))
    examples = data.examples.table.set_column(2, "split", pa.array(np.where(np.arange(1400) >= 1000, "fresh", "train")))
    suspected = pa.array(ids < suspects)
    table = facts.set_column(6, "suggested_label", pc.if_else(suspected, 1, None).cast(pa.int64()))
    table = table.set_column(7, "suggested_probability", pc.if_else(suspected, 0.5, None).cast(pa.float32()))
    settings = {**one.settings, "evaluation_rows": {"fresh": "kept"}}
    return replace(
        data,
        filtered=(replace(one, rows=rows, settings=settings),),
        examples=Examples(examples, data.label_names),
        row_facts={"roberta": table},
    )


def test_rows_of_a_split_that_was_left_alone_are_on_neither_side(with_rows: BenchmarkData) -> None:
    data = _left_alone(with_rows)
    browser = browse(data)
    assert counts(browser) == [("kept", 202, 202, 0), ("removed", 798, 798, 0), ("not filtered", 200, 200, 0)]
    assert "200 of 200 unfiltered rows." in undrawn_page(data)
    found = json.loads(browser.json)
    facts = {found["rows"][fact["row"]]["id"]: fact for fact in found["filterings"][0]["rows"]}
    assert all(facts[row]["outside"] and not facts[row]["kept"] for row in range(1000, 1200))
    assert not any("outside" in facts[row] for row in range(1000))
    table = row_table(data, data.filtered[0])
    assert table["status"].value_counts().to_pylist() == [
        {"values": "removed", "counts": 798},
        {"values": "kept", "counts": 202},
        {"values": "not filtered", "counts": 200},
    ]
    assert "never in the pool" in undrawn_page(data)
    assert "never in the pool" not in undrawn_page(with_rows).split("<script")[0]


def test_the_surest_label_errors_are_shown_whatever_is_drawn(with_rows: BenchmarkData) -> None:
    data = _left_alone(with_rows, suspects=300)
    browser = browse(data, most=150)
    found = json.loads(browser.json)
    facts = {found["rows"][fact["row"]]["id"]: fact for fact in found["filterings"][0]["rows"]}
    surest = sorted(range(300), key=lambda row: (row % 97, row))[:MOST_SUSPECTS]
    # all are removed rows, of which 150 are shown: the surest of them
    assert sorted(row for row, fact in facts.items() if "suggested" in fact) == sorted(surest[:150])
    assert facts[97]["probabilities"] == [0.0, 0.5]
    assert facts[98]["probabilities"] == [round(1 / 97, 4), 0.5]
    assert counts(browser)[1] == ("removed", 150, 798, 150)


def test_rows_say_how_weak_models_learnt_them(with_weak_models: BenchmarkData) -> None:
    found = read(with_weak_models)
    assert found["trainings"] == [
        {"name": "bow, seed 0", "sets": ["forgettable", "never_learnt"]},
        {"name": "bow, seed 1", "sets": None},
    ]
    by_id = {row["id"]: row for row in found["rows"]}
    # forgotten, right, presented, sets
    assert by_id[5]["learnt"] == [[1, 1, 3, [0]], [0, 3, 3, []]]
    assert by_id[8]["learnt"] == [[0, 0, 3, [0, 1]], [0, 3, 3, []]]
    assert by_id[7]["learnt"] == [[0, 3, 3, []], [0, 3, 3, []]]
    assert "learnt" not in by_id[1000]
    assert read(replace(with_weak_models, studies={}))["trainings"] == []


def test_words_that_mark_removed_rows_stand_by_themselves(with_rows: BenchmarkData) -> None:
    found = read(with_rows)
    assert found["words"] == [
        {
            "column": "text_pair",
            "word": "dogs",
            "said": {"0": {"label": "entailment", "shares": [0.3125, 0.125]}},
        }
    ]
    texts = {json.dumps(row["texts"]) for row in found["rows"] if row["id"] == 3}
    # of text_pair alone: the same word of the first text is no such mark
    assert texts == {'[["Children play in the garden."], ["Two ", [0, "dogs"], " is sleeping on a couch."]]'}
    plain = [row for row in found["rows"] if row["id"] == 1]
    assert plain[0]["texts"][0] == ["Two dogs run along the beach."]


def test_rows_say_which_cues_they_carry(with_rows: BenchmarkData) -> None:
    data = replace(with_rows, scan=scanned(STOP, replace(WORD, explained_by=0), replace(ORDER, name=HOSTILE)))
    carriers = {0: np.array([3, 343, 1399]), 1: np.array([3]), 2: np.array([343, 5_000])}
    page, _ = row_browser(analyse(data), replace(report_inputs(data), carriers=carriers), budget=BUDGET, seed=0)
    assert "<script" not in page
    found = json.loads(page)
    assert found["cues"] == [STOP.name, printable(HOSTILE)]
    assert {row["id"]: row["cues"] for row in found["rows"] if "cues" in row} == {3: [0], 343: [0, 1]}
    assert "cues" not in json.dumps(read(with_rows)["rows"])


def _places(rows: int) -> pa.Table:
    """Row n is line n + 2 of the train file."""
    ids = np.arange(rows)
    return pa.table([ids, ["train"] * rows, ids, ["my.csv"] * rows, ids + 2], schema=SOURCE_PLACES)


def test_rows_say_where_they_stand_and_what_the_source_calls_their_columns(with_rows: BenchmarkData) -> None:
    (cue,) = with_rows.cues["roberta"]
    source = SourceRows(_places(1400), {"text": "premise", "text_pair": "hypothesis"})
    named = replace(with_rows, source=source, cues={"roberta": (replace(cue, name="hypothesis"),)})
    found = read(named)
    assert found["columns"] == ["premise", "hypothesis"]
    assert found["words"][0]["column"] == "hypothesis"
    row = next(row for row in found["rows"] if row["id"] == 3)
    assert row["place"] == "my.csv, line 5 (train, source row 3)"
    # the word is marked in the raw table's text_pair
    assert row["texts"] == [["Children play in the garden."], ["Two ", [0, "dogs"], " is sleeping on a couch."]]
    table = row_table(named, named.filtered[0]).slice(3, 1).to_pylist()[0]
    place = [table[name] for name in ("source_split", "source_row", "source_file", "source_line")]
    assert place == ["train", 3, "my.csv", 5]


def test_features_are_shown_by_name_in_the_sources_units(
    make_planted: Callable[..., BenchmarkData], feature_examples: Callable[..., Examples]
) -> None:
    examples = feature_examples(1400)
    mean, deviation = np.array([100.0, 0.0]), np.array([10.0, 1.0])
    source = SourceRows(_places(1400), features=("age", "<b>"), mean=mean, deviation=deviation)
    data = make_planted(examples=examples, source=source)
    row = next(row for row in read(data)["rows"] if row["id"] == 7)
    expected = examples.features[7] * [10, 1] + [100, 0]
    assert row["values"] == [["age", f"{expected[0]:.6g}"], ["<b>", f"{expected[1]:.6g}"]]
    assert row["vector"] == f"(age {expected[0]:.6g}, <b> {expected[1]:.6g})"


def test_a_row_of_multiple_choice_has_its_whole_question_and_who_picked_what(
    make_planted: Callable[..., BenchmarkData], with_rows: BenchmarkData
) -> None:
    table = with_rows.examples.table
    labels = pa.array(np.arange(1400) % 3 != 1, pa.bool_()).cast(pa.int64())  # the second of three is right, class 0
    groups = pa.array(np.arange(1400) // 3, pa.int64())
    table = table.set_column(3, "label", labels).append_column("group", groups)
    examples = Examples(table, ("right", "wrong"))
    source = SourceRows(_places(1400), right=0)
    data = make_planted(examples=examples, source=source, cells=(), test_sets=(), label_names=("right", "wrong"))
    one = data.filtered[0]
    names = one.rows.column_names
    binary = one.rows.set_column(names.index("label"), "label", labels[:1200])
    data = replace(data, filtered=(replace(one, rows=binary),))
    found = read(data, most=100)
    fact = found["filterings"][0]["rows"][0]
    row = found["rows"][fact["row"]]
    first = row["id"] // 3 * 3
    answers = found["questions"][fact["question"]]
    assert [answer["id"] for answer in answers] == [first, first + 1, first + 2]
    assert [answer["right"] for answer in answers] == [False, True, False]
    assert answers[0]["text"] == examples.table["text_pair"][first].as_py()
    scores = one.rows["predictability"].to_pylist()[first : first + 3]
    taken = [1 - scores[0], scores[1], 1 - scores[2]]
    assert fact["picked"] == pytest.approx(taken, abs=0.001)
    numbers = [fact["question"] for fact in found["filterings"][0]["rows"]]
    assert len(found["questions"]) == len(set(numbers)) < len(numbers)  # each question once


def test_a_random_sample_of_either_side_is_shown_and_said(with_rows: BenchmarkData) -> None:
    browser = browse(with_rows, seed=3, most=50)
    facts = json.loads(browser.json)["filterings"][0]["rows"]
    assert [sum(fact["kept"] == side for fact in facts) for side in (True, False)] == [50, 50]
    assert counts(browser) == [("kept", 50, 402, 0), ("removed", 50, 798, 1)]
    assert not any(one.left_out_for_size for one in browser.shown)
    assert browser.json == browse(with_rows, seed=3, most=50).json
    assert browser.json != browse(with_rows, seed=4, most=50).json


def test_filterings_share_rows(with_rows: BenchmarkData) -> None:
    one = with_rows.filtered[0]
    two = replace(with_rows, filtered=(one, replace(one, representation="other")), cells=())
    found = read(two, most=50)
    ids = [row["id"] for row in found["rows"]]
    assert len(set(ids)) == len(ids)
    first, second = ([fact["row"] for fact in each["rows"]] for each in found["filterings"])
    assert first == second


def test_filterings_share_rows_of_unnamed_features(
    make_planted: Callable[..., BenchmarkData], feature_examples: Callable[..., Examples]
) -> None:
    data = make_planted(examples=feature_examples(1400), cells=())
    (one,) = data.filtered
    found = read(replace(data, filtered=(one, replace(one, representation="other"))), most=50)
    assert len(found["rows"]) == 100
    first = found["rows"][0]
    x, y = data.examples.features[first["id"]]
    assert first["vector"] == f"({x:.3g}, {y:.3g})"


def test_fewer_rows_are_shown_where_the_page_would_be_too_large(make_planted: Any, image_examples: Any) -> None:
    data = make_planted(examples=image_examples(1400))
    whole = browse(data)
    assert len(whole.json) > 400_000
    browser = browse(data, budget=300_000, seed=0)
    assert len(browser.json) <= 300_000
    kept, removed = browser.shown
    assert kept.left_out_for_size
    assert abs(kept.shown - removed.shown) <= 1
    assert kept.shown > 50
    row = json.loads(browser.json)["rows"][0]
    assert row["image"].startswith("data:image/jpeg;base64,")
    page = rendered_page(data, most_bytes=900_000)
    assert len(page.encode()) <= 900_000
    assert "drawn at random (fewer, so that the page stays small)" in page


def test_hostile_text_cannot_leave_the_script_that_holds_it(hostile: BenchmarkData) -> None:
    text = browse(hostile).json
    assert text.isascii()
    assert not set("<>&") & set(text)
    row = json.loads(text)["rows"][0]
    assert row["attributes"][0][1].startswith("<script>alert(1)</script> ]]> \u2400\u2407")
    assert "\N{REPLACEMENT CHARACTER}evil" in row["attributes"][0][0]
    separators = Examples(
        hostile.examples.table.set_column(4, "text", pa.array(["a\u2028b\u2029c<!--</script>"] * 1400)),
        hostile.label_names,
    )
    text = browse(replace(hostile, examples=separators)).json
    assert "\u2028" not in text
    assert "".join(map(str, json.loads(text)["rows"][0]["texts"][0])).startswith("a\u2028b\u2029c<!--</")


def test_long_texts_are_cut_and_long_filterings_thinned(with_rows: BenchmarkData) -> None:
    table = with_rows.examples.table.set_column(4, "text", pa.array(["x" * 2_345] * 1400))
    found = read(replace(with_rows, examples=Examples(table, with_rows.label_names)), most=5)
    assert found["rows"][0]["texts"][0] == ["x" * 2_000 + " … (345 more characters)"]


def information() -> pa.Table:
    columns = [["net"] * 3 + ["bow"], ["test"] * 4, [5, 6, 5000, 5], [0] * 4, [1.25, None, 2.0, -0.04], [3] * 4]
    return pa.table([pa.array(v, f.type) for v, f in zip(columns, INFORMATION, strict=True)], INFORMATION)


def data_map() -> DataMap:
    points = {"guid": ["a"], "index": [0], "confidence": [0.5], "variability": [0.25], "correctness": [1.0]}
    return DataMap("net", "roberta", 1, 2, pa.table({**points, "row_id": [5], "kept": [True]}))


def test_rows_say_what_evaluators_measured_of_them(with_rows: BenchmarkData) -> None:
    data = replace(with_rows, row_information=information(), data_maps=(data_map(),))
    rows = {row["id"]: row for row in read(data)["rows"]}
    assert rows[5]["models"] == [
        "net: the input told it 1.2 bits of the label (PVI)",
        "bow: the input told it 0.0 bits of the label (PVI)",
        "net: confidence 0.50, variability 0.25, correctness 1.00 over its training",
    ]
    assert "models" not in rows[6]  # its class has no train rows, so that its PVI is unknown


@pytest.mark.parametrize("measured", [True, False])
def test_the_files_of_rows_alone_make_the_browser(
    with_weak_models: BenchmarkData, measured: bool, tmp_path: Path
) -> None:
    one = with_weak_models.filtered[0]
    data = replace(with_weak_models, filtered=(one, replace(one, representation="other")), cells=())
    if measured:
        data = replace(data, row_information=information(), data_maps=(data_map(),))
    write_row_tables(data, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == (
        {"rows.parquet", "pvi.parquet", "data_maps"} if measured else {"rows.parquet"}
    )
    stored = replace(report_inputs(data), rows=read_row_tables(tmp_path))
    browser = Browser(*row_browser(analyse(data), stored, budget=BUDGET, seed=0))
    assert browser.json == browse(data).json
    assert browser.shown == browse(data).shown
    assert ("(PVI)" in browser.json) == measured


def test_two_questions_of_one_prompt_are_two_questions() -> None:
    columns: dict[str, list[Any]] = {
        "row_id": [0, 1, 2, 3],
        "group": [5, 5, 5, 5],
        "label": ["right", "wrong", "right", "wrong"],
        "predictability": [0.5, 0.5, 0.5, 0.5],
        "text": ["p", "p", "p", "p"],
        "text_pair": ["a", "b", "c", "d"],
        "source_split": ["train"] * 4,
        "source_question": ["1", "1", "2", "2"],
    }
    table = pa.table(columns)
    found = answers_by_row(table, table.slice(2, 1))
    assert {row: [one["text_pair"] for one in answers] for row, answers in found.items()} == {
        2: ["c", "d"],
        3: ["c", "d"],
    }
    by_group = answers_by_row(table.drop_columns(["source_question"]), table.drop_columns(["source_question"]))
    assert [len(answers) for answers in by_group.values()] == [4, 4, 4, 4]
