"""JSON for the page's row browser: a random sample of the kept, removed and unfiltered rows of each filtering.

The JSON stays below a size limit. The module `row_browser` writes no HTML.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, islice, repeat, takewhile, zip_longest
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.filtering import threshold_of
from aflite_assets.analysis.inputs.cues import CUES
from aflite_assets.analysis.inputs.source_rows import place_text
from aflite_assets.analysis.rows.measured import ANSWER_PICKS, DATA_MAPS
from aflite_assets.analysis.rows.table import RowTables, lines_of
from aflite_assets.analysis.tidy import to_json
from aflite_assets.data.words import WORD, character_counts, word_counts
from aflite_assets.reports.figures.example_rows import short_vector, shown_image
from aflite_assets.reports.figures.filtering_figures import script_json
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.tables.cue_tables import browsed_cues
from aflite_assets.text import printable, signed_points
from aflite_assets.wording import counted

MOST_ROWS = 2_000
"""Largest number of shown rows per filtering and side: kept, removed, and not filtered."""

MOST_SUSPECTS = 200
"""Largest number of suspected label errors per filtering that are always shown; the most certain errors come first."""

_OUTSIDE = "not filtered"
"""The side of rows in splits that were not filtered; the other sides are "kept" and "removed"."""

_AT_ONCE = 200  # rows that are converted to Python objects at a time
_MOST_CHARACTERS = 2_000
_THUMBNAIL = 64
_MOST_VALUES = 100  # features of a row that are listed by name; `rows.parquet` has all features
_ATTRIBUTE, _FEATURE = "attribute.", "feature."
_MOST_SCORES = 100
_FRAME_BYTES = 64_000  # of the budget, for everything except the rows
_DRAWN_BY = ["row_id", "status", "label_probability", "suggested_label", "nearest_kept"]
_FACTS = [
    "row_id", "removed_in_iteration", "predictability", "label_probability", "predictability_by_iteration",
    "predicted_instead", "predicted_instead_share", "nearest_similarity", "suggested_label", "suggested_probability",
]  # fmt: skip
_ANSWER = ("row_id", "group", "label", "predictability", "text", "text_pair")


@dataclass(frozen=True)
class Shown:
    """Numbers of shown rows and of all rows on one side (kept, removed or not filtered) of a filtering.

    `suspects`: number of rows that are shown because their label is probably wrong.
    """

    representation: str
    side: str
    shown: int
    rows: int
    left_out_for_size: bool
    suspects: int


@dataclass(frozen=True)
class _Entry:
    """One row to show on the page.

    `shown`: the counts for the side (kept, removed or not filtered) of the row. `shown_at`: a number in [0, 1), by
    which the page sorts the kept, removed and unfiltered rows of a filtering together.
    """

    shown: Shown
    row_id: int
    nearest_kept: int | None
    shown_at: float


def row_browser(
    analysis: Analysis, inputs: ReportInputs, *, budget: int, seed: int, most: int = MOST_ROWS
) -> tuple[str, tuple[Shown, ...]]:
    """Return the rows to browse as JSON for a script element, and the number of these rows per filtering and side.

    Rows are drawn by a random number that depends only on the seed and the row id.

    `budget`: the largest size of the JSON in bytes. `most`: the largest number of rows per side and filtering.
    """
    facts = analysis.facts
    sides = _draw({name: inputs.rows.read(name).select(_DRAWN_BY) for name in facts.representations}, seed, most)
    # filterings and sides take turns, so that each gets a share of the budget
    entries = [entry for turn in zip_longest(*sides.values()) for entry in turn if entry is not None]
    page = _Page(analysis, inputs, entries)
    pieces = ((entry, page.add(entry)) for entry in entries)
    chosen = list(takewhile(lambda _: page.size <= budget - _FRAME_BYTES, pieces))
    # in the order of `shown_at`, so that suspects do not come first
    chosen.sort(key=lambda each: each[0].shown_at)
    content: dict[str, Any] = {
        "labels": list(map(printable, facts.label_names)),
        "columns": list(map(printable, facts.text_columns.values())),
        "words": to_json(page.values.words),
        "cues": [_short(one.name) for one in browsed_cues(analysis)],
        "questions": page.questions,
        "trainings": [{"name": one.name, "sets": one.sets} for one in facts.weak_trainings],
        "filterings": [
            settings | {"rows": [piece for entry, piece in chosen if entry.shown.representation == name]}
            for name, settings in page.settings.items()
        ],
        "rows": page.rows,
    }
    counts = dict.fromkeys(sides, 0) | Counter(entry.shown for entry, _ in chosen)
    return script_json(content), tuple(
        replace(one, shown=rows, left_out_for_size=rows < one.shown, suspects=min(one.suspects, rows))
        for one, rows in counts.items()
    )


def _draw(tables: Mapping[str, pa.Table], seed: int, most: int) -> dict[Shown, list[_Entry]]:
    """Draw the rows of each side (kept, removed or not filtered): first rows with a suspected label error, then random
    rows.

    `tables`: for each representation, a table with the columns `_DRAWN_BY`.
    """
    ids = [table["row_id"].to_numpy().max(initial=-1) for table in tables.values()]
    ranks = np.random.default_rng(seed).permutation(1 + int(max(ids)))
    # the likeliest label errors of each filtering, the most certain first
    suspected = (table.filter(pc.is_valid(table["suggested_label"])) for table in tables.values())
    surest = (table.sort_by("label_probability")["row_id"].to_pylist()[:MOST_SUSPECTS] for table in suspected)
    suspects = np.array(list(dict.fromkeys(chain.from_iterable(surest))), np.int64)
    first = ranks.copy()
    first[suspects] = np.arange(-len(suspects), 0)
    sides = {}
    for name, table in tables.items():
        for side in ("kept", "removed", _OUTSIDE):
            rows = table.filter(pc.equal(table["status"], side))
            row_ids = rows["row_id"].to_numpy()
            if side == _OUTSIDE and not len(rows):
                continue
            order = np.argsort(first[row_ids])[:most]
            shown_at = ranks[row_ids[order]].argsort().argsort() / len(order)
            shown = Shown(name, side, len(order), len(rows), False, int(np.isin(row_ids, suspects).sum()))
            columns = (rows[column].take(pa.array(order)).to_pylist() for column in ("row_id", "nearest_kept"))
            sides[shown] = list(map(partial(_Entry, shown), *columns, shown_at.tolist()))
    return sides


def answers_by_row(table: pa.Table, drawn: pa.Table) -> dict[int, list[dict[str, Any]]]:
    """Map each row id to all answers to the row's question.

    The mapping includes only the questions of the drawn rows.
    """
    answers = table.select([name for name in _ANSWER if name in table.column_names])
    answers = answers.append_column("question", _questions(table)).filter(
        pc.is_in(_questions(table), _questions(drawn))
    )
    in_order = answers.sort_by([("question", "ascending"), ("row_id", "ascending")])
    questions = [list(each) for _, each in groupby(in_order.to_pylist(), itemgetter("question"))]
    return {
        answer["row_id"]: [{name: value for name, value in one.items() if name != "question"} for one in question]
        for question in questions
        for answer in question
    }


def _questions(table: pa.Table) -> pa.ChunkedArray:
    """Return the question of each row as text. One group, such as all answers to one prompt, may contain several
    questions.
    """
    if "source_question" not in table.column_names or table["source_question"].null_count:
        return table["group"].cast(pa.string())
    parts = table["source_split"].cast(pa.string()), table["source_question"].cast(pa.string())
    return pc.binary_join_element_wise(*parts, "\n", null_handling="replace")


class _Page:
    """Data of the page: the `settings` of each filtering, and the list `rows`, in which each row occurs once.

    `size`: size of the page's data as JSON, in bytes.
    """

    def __init__(self, analysis: Analysis, inputs: ReportInputs, entries: Sequence[_Entry]) -> None:
        self.settings: dict[str, dict[str, Any]] = {
            one.representation: {
                "name": one.representation,
                "threshold": threshold_of(one.settings),
                "cutoffs": to_json(one.cutoffs),
                "groups": one.settings.get("remove") == "groups",
                "step": max(1, -(-len(one.cutoffs) // _MOST_SCORES)),  # step between iterations with shown scores
            }
            for one in analysis.facts.filterings
        }
        both = (row_id for entry in entries for row_id in (entry.row_id, entry.nearest_kept) if row_id is not None)
        self._places = {row_id: place for place, row_id in enumerate(dict.fromkeys(both))}
        row_ids = pa.array(self._places, pa.int64())
        self._facts: dict[str, Iterator[dict[str, Any]]] = {}
        self._answers: dict[str, dict[int, list[dict[str, Any]]]] = {}
        lines = []
        for name in self.settings:
            table = inputs.rows.read(name)
            drawn = lines_of(table, [entry.row_id for entry in entries if entry.shown.representation == name])
            batches = drawn.select(_FACTS).to_batches(max_chunksize=_AT_ONCE)
            self._facts[name] = chain.from_iterable(map(pa.RecordBatch.to_pylist, batches))
            asked = analysis.facts.right_label is not None and "group" in table.column_names
            self._answers[name] = answers_by_row(table, drawn) if asked else {}
            lines.append(table.filter(pc.is_in(table["row_id"], row_ids)))
        self.values = _RowValues(analysis, inputs, lines_of(pa.concat_tables(lines), row_ids))
        self._waiting = iter(self.values)
        self._right = analysis.facts.right_label
        self._text = "text_pair" if "text_pair" in analysis.facts.text_columns else "text"
        self._pickers: dict[int, list[str]] = {}
        for one in analysis.of(ANSWER_PICKS):
            said = f"{one.evaluator} ({one.times} of {counted(one.trainings, 'training')})"
            self._pickers.setdefault(one.row_id, []).append(said)
        self._numbers: dict[int, int] = {}
        self.questions: list[list[dict[str, Any]]] = []
        self.rows: list[dict[str, Any]] = []
        self.size = 0

    def add(self, entry: _Entry) -> dict[str, Any]:
        """Add the row and the question of an entry to the page.

        Entries must be added in their given order. Returns the values that depend on the entry's filtering, such as the
        predictability of the row.
        """
        name, rows, questions = entry.shown.representation, len(self.rows), len(self.questions)
        found = self._fact(entry, next(self._facts[name]))
        if answers := self._answers[name].get(entry.row_id):
            found |= self._asked(answers)
        new: list[Any] = [found, *self.rows[rows:], *self.questions[questions:]]
        self.size += sum(len(script_json(one)) + 1 for one in new)
        return found

    def _fact(self, entry: _Entry, fact: Mapping[str, Any]) -> dict[str, Any]:
        scores, instead = fact["predictability_by_iteration"], fact["predicted_instead"]
        classes, step = self.values.classes, self.settings[entry.shown.representation]["step"]
        found = {
            "row": self._place(entry.row_id),
            "kept": entry.shown.side == "kept",
            "outside": True if entry.shown.side == _OUTSIDE else None,
            "removed": fact["removed_in_iteration"],
            "score": _rounded(fact["predictability"], 3),
        }
        if scores is not None:
            thinned = scores[::step] + (scores[-1:] if (len(scores) - 1) % step else [])
            found |= {"scores": [_rounded(each, 3) for each in thinned], "passes": len(scores)}
        if instead is not None:
            pairs = zip(instead, fact["predicted_instead_share"], strict=True)
            found["instead"] = [[classes[name], round(share, 4)] for name, share in pairs]
        if entry.nearest_kept is not None:
            found["nearest"] = [self._place(entry.nearest_kept), _rounded(fact["nearest_similarity"] or 0.0, 3)]
        if fact["suggested_label"] is not None:
            found["suggested"] = classes[fact["suggested_label"]]
            found["probabilities"] = [_rounded(fact[f"{name}_probability"], 4) for name in ("label", "suggested")]
        return {name: value for name, value in found.items() if value is not None}

    def _asked(self, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the number of a question, and the share of predictions that chose each answer.

        A question that is not yet on the page is added.
        """
        number = self._numbers.setdefault(answers[0]["group"], len(self.questions))
        if number == len(self.questions):
            self.questions.append(list(map(self._answer, answers)))
        scores = [(one["predictability"], one["label"] == self._right) for one in answers]
        picked = [_rounded(score if right or score is None else 1 - score, 3) for score, right in scores]
        return {"question": number, "picked": picked}

    def _answer(self, one: Mapping[str, Any]) -> dict[str, Any]:
        right, by = one["label"] == self._right, self._pickers.get(one["row_id"], [])
        return {"id": one["row_id"], "text": _short(one[self._text]), "right": right, "by": by}

    def _place(self, row_id: int) -> int:
        """Return the position of a row in `rows`. A row that is not yet in `rows` is added at the end."""
        if self._places[row_id] == len(self.rows):
            self.rows.append(next(self._waiting))
        return self._places[row_id]


def _rounded(value: float | None, digits: int) -> float | None:
    """Return a rounded number, or None for None and NaN."""
    return None if value is None or value != value else round(value, digits)


def _short(text: str | None) -> str:
    """Return dataset text in a form that is safe to show on the page.

    A text of more than 2,000 characters is cut, and the number of missing characters is added.
    """
    shown = printable(text or "")
    left = len(shown) - _MOST_CHARACTERS
    return f"{shown[:_MOST_CHARACTERS]} … ({counted(left, 'more character')})" if left > 0 else shown


class _RowValues:
    """Iterator that converts rows to JSON values.

    `classes` contains the class names, and `words` contains the word cues of the removed rows.
    """

    def __init__(self, analysis: Analysis, inputs: ReportInputs, rows: pa.Table) -> None:
        facts, self._rows = analysis.facts, rows
        self.classes = {name: number for number, name in enumerate(facts.label_names)}
        self._texts, self._trainings, self._examples = list(facts.text_columns), facts.weak_trainings, inputs.examples
        self._cues = _cues_by_row(analysis, inputs, rows["row_id"].to_numpy())
        self._measured: dict[int, list[str]] = {}
        for row_id, text in _measured(analysis, inputs.rows, rows["row_id"]):
            self._measured.setdefault(row_id, []).append(text)
        words = _cue_words(analysis)
        self.words = list(words.values())
        raw_names = {named: name for name, named in facts.text_columns.items()}
        self._word_cues = {(raw_names.get(column, column), word): number for number, (column, word) in enumerate(words)}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the values of each row that do not depend on the filtering."""
        for start in range(0, self._rows.num_rows, _AT_ONCE):
            rows = self._rows.slice(start, _AT_ONCE)
            images: Iterator[Mapping[str, str | None]] = repeat({})
            lengths = zip(*(_lengths(rows[name]) for name in self._texts), strict=True) if self._texts else repeat(None)
            if self._examples.modality == "image":
                inputs = self._examples.select(rows["row_id"].to_numpy())
                images = (shown_image(inputs, at, side=_THUMBNAIL, quality=80) for at in range(len(rows)))
            yield from map(self._row, rows.to_pylist(), lengths, images)

    def _row(self, record: Mapping[str, Any], lengths: object, image: Mapping[str, str | None]) -> dict[str, Any]:
        attributes = [(name, value) for name, value in record.items() if name.startswith(_ATTRIBUTE)]
        row = {
            "id": record["row_id"],
            "split": printable(record["split"]),
            "label": self.classes[record["label"]],
            **(image or self._input(record)),
            "annotators": [self.classes[name] for name in record.get("annotator_labels") or ()],
            "models": self._measured.get(record["row_id"]),
            "attributes": [
                [printable(name.removeprefix(_ATTRIBUTE)), _short(str(value))]
                for name, value in attributes
                if value is not None
            ],
            "lengths": lengths,
            "learnt": self._learnt(record),
            "cues": self._cues.get(record["row_id"]),
            "place": printable(place_text(record)) if "source_row" in record else None,
        }
        return {name: value for name, value in row.items() if value not in (None, [], "")}

    def _input(self, record: Mapping[str, Any]) -> dict[str, Any]:
        if self._texts:
            return {"texts": [self._text_pieces(name, record[name]) for name in self._texts]}
        if "features" in record:
            return {"vector": short_vector(np.array(record["features"]))}
        features = {name.removeprefix(_FEATURE): value for name, value in record.items() if name.startswith(_FEATURE)}
        values = [[printable(name), f"{value:.6g}"] for name, value in islice(features.items(), _MOST_VALUES)]
        return {"vector": short_vector(np.array(list(features.values())), names=tuple(features)), "values": values}

    def _learnt(self, record: Mapping[str, Any]) -> list[list[Any] | None] | None:
        """Return a list [forgotten, right, presented, set numbers] for each training run of a weak model.

        The entry is None if the run did not use the row.
        """
        found: list[list[Any] | None] = []
        for one in self._trainings:
            name = f"{one.weak_model}.{one.seed}"
            counts = [record[f"{count}.{name}"] for count in ("forgotten", "right", "presentations")]
            sets = list(map((one.sets or ()).index, record.get(f"forgettable_sets.{name}") or []))
            found.append(None if counts[0] is None else [*counts, sets])
        return found if any(found) else None

    def _text_pieces(self, column: str, text: str | None) -> list[str | list[Any]]:
        """Split the text into pieces: plain text, or [number of the word, piece] for a word that is a cue of the
        removed rows.
        """
        shown = _short(text)
        pieces: list[str | list[Any]] = []
        end = 0
        for found in WORD.finditer(shown) if self._word_cues else ():
            number = self._word_cues.get((column, found[0].lower()))
            if number is not None:
                pieces += [shown[end : found.start()], [number, found[0]]]
                end = found.end()
        return [piece for piece in (*pieces, shown[end:]) if piece]


def _cue_words(analysis: Analysis) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for number, name in enumerate(analysis.facts.representations):
        for cue in (one for one in analysis.of(CUES, name) if one.kind == "word" and one.shown):
            word = found.setdefault((cue.name, cue.value), {"column": cue.name, "word": cue.value, "said": {}})
            shares = [round(cue.share_removed, 4), round(cue.share_expected, 4)]
            word["said"][str(number)] = {"label": cue.label_name and printable(cue.label_name), "shares": shares}
    return found


def _cues_by_row(analysis: Analysis, inputs: ReportInputs, row_ids: np.ndarray) -> dict[int, list[int]]:
    """Return, by row id, the cues of each row as positions in the browser's list of cues."""
    found: dict[int, list[int]] = {}
    for place, cue in enumerate(browsed_cues(analysis)):
        for row_id in np.intersect1d(inputs.carriers.get(cue.number, ()), row_ids).astype(np.int64).tolist():
            found.setdefault(row_id, []).append(place)
    return found


def _measured(analysis: Analysis, tables: RowTables, row_ids: pa.ChunkedArray) -> Iterator[tuple[int, str]]:
    """Yield values that evaluators measured for single rows, such as the PVI of test rows and the data map coordinates
    of train rows.
    """
    known = pc.and_(pc.is_valid(tables.information["pvi"]), pc.is_in(tables.information["row_id"], row_ids))
    for row in tables.information.filter(known).to_pylist():
        bits = signed_points(row["pvi"])
        yield row["row_id"], f"{row['evaluator']}: the input told it {bits} bits of the label (PVI)"
    # the values are the same for every filtering
    maps: dict[str, pa.Table] = {}
    for one in analysis.of(DATA_MAPS):
        maps.setdefault(one.evaluator, tables.data_maps[one.representation, one.evaluator])
    for name, table in maps.items():
        for row in table.filter(pc.is_in(table["row_id"], row_ids)).to_pylist():
            values = ", ".join(f"{column} {row[column]:.2f}" for column in ("confidence", "variability", "correctness"))
            yield row["row_id"], f"{name}: {values} over its training"


def _lengths(texts: pa.ChunkedArray) -> list[list[int] | None]:
    """Return the numbers of words and characters of each text, or None for a null.

    Words and characters are counted as in the tables of evidence.
    """
    counts = zip(word_counts(texts).tolist(), character_counts(texts).tolist(), strict=True)
    return [None if words != words else [int(words), int(characters)] for words, characters in counts]
