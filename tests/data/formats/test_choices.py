import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.formats.answers import RIGHT
from aflite_assets.data.loading import load_source
from aflite_assets.data.raw_table.table import build_raw_table, implied_columns
from aflite_assets.errors import DataError
from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.sources import MultipleChoiceSource

SIZES = (2, 3, 4, 5)
"""Answers of the four questions."""
LETTERS = "ABCDE"


def _question(number: int) -> tuple[str, list[str], int]:
    """A question, its answers and the place of the right one."""
    size = SIZES[number]
    return f"what is {number}?", [f"answer {number}.{place}" for place in range(size)], (0, 2, 1, 4)[number]


def _source(file: Path, form: str = "csv", **settings: Any) -> MultipleChoiceSource:
    content = {"format": "multiple_choice", "table": {"format": form, "splits": {"train": str(file)}}}
    return MultipleChoiceSource.model_validate(content | {"question": "question", "right": "key"} | settings)


def _write(file: Path, rows: list[list[Any]]) -> Path:
    file.write_text("".join(",".join(map(str, row)) + "\n" for row in rows))
    return file


def _by_question(folder: Path, key: str) -> MultipleChoiceSource:
    rows: list[list[Any]] = [["question", *LETTERS, "key", "topic"]]
    for number in range(len(SIZES)):
        question, answers, right = _question(number)
        keys = {"column": LETTERS[right], "from 0": right, "from 1": right + 1, "text": answers[right]}
        rows.append([question, *answers, *[""] * (5 - len(answers)), keys[key], f"topic {number}"])
    return _source(_write(folder / "q.csv", rows), answers=list(LETTERS))


def _by_answer(folder: Path) -> MultipleChoiceSource:
    rows: list[list[Any]] = [["question", "answer", "key", "qid", "topic"]]
    for place in range(5):  # answers of one question need not stand together
        for number in range(len(SIZES)):
            question, answers, right = _question(number)
            if place < len(answers):
                rows.append(
                    [question, answers[place], "yes" if place == right else "no", number + 1, f"topic {number}"]
                )
    return _source(_write(folder / "a.csv", rows), answers="answer", id="qid")


def _lists(folder: Path) -> MultipleChoiceSource:
    lines = []
    for number in range(len(SIZES)):
        question, answers, right = _question(number)
        lines.append({"question": question, "choices": answers, "key": LETTERS[right], "topic": f"topic {number}"})
    (folder / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return _source(folder / "q.jsonl", "jsonl", answers="choices")


EXPECTED = {
    (question, answer, place == right, f"{number + 1}/{place + 1}", f"train {number + 1}", f"topic {number}")
    for number in range(len(SIZES))
    for question, answers, right in [_question(number)]
    for place, answer in enumerate(answers)
}


@pytest.mark.parametrize("form", ["column", "from 0", "from 1", "text", "rows of answers", "lists"])
def test_questions_of_two_to_five_answers_become_the_same_rows_from_every_form(tmp_path: Path, form: str) -> None:
    match form:
        case "rows of answers":
            source = _by_answer(tmp_path)
        case "lists":
            source = _lists(tmp_path)
        case _:
            source = _by_question(tmp_path, form)
    table = load_source(source)["train"]
    columns = ("text", "text_pair", "label", "answer_id", "question_id", "topic")
    rows = {tuple(row[name] for name in columns) for row in table.to_pylist()}
    assert {(text, answer, label == RIGHT, *others) for text, answer, label, *others in rows} == EXPECTED
    assert table.num_rows == sum(SIZES)


@pytest.mark.parametrize("kind", [pa.large_list(pa.large_string()), pa.list_(pa.string(), 2)])
def test_every_list_type_of_a_parquet_file_is_a_question_per_row(tmp_path: Path, kind: pa.DataType) -> None:
    answers = pa.array([["yes", "no"], ["up", "down"]], kind)
    pq.write_table(pa.table({"question": ["q", "r"], "choices": answers, "key": ["A", "B"]}), tmp_path / "q.parquet")
    table = load_source(_source(tmp_path / "q.parquet", "parquet", answers="choices"))["train"]
    assert table["text_pair"].to_pylist() == ["yes", "no", "up", "down"]
    assert table["label"].to_pylist() == ["right", "wrong", "wrong", "right"]


def test_attributes_with_the_names_of_the_answers_own_columns_are_refused(tmp_path: Path) -> None:
    # The rows' own `label` would otherwise be shown and scanned as if it were the source's column.
    source = _by_question(tmp_path, "column")
    message = "the column '{}' cannot be an attribute, subset or category, because rows of answers have a column of"
    with pytest.raises(DataError, match=message.format("label")):
        implied_columns(source, ColumnsSpec(attributes=("topic", "label")))
    with pytest.raises(DataError, match=message.format("question_id")):
        implied_columns(source.model_copy(update={"subset": "question_id"}), ColumnsSpec())
    named = source.model_copy(update={"id": "question_id"})
    assert implied_columns(named, ColumnsSpec(attributes=("question_id",))).attributes == ("question_id",)


def test_rows_are_a_raw_table_with_a_group_per_question(tmp_path: Path) -> None:
    source = _by_question(tmp_path, "column")
    columns = implied_columns(source, ColumnsSpec(attributes=("topic",)))
    raw = build_raw_table(
        load_source(source), columns=columns, label_names=None, unlabelled=(), limit=None, seed=0
    ).examples
    assert raw.label_names == ("right", "wrong")
    assert raw.groups is not None
    assert raw.groups.tolist() == [0] * 2 + [1] * 3 + [2] * 4 + [3] * 5
    assert [raw.labels[raw.groups == group].tolist().count(0) for group in range(4)] == [1, 1, 1, 1]
    assert raw.table["attribute.topic"].to_pylist()[:3] == ["topic 0", "topic 0", "topic 1"]


def test_several_columns_are_joined_to_one_question(tmp_path: Path) -> None:
    rows = [["context", "question", "A", "B", "key"], ["It rains.", "Why?", "x", "y", "A"], ["", "How?", "x", "y", "B"]]
    source = _source(_write(tmp_path / "q.csv", rows), question=["context", "question"], answers=["A", "B"])
    assert load_source(source)["train"]["text"].to_pylist() == ["It rains. Why?"] * 2 + ["How?"] * 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            ["q", "x", "", "A"],
            "in the columns of `source.answers`, but a question needs at least two; add answers or "
            "delete the row (rows count from 1",
        ),
        (
            ["q", "x", "y", "C"],
            "row 2 has 'C' as right answer, which is none of its 2 answers; write the answer's column",
        ),
        (["q", "x", "y", ""], "row 2 has '' as right answer, which is none of its 2 answers"),
        (["q", "y", "y", "y"], "row 2 has 'y' as right answer, which could mean more than one of its 2 answers"),
        (
            ["", "x", "y", "A"],
            "has no question in ['question']; add the question or delete the row (rows count from 1: row 2",
        ),
    ],
)
def test_questions_that_cannot_be_are_refused_with_their_line(tmp_path: Path, row: list[str], message: str) -> None:
    file = _write(tmp_path / "q.csv", [["question", "A", "B", "key"], ["q", "x", "y", "A"], row])
    with pytest.raises(DataError, match=re.escape(message)) as refusal:
        load_source(_source(file, answers=["A", "B"]))
    assert f"row 2 is line 3 of {str(file)!r}" in str(refusal.value)


def test_number_that_is_also_an_answer_is_refused(tmp_path: Path) -> None:
    file = _write(tmp_path / "q.csv", [["question", "A", "B", "key"], ["1 + 1", "2", "1", "2"], ["q", "5", "6", "1"]])
    with pytest.raises(DataError, match="row 1 has '2' as right answer, which could mean more than one of its 2 answ"):
        load_source(_source(file, answers=["A", "B"]))


def test_numbers_that_do_not_say_where_they_begin_are_refused_and_may_be_told(tmp_path: Path) -> None:
    file = _write(tmp_path / "q.csv", [["question", "A", "B", "C", "key"], ["q", "x", "y", "z", "1"]])
    with pytest.raises(DataError, match=r"neither 0 nor the number of answers, .*; set `source\.numbers_from"):
        load_source(_source(file, answers=["A", "B", "C"]))
    for first, right in ((0, "y"), (1, "x")):
        table = load_source(_source(file, answers=["A", "B", "C"], numbers_from=first))["train"]
        assert [row["text_pair"] for row in table.to_pylist() if row["label"] == RIGHT] == [right]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [["q", "x", "1", "a"]],
            "begins question 'a', which has 1 right answers among 1; add at least one right and one wrong answer",
        ),
        ([["q", "x", "1", "a"], ["q", "y", "1", "a"]], "begins question 'a', which has 2 right answers among 2"),
        ([["q", "x", "0", "a"], ["q", "y", "0", "a"]], "begins question 'a', which has 0 right answers among 2"),
        ([["q", "x", "maybe", "a"]], "row 1 has 'maybe' in column 'key', which means neither right nor wrong"),
        ([["q", "x", "1", ""]], "has no question id in column 'qid'; give every row an id"),
        ([["q", "", "1", "a"]], "has no answer in column 'answer'; add the answer or delete the row"),
    ],
)
def test_answers_that_make_no_question_are_refused(tmp_path: Path, rows: list[list[str]], message: str) -> None:
    file = _write(tmp_path / "a.csv", [["question", "answer", "key", "qid"], *rows])
    with pytest.raises(DataError, match=re.escape(message)):
        load_source(_source(file, answers="answer", id="qid"))


def test_rows_of_answers_need_the_questions_id(tmp_path: Path) -> None:
    file = _write(tmp_path / "a.csv", [["question", "answer", "key"], ["q", "x", "1"], ["q", "y", "0"]])
    with pytest.raises(
        DataError,
        match=r"`source.answers` is 'answer', a single column of texts, so every row is one answer; set "
        r"`source.id` to the column of question ids, or `source.answers` to all columns of answers",
    ):
        load_source(_source(file, answers="answer"))


@pytest.mark.parametrize("right", [["A", "C"], [0, 2], ["x", "z"]])
def test_several_right_answers_are_named_by_letter_number_or_text(tmp_path: Path, right: list[Any]) -> None:
    lines = [
        {"question": "q", "options": ["x", "y", "z"], "key": right},
        {"question": "r", "options": ["x", "y"], "key": [right[0]]},
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    table = load_source(_source(tmp_path / "q.jsonl", "jsonl", answers="options", numbers_from=0))["train"]
    assert table["label"].to_pylist() == ["right", "wrong", "right", "right", "wrong"]


def test_a_question_without_a_wrong_answer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": "q", "options": ["x", "y"], "key": ["A", "B"]}))
    with pytest.raises(
        DataError,
        match=r"has 2 answers, which are all right; give every question at least one wrong answer.*line 1 of",
    ):
        load_source(_source(tmp_path / "q.jsonl", "jsonl", answers="options"))


def _sorted_out(file: Path, form: str, correct: Any, incorrect: Any, **settings: Any) -> MultipleChoiceSource:
    content = {"format": "multiple_choice", "table": {"format": form, "splits": {"train": str(file)}}}
    return MultipleChoiceSource.model_validate(
        content | {"question": "question", "correct": correct, "incorrect": incorrect} | settings
    )


def test_right_and_wrong_answers_may_have_columns_of_their_own(tmp_path: Path) -> None:
    rows = [
        ["question", "Best", "Worse", "Worst", "kind"],
        ["q", "yes it is", "no it is not", "", "a"],
        ["r", "x", "y", "z", "b"],
    ]
    source = _sorted_out(_write(tmp_path / "q.csv", rows), "csv", "Best", ["Worse", "Worst"], subset="kind")
    table = load_source(source)["train"]
    answers = {(row["question_id"], row["text_pair"]): row["label"] for row in table.to_pylist()}
    assert answers == {
        ("train 1", "yes it is"): "right",
        ("train 1", "no it is not"): "wrong",
        ("train 2", "x"): "right",
        ("train 2", "y"): "wrong",
        ("train 2", "z"): "wrong",
    }
    columns = implied_columns(source, ColumnsSpec(), {"train": table})
    assert columns.attributes == ("kind",)
    assert implied_columns(source, ColumnsSpec(attributes=("Best",))).attributes == ("Best", "kind")
    assert (columns.question, columns.group) == ("question_id", ("question_id", "prompt_link", "answer_link"))


def test_lists_of_right_and_wrong_answers_do_not_show_by_place_which_is_right(tmp_path: Path) -> None:
    lines = [{"question": f"q{n}", "good": [f"good {n}"], "bad": [f"bad {n}", f"poor {n}"]} for n in range(60)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, lines)))
    labels = load_source(_sorted_out(tmp_path / "q.jsonl", "jsonl", "good", "bad"))["train"]["label"].to_pylist()
    assert 8 <= sum(labels[first] == RIGHT for first in range(0, 180, 3)) <= 32


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["q", "", "y"], "has no right answer in ['good']; add an answer or delete the row"),
        (["q", "x", ""], "has no wrong answer in ['bad']; add an answer or delete the row"),
        (["q", "x", "x"], "has the answer 'x' both as right and as wrong; correct or delete the row"),
    ],
)
def test_sorted_out_answers_that_make_no_question_are_refused(tmp_path: Path, row: list[str], message: str) -> None:
    file = _write(tmp_path / "q.csv", [["question", "good", "bad"], row])
    with pytest.raises(DataError, match=re.escape(message)) as refusal:
        load_source(_sorted_out(file, "csv", "good", "bad"))
    assert f"row 1 is line 2 of {str(file)!r}" in str(refusal.value)


def test_answers_are_named_in_one_way() -> None:
    with pytest.raises(
        ValueError,
        match="`source` sets answers and right and correct; set `answers` and `right`, or `correct` and "
        "`incorrect`, and neither of the other two",
    ):
        _source(Path("q.csv"), answers="options", correct="good")


def test_two_questions_of_one_id_are_refused(tmp_path: Path) -> None:
    rows = [["question", "A", "B", "key", "uid"], ["q", "x", "y", "A", "7"], ["r", "x", "y", "B", "7"]]
    with pytest.raises(DataError, match="row 2 has the id '7' of another question; give every question its own id"):
        load_source(_source(_write(tmp_path / "q.csv", rows), answers=["A", "B"], id="uid"))


def test_missing_column_is_named_with_the_nearest(tmp_path: Path) -> None:
    file = _write(tmp_path / "q.csv", [["question", "A", "B", "key"], ["q", "x", "y", "A"]])
    with pytest.raises(DataError, match=r"has no column 'keys', but `source\.right` names it .*; did you mean 'key'"):
        load_source(_source(file, answers=["A", "B"], right="keys"))


def _lettered(folder: Path, rows: list[tuple[list[str], list[str], str]]) -> MultipleChoiceSource:
    lines = [{"question": "q", "choices": {"text": texts, "label": own}, "key": key} for texts, own, key in rows]
    (folder / "l.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return _source(folder / "l.jsonl", "jsonl", answers="choices.text", names="choices.label")


def test_a_field_of_mappings_holds_the_answers_and_another_one_their_names(tmp_path: Path) -> None:
    rows = [(["C", "A", "B"], ["A", "B", "C"], "C"), (["3", "1", "2"], ["1", "2", "3"], "3")]
    table = load_source(_lettered(tmp_path, rows))["train"]
    assert table.filter(pc.equal(table["label"], RIGHT))["text_pair"].to_pylist() == ["B", "2"]
    assert "choices" in table.column_names


@pytest.mark.parametrize(("own", "key"), [(["A", "B", "C"], "D"), (["A", "A", "B"], "A"), (["A"], "")])
def test_a_right_name_that_is_none_or_two_answers_is_refused(tmp_path: Path, own: list[str], key: str) -> None:
    said = f"has '{key}' as right answer, but the names of its answers in column 'choices.label' "
    said += f"are [{', '.join(map(repr, own))}]; write one of these names into column 'key'"
    with pytest.raises(DataError, match=re.escape(said)):
        load_source(_lettered(tmp_path, [(["x", "y", "z"], own, key)]))


def test_a_number_is_a_place_if_the_first_number_is_given(tmp_path: Path) -> None:
    rows = [{"question": "q", "answers": ["1", "0", "7"], "key": 1}, {"question": "q", "answers": ["3", "9"], "key": 3}]
    (tmp_path / "n.jsonl").write_text("\n".join(map(json.dumps, rows)))
    table = load_source(_source(tmp_path / "n.jsonl", "jsonl", answers="answers", numbers_from=0))["train"]
    assert table.filter(pc.equal(table["label"], RIGHT))["text_pair"].to_pylist() == ["0", "3"]


def test_names_of_answers_that_are_columns_are_refused() -> None:
    with pytest.raises(ValueError, match=r"`names` is 'n', .* but `answers` is \('A', 'B'\); remove `names`"):
        _source(Path("q.csv"), answers=["A", "B"], names="n")
