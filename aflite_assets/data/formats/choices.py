"""Conversion of multiple choice data to one row per answer, from a table of questions or a table of answers.

The module `answers` creates the rows, and `analysis.scores.questions` computes scores by question.
"""

import string
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.data.formats.answers import (
    RIGHT,
    SHOWN,
    WRONG,
    AnswerLists,
    Answers,
    answer_table,
    bad_row,
    plain_text,
    texts_of,
    with_links,
)
from aflite_assets.data.formats.row_places import naming_lines
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import MultipleChoiceSource, as_tuple
from aflite_assets.wording import counted, did_you_mean, quoted, quoted_list

_TRUE = {"1", "true", "yes", "right", "correct"}
_FALSE = {"0", "false", "no", "wrong", "incorrect"}
_MOST_SHOWN = 30


def choice_tables(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return tables with one row per answer: the columns of `answers.answer_table`, followed by the source's other
    columns.

    Raises:
        DataError: a column is missing, a question or answer is empty, a question has no right or no wrong answer, or a
            value of `right` matches no answer.
    """
    with naming_lines(tables):
        tables = _with_fields(source, tables)
        answers = _all_answers(source, tables)
        return {split: _table(split, source, table, answers[split]) for split, table in tables.items()}


def answer_rows(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, list[int]]:
    """Return, by split, the source row number (from 0) of each row of `choice_tables`.

    Raises:
        DataError: raised for the same reasons as in `choice_tables`.
    """
    with naming_lines(tables):
        return {split: answers.rows for split, answers in _all_answers(source, _with_fields(source, tables)).items()}


def _columns(source: MultipleChoiceSource) -> list[tuple[str, str]]:
    """Return a pair of field and column name for each column that the source names."""
    fields = ("question", "answers", "right", "names", "correct", "incorrect", "id", "subset")
    return [(field, name) for field in fields for name in as_tuple(getattr(source, field) or ())]


def _with_fields(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return the tables with an added column for every setting of the form `column.field` in the source."""
    return {split: _with_named_fields(source, table) for split, table in tables.items()}


def _with_named_fields(source: MultipleChoiceSource, table: pa.Table) -> pa.Table:
    for name in dict.fromkeys(name for _, name in _columns(source)):
        column, dot, field = name.rpartition(".")
        if dot and name not in table.column_names and column in table.column_names:
            kind = table[column].type
            if pa.types.is_struct(kind) and kind.get_field_index(field) >= 0:
                table = table.append_column(name, pc.struct_field(table[column], field))
    return table


def _all_answers(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, Answers]:
    for split, table in tables.items():
        _require(split, table, source)
    if source.correct is not None:
        return {split: _by_lists(split, source, table) for split, table in tables.items()}
    listed = {split: _is_list(table, source) for split, table in tables.items()}
    by_question = len(_answer_columns(source)) > 1 or any(listed.values())
    if by_question:
        return _by_question(source, tables)
    if source.id is None:
        raise DataError(
            f"`source.answers` is {source.answers!r}, a single column of texts, so every row is one answer; set "
            "`source.id` to the column of question ids, or `source.answers` to all columns of answers"
        )
    return {split: _by_answer(split, source, table) for split, table in tables.items()}


def _answer_columns(source: MultipleChoiceSource) -> tuple[str, ...]:
    return as_tuple(source.answers or ())


def _right_column(source: MultipleChoiceSource) -> str:
    assert source.right is not None  # the spec refuses answers without it
    return source.right


def _is_list(table: pa.Table, source: MultipleChoiceSource) -> bool:
    kind = table[_answer_columns(source)[0]].type
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _require(split: str, table: pa.Table, source: MultipleChoiceSource) -> None:
    for field, name in _columns(source):
        if name not in table.column_names:
            known = quoted_list(table.column_names, most=_MOST_SHOWN, length=SHOWN)
            raise DataError(
                f"split {split!r} has no column {name!r}, but `source.{field}` names it (the columns are [{known}])"
                + (did_you_mean(name, table.column_names) or "; correct the spec")
            )


def _by_lists(split: str, source: MultipleChoiceSource, table: pa.Table) -> Answers:
    """Read right and wrong answers from separate columns."""
    fields = {RIGHT: as_tuple(source.correct or ()), WRONG: as_tuple(source.incorrect or ())}
    columns = {label: [table[name].to_pylist() for name in names] for label, names in fields.items()}
    found = AnswerLists()
    for row in range(table.num_rows):
        given = {label: _filled(column[row] for column in own) for label, own in columns.items()}
        for label, texts in given.items():
            if not texts:
                names = quoted_list(fields[label], most=_MOST_SHOWN, length=SHOWN)
                raise bad_row(
                    split, row, f"row {row + 1} has no {label} answer in [{names}]; add an answer or delete the row"
                )
        both = set(given[RIGHT]) & set(given[WRONG])
        if both:
            raise bad_row(
                split,
                row,
                f"row {row + 1} has the answer {quoted(min(both), SHOWN)} both as right and as wrong; correct or "
                "delete the row",
            )
        found.add_question(row, [(text, label) for label, texts in given.items() for text in texts])
    return found.answers


def _filled(values: Iterable[object]) -> list[str]:
    """Return all non-empty texts in the values, which are texts or lists of texts."""
    flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
    return [text for text in map(plain_text, flat) if text.strip()]


def _by_question(source: MultipleChoiceSource, tables: Mapping[str, pa.Table]) -> dict[str, Answers]:
    offered = {split: _offered(split, source, table) for split, table in tables.items()}
    right_values = {split: table[_right_column(source)].to_pylist() for split, table in tables.items()}
    named = {split: [_said(value) for value in values] for split, values in right_values.items()}
    first: int | None = source.numbers_from
    if first is None and source.names is None:
        first = _first_number(offered, named)
    found = {}
    for split, questions in offered.items():
        own = None if source.names is None else [row or () for row in tables[split][source.names].to_pylist()]
        rows, texts, labels = [], [], []
        for row, (answers, said) in enumerate(zip(questions, named[split], strict=True)):
            if own is None:
                right = {_place_of(split, source, row, answers, one, first or 0) for one in said}
            else:
                right = {_place_by_name(split, source, row, answers, one, own[row]) for one in said}
            if len(right) == len(answers):
                raise bad_row(
                    split,
                    row,
                    f"row {row + 1} has {len(answers)} answers, which are all right; give every question at least one "
                    "wrong answer",
                )
            rows += [row] * len(answers)
            texts += list(answers.values())
            labels += [RIGHT if key in right else WRONG for key in answers]
        found[split] = Answers(rows, list(rows), texts, labels)
    return found


def _said(value: object) -> list[str]:
    """Return the texts in a cell of the column `right`: one text, or several if the cell contains a list."""
    values = value if isinstance(value, list) and value else [None if isinstance(value, list) else value]
    return [plain_text(one).strip() for one in values]


def _offered(split: str, source: MultipleChoiceSource, table: pa.Table) -> list[dict[int, str]]:
    """Return the non-empty answers of each question, by their position (from 0) in the question."""
    names = _answer_columns(source)
    if len(names) == 1:
        lists = [[plain_text(value) for value in row or ()] for row in table[names[0]].to_pylist()]
    else:
        lists = [list(row) for row in zip(*(texts_of(table, name) for name in names), strict=True)]
    offered = [{place: text for place, text in enumerate(row) if text.strip()} for row in lists]
    for row, answers in enumerate(offered):
        if len(answers) < 2:
            raise bad_row(
                split,
                row,
                f"row {row + 1} has {counted(len(answers), 'answer')} in the columns of `source.answers`, but a "
                "question needs at least two; add answers or delete the row",
            )
    return offered


def _first_number(offered: Mapping[str, list[dict[int, str]]], named: Mapping[str, list[list[str]]]) -> int:
    """Return 0 or 1, the number of the first answer, inferred from the smallest and largest numbers in `right`."""
    rows = [pair for split in offered for pair in zip(offered[split], named[split], strict=True)]
    pairs = [(answers, one) for answers, said in rows for one in said]
    numbers = [(int(said), max(answers) + 1) for answers, said in pairs if said.isdecimal()]
    zero, last = any(number == 0 for number, _ in numbers), any(number == most for number, most in numbers)
    if numbers and zero == last:
        seen = "both 0 and the number of answers" if zero else "neither 0 nor the number of answers"
        raise DataError(
            f"the column in `source.right` contains {seen}, so its numbers may count from 0 or from 1; set "
            "`source.numbers_from` to 0 or 1"
        )
    return 0 if zero else 1


def _place_of(
    split: str, source: MultipleChoiceSource, row: int, answers: Mapping[int, str], said: str, first: int
) -> int:
    """Return the position of the right answer. `said` may be the name of the answer's column, the answer's number, its
    letter or its text.
    """
    names = _answer_columns(source)
    if len(names) > 1 and said in names and names.index(said) in answers:
        return names.index(said)
    if source.numbers_from is not None and said.isdecimal() and int(said) - first in answers:
        return int(said) - first
    places = {place for place, text in answers.items() if said and text.strip() == said}
    if said.isdecimal():
        places.add(int(said) - first)
    if len(said) == 1 and said in string.ascii_letters:
        places.add(string.ascii_uppercase.index(said.upper()))
    places &= answers.keys()
    if len(places) == 1:
        return places.pop()
    what = "could mean more than one" if places else "is none"
    raise bad_row(
        split,
        row,
        f"row {row + 1} has {quoted(said, SHOWN)} as right answer, which {what} of its {len(answers)} answers; write "
        f"the answer's column, its number from {first}, its letter or its text into column {_right_column(source)!r}",
    )


def _place_by_name(
    split: str, source: MultipleChoiceSource, row: int, answers: Mapping[int, str], said: str, names: Sequence[object]
) -> int:
    """Return the position of the answer with the given name in the column `names`."""
    own = [plain_text(name).strip() for name in names]
    if own.count(said) == 1 and own.index(said) in answers:
        return own.index(said)
    shown = quoted_list(own, most=_MOST_SHOWN, length=SHOWN)
    raise bad_row(
        split,
        row,
        f"row {row + 1} has {quoted(said, SHOWN)} as right answer, but the names of its answers in column "
        f"{source.names!r} are [{shown}]; write one of these names into column {_right_column(source)!r}",
    )


def _by_answer(split: str, source: MultipleChoiceSource, table: pa.Table) -> Answers:
    assert source.id is not None
    numbers: dict[str, int] = {}
    questions, right = [], []
    column = _answer_columns(source)[0]
    texts = texts_of(table, column)
    first_row: list[int] = []
    given = zip(texts_of(table, source.id), texts_of(table, _right_column(source)), strict=True)
    for row, (name, said) in enumerate(given):
        if not name:
            raise bad_row(split, row, f"row {row + 1} has no question id in column {source.id!r}; give every row an id")
        if not texts[row].strip():
            raise bad_row(
                split, row, f"row {row + 1} has no answer in column {column!r}; add the answer or delete the row"
            )
        if numbers.setdefault(name, len(numbers)) == len(first_row):
            first_row.append(row)
        questions.append(numbers[name])
        right.append(_is_right(split, source, row, said))
    counts = np.bincount(questions, minlength=len(numbers))
    right_ones = np.bincount(questions, weights=right, minlength=len(numbers)).astype(int)
    for number, name in enumerate(numbers):
        if not 0 < right_ones[number] < counts[number]:
            raise bad_row(
                split,
                first_row[number],
                f"row {first_row[number] + 1} begins question {quoted(name, SHOWN)}, which has {right_ones[number]} "
                f"right answers among {counts[number]}; add at least one right and one wrong answer",
            )
    return Answers(list(range(table.num_rows)), questions, texts, [RIGHT if one else WRONG for one in right])


def _is_right(split: str, source: MultipleChoiceSource, row: int, said: str) -> bool:
    plain = said.strip().lower()
    if plain not in _TRUE | _FALSE:
        raise bad_row(
            split,
            row,
            f"row {row + 1} has {quoted(said, SHOWN)} in column {_right_column(source)!r}, which means neither right "
            "nor wrong; write 1 or 0, true or false, yes or no, right or wrong",
        )
    return plain in _TRUE


def _table(split: str, source: MultipleChoiceSource, table: pa.Table, answers: Answers) -> pa.Table:
    columns = [texts_of(table, name) for name in as_tuple(source.question)]
    asked = [" ".join(part for part in parts if part.strip()) for parts in zip(*columns, strict=True)]
    empty = next((row for row, text in enumerate(asked) if not text.strip()), None)
    if empty is not None:
        raise bad_row(
            split,
            empty,
            f"row {empty + 1} has no question in {list(as_tuple(source.question))}; add the question or delete the row",
        )
    made = answer_table(split, table, answers, prompts=asked, id_column=source.id)
    return made if source.correct is None else with_links(made)
