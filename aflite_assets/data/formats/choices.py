"""Multiple choice: from a table of questions, or of answers, to one row per answer that is right or wrong.

How models are scored by question is in `analysis.scores.questions`.
"""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.data.formats.row_places import BadRowError, naming_lines
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import MultipleChoiceSource, as_tuple
from aflite_assets.wording import did_you_mean, quoted, quoted_list

TEXT, ANSWER, LABEL, ID, GROUP = "text", "text_pair", "label", "answer_id", "question_id"
"""Columns of the rows: the question, one answer, `RIGHT` or `WRONG`, an id of the answer and one of the question."""

RIGHT, WRONG = "right", "wrong"

_TRUE = {"1", "true", "yes", "right", "correct"}
_FALSE = {"0", "false", "no", "wrong", "incorrect"}
_SHOWN = 80
_MOST_SHOWN = 30


@dataclass(frozen=True)
class _Answers:
    """Answers in the order of the table: the row of each, its question's number (from 0), its text, whether right."""

    rows: list[int]
    questions: list[int]
    texts: list[str]
    right: list[bool]


def choice_tables(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """One row per answer: `TEXT`, `ANSWER`, `LABEL`, `ID`, `GROUP`, then the table's other columns.

    Groups are of one split each: questions of two splits with the same id are two.

    Raises:
        DataError: a column is missing, a question or answer is empty, a question has fewer than two answers or not
            exactly one that is right, or `right` holds something that names no answer.
    """
    with naming_lines(tables):
        answers = _all_answers(source, tables)
        return {split: _table(split, source, table, answers[split]) for split, table in tables.items()}


def answer_rows(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, list[int]]:
    """By split the row of the source's table (from 0) that each row of `choice_tables` is of, in their order.

    Raises:
        DataError: as `choice_tables`.
    """
    with naming_lines(tables):
        return {split: answers.rows for split, answers in _all_answers(source, tables).items()}


def _all_answers(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, _Answers]:
    listed = {split: _is_list(table, source) for split, table in tables.items()}
    by_question = len(as_tuple(source.answers)) > 1 or any(listed.values())
    for split, table in tables.items():
        _require(split, table, source)
    if by_question:
        return _by_question(source, tables)
    if source.id is None:
        raise DataError(
            f"source.answers names one column, {source.answers!r}, so every row is one answer; name the column of "
            "the question's id as source.id, or all columns of answers as source.answers"
        )
    return {split: _by_answer(split, source, table) for split, table in tables.items()}


def _is_list(table: pa.Table, source: MultipleChoiceSource) -> bool:
    name = as_tuple(source.answers)[0]
    return name in table.column_names and pa.types.is_list(table[name].type)


def _require(split: str, table: pa.Table, source: MultipleChoiceSource) -> None:
    fields = [("question", name) for name in as_tuple(source.question)]
    fields += [("answers", name) for name in as_tuple(source.answers)] + [("right", source.right)]
    fields += [] if source.id is None else [("id", source.id)]
    for field, name in fields:
        if name not in table.column_names:
            known = quoted_list(table.column_names, most=_MOST_SHOWN, length=_SHOWN)
            raise DataError(
                f"split {split!r} has no column {name!r} that source.{field} names (it has [{known}])"
                + (did_you_mean(name, table.column_names) or "; correct the spec")
            )


def _texts(table: pa.Table, name: str) -> list[str]:
    """Each value as text, "" for none."""
    return ["" if value is None else _text(value) for value in table[name].to_pylist()]


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _by_question(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, _Answers]:
    offered = {split: _offered(split, source, table) for split, table in tables.items()}
    named = {split: [value.strip() for value in _texts(table, source.right)] for split, table in tables.items()}
    first = source.numbers_from if source.numbers_from is not None else _first_number(offered, named)
    found = {}
    for split, questions in offered.items():
        rows, texts, right = [], [], []
        for row, (answers, said) in enumerate(zip(questions, named[split], strict=True)):
            place = _place_of(split, source, row, answers, said, first)
            rows += [row] * len(answers)
            texts += list(answers.values())
            right += [key == place for key in answers]
        found[split] = _Answers(rows, list(rows), texts, right)
    return found


def _offered(split: str, source: MultipleChoiceSource, table: pa.Table) -> list[dict[int, str]]:
    """Each question's answers that are not empty, by their place from 0."""
    names = as_tuple(source.answers)
    if len(names) == 1:
        lists = [[_text(value) for value in row or ()] for row in table[names[0]].to_pylist()]
    else:
        lists = [list(row) for row in zip(*(_texts(table, name) for name in names), strict=True)]
    offered = [{place: text for place, text in enumerate(row) if text.strip()} for row in lists]
    for row, answers in enumerate(offered):
        if len(answers) < 2:
            raise _bad(split, row, f"has {len(answers)} answers in source.answers; a question needs two or more")
    return offered


def _first_number(offered: Mapping[str, list[dict[int, str]]], named: Mapping[str, list[str]]) -> int:
    """Whether `right` counts from 0 or 1, by a 0 or by the number of answers standing in it."""
    pairs = [pair for split in offered for pair in zip(offered[split], named[split], strict=True)]
    numbers = [(int(said), max(answers) + 1) for answers, said in pairs if said.isdecimal()]
    zero, last = any(number == 0 for number, _ in numbers), any(number == most for number, most in numbers)
    if numbers and zero == last:
        seen = "both 0 and the number of answers" if zero else "neither 0 nor the number of answers"
        raise DataError(
            f"source.right holds numbers, among them {seen}, so it is not known whether they count from 0 or from 1; "
            "set source.numbers_from"
        )
    return 0 if zero else 1


def _place_of(
    split: str, source: MultipleChoiceSource, row: int, answers: Mapping[int, str], said: str, first: int
) -> int:
    """The place of the right answer: by its column's name, else by its number, letter or text if these agree."""
    names = as_tuple(source.answers)
    if len(names) > 1 and said in names and names.index(said) in answers:
        return names.index(said)
    places = {place for place, text in answers.items() if said and text.strip() == said}
    if said.isdecimal():
        places.add(int(said) - first)
    if len(said) == 1 and said in string.ascii_letters:
        places.add(string.ascii_uppercase.index(said.upper()))
    places &= answers.keys()
    if len(places) == 1:
        return places.pop()
    what = "could mean more than one" if places else "is none"
    raise _bad(
        split,
        row,
        f"has {quoted(said, _SHOWN)} as right answer, which {what} of its {len(answers)} answers; write the answer's "
        f"column, its number from {first}, its letter or its text into column {source.right!r}",
    )


def _by_answer(split: str, source: MultipleChoiceSource, table: pa.Table) -> _Answers:
    assert source.id is not None
    numbers: dict[str, int] = {}
    questions, right = [], []
    texts = _texts(table, as_tuple(source.answers)[0])
    first_row: list[int] = []
    for row, (name, said) in enumerate(zip(_texts(table, source.id), _texts(table, source.right), strict=True)):
        if not name:
            raise _bad(split, row, f"has no question id in column {source.id!r}; every row needs one")
        if not texts[row].strip():
            raise _bad(split, row, f"has no answer in column {as_tuple(source.answers)[0]!r}; fill it or drop the row")
        if numbers.setdefault(name, len(numbers)) == len(first_row):
            first_row.append(row)
        questions.append(numbers[name])
        right.append(_is_right(split, source, row, said))
    counts = np.bincount(questions, minlength=len(numbers))
    right_ones = np.bincount(questions, weights=right, minlength=len(numbers)).astype(int)
    for number, name in enumerate(numbers):
        if counts[number] < 2 or right_ones[number] != 1:
            raise _bad(
                split,
                first_row[number],
                f"begins question {quoted(name, _SHOWN)} with {counts[number]} answers, of which {right_ones[number]} "
                "are right; a question needs two answers or more and exactly one that is right",
            )
    return _Answers(list(range(table.num_rows)), questions, texts, right)


def _is_right(split: str, source: MultipleChoiceSource, row: int, said: str) -> bool:
    plain = said.strip().lower()
    if plain not in _TRUE | _FALSE:
        raise _bad(
            split,
            row,
            f"has {quoted(said, _SHOWN)} in column {source.right!r}, which says neither right nor wrong; write 1 or 0, "
            "true or false, yes or no, right or wrong",
        )
    return plain in _TRUE


def _table(split: str, source: MultipleChoiceSource, table: pa.Table, answers: _Answers) -> pa.Table:
    columns = [_texts(table, name) for name in as_tuple(source.question)]
    asked = [" ".join(part for part in parts if part.strip()) for parts in zip(*columns, strict=True)]
    empty = next((row for row, text in enumerate(asked) if not text.strip()), None)
    if empty is not None:
        raise _bad(split, empty, f"has no question in {list(as_tuple(source.question))}; fill it or drop the row")
    given = None if source.id is None else _texts(table, source.id)
    if given is not None and "" in given:
        raise _bad(split, given.index(""), f"has no question id in column {source.id!r}; every row needs one")
    names = _question_names(split, source, given, answers)
    own = {
        TEXT: [asked[row] for row in answers.rows],
        ANSWER: answers.texts,
        LABEL: [RIGHT if right else WRONG for right in answers.right],
        ID: _answer_ids(names),
        GROUP: [f"{split} {name}" for name in names],
    }
    carried = table.replace_schema_metadata(None).take(pa.array(answers.rows, pa.int64()))
    others = {name: carried[name] for name in table.column_names if name not in own}
    return pa.table({name: pa.array(values, pa.string()) for name, values in own.items()} | others)


def _question_names(
    split: str, source: MultipleChoiceSource, given: Sequence[str] | None, answers: _Answers
) -> list[str]:
    """Each answer's question: its own id, else the number of its row from 1."""
    if given is None:
        return [str(row + 1) for row in answers.rows]
    seen: dict[str, int] = {}
    for row, number in zip(answers.rows, answers.questions, strict=True):
        if seen.setdefault(given[row], number) != number:
            raise _bad(split, row, f"has the id {quoted(given[row], _SHOWN)} of another question; ids must differ")
    return [given[row] for row in answers.rows]


def _answer_ids(names: Sequence[str]) -> list[str]:
    counted: dict[str, int] = {}
    ids = []
    for name in names:
        counted[name] = counted.get(name, 0) + 1
        ids.append(f"{name}/{counted[name]}")
    return ids


def _bad(split: str, row: int, what: str) -> BadRowError:
    return BadRowError(f"split {split!r}: row {row + 1} {what}", place=f"split {split!r}", row=row)
