"""Preferences in every layout become the same rows, and what is no preference is refused with its line."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.formats.preferences import how_read
from aflite_assets.data.loading import load_source, source_places
from aflite_assets.data.raw_table.table import RawTable, build_raw_table, implied_columns
from aflite_assets.errors import DataError
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import PreferenceSource

PAIRS = [("How are you?", "I am very well today", "Go away"), ("And now?", " Well", "Not so well as before")]
EXPECTED = {
    (prompt, answer, label) for prompt, good, bad in PAIRS for answer, label in ((good, "right"), (bad, "wrong"))
}


def _source(file: Path, **settings: Any) -> PreferenceSource:
    form = file.suffix.removeprefix(".")
    table = {"format": form, "splits": {"train": str(file)}}
    return PreferenceSource.model_validate({"format": "preference", "table": table} | settings)


def _jsonl(folder: Path, rows: list[dict[str, Any]], **settings: Any) -> PreferenceSource:
    file = folder / "p.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return _source(file, **settings)


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _transcript(prompt: str, answer: str) -> str:
    return f"\n\nHuman: {prompt}\n\nAssistant: {answer}"


LAYOUTS: dict[str, list[dict[str, Any]]] = {
    "texts": [{"prompt": p, "chosen": good, "rejected": bad} for p, good, bad in PAIRS],
    "messages": [
        {
            "chosen": [_message("user", p), _message("assistant", good)],
            "rejected": [_message("user", p), _message("assistant", bad)],
        }
        for p, good, bad in PAIRS
    ],
    "transcripts": [{"chosen": _transcript(p, good), "rejected": _transcript(p, bad)} for p, good, bad in PAIRS],
}


def _raw(source: PreferenceSource) -> RawTable:
    tables = load_source(source)
    columns = implied_columns(source, ColumnsSpec(), tables)
    return build_raw_table(tables, columns=columns, label_names=None, unlabelled=(), limit=None, seed=0)


def _rows(table: pa.Table) -> set[tuple[str, str, str]]:
    return {(row["text"], row["text_pair"], row["label"]) for row in table.to_pylist()}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_becomes_the_same_rows_and_says_how_it_was_read(tmp_path: Path, layout: str) -> None:
    tables = load_source(_jsonl(tmp_path, LAYOUTS[layout]))
    assert _rows(tables["train"]) == EXPECTED
    assert how_read(tables).startswith(f"Preferences as {layout}: chosen 'chosen', rejected 'rejected'")
    assert load_source(_jsonl(tmp_path, LAYOUTS[layout], layout=layout))["train"] == tables["train"]


def test_messages_are_read_from_parquet_and_from_json_in_csv(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(LAYOUTS["messages"]), tmp_path / "p.parquet")
    assert _rows(load_source(_source(tmp_path / "p.parquet"))["train"]) == EXPECTED
    written = [{name: json.dumps(value) for name, value in row.items()} for row in LAYOUTS["messages"]]
    assert _rows(load_source(_jsonl(tmp_path, written))["train"]) == EXPECTED


def test_the_prompt_of_answers_alone_is_its_column(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": [_message("user", p)], "chosen": [_message("assistant", a)], "rejected": [_message("assistant", b)]}
        for p, a, b in PAIRS
    ]
    assert _rows(load_source(_jsonl(tmp_path, rows))["train"]) == EXPECTED


def test_longer_conversations_part_at_the_first_different_turn(tmp_path: Path) -> None:
    begun = "\n\nHuman: a\n\nAssistant: b\n\nHuman: c"
    pair = {"chosen": f"{begun}\n\nAssistant: d", "rejected": f"{begun}\n\nAssistant: e\n\nHuman: f\n\nAssistant: g"}
    assert _rows(load_source(_jsonl(tmp_path, [pair]))["train"]) == {
        ("Human: a\n\nAssistant: b\n\nHuman: c", "d", "right"),
        ("Human: a\n\nAssistant: b\n\nHuman: c", "Assistant: e\n\nHuman: f\n\nAssistant: g", "wrong"),
    }


def test_several_rejected_answers_are_a_list_or_numbered_columns(tmp_path: Path) -> None:
    listed = load_source(_jsonl(tmp_path, [{"prompt": "p", "chosen": "a", "rejected": ["b", "c"]}]))["train"]
    columns = load_source(_jsonl(tmp_path, [{"prompt": "p", "chosen": "a", "rejected_1": "b", "rejected_2": "c"}]))
    assert _rows(listed) == _rows(columns["train"]) == {("p", "a", "right"), ("p", "b", "wrong"), ("p", "c", "wrong")}


BEST_OF_FOUR: list[dict[str, Any]] = [
    {"id": "x", "chosen": ["good one"], "rejected": ["bad 1", "bad 2", "bad 3"]},
    {"id": "y", "chosen": ["good two", "good three"], "rejected": ["bad 4", "good two"]},
    {"id": "z", "chosen": ["good four"], "rejected": ["bad 5"]},
]


def test_several_rejected_answers_are_as_many_pairs_of_one_group(tmp_path: Path) -> None:
    source = _jsonl(tmp_path, BEST_OF_FOUR, several="pairs", id="id")
    raw = _raw(source)
    examples = raw.examples
    assert raw.dropped_answers == {"train": {"equal answers": 2}}  # of the pair of good two and good two
    assert examples.questions is not None
    assert examples.groups is not None
    assert examples.groups.tolist() == [0] * 6 + [1] * 6 + [2] * 2
    pairs: dict[int, dict[str, str]] = {}
    for question, row in zip(examples.questions.tolist(), examples.table.to_pylist(), strict=True):
        pairs.setdefault(question, {})[examples.label_names[row["label"]]] = row["text_pair"]
    assert [(one["right"], one["wrong"]) for one in pairs.values()] == [
        ("good one", "bad 1"), ("good one", "bad 2"), ("good one", "bad 3"), ("good two", "bad 4"),
        ("good three", "bad 4"), ("good three", "good two"), ("good four", "bad 5"),
    ]  # fmt: skip
    ids = examples.table["source_id"].to_pylist()
    assert (ids[:3], ids[-2:]) == (["x.1/1", "x.1/2", "x.2/1"], ["z/1", "z/2"])
    assert source_places(source)["train"]["line"].to_pylist() == [1] * 6 + [2] * 8 + [3] * 2


def test_an_id_of_two_rows_is_refused_also_among_pairs(tmp_path: Path) -> None:
    rows = [{**row, "id": "x"} for row in BEST_OF_FOUR]
    for several in ("question", "pairs"):
        with pytest.raises(DataError, match="row 2 has the id 'x' of another question; give every question its own id"):
            load_source(_jsonl(tmp_path, rows, several=several, id="id"))


def test_ties_and_equal_answers_are_dropped_and_counted(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"prompt": "p", "chosen": "a", "rejected": ["b"], "margin": 2},
        {"prompt": "q", "chosen": "a", "rejected": ["b"], "margin": 0},
        {"prompt": "r", "chosen": "a", "rejected": ["a"], "margin": 1},
        {"prompt": "s", "chosen": "a", "rejected": ["a", "b"], "margin": None},
    ]
    raw = _raw(_jsonl(tmp_path, rows))
    assert raw.source_rows == {"train": 9}
    assert raw.unlabelled_rows == {"train": 5}
    assert raw.dropped_answers == {"train": {"tie": 2, "equal answers": 3}}
    assert raw.examples.table["text"].to_pylist() == ["p", "p", "s", "s"]
    assert raw.examples.table["attribute.margin"].to_pylist() == ["2", "2", "(empty)", "(empty)"]


def test_pairs_of_one_prompt_or_one_long_answer_are_one_group_of_several_questions(tmp_path: Path) -> None:
    shared = "this answer is given more than once"
    rows: list[dict[str, Any]] = [
        {"prompt": "p", "chosen": "a", "rejected": "b"},
        {"prompt": " P", "chosen": "c", "rejected": shared},
        {"prompt": "q", "chosen": shared, "rejected": "Yes"},
        {"prompt": "r", "chosen": "d", "rejected": "Yes"},
    ]
    examples = _raw(_jsonl(tmp_path, rows)).examples
    assert examples.groups is not None
    assert examples.questions is not None
    assert examples.questions.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert examples.groups.tolist() == [0] * 6 + [1] * 2


@pytest.mark.parametrize(("sharing", "groups"), [(10, 91), (11, 100)])
def test_an_answer_that_many_questions_share_joins_none_of_them(tmp_path: Path, sharing: int, groups: int) -> None:
    refusal = "I am sorry, I cannot help you."
    rows = [
        {"prompt": f"p {number}", "chosen": f"c {number}", "rejected": refusal if number < sharing else f"r {number}"}
        for number in range(100)
    ]
    examples = _raw(_jsonl(tmp_path, rows)).examples
    assert examples.groups is not None
    assert len(np.unique(examples.groups)) == groups


def test_pairs_without_a_prompt_are_groups_of_their_own(tmp_path: Path) -> None:
    rows = [{"chosen": "a", "rejected": "b"}, {"chosen": "c", "rejected": "d"}]
    examples = _raw(_jsonl(tmp_path, rows)).examples
    assert examples.groups is not None
    assert examples.groups.tolist() == [0, 0, 1, 1]
    assert examples.table["text"].to_pylist() == [""] * 4


def test_subset_and_models_are_attributes_under_usual_or_given_names(tmp_path: Path) -> None:
    row = {
        "Prompt": "p",
        "Chosen": "a",
        "Rejected": "b",
        "Subset": "chat",
        "chosen_model": "m1",
        "rejected_model": "m2",
    }
    table = _raw(_jsonl(tmp_path, [row])).examples.table.to_pylist()
    assert {(one["text_pair"], one["attribute.source_model"], one["attribute.subset"]) for one in table} == {
        ("a", "m1", "chat"),
        ("b", "m2", "chat"),
    }
    named = {"x": "p", "y": "a", "z": "b", "part": "chat"}
    given = _raw(_jsonl(tmp_path, [named], prompt="x", chosen="y", rejected="z", subset="part")).examples.table
    assert given["attribute.subset"].to_pylist() == ["chat", "chat"]


def test_answers_have_the_place_of_their_pair(tmp_path: Path) -> None:
    places = source_places(_jsonl(tmp_path, LAYOUTS["texts"]))["train"]
    assert places["line"].to_pylist() == [1, 1, 2, 2]


GOOD = {"prompt": "p", "chosen": "a", "rejected": "b"}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"chosen": None}, "has no chosen answer in ['chosen']; add the answer or delete the row"),
        (
            {"rejected": ""},
            "row 2 has no rejected answer in ['rejected'], so that there is only one answer; add the answer",
        ),
        ({"chosen": []}, "cannot be read because a conversation is empty; correct or delete the row"),
        (
            {"chosen": [{"role": "user"}]},
            "row 2 cannot be read because the role or content of message 1 of 1 is not a text",
        ),
        (
            {"chosen": _transcript("p", "a"), "rejected": _transcript("p", "b")},
            "has an answer in the layout 'transcripts', but row 1 of split 'train' has one in the "
            "layout 'texts'; use one layout for all rows, or set `source.layout: texts` to read "
            "every answer as plain text",
        ),
        ({"margin": "much"}, "has 'much' in column 'margin', which is not a number; correct this value"),
    ],
)
def test_what_is_no_preference_is_refused_with_its_line(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text("\n".join(map(json.dumps, [GOOD, GOOD | row])))
    with pytest.raises(DataError, match=re.escape(message)) as refusal:
        load_source(_source(file))
    assert f"row 2 is line 2 of {str(file)!r}" in str(refusal.value)


def test_lists_in_some_rows_alone_are_refused_and_in_all_rows_of_a_csv_file_read(tmp_path: Path) -> None:
    mixed: list[dict[str, Any]] = [
        {"prompt": "p", "chosen": "a", "rejected": "b"},
        {"prompt": "q", "chosen": "a", "rejected": ["b", "c"]},
    ]
    with pytest.raises(DataError, match=r"row 2 has a list of texts in column 'rejected', but other rows .*line 2 of"):
        load_source(_jsonl(tmp_path, mixed))
    assert len(_rows(load_source(_jsonl(tmp_path, mixed, layout="texts"))["train"])) == 4
    (tmp_path / "p.csv").write_text('prompt,chosen,rejected\np,a,"[""b"", ""c""]"\n')
    assert _rows(load_source(_source(tmp_path / "p.csv"))["train"]) == {
        ("p", "a", "right"),
        ("p", "b", "wrong"),
        ("p", "c", "wrong"),
    }


def test_lists_of_lists_of_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match="row 1 cannot be read because a list of answers contains a list whose entries are not messages",
    ):
        load_source(_jsonl(tmp_path, [{"chosen": "a", "rejected": [["b"]]}]))


def test_a_text_that_only_looks_like_json_is_a_text(tmp_path: Path) -> None:
    deep = "[" * 100_000 + '"role"'
    table = load_source(_jsonl(tmp_path, [{"prompt": "p", "chosen": deep, "rejected": '["role"'}]))["train"]
    assert _rows(table) == {("p", deep, "right"), ("p", '["role"', "wrong")}


def test_a_layout_may_be_given_for_texts_that_look_like_transcripts(tmp_path: Path) -> None:
    rows = [GOOD, {"prompt": "p", "chosen": _transcript("x", "a"), "rejected": "b"}]
    table = load_source(_jsonl(tmp_path, rows, layout="texts"))["train"]
    assert ("p", _transcript("x", "a"), "right") in _rows(table)


def test_a_file_in_which_nothing_is_preferred_or_no_column_is_found_is_refused(tmp_path: Path) -> None:
    same = {"prompt": "p", "chosen": "a", "rejected": "a"}
    with pytest.raises(
        DataError,
        match=r"all 2 rows are ties or have equal answers, so no row shows a preference; set "
        r"`source.chosen`, `source.rejected` and `source.margin` to the right columns",
    ):
        load_source(_jsonl(tmp_path, [same, same]))
    with pytest.raises(
        DataError,
        match=r"the column of the rejected answers cannot be inferred from the names of the columns "
        r"\['chosen'\]; set `source.rejected` to this column",
    ):
        load_source(_jsonl(tmp_path, [{"chosen": "a"}]))
    with pytest.raises(DataError, match=r"has no column 'bad', but `source\.rejected` names it"):
        load_source(_jsonl(tmp_path, [GOOD], rejected="bad"))
