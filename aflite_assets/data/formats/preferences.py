"""Conversion of preference data, a table of chosen and rejected answers, to one row per answer."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from aflite_assets.data.formats.answers import (
    EQUAL,
    RIGHT,
    SHOWN,
    TIE,
    WRONG,
    AnswerLists,
    Answers,
    answer_table,
    bad_row,
    plain_text,
    texts_of,
    with_links,
)
from aflite_assets.data.formats.conversations import (
    UnreadableError,
    Value,
    answers_in,
    as_text,
    common_beginning,
    layout_of,
    texts_in_json,
    turns_of,
)
from aflite_assets.data.formats.row_places import naming_lines
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import PREFERENCE_ATTRIBUTES, Layout, PreferenceSource, Several, as_tuple
from aflite_assets.wording import did_you_mean, quoted, quoted_list

MARGIN, SUBSET, MODEL = PREFERENCE_ATTRIBUTES
_MOST_NAMES = 30
_LAYOUT = b"aflite.layout"

NAMES: Mapping[str, tuple[str, ...]] = {
    "prompt": ("prompt", "question", "instruction", "query", "input", "user_prompt"),
    "chosen": ("chosen", "chosen_response", "chosen_answer", "preferred", "preferred_response", "accepted"),
    "rejected": ("rejected", "rejected_response", "rejected_answer", "dispreferred", "dispreferred_response"),
    "margin": ("margin", "score_margin"),
    "subset": ("subset", "category", "section"),
    "chosen_model": ("chosen_model",),
    "rejected_model": ("rejected_model",),
}
"""Usual column names by role, without regard to case; `rejected` may also have a number, as in rejected_2."""

_NUMBERED = re.compile(r"_?\d+\Z")


@dataclass(frozen=True)
class PreferenceColumns:
    """Columns of a preference table by their role; None or empty if no column has the role."""

    prompt: str | None
    chosen: str
    rejected: tuple[str, ...]
    margin: str | None
    subset: str | None
    chosen_model: str | None
    rejected_model: str | None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns whose texts become part of the rows."""
        return (*([] if self.prompt is None else [self.prompt]), self.chosen, *self.rejected)


def preference_tables(source: PreferenceSource, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Return one row per answer: the columns of `answers.answer_table`, `LINKS`, and the source's attributes.

    Answers of ties, and rejected answers equal to a chosen answer, get one of the labels in `answers.DROPPED`.

    Raises:
        DataError: a column or an answer is missing, a conversation is empty, layouts are mixed, a margin is not a
            number, or no pair of a split has two different answers.
    """
    with naming_lines(tables):
        columns = columns_of(source, tables)
        read = _read(source, tables, columns)
        noted = {_LAYOUT: _how_read(columns, next(iter(read.values())).layout)}
        made = {split: _table(split, source, tables[split], columns, read[split]) for split in tables}
        return {split: table.replace_schema_metadata(noted) for split, table in made.items()}


def how_read(tables: Mapping[str, pa.Table]) -> str:
    """Return a sentence about the interpretation of the columns of preference data; return "" for other sources."""
    noted = {(table.schema.metadata or {}).get(_LAYOUT, b"").decode() for table in tables.values()}
    return " ".join(sorted(noted))


def _how_read(columns: PreferenceColumns, layout: Layout) -> str:
    named = {"prompt": columns.prompt, "margin": columns.margin, "subset": columns.subset}
    named |= {"models": columns.chosen_model}
    others = "".join(f", {what} {quoted(name, SHOWN)}" for what, name in named.items() if name is not None)
    begins = "" if layout == "texts" else "; the prompt is the beginning that all answers share"
    rejected = quoted_list(columns.rejected, most=_MOST_NAMES, length=SHOWN)
    return f"Preferences as {layout}: chosen {quoted(columns.chosen, SHOWN)}, rejected {rejected}{others}{begins}."


def preference_rows(source: PreferenceSource, tables: Mapping[str, pa.Table]) -> dict[str, list[int]]:
    """Return, by split, the source row number (from 0) of each row of `preference_tables`.

    Raises:
        DataError: raised for the same reasons as in `preference_tables`.
    """
    with naming_lines(tables):
        return {split: one.answers.rows for split, one in _read(source, tables, columns_of(source, tables)).items()}


def layout_read(source: PreferenceSource, tables: Mapping[str, pa.Table]) -> Layout:
    """Return the layout of the answers: lists of messages, transcripts or plain texts.

    Raises:
        DataError: raised for the same reasons as in `preference_tables`.
    """
    with naming_lines(tables):
        return next(iter(_read(source, tables, columns_of(source, tables)).values())).layout


def columns_of(source: PreferenceSource, tables: Mapping[str, pa.Table]) -> PreferenceColumns:
    """Return the columns of a preference table by role. If the source does not name the column for a role, use a column
    with a usual name for this role.

    A column with a usual name must exist in all tables.

    Raises:
        DataError: a named column is missing, or no column contains the chosen or the rejected answers.
    """
    shared = [name for name in next(iter(tables.values())).column_names if _everywhere(name, tables)]
    found = {field: _given(getattr(source, field), field, tables) or _usual(field, shared) for field in NAMES}
    for field in ("chosen", "rejected"):
        if not found[field]:
            raise DataError(
                f"the column of the {field} answers cannot be inferred from the names of the columns "
                f"[{quoted_list(shared, most=_MOST_NAMES, length=SHOWN)}]; set `source.{field}` to this column"
            )
    models = found["chosen_model"] and found["rejected_model"]
    single = {field: names[0] if names else None for field, names in found.items() if field != "rejected"}
    single |= {} if models else {"chosen_model": None, "rejected_model": None}
    chosen = single.pop("chosen")
    assert chosen is not None
    return PreferenceColumns(chosen=chosen, rejected=found["rejected"], **single)


def _everywhere(name: str, tables: Mapping[str, pa.Table]) -> bool:
    return all(name in table.column_names for table in tables.values())


def _given(names: str | tuple[str, ...] | None, field: str, tables: Mapping[str, pa.Table]) -> tuple[str, ...]:
    for split, table in tables.items():
        for name in as_tuple(names or ()):
            if name not in table.column_names:
                known = quoted_list(table.column_names, most=_MOST_NAMES, length=SHOWN)
                raise DataError(
                    f"split {split!r} has no column {name!r}, but `source.{field}` names it (the columns are [{known}])"
                    + (did_you_mean(name, table.column_names) or "; correct the spec")
                )
    return as_tuple(names or ())


def plain_name(name: str) -> str:
    """Return a column's name in lower case, with underscores in place of characters other than letters and digits."""
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def _usual(field: str, columns: Sequence[str]) -> tuple[str, ...]:
    plain = {name: plain_name(name) for name in columns}
    if field == "rejected":
        plain = {name: _NUMBERED.sub("", usual) for name, usual in plain.items()}
    for wanted in NAMES[field]:
        found = [name for name, usual in plain.items() if usual == wanted]
        if found:
            return tuple(found) if field == "rejected" else (found[0],)
    return ()


@dataclass(frozen=True)
class _Read:
    """The answers of one table, the prompt of each table row, and the layout of the answers."""

    answers: Answers
    prompts: list[str]
    layout: Layout


def _read(source: PreferenceSource, tables: Mapping[str, pa.Table], columns: PreferenceColumns) -> dict[str, _Read]:
    cells = {split: list(_cells(split, table, columns, source.layout)) for split, table in tables.items()}
    layout = source.layout or _detected(cells)
    return {split: _read_table(split, tables[split], columns, cells[split], layout, source.several) for split in tables}


Pair = tuple[list[Value], list[Value]]
"""The chosen and the rejected answers in a row."""


def _values(split: str, table: pa.Table, name: str, layout: Layout | None) -> list[object]:
    """Return the cells of a column. If the source sets no layout, parse lists of texts that are written as JSON."""
    values = table[name].to_pylist()
    found = {row: texts for row, value in enumerate(values) if (texts := texts_in_json(value)) is not None}
    if layout is not None or not found:
        return values
    if len(found) < sum(value not in (None, "") for value in values):
        raise bad_row(
            split,
            min(found),
            f"row {min(found) + 1} has a list of texts in column {name!r}, but other rows have a single text; use one "
            "layout for all rows, or set `source.layout: texts` to read every answer as plain text",
        )
    return [found.get(row, value) for row, value in enumerate(values)]


def _cells(split: str, table: pa.Table, columns: PreferenceColumns, layout: Layout | None) -> Iterator[Pair]:
    chosen = _values(split, table, columns.chosen, layout)
    rejected = [_values(split, table, name, layout) for name in columns.rejected]
    for row in range(table.num_rows):
        try:
            pair = answers_in(chosen[row]), [one for column in rejected for one in answers_in(column[row])]
        except UnreadableError as error:
            raise bad_row(
                split, row, f"row {row + 1} cannot be read because {error}; correct or delete the row"
            ) from error
        for names, answers, kind in (((columns.chosen,), pair[0], "chosen"), (columns.rejected, pair[1], "rejected")):
            if not answers:
                alone = "" if kind == "chosen" else ", so that there is only one answer"
                named = quoted_list(names, most=_MOST_NAMES, length=SHOWN)
                raise bad_row(
                    split,
                    row,
                    f"row {row + 1} has no {kind} answer in [{named}]{alone}; add the answer or delete the row",
                )
        yield pair


def _detected(cells: Mapping[str, list[Pair]]) -> Layout:
    """Return the layout that all answers share."""
    first: tuple[Layout, str, int] | None = None
    for split, pairs in cells.items():
        for row, pair in enumerate(pairs):
            for answer in (*pair[0], *pair[1]):
                layout = layout_of(answer)
                first = first or (layout, split, row)
                if layout != first[0]:
                    raise bad_row(
                        split,
                        row,
                        f"row {row + 1} has an answer in the layout '{layout}', but row {first[2] + 1} of split "
                        f"{first[1]!r} has one in the layout '{first[0]}'; use one layout for all rows, or set "
                        "`source.layout: texts` to read every answer as plain text",
                    )
    return first[0] if first else "texts"


def _read_table(
    split: str, table: pa.Table, columns: PreferenceColumns, pairs: Sequence[Pair], layout: Layout, several: Several
) -> _Read:
    ties = [False] * len(pairs) if columns.margin is None else _ties(split, table[columns.margin], columns.margin)
    given = [None] * len(pairs) if columns.prompt is None else table[columns.prompt].to_pylist()
    lists, prompts, usable = AnswerLists(), [], 0
    for row, ((chosen, rejected), tie, prompt) in enumerate(zip(pairs, ties, given, strict=True)):
        try:
            common, texts = _apart([*chosen, *rejected], layout)
            prompts.append(common or _prompt(prompt))
        except UnreadableError as error:
            raise bad_row(
                split,
                row,
                f"row {row + 1} cannot be read because {error}; correct or delete the row, or correct `source.layout`",
            ) from error
        for right, wrong in _questions(texts[: len(chosen)], texts[len(chosen) :], several):
            labelled = _labelled(right, wrong, tie=tie)
            usable += any(label == RIGHT for _, label in labelled)
            lists.add_question(row, labelled)
    if pairs and not usable:
        raise bad_row(
            split,
            0,
            f"all {len(pairs)} rows are ties or have equal answers, so no row shows a preference; set "
            "`source.chosen`, `source.rejected` and `source.margin` to the right columns",
        )
    return _Read(lists.answers, prompts, layout)


def _questions(
    chosen: Sequence[str], rejected: Sequence[str], several: Several
) -> list[tuple[Sequence[str], Sequence[str]]]:
    """Return the chosen and the rejected answers of each question in a row."""
    if several == "question":
        return [(chosen, rejected)]
    return [([one], [other]) for one in chosen for other in rejected]


def _ties(split: str, column: pa.ChunkedArray, name: str) -> list[bool]:
    ties = []
    for row, value in enumerate(map(plain_text, column.to_pylist())):
        try:
            ties.append(bool(value.strip()) and float(value) == 0)
        except ValueError as error:
            raise bad_row(
                split,
                row,
                f"row {row + 1} has {quoted(value, SHOWN)} in column {name!r}, which is not a number; correct "
                "this value",
            ) from error
    return ties


def _apart(answers: Sequence[Value], layout: Layout) -> tuple[str, list[str]]:
    """Split conversations into their common beginning (the prompt; "" for texts) and the remaining messages of each."""
    if layout == "texts":
        if not all(isinstance(one, str) for one in answers):
            raise UnreadableError("an answer is a list of messages instead of a text")
        return "", [one for one in answers if isinstance(one, str)]
    conversations = [turns_of(one) if isinstance(one, str) else one for one in answers]
    if layout == "messages" and any(isinstance(one, str) for one in answers):
        raise UnreadableError("an answer is a text instead of a list of messages")
    if not all(conversations):
        raise UnreadableError("an answer has no turns that begin with 'Human:' and 'Assistant:'")
    common = common_beginning(conversations)
    return as_text(conversations[0][:common]) if common else "", [as_text(one[common:]) for one in conversations]


def _prompt(value: object) -> str:
    """Return the text of a prompt, which may be a list of messages."""
    messages: Iterable[Value] = answers_in(value) if value is not None else ()
    return "\n\n".join(as_text(one) if isinstance(one, list) else one for one in messages)


def _labelled(chosen: Sequence[str], rejected: Sequence[str], *, tie: bool) -> list[tuple[str, str]]:
    """Return every answer with its label; a rejected answer that equals a chosen answer gets the label `EQUAL`."""
    if tie:
        return [(text, TIE) for text in (*chosen, *rejected)]
    equal = [text in chosen for text in rejected]
    right = EQUAL if all(equal) else RIGHT
    wrong = [(text, EQUAL if same else WRONG) for text, same in zip(rejected, equal, strict=True)]
    return [*((text, right) for text in chosen), *wrong]


def _table(split: str, source: PreferenceSource, table: pa.Table, columns: PreferenceColumns, read: _Read) -> pa.Table:
    left_out = {*columns.inputs, *PREFERENCE_ATTRIBUTES}
    others = table.select([name for name in table.column_names if name not in left_out or name == source.id])
    made = answer_table(split, others, read.answers, prompts=read.prompts, id_column=source.id)
    made = with_links(made, rows=read.answers.rows if source.several == "pairs" else None)
    for name, values in _attributes(table, columns, read.answers).items():
        made = made.append_column(name, pa.array(values, pa.string()))
    return made


def _attributes(table: pa.Table, columns: PreferenceColumns, answers: Answers) -> dict[str, list[str | None]]:
    found: dict[str, list[str | None]] = {}
    for name, column in ((MARGIN, columns.margin), (SUBSET, columns.subset)):
        if column is not None:
            values = texts_of(table, column)
            found[name] = [values[row] or None for row in answers.rows]
    if columns.chosen_model is not None and columns.rejected_model is not None:
        chosen, rejected = texts_of(table, columns.chosen_model), texts_of(table, columns.rejected_model)
        found[MODEL] = [
            (chosen if label == RIGHT else rejected)[row] or None
            for row, label in zip(answers.rows, answers.labels, strict=True)
        ]
    return found
