"""The rows that the page can be asked about: a random sample of either side, as JSON under a size. No markup."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, zip_longest
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.filtering import filter_table
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.inputs.row_facts import ROW_FACTS, RowFacts
from aflite_assets.analysis.inputs.source_rows import place_text
from aflite_assets.analysis.json_values import to_json
from aflite_assets.data.examples import Examples
from aflite_assets.data.words import WORD, character_counts, word_counts
from aflite_assets.errors import DataError
from aflite_assets.reports.figures.example_rows import short_vector
from aflite_assets.reports.figures.interactive import script_json
from aflite_assets.reports.figures.thumbnails import thumbnail_uri
from aflite_assets.reports.page.row_learning import Learning
from aflite_assets.reports.page.row_questions import Questions, places_by_id, short_text
from aflite_assets.text import count, printable, signed_points
from aflite_assets.wording import counted

MOST_ROWS = 2_000
"""Rows shown of either side, kept and removed, and of those never in the pool, of each filtering."""

MOST_SUSPECTS = 200
"""Suspected label errors of each filtering that are shown whatever is drawn, the surest."""

Side = Literal["kept", "removed", "outside"]
"""Of the filter: outside are the rows of splits that it left alone."""

_SIDES: tuple[Side, ...] = ("kept", "removed", "outside")

_AT_ONCE = 200
_THUMBNAIL = 64
_MOST_SCORES = 100
_OUTCOME = ["row_id", "removed_in_iteration", "predictability", "label_probability"]
_MOST_VALUES = 100
"""Features of a row that are listed by name; `rows.parquet` has all."""


@dataclass(frozen=True)
class Shown:
    """How many rows of one side are on the page, of how many; `left_out_for_size`: the page would be too large.

    `suspects`: how many of them are shown because their labels are the likeliest to be wrong, and were not drawn.
    """

    representation: str
    side: Side
    shown: int
    rows: int
    left_out_for_size: bool
    suspects: int = 0

    @property
    def text(self) -> str:
        """In words."""
        rows = counted(self.rows, "row" if self.side == "outside" else f"{self.side} row")
        rows += " that the filter never saw" if self.side == "outside" else ""
        if self.shown == self.rows:
            return f"all {rows}"
        text = f"{count(self.shown)} of {rows}, "
        if not self.suspects:
            return f"{text}drawn at random"
        why = "its label is suspected" if self.suspects == 1 else "their labels are suspected most"
        others = "" if self.suspects == self.shown else ", the others drawn at random"
        return f"{text}{count(self.suspects)} of them as {why}{others}"


@dataclass(frozen=True)
class RowBrowser:
    """The JSON of the browser, which can stand in a script element, and what it shows."""

    json: str
    shown: tuple[Shown, ...]


@dataclass(frozen=True)
class _Entry:
    """One row of one filtering: its place in `filtered.rows`, and where it is shown: its share of its side's draw."""

    number: int
    side: Side
    place: int
    shown_at: float


def row_browser(data: BenchmarkData, *, budget: int, seed: int, most: int = MOST_ROWS) -> RowBrowser:
    """Rows of every filtering, drawn from (seed, row) alone, so that filterings share them where they can.

    `budget`: bytes of JSON at most; where the rows are larger, fewer of each side are shown. `most`: of either side.

    Raises:
        DataError: a row of a filtering is not among the examples.
    """
    parts = _RowParts(data)
    chosen: list[list[tuple[float, str]]] = [[] for _ in data.filtered]
    counts: Counter[tuple[int, Side]] = Counter()
    left, full = budget - 64_000, False
    entries = _drawn(data, seed, most)
    while (block := list(islice(entries, _AT_ONCE))) and not full:
        facts = parts.load(block)
        for entry, fact in zip(block, facts, strict=True):
            piece, size = parts.piece(entry, fact)
            if size > left:
                full = True
                break
            left -= size
            chosen[entry.number].append((entry.shown_at, piece))
            counts[entry.number, entry.side] += 1
    filterings = [_filtering(one, pieces) for one, pieces in zip(data.filtered, map(_in_order, chosen), strict=True)]
    frame = to_json(
        {
            "labels": [printable(name) for name in data.label_names],
            "columns": [printable(data.source.named(name)) for name in parts.columns],
            "words": parts.words,
            "questions": parts.questions.shown,
            "trainings": parts.learning.shown,
            "filterings": [],
        }
    )
    head = script_json(frame).removesuffix("[]}")
    text = f'{head}[{",".join(filterings)}],"rows":[{",".join(parts.rows)}]}}'
    return RowBrowser(text, tuple(_shown(data, counts, full=full, most=most)))


def _drawn(data: BenchmarkData, seed: int, most: int) -> Iterator[_Entry]:
    """Entries in the order in which they are shown while there is room: filterings and sides in turn."""
    known = np.sort(data.examples.row_ids)
    for one in data.filtered:
        if not np.isin(one.rows["row_id"].to_numpy(), known).all():
            raise DataError(
                f"rows of the filtered set of {one.representation!r} are not in the dataset; materialise "
                "filtered_sets again"
            )
    ranks = np.random.default_rng(seed).permutation(len(known))
    suspects = _surest(data)
    first = ranks.copy()
    first[np.searchsorted(known, suspects)] = np.arange(len(suspects)) - len(suspects)
    sides: list[list[_Entry]] = []
    for number, one in enumerate(data.filtered):
        places_known = np.searchsorted(known, one.rows["row_id"].to_numpy())
        for side, inside in _sides(one).items():
            places = np.flatnonzero(inside)
            chosen = places[np.argsort(first[places_known[places]], kind="stable")][:most]
            shown_at = ranks[places_known[chosen]].argsort().argsort() / max(len(chosen), 1)
            sides.append([_Entry(number, side, *pair) for pair in zip(chosen.tolist(), shown_at.tolist(), strict=True)])
    for turn in zip_longest(*sides):
        yield from (entry for entry in turn if entry is not None)


def _in_order(pieces: list[tuple[float, str]]) -> list[str]:
    """As drawn, sides mixed, so that what is shown for another reason than the draw does not come first."""
    return [piece for _, piece in sorted(pieces, key=lambda one: one[0])]


def _sides(one: FilteredSet) -> dict[Side, np.ndarray]:
    """Which of the rows are of which side, bool; without the last where the filter left no split alone."""
    kept = one.rows["kept"].to_numpy(zero_copy_only=False)
    masks = (kept & one.entered, ~kept & one.entered, ~one.entered)
    return {side: mask for side, mask in zip(_SIDES, masks, strict=True) if side != "outside" or mask.any()}


def _surest(data: BenchmarkData) -> np.ndarray:
    """Ids of the rows whose labels are the likeliest to be wrong, in order; at most `MOST_SUSPECTS` of a filtering."""
    found: dict[int, None] = {}
    for one in data.filtered:
        facts = data.row_facts.get(one.representation, RowFacts(ROW_FACTS.empty_table()))
        row_ids = one.rows["row_id"].to_numpy()
        places = np.flatnonzero(pc.is_valid(facts.of(row_ids)["suggested_label"]).to_numpy())
        own = pc.fill_null(one.rows["label_probability"].cast(pa.float64()), 1.0).to_numpy()[places]
        found |= dict.fromkeys(row_ids[places[np.argsort(own, kind="stable")][:MOST_SUSPECTS]].tolist())
    return np.array(list(found), np.int64)


def _shown(data: BenchmarkData, counts: Mapping[tuple[int, Side], int], *, full: bool, most: int) -> Iterator[Shown]:
    surest = _surest(data)
    for number, one in enumerate(data.filtered):
        suspected = np.isin(one.rows["row_id"].to_numpy(), surest)
        for side, inside in _sides(one).items():
            rows, shown = int(inside.sum()), counts.get((number, side), 0)
            suspects = min(int((inside & suspected).sum()), shown)
            yield Shown(one.representation, side, shown, rows, full and shown < min(rows, most), suspects)


def _filtering(one: FilteredSet, pieces: Sequence[str]) -> str:
    threshold = one.settings.get("threshold")
    head = script_json(
        to_json(
            {
                "name": one.representation,
                "threshold": threshold if isinstance(threshold, int | float) else None,
                "cutoffs": [row.cutoff for row in filter_table(one)],
                "groups": one.settings.get("remove") == "groups",
                "step": _step(len(filter_table(one))),
            }
        )
    )
    return f'{head.removesuffix("}")},"rows":[{",".join(pieces)}]}}'


def _step(iterations: int) -> int:
    """Every how many iterations a score is shown."""
    return max(1, -(-iterations // _MOST_SCORES))


class _RowParts:
    """The rows of the page, each once whichever filtering shows it, and of each filtering what it says of them."""

    def __init__(self, data: BenchmarkData) -> None:
        self._data = data
        self._places: dict[int, int] = {}
        self._loaded: dict[int, str] = {}
        self._steps = [_step(len(filter_table(one))) for one in data.filtered]
        names = data.examples.table.column_names
        self.rows: list[str] = []
        self.columns = [name for name in ("text", "text_pair") if name in names]
        self._attributes = [name for name in names if name.startswith("attribute.")]
        self.words = _words(data)
        self.questions = Questions(data)
        self.learning = Learning(data)
        self._texts = {data.source.named(name): name for name in self.columns}
        self._measured = _measured(data)
        self._marked = {
            (self._texts.get(word["column"], word["column"]), word["word"]): number
            for number, word in enumerate(self.words)
        }

    def load(self, entries: Sequence[_Entry]) -> list[dict[str, Any]]:
        """Read what these entries are about, at once; what is known of each."""
        known: dict[_Entry, dict[str, Any]] = {}
        for number, one in enumerate(self._data.filtered):
            mine = [entry for entry in entries if entry.number == number]
            rows = one.rows.take([entry.place for entry in mine])
            facts = self._data.row_facts.get(one.representation, RowFacts(ROW_FACTS.empty_table()))
            outcome = rows.select(_OUTCOME).to_pylist()
            more = facts.of(rows["row_id"].to_numpy()).to_pylist() if mine else []
            known |= {entry: {**a, **b} for entry, a, b in zip(mine, outcome, more, strict=True)}
        facts_in_order = [known[entry] for entry in entries]
        wanted = dict.fromkeys(
            row_id
            for fact in facts_in_order
            for row_id in (fact["row_id"], fact["nearest_kept"])
            if row_id is not None and row_id not in self._loaded
        )
        examples = self._data.examples.select(list(wanted))
        places = self._data.source.of(examples.row_ids).to_pylist()
        lengths = [_lengths(examples.table[name]) for name in self.columns]
        learnt = self.learning.of(examples.row_ids)
        for position, row_id in enumerate(wanted):
            row = self._row(examples, position)
            if lengths:
                row["lengths"] = [each[position] for each in lengths]
            if learnt[position] is not None:
                row["learnt"] = learnt[position]
            if place := place_text(places[position]):
                row["place"] = printable(place)
            self._loaded[row_id] = script_json(to_json(row))
        return facts_in_order

    def piece(self, entry: _Entry, fact: Mapping[str, Any]) -> tuple[str, int]:
        """What one filtering says of a row, as JSON, and how much the page grows by it."""
        size = 0
        for row_id in (fact["row_id"], fact["nearest_kept"]):
            if row_id is not None and row_id not in self._places:
                self._places[row_id] = len(self.rows)
                self.rows.append(self._loaded[row_id])
                size += len(self._loaded[row_id]) + 1
        found = self._fact(entry, fact)
        question, grown = self.questions.of(fact["row_id"])
        if question is not None:
            found["question"] = question
            found["picked"] = self.questions.picked(entry.number, question)
        piece = script_json(to_json(found))
        return piece, size + grown + len(piece) + 1

    def _fact(self, entry: _Entry, fact: Mapping[str, Any]) -> dict[str, Any]:
        score = fact["predictability"]
        scores = fact["predictability_by_iteration"]
        instead, nearest = fact["predicted_instead"], fact["nearest_kept"]
        found: dict[str, Any] = {"row": self._places[fact["row_id"]], "kept": entry.side == "kept"}
        if entry.side == "outside":
            found["outside"] = True
        if fact["removed_in_iteration"] is not None:
            found["removed"] = fact["removed_in_iteration"]
        if score is not None and score == score:
            found["score"] = round(score, 3)
        if scores is not None:
            step = self._steps[entry.number]
            thinned = scores[::step] + (scores[-1:] if (len(scores) - 1) % step else [])
            found["scores"] = [None if each is None else round(each, 3) for each in thinned]
            found["passes"] = len(scores)
        if instead is not None:
            shares = fact["predicted_instead_share"]
            found["instead"] = [[label, round(share, 4)] for label, share in zip(instead, shares, strict=True)]
        if nearest is not None:
            found["nearest"] = [self._places[nearest], round(fact["nearest_similarity"] or 0.0, 3)]
        if fact["suggested_label"] is not None:
            found["suggested"] = fact["suggested_label"]
            probabilities = (fact["label_probability"], fact["suggested_probability"])
            found["probabilities"] = [None if each is None else round(each, 4) for each in probabilities]
        return found

    def _row(self, examples: Examples, position: int) -> dict[str, Any]:
        table = examples.table
        row: dict[str, Any] = {
            "id": int(examples.row_ids[position]),
            "split": printable(table["split"][position].as_py()),
            "label": int(examples.labels[position]),
        }
        if self.columns:
            row["texts"] = [self._marked_text(name, table[name][position].as_py()) for name in self.columns]
        elif examples.modality == "features":
            row |= self._numbers(examples.features[position])
        else:
            row |= _image(examples, position)
        if "annotator_labels" in table.column_names:
            row["annotators"] = table["annotator_labels"][position].as_py() or []
        values = ((name.removeprefix("attribute."), table[name][position].as_py()) for name in self._attributes)
        if measured := [f"{name}: {say(row['id'])}" for name, places, say in self._measured if row["id"] in places]:
            row["models"] = measured
        if attributes := [[printable(name), short_text(str(value))] for name, value in values if value is not None]:
            row["attributes"] = attributes
        return row

    def _numbers(self, features: np.ndarray) -> dict[str, Any]:
        """The features in the source's units: in short, and by name where the source has names."""
        source = self._data.source
        values = source.original(features)
        found: dict[str, Any] = {"vector": short_vector(values, names=source.features)}
        if source.features is not None:
            named = zip(source.features[:_MOST_VALUES], values.tolist(), strict=False)
            found["values"] = [[printable(name), f"{value:.6g}"] for name, value in named]
        return found

    def _marked_text(self, column: str, text: str | None) -> list[str | list[Any]]:
        """The text in pieces: as it is, or [number of the word, piece] where a word marks removed rows."""
        shown = short_text(text or "")
        pieces: list[str | list[Any]] = []
        end = 0
        for found in WORD.finditer(shown):
            number = self._marked.get((column, found[0].lower()))
            if number is not None:
                pieces += [shown[end : found.start()], [number, found[0]]]
                end = found.end()
        return [piece for piece in (*pieces, shown[end:]) if piece]


def _lengths(texts: pa.ChunkedArray) -> list[list[int] | None]:
    """Words and characters of each text, as the evidence counts them; None for a null."""
    counts = zip(word_counts(texts).tolist(), character_counts(texts).tolist(), strict=True)
    return [None if words != words else [int(words), int(characters)] for words, characters in counts]


def _words(data: BenchmarkData) -> list[dict[str, Any]]:
    """The words that mark removed rows, each with the filterings that it is shown for and the class it goes with."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for number, name in enumerate(data.representations):
        for cue in data.cues.get(name, ()):
            if cue.kind == "word" and cue.shown:
                word = found.setdefault((cue.name, cue.value), {"column": cue.name, "word": cue.value, "said": {}})
                shares = [round(cue.share_removed, 4), round(cue.share_expected, 4)]
                label = None if cue.label_name is None else printable(cue.label_name)
                word["said"][str(number)] = {"label": label, "shares": shares, "counts": cue.counts}
    return list(found.values())


def _measured(data: BenchmarkData) -> list[tuple[str, Mapping[int, int], Callable[[int], str]]]:
    """Of every evaluator that measured rows: its name, the places of the rows, and what it says of one by its id."""
    found: list[tuple[str, Mapping[int, int], Callable[[int], str]]] = []
    for one in data.row_information:
        places = places_by_id(one.row_ids)
        found.append((one.evaluator, places, partial(_information, one.values, places)))
    named: set[str] = set()
    for each in data.data_maps:
        if each.evaluator not in named:  # the values are the same beside every filtering
            named.add(each.evaluator)
            places = places_by_id(each.table["row_id"].to_numpy())
            columns = [each.table[name].to_numpy() for name in ("confidence", "variability", "correctness")]
            found.append((each.evaluator, places, partial(_on_map, columns, places)))
    return found


def _information(values: np.ndarray, places: Mapping[int, int], row_id: int) -> str:
    return f"the input told it {signed_points(float(values[places[row_id]]))} bits of the label (PVI)"


def _on_map(columns: Sequence[np.ndarray], places: Mapping[int, int], row_id: int) -> str:
    confidence, variability, correctness = (float(column[places[row_id]]) for column in columns)
    return (
        f"confidence {confidence:.2f}, variability {variability:.2f}, correctness {correctness:.2f} over its training"
    )


def _image(examples: Examples, position: int) -> dict[str, str]:
    try:
        uri = thumbnail_uri(examples.image_bytes(position), side=_THUMBNAIL, quality=80)
    except DataError as error:
        return {"problem": printable(str(error))}
    return {"problem": "the image cannot be decoded"} if uri is None else {"image": uri}
