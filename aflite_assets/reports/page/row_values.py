"""JSON values of single rows for the browser of rows: the input, and what is known of the row. No markup."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.source_rows import place_text
from aflite_assets.analysis.rows.measured import DATA_MAPS
from aflite_assets.analysis.rows.table import RowTables
from aflite_assets.data.words import WORD, character_counts, word_counts
from aflite_assets.errors import DataError
from aflite_assets.reports.figures.example_rows import short_vector, thumbnail_uri
from aflite_assets.text import printable, signed_points
from aflite_assets.wording import counted

_MOST_CHARACTERS = 2_000
_THUMBNAIL = 64
_MOST_VALUES = 100
"""Features of a row that are listed by name; `rows.parquet` has all."""

_ATTRIBUTE, _FEATURE = "attribute.", "feature."
_COUNTS = ("forgotten", "right", "presentations")


def short_text(text: str) -> str:
    """Return a text that is safe to show, cut after 2,000 characters; the number of further ones follows."""
    shown = printable(text)
    if len(shown) <= _MOST_CHARACTERS:
        return shown
    return f"{shown[:_MOST_CHARACTERS]} … ({counted(len(shown) - _MOST_CHARACTERS, 'more character')})"


def marked_words(analysis: Analysis) -> list[dict[str, Any]]:
    """List the words that mark removed rows, with the filterings and the class that each goes with."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for number, name in enumerate(analysis.facts.representations):
        for cue in analysis.cues.get(name, ()):
            if cue.kind == "word" and cue.shown:
                word = found.setdefault((cue.name, cue.value), {"column": cue.name, "word": cue.value, "said": {}})
                shares = [round(cue.share_removed, 4), round(cue.share_expected, 4)]
                label = None if cue.label_name is None else printable(cue.label_name)
                word["said"][str(number)] = {"label": label, "shares": shares, "counts": cue.counts}
    return list(found.values())


def measured_texts(analysis: Analysis, tables: RowTables, row_ids: np.ndarray) -> dict[int, list[str]]:
    """Describe evaluators' measurements by row id: PVI of test rows, coordinates of train rows on data maps."""
    ids = pa.array(row_ids, pa.int64())
    found: dict[int, list[str]] = {}
    information = tables.information.filter(
        pc.and_(pc.is_in(tables.information["row_id"], ids), pc.is_valid(tables.information["pvi"]))
    )
    for row in information.select(["row_id", "evaluator", "pvi"]).to_pylist():
        text = f"{row['evaluator']}: the input told it {signed_points(row['pvi'])} bits of the label (PVI)"
        found.setdefault(row["row_id"], []).append(text)
    # the values are the same beside every filtering
    maps: dict[str, tuple[str, str]] = {}
    for one in analysis.of(DATA_MAPS):
        maps.setdefault(one.evaluator, (one.representation, one.evaluator))
    for name, key in maps.items():
        table = tables.data_maps[key]
        columns = ["row_id", "confidence", "variability", "correctness"]
        for row in table.select(columns).filter(pc.is_in(table["row_id"], ids)).to_pylist():
            values = ", ".join(f"{column} {row[column]:.2f}" for column in columns[1:])
            found.setdefault(row["row_id"], []).append(f"{name}: {values} over its training")
    return found


class RowValues:
    """Maker of the JSON values of rows, from lines of the table of rows.

    `words`: as `marked_words` returns them. `measured`: by row id. `image` returns a row's encoded image by its id.
    """

    def __init__(
        self,
        facts: DatasetFacts,
        words: Sequence[Mapping[str, Any]],
        measured: Mapping[int, list[str]],
        image: Callable[[int], bytes],
    ) -> None:
        self._texts = list(facts.text_columns)
        self._trainings = facts.weak_trainings
        self._measured, self._image_of = measured, image
        self._numbers = {name: number for number, name in enumerate(facts.label_names)}
        raw_names = {named: name for name, named in facts.text_columns.items()}
        self._marked = {
            (raw_names.get(word["column"], word["column"]), word["word"]): number for number, word in enumerate(words)
        }

    def label(self, name: str | None) -> int | None:
        """Return the number of a class."""
        return None if name is None else self._numbers[name]

    def of(self, rows: pa.Table) -> list[dict[str, Any]]:
        """Return the values that do not depend on the filtering that a row is shown for."""
        features = [name for name in rows.column_names if name == "features" or name.startswith(_FEATURE)]
        records = rows.drop_columns(features).to_pylist()
        inputs = _vectors(rows.select(features)) if features else [self._input(record) for record in records]
        lengths = list(zip(*(_lengths(rows[name]) for name in self._texts), strict=True))
        found = []
        for position, (record, given) in enumerate(zip(records, inputs, strict=True)):
            row = {
                "id": record["row_id"],
                "split": printable(record["split"]),
                "label": self.label(record["label"]),
                **given,
            }
            if "annotator_labels" in record:
                row["annotators"] = list(map(self.label, record["annotator_labels"] or []))
            if measured := self._measured.get(record["row_id"]):
                row["models"] = measured
            if attributes := [
                [printable(name.removeprefix(_ATTRIBUTE)), short_text(str(value))]
                for name, value in record.items()
                if name.startswith(_ATTRIBUTE) and value is not None
            ]:
                row["attributes"] = attributes
            if lengths:
                row["lengths"] = list(lengths[position])
            if (learnt := self._learnt(record)) is not None:
                row["learnt"] = learnt
            if "source_row" in record and (place := place_text(record)):
                row["place"] = printable(place)
            found.append(row)
        return found

    def _input(self, record: Mapping[str, Any]) -> dict[str, Any]:
        if self._texts:
            return {"texts": [self._marked_text(name, record[name]) for name in self._texts]}
        try:
            uri = thumbnail_uri(self._image_of(record["row_id"]), side=_THUMBNAIL, quality=80)
        except DataError as error:
            return {"problem": printable(str(error))}
        return {"problem": "the image cannot be decoded"} if uri is None else {"image": uri}

    def _learnt(self, record: Mapping[str, Any]) -> list[list[Any] | None] | None:
        """Return [times forgotten, times right, times presented, numbers of its sets] per training.

        A training that lacks the row has None; if all lack it, the result is None.
        """
        found: list[list[Any] | None] = []
        for one in self._trainings:
            name = f"{one.weak_model}.{one.seed}"
            counts = [record[f"{count}.{name}"] for count in _COUNTS]
            sets = [] if one.sets is None else record[f"forgettable_sets.{name}"]
            found.append(None if counts[0] is None else [*counts, [(one.sets or ()).index(each) for each in sets]])
        return found if any(found) else None

    def _marked_text(self, column: str, text: str | None) -> list[str | list[Any]]:
        """Split the text into pieces: as it is, or [number of the word, piece] if a word marks removed rows."""
        shown = short_text(text or "")
        pieces: list[str | list[Any]] = []
        end = 0
        for found in WORD.finditer(shown) if self._marked else ():
            number = self._marked.get((column, found[0].lower()))
            if number is not None:
                pieces += [shown[end : found.start()], [number, found[0]]]
                end = found.end()
        return [piece for piece in (*pieces, shown[end:]) if piece]


def _vectors(features: pa.Table) -> list[dict[str, Any]]:
    """Return features in the source's units: in short, and by name if the source has names."""
    if features.column_names == ["features"]:
        flat = features["features"].combine_chunks().flatten().to_numpy()
        return [{"vector": short_vector(values)} for values in flat.reshape(features.num_rows, -1).astype(np.float64)]
    names = tuple(name.removeprefix(_FEATURE) for name in features.column_names)
    shown = list(map(printable, names[:_MOST_VALUES]))
    matrix = np.column_stack([column.to_numpy() for column in features.columns]).astype(np.float64)
    return [
        {
            "vector": short_vector(values, names=names),
            "values": [[name, f"{value:.6g}"] for name, value in zip(shown, values.tolist(), strict=False)],
        }
        for values in matrix
    ]


def _lengths(texts: pa.ChunkedArray) -> list[list[int] | None]:
    """Count words and characters of each text as the evidence does; None for a null."""
    counts = zip(word_counts(texts).tolist(), character_counts(texts).tolist(), strict=True)
    return [None if words != words else [int(words), int(characters)] for words, characters in counts]
