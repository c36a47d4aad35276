"""Conversion of multiple choice and preference data to one row per answer, with its label, ids and group."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from aflite_assets.data.formats.row_places import BadRowError
from aflite_assets.wording import quoted

TEXT, ANSWER, LABEL, ID, GROUP = "text", "text_pair", "label", "answer_id", "question_id"
"""Columns of the rows: the question, one answer, its label (`RIGHT` or `WRONG`), the answer's id and the
question's id.
"""

LINKS = ("prompt_link", "answer_link")
"""Columns with the same value for all answers to one question.

`prompt_link` is also equal for questions with the same prompt, and `answer_link` for questions with a common answer.
"""

OWN_COLUMNS = (TEXT, ANSWER, LABEL, ID, GROUP, *LINKS)
"""Columns that rows of answers have beside those of their table; columns of the table with these names are left out."""

LINKS_VERSION = "2"
"""Version of the code that links questions, for the keys of results that depend on it."""

RIGHT, WRONG = "right", "wrong"

TIE, EQUAL = "tie", "equal answers"
DROPPED = (TIE, EQUAL)
"""Labels of answers that are dropped and counted.

Dropped answers are answers of a tie, answers equal to a right answer, and answers compared only with a dropped answer.
"""

SHOWN = 80
"""Largest number of characters of a value in a message."""

FEWEST_LINKING_WORDS = 5
"""Smallest number of words of an answer that links questions; an answer such as "Yes" links no questions."""

MOST_LINKED, MOST_LINKED_SHARE = 10, 0.01
"""A stock answer (such as a refusal) answers more questions than this number and than this share of all questions.
Stock answers do not link questions, because they would join questions about different things to one group.
"""


@dataclass(frozen=True)
class Answers:
    """The answers in one table, with the table row, question number (from 0), text and label of each answer.

    The questions of one table row have consecutive numbers.
    """

    rows: list[int] = field(default_factory=list)
    questions: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AnswerLists:
    """A builder of answers from sources that list right and wrong answers separately.

    The answers of each question are sorted by a hash of their texts, so that their positions do not reveal which
    answers are right.
    """

    answers: Answers = field(default_factory=Answers)

    def add_question(self, row: int, labelled: Sequence[tuple[str, str]]) -> None:
        """Add the answers of one question in a table row; each answer is a pair of text and label."""
        ordered = sorted(labelled, key=lambda one: _digest(one[0]))
        number = self.answers.questions[-1] + 1 if self.answers.questions else 0
        self.answers.rows.extend([row] * len(ordered))
        self.answers.questions.extend([number] * len(ordered))
        self.answers.texts.extend(text for text, _ in ordered)
        self.answers.labels.extend(label for _, label in ordered)


def answer_table(
    split: str, table: pa.Table, answers: Answers, *, prompts: Sequence[str], id_column: str | None
) -> pa.Table:
    """Return a table with one row per answer: the columns `TEXT`, `ANSWER`, `LABEL`, `ID` and `GROUP`, followed by the
    other columns of `table`.

    `prompts`: one prompt per table row. `id_column`: the column of question ids; if None, row numbers are used. Equal
    ids in two splits belong to different groups.

    Raises:
        BadRowError: an id is empty, or two questions have the same id.
    """
    given = None if id_column is None else texts_of(table, id_column)
    if given is not None and "" in given:
        empty = given.index("")
        raise bad_row(split, empty, f"row {empty + 1} has no question id in column {id_column!r}; give every row an id")
    names = _question_names(split, given, answers)
    own = {
        TEXT: [prompts[row] for row in answers.rows],
        ANSWER: answers.texts,
        LABEL: answers.labels,
        ID: _answer_ids(names),
        GROUP: [f"{split} {name}" for name in names],
    }
    carried = table.replace_schema_metadata(None).take(pa.array(answers.rows, pa.int64()))
    others = {name: carried[name] for name in table.column_names if name not in own}
    return pa.table({name: pa.array(values, pa.string()) for name, values in own.items()} | others)


def with_links(table: pa.Table, *, rows: Sequence[int] | None = None) -> pa.Table:
    """Return the rows of answers with the two additional columns in `LINKS`, which contain equal values for linked
    questions. Questions are linked if they have the same prompt, or share an answer that is long enough and is not a
    stock answer (see `MOST_LINKED`).

    `rows`: the number of the table row that contains each answer. Pass `rows` if a table row can contain several
    questions. Among the questions in one table row, those without a prompt are then linked.
    """
    questions, texts = table[GROUP].to_pylist(), table[TEXT].to_pylist()
    alone = questions if rows is None else [f"row {row}" for row in rows]
    prompts = [
        f"prompt {_digest(_folded(text))}" if text.strip() else one for text, one in zip(texts, alone, strict=True)
    ]
    given = [_folded(text) for text in table[ANSWER].to_pylist()]
    sharing = Counter(text for text, _ in {*zip(given, questions, strict=True)})
    most = max(MOST_LINKED, MOST_LINKED_SHARE * len(set(questions)))
    answers = [
        f"answer {_digest(text)}" if len(text.split()) >= FEWEST_LINKING_WORDS and sharing[text] <= most else one
        for text, one in zip(given, questions, strict=True)
    ]
    for name, values in zip(LINKS, (prompts, answers), strict=True):
        kept = table.drop_columns([name]) if name in table.column_names else table
        table = kept.append_column(name, pa.array(values, pa.string()))
    return table


def _folded(text: str) -> str:
    return " ".join(text.lower().split())


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _question_names(split: str, given: Sequence[str] | None, answers: Answers) -> list[str]:
    """Return the name of each answer's question: the given id or the row number (from 1).

    If a row contains several questions, a number is appended.
    """
    named = [str(row + 1) for row in answers.rows] if given is None else [given[row] for row in answers.rows]
    first: dict[str, int] = {}
    rows: dict[str, int] = {}
    several = set()
    for name, row, number in zip(named, answers.rows, answers.questions, strict=True):
        if rows.setdefault(name, row) != row and first[name] != number:
            raise bad_row(
                split,
                row,
                f"row {row + 1} has the id {quoted(name, SHOWN)} of another question; give every question its own id",
            )
        if first.setdefault(name, number) != number:
            several.add(name)
    if not several:
        return named
    return [
        f"{name}.{number - first[name] + 1}" if name in several else name
        for name, number in zip(named, answers.questions, strict=True)
    ]


def _answer_ids(names: Sequence[str]) -> list[str]:
    counted: dict[str, int] = {}
    ids = []
    for name in names:
        counted[name] = counted.get(name, 0) + 1
        ids.append(f"{name}/{counted[name]}")
    return ids


def texts_of(table: pa.Table, name: str) -> list[str]:
    """Return the values of a column as text; null becomes ""."""
    return [plain_text(value) for value in table[name].to_pylist()]


def plain_text(value: object) -> str:
    """Return a value as text; null becomes "", and whole numbers have no fraction."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def bad_row(split: str, row: int, message: str) -> BadRowError:
    """Return an error about row number `row` (from 0) of a split; `message` follows the name of the split in the
    error's text.
    """
    return BadRowError(f"split {split!r}: {message}", place=f"split {split!r}", row=row)
