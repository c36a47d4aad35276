"""JSON values of single rows and questions for the browser of rows: the input, and what is known of it. No markup."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.inputs.cues import CUES
from aflite_assets.analysis.inputs.source_rows import place_text
from aflite_assets.analysis.rows.measured import ANSWER_PICKS, DATA_MAPS
from aflite_assets.analysis.rows.table import RowTables
from aflite_assets.data.words import WORD, character_counts, word_counts
from aflite_assets.reports.figures.example_rows import short_vector, shown_image
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.text import printable, signed_points
from aflite_assets.wording import counted

AT_ONCE = 200
"""Rows whose values are Python's objects at one time."""

_MOST_CHARACTERS = 2_000
_THUMBNAIL = 64
_MOST_VALUES = 100  # features of a row that are listed by name; `rows.parquet` has all
_ATTRIBUTE, _FEATURE = "attribute.", "feature."


def rounded(value: float | None, digits: int) -> float | None:
    """Round a number; None and NaN give None."""
    return None if value is None or value != value else round(value, digits)


def _short(text: str | None) -> str:
    """Return a text that is safe to show, cut after 2,000 characters; the number of further ones follows."""
    shown = printable(text or "")
    left = len(shown) - _MOST_CHARACTERS
    return f"{shown[:_MOST_CHARACTERS]} … ({counted(left, 'more character')})" if left > 0 else shown


class RowValues:
    """Maker of the JSON values of rows: `classes` by name, and `words` that mark rows removed by each filtering."""

    def __init__(self, analysis: Analysis, inputs: ReportInputs, rows: pa.Table) -> None:
        facts, self._rows = analysis.facts, rows
        self.classes = {name: number for number, name in enumerate(facts.label_names)}
        self._texts, self._trainings, self._examples = list(facts.text_columns), facts.weak_trainings, inputs.examples
        self._measured: dict[int, list[str]] = {}
        for row_id, text in _measured(analysis, inputs.rows, rows["row_id"]):
            self._measured.setdefault(row_id, []).append(text)
        words = _marked_words(analysis)
        self.words = list(words.values())
        raw_names = {named: name for name, named in facts.text_columns.items()}
        self._marked = {(raw_names.get(column, column), word): number for number, (column, word) in enumerate(words)}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the values of each row that do not depend on the filtering that it is shown for."""
        for start in range(0, self._rows.num_rows, AT_ONCE):
            rows = self._rows.slice(start, AT_ONCE)
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
            "place": printable(place_text(record)) if "source_row" in record else None,
        }
        return {name: value for name, value in row.items() if value not in (None, [], "")}

    def _input(self, record: Mapping[str, Any]) -> dict[str, Any]:
        if self._texts:
            return {"texts": [self._marked_text(name, record[name]) for name in self._texts]}
        if "features" in record:
            return {"vector": short_vector(np.array(record["features"]))}
        features = {name.removeprefix(_FEATURE): value for name, value in record.items() if name.startswith(_FEATURE)}
        values = [[printable(name), f"{value:.6g}"] for name, value in islice(features.items(), _MOST_VALUES)]
        return {"vector": short_vector(np.array(list(features.values())), names=tuple(features)), "values": values}

    def _learnt(self, record: Mapping[str, Any]) -> list[list[Any] | None] | None:
        """Return [forgotten, right, presented, numbers of its sets] per training, None where it lacks the row."""
        found: list[list[Any] | None] = []
        for one in self._trainings:
            name = f"{one.weak_model}.{one.seed}"
            counts = [record[f"{count}.{name}"] for count in ("forgotten", "right", "presentations")]
            sets = list(map((one.sets or ()).index, record.get(f"forgettable_sets.{name}") or []))
            found.append(None if counts[0] is None else [*counts, sets])
        return found if any(found) else None

    def _marked_text(self, column: str, text: str | None) -> list[str | list[Any]]:
        """Split the text into pieces: as it is, or [number of the word, piece] if a word marks removed rows."""
        shown = _short(text)
        pieces: list[str | list[Any]] = []
        end = 0
        for found in WORD.finditer(shown) if self._marked else ():
            number = self._marked.get((column, found[0].lower()))
            if number is not None:
                pieces += [shown[end : found.start()], [number, found[0]]]
                end = found.end()
        return [piece for piece in (*pieces, shown[end:]) if piece]


def _marked_words(analysis: Analysis) -> dict[tuple[str, str], dict[str, Any]]:
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for number, name in enumerate(analysis.facts.representations):
        for cue in (one for one in analysis.of(CUES, name) if one.kind == "word" and one.shown):
            word = found.setdefault((cue.name, cue.value), {"column": cue.name, "word": cue.value, "said": {}})
            shares = [round(cue.share_removed, 4), round(cue.share_expected, 4)]
            word["said"][str(number)] = {"label": cue.label_name and printable(cue.label_name), "shares": shares}
    return found


def _measured(analysis: Analysis, tables: RowTables, row_ids: pa.ChunkedArray) -> Iterator[tuple[int, str]]:
    """Yield what evaluators measured of a row: PVI of test rows, coordinates of train rows on data maps."""
    known = pc.and_(pc.is_valid(tables.information["pvi"]), pc.is_in(tables.information["row_id"], row_ids))
    for row in tables.information.filter(known).to_pylist():
        bits = signed_points(row["pvi"])
        yield row["row_id"], f"{row['evaluator']}: the input told it {bits} bits of the label (PVI)"
    # the values are the same beside every filtering
    maps: dict[str, pa.Table] = {}
    for one in analysis.of(DATA_MAPS):
        maps.setdefault(one.evaluator, tables.data_maps[one.representation, one.evaluator])
    for name, table in maps.items():
        for row in table.filter(pc.is_in(table["row_id"], row_ids)).to_pylist():
            values = ", ".join(f"{column} {row[column]:.2f}" for column in ("confidence", "variability", "correctness"))
            yield row["row_id"], f"{name}: {values} over its training"


def _lengths(texts: pa.ChunkedArray) -> list[list[int] | None]:
    """Count words and characters of each text as the evidence does; None for a null."""
    counts = zip(word_counts(texts).tolist(), character_counts(texts).tolist(), strict=True)
    return [None if words != words else [int(words), int(characters)] for words, characters in counts]


class Questions:
    """The questions of multiple choice that rows are answers of, each once: every answer with who picked it."""

    def __init__(self, analysis: Analysis) -> None:
        self._right = analysis.facts.right_label
        self._text = "text_pair" if "text_pair" in analysis.facts.text_columns else "text"
        self._pickers: dict[int, list[str]] = {}
        for one in analysis.of(ANSWER_PICKS):
            said = f"{one.evaluator} ({one.times} of {counted(one.trainings, 'training')})"
            self._pickers.setdefault(one.row_id, []).append(said)
        self._numbers: dict[int, int] = {}
        self.shown: list[list[dict[str, Any]]] = []

    def add(self, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Return the number of a question in `shown`, and the shares of classifiers that took each answer for right."""
        number = self._numbers.setdefault(answers[0]["group"], len(self.shown))
        if number == len(self.shown):
            self.shown.append(list(map(self._answer, answers)))
        scores = [(one["predictability"], one["label"] == self._right) for one in answers]
        picked = [rounded(score if right or score is None else 1 - score, 3) for score, right in scores]
        return {"question": number, "picked": picked}

    def _answer(self, one: Mapping[str, Any]) -> dict[str, Any]:
        right, by = one["label"] == self._right, self._pickers.get(one["row_id"], [])
        return {"id": one["row_id"], "text": _short(one[self._text]), "right": right, "by": by}
