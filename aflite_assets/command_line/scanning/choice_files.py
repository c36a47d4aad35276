"""Preferences and multiple-choice questions in a table without a YAML file: the roles of columns, and one row per
answer.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import yaml

from aflite_assets.data.formats.choices import choice_tables
from aflite_assets.data.formats.preferences import NAMES as PREFERENCE_NAMES
from aflite_assets.data.formats.preferences import columns_of, how_read, plain_name, preference_tables
from aflite_assets.data.formats.row_places import with_files
from aflite_assets.specs.sources import (
    ChoiceSource,
    MultipleChoiceSource,
    PreferenceSource,
    TableFormat,
    TableSource,
    as_tuple,
)
from aflite_assets.wording import quoted, quoted_list

_SPLIT = "all rows"
_QUESTIONS = ("question", "prompt", "query", "stem", "question_stem", "question_text", "goal", "ctx", "sentence")
_LISTS = ("choices", "options", "answers", "endings", "candidates")
_RIGHT = (
    "answer_index", "answer_idx", "answer_key", "answerkey", "correct_index", "correct_answer", "answer", "right",
    "label", "key", "gold", "target", "correct",
)  # fmt: skip
_SORTED = (
    ("best_answer", "best_incorrect_answer"),
    ("correct_answers", "incorrect_answers"),
    ("correct_answer", "incorrect_answers"),
    ("correct_answer", "incorrect_answer"),
    ("correct_answer", "distractor"),
    ("right_answer", "wrong_answer"),
)
"""Names of columns of right and of wrong answers; the latter may end in a number. Plural names are those of lists."""
_PARTS = ("subset", "category", "subject", "topic", "section")
_ONE_ANSWER = re.compile(r"(?:(?:option|choice|answer|ending)_?)?([a-h])|(?:option|choice|answer|ending)_?(\d)")


def choice_source(table: pa.Table, form: TableFormat, path: Path) -> ChoiceSource | None:
    """Return the source of preferences or questions that the column names indicate, or None for another table."""
    files = {**form.model_dump(exclude_unset=True), "splits": {"train": str(path)}}
    plain = {plain_name(name): name for name in reversed(table.column_names)}
    if _first(plain, PREFERENCE_NAMES["chosen"]) and any(
        re.sub(r"_?\d+\Z", "", name) in PREFERENCE_NAMES["rejected"] for name in plain
    ):
        return PreferenceSource.model_validate({"format": "preference", "table": files})
    question = _first(plain, _QUESTIONS)
    named = None if question is None else _sorted_out(plain, table) or _with_options(plain, table)
    if named is None:
        return None
    subset = _first(plain, _PARTS)
    content = {"format": "multiple_choice", "table": files, "question": question, **named}
    return MultipleChoiceSource.model_validate(content | ({} if subset is None else {"subset": subset}))


def choice_hint(table: pa.Table, form: TableFormat, path: Path) -> str:
    """Return a hint on naming the columns of a table that may contain questions with lists of answers, or "" for other
    tables.

    The hint names three columns: the answers (lists of texts), the right answer (a number or a member of the list), and
    the question (a text).
    """
    lists = [name for name in table.column_names if _holds_texts(table[name].type)]
    rest = [name for name in table.column_names if name not in lists]
    for answers in lists:
        right = min(
            (name for name in rest if _points_into(table[name], table[answers])), key=_order_of(_RIGHT), default=None
        )
        texts = [name for name in rest if name != right and pa.types.is_string(table[name].type)]
        question = min(texts, key=_order_of(_QUESTIONS), default=None)
        if right is not None and question is not None:
            return _yaml_hint(form, path, question=question, answers=answers, right=right)
    return ""


def _yaml_hint(form: TableFormat, path: Path, **columns: str) -> str:
    settings = form.model_dump(mode="json", exclude_defaults=True)
    table = {"format": form.format, **settings, "splits": {"train": path.name}}
    content = {
        "source": {"format": "multiple_choice", "table": table, **columns},
        "holdout": {"test": 0.2},
        "representations": {"surface": {"kind": "surface"}},
        "evaluators": {"answers_only": {"kind": "linear", "inputs": ["text_pair"]}},
    }
    return (
        f". The columns {_names(tuple(columns.values()))} look like questions with lists of answers. No option names "
        "such columns, but a dataset's file does. Save these lines as my_questions.yaml in the folder of "
        f"{path.name!r}, and run `aflite scan my_questions.yaml`:\n\n"
        f"{yaml.safe_dump(content, sort_keys=False, allow_unicode=True)}\n"
        "If these are no questions, name the column of labels with `--label`"
    )


def _order_of(names: Sequence[str]) -> Callable[[str], int]:
    return lambda name: names.index(plain_name(name)) if plain_name(name) in names else len(names)


def _holds_texts(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) and pa.types.is_string(kind.value_type)


def _points_into(column: pa.ChunkedArray, answers: pa.ChunkedArray) -> bool:
    """Return True if nearly every value identifies an answer in the row's list, by its text or by its number (from 0 or
    from 1).
    """
    pairs = [(value, own) for value, own in zip(column.to_pylist(), answers.to_pylist(), strict=True) if own]
    if pa.types.is_integer(column.type):
        found = sum(value is not None and 0 <= value <= len(own) for value, own in pairs)
    else:
        found = sum(value in own for value, own in pairs)
    return len(pairs) > 0 and found >= 0.95 * len(pairs)


def _first(plain: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((plain[name] for name in names if name in plain), None)


def _sorted_out(plain: Mapping[str, str], table: pa.Table) -> dict[str, object] | None:
    for right, wrong in _SORTED:
        if right.endswith("s") and right in plain and not _holds_options(table[plain[right]].type):
            continue  # several answers in one text, which nothing says how to part
        numbered = [name for usual, name in plain.items() if re.fullmatch(rf"{wrong}_?\d*", usual)]
        if right in plain and numbered:
            return {
                "correct": plain[right],
                "incorrect": tuple(name for name in table.column_names if name in numbered),
            }
    return None


def _with_options(plain: Mapping[str, str], table: pa.Table) -> dict[str, object] | None:
    """Return the fields of a question source that name the columns with the options and the column with the right
    option.

    Returns None if the table has no options or does not state the right option.
    """
    listed = [plain[name] for name in _LISTS if name in plain and _holds_options(table[plain[name]].type)]
    right = next((plain[name] for name in _RIGHT if name in plain and plain[name] not in listed[:1]), None)
    if right is None:
        return None
    if listed:
        return {**_options(listed[0], table[listed[0]].type), "right": right}
    single = [name for name in table.column_names if name != right and _ONE_ANSWER.fullmatch(plain_name(name))]
    return {"answers": tuple(single), "right": right} if len(single) > 1 else None


def _options(name: str, kind: pa.DataType) -> Mapping[str, object]:
    """Return the fields of a question source whose options are lists of texts.

    The column may also contain lists of the options' letters.
    """
    if not pa.types.is_struct(kind):
        return {"answers": name}
    return {"answers": f"{name}.text"} | ({} if kind.get_field_index("label") < 0 else {"names": f"{name}.label"})


def _holds_options(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return kind.get_field_index("text") >= 0 and pa.types.is_list(kind.field("text").type)
    return bool(pa.types.is_list(kind))


def choice_rows(table: pa.Table, source: ChoiceSource, path: Path) -> pa.Table:
    """Return one row for each answer in a table that was read from `path` (see `answers.answer_table`).

    Raises:
        DataError: a question or preference is invalid. The error message names the line of the file.
    """
    assert isinstance(source.table, TableSource)  # a bare file
    tables = {_SPLIT: with_files(table, source.table, [(str(path), table.num_rows)])}
    if isinstance(source, MultipleChoiceSource):
        return choice_tables(source, tables)[_SPLIT]
    return preference_tables(source, tables)[_SPLIT]


def inputs_of(source: ChoiceSource) -> tuple[str, ...]:
    """Return the columns of questions and answers, which are not read as attributes."""
    if isinstance(source, PreferenceSource):
        return ()  # rows of preferences do not carry them
    fields = (source.question, source.answers, source.right, source.names, source.correct, source.incorrect)
    named = [name for names in fields for name in as_tuple(names or ())]
    return tuple(dict.fromkeys([*named, *(name.rpartition(".")[0] for name in named if "." in name)]))


def understood_choices(source: ChoiceSource, made: pa.Table) -> str:
    """Return a sentence on how the columns of preferences or questions were interpreted."""
    if isinstance(source, PreferenceSource):
        return how_read({_SPLIT: made})
    fields = {"answers": source.answers, "right one": source.right, "right": source.correct, "wrong": source.incorrect}
    named = [f"{what} {_names(names)}" for what, names in fields.items() if names is not None]
    part = "" if source.subset is None else f"; parts by {quoted(source.subset, 40)}"
    return f"Multiple choice: question {_names(source.question)}, {', '.join(named)}{part}."


def unread_columns(table: pa.Table, source: ChoiceSource, path: Path) -> str:
    """Return a sentence on the columns of preferences that are not read, or "" if all are read.

    Such a column has one value per pair, so it cannot reveal which answer was chosen; parts of the data may differ.
    """
    if not isinstance(source, PreferenceSource):
        return ""
    assert isinstance(source.table, TableSource)  # a bare file
    found = columns_of(source, {_SPLIT: with_files(table, source.table, [(str(path), table.num_rows)])})
    read = {*found.inputs, found.margin, found.subset, found.chosen_model, found.rejected_model}
    unread = [name for name in table.column_names if name not in read]
    if not unread:
        return ""
    return f"Not read: {_names(tuple(unread))}; `--subset COLUMN` scores the pairs with each value separately."


def _names(names: str | tuple[str, ...]) -> str:
    return quoted_list(as_tuple(names), most=6, length=40)
