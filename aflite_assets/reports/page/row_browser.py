"""Rows of the page's browser: a random sample of either side of each filtering, as JSON under a size. No markup."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import FilteringFacts
from aflite_assets.analysis.json_values import to_json
from aflite_assets.analysis.rows.table import RowTables
from aflite_assets.reports.figures.interactive import script_json
from aflite_assets.reports.page.row_values import Questions, RowValues, rounded
from aflite_assets.text import count, printable
from aflite_assets.wording import counted

MOST_ROWS = 2_000
"""Rows shown of either side, kept and removed, and of those never in the pool, of each filtering."""

MOST_SUSPECTS = 200
"""Suspected label errors of each filtering that are shown whatever is drawn, the surest."""

Side = Literal["kept", "removed", "outside"]
"""Of the filter: outside are the rows of splits that it left alone."""

_STATUS: Mapping[Side, str] = {"kept": "kept", "removed": "removed", "outside": "not filtered"}

_AT_ONCE = 200
_MOST_SCORES = 100
_FRAME_BYTES = 64_000
"""Bytes of the budget that are left for all but the rows."""

_DRAWN_BY = ["row_id", "status", "label_probability", "suggested_label"]
_FACTS = [
    "row_id", "removed_in_iteration", "predictability", "label_probability", "predictability_by_iteration",
    "predicted_instead", "predicted_instead_share", "nearest_kept", "nearest_similarity", "suggested_label",
    "suggested_probability",
]  # fmt: skip
_ANSWER = ("row_id", "group", "label", "predictability", "text", "text_pair")


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
    suspects: int

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

    def reduced_to(self, shown: int) -> "Shown":
        """Return this side with so many rows on the page, because the page has no room for more."""
        return replace(self, shown=shown, left_out_for_size=shown < self.shown, suspects=min(self.suspects, shown))


@dataclass(frozen=True)
class RowBrowser:
    """The JSON of the browser, which can stand in a script element, and what it shows."""

    json: str
    shown: tuple[Shown, ...]


@dataclass(frozen=True)
class _Entry:
    """One row of the filtering with this number; `shown_at`, in [0, 1), orders the drawn rows of all its sides."""

    number: int
    side: Side
    row_id: int
    shown_at: float


def row_browser(analysis: Analysis, tables: RowTables, *, budget: int, seed: int, most: int = MOST_ROWS) -> RowBrowser:
    """Return rows of every filtering, drawn from (seed, row id) alone, so that filterings share them if they can.

    `budget`: bytes of JSON at most; if the rows are larger, fewer of each side are shown. `most`: rows of either side.

    Raises:
        DataError: a row of a filtering is not among the examples.
    """
    facts = analysis.facts
    sides = _draw({name: tables.read(name).select(_DRAWN_BY) for name in facts.representations}, seed, most)
    # filterings and sides in turn, so that each has its part of the room there is
    turns = zip_longest(*(entries for _, entries in sides))
    entries = [entry for turn in turns for entry in turn if entry is not None]
    parts = _RowParts(analysis, tables, entries)
    chosen: list[tuple[_Entry, str]] = []
    for entry, piece in parts.pieces(entries):
        if parts.size > budget - _FRAME_BYTES:
            break
        chosen.append((entry, piece))
    # as drawn, so that suspects do not come first
    chosen.sort(key=lambda each: each[0].shown_at)
    filterings = [
        one.as_json([piece for entry, piece in chosen if entry.number == number])
        for number, one in enumerate(parts.filterings)
    ]
    frame = {
        "labels": list(map(printable, facts.label_names)),
        "columns": list(map(printable, facts.text_columns.values())),
        "words": parts.values.words,
        "questions": parts.questions.shown,
        "trainings": [
            {"name": one.name} | ({} if one.sets is None else {"sets": one.sets}) for one in facts.weak_trainings
        ],
    }
    on_page = Counter((facts.representations[entry.number], entry.side) for entry, _ in chosen)
    shown = tuple(one.reduced_to(on_page[one.representation, one.side]) for one, _ in sides)
    return RowBrowser(_json_with_lists(frame, filterings=filterings, rows=parts.rows), shown)


def _json_with_lists(values: Mapping[str, object], **lists: Iterable[str]) -> str:
    """Return a JSON object of the values and, after them, of lists whose items are JSON already."""
    ends = (f',"{name}":[{",".join(items)}]' for name, items in lists.items())
    return f"{script_json(to_json(values)).removesuffix('}')}{''.join(ends)}}}"


def _draw(tables: Mapping[str, pa.Table], seed: int, most: int) -> list[tuple[Shown, list[_Entry]]]:
    """Draw the rows of each side by a few columns per representation, in order: suspects first, then at random."""
    ids = [table["row_id"].to_numpy().max(initial=-1) for table in tables.values()]
    ranks = np.random.default_rng(seed).permutation(1 + int(max(ids, default=-1)))
    suspects = _surest(tables.values())
    first = ranks.copy()
    first[suspects] = np.arange(-len(suspects), 0)
    sides = []
    for number, (name, table) in enumerate(tables.items()):
        for side, status in _STATUS.items():
            row_ids = table.filter(pc.equal(table["status"], status))["row_id"].to_numpy()
            if side == "outside" and not len(row_ids):
                continue
            drawn = row_ids[np.argsort(first[row_ids])][:most]
            shown_at = ranks[drawn].argsort().argsort() / len(drawn)
            entries = [_Entry(number, side, *pair) for pair in zip(drawn.tolist(), shown_at.tolist(), strict=True)]
            suspected = int(np.isin(row_ids, suspects).sum())
            sides.append((Shown(name, side, len(drawn), len(row_ids), False, suspected), entries))
    return sides


def _surest(tables: Iterable[pa.Table]) -> np.ndarray:
    """Return ids of the likeliest label errors, the surest first; at most `MOST_SUSPECTS` per filtering."""
    found: dict[int, None] = {}
    for rows in tables:
        suspected = rows.filter(pc.is_valid(rows["suggested_label"]))
        own = pc.fill_null(suspected["label_probability"], 1.0).to_numpy()
        found |= dict.fromkeys(suspected["row_id"].to_numpy()[np.argsort(own, kind="stable")][:MOST_SUSPECTS].tolist())
    return np.array(list(found), np.int64)


class _Filtering:
    """Rows of one filtering that may be shown: those drawn, their nearest kept rows, all answers of their questions.

    `step`: every how many iterations a score is shown. `answers`: by row id, those of the row's question in order.
    """

    def __init__(self, facts: FilteringFacts, table: pa.Table, row_ids: Sequence[int], *, with_questions: bool) -> None:
        self._facts = facts
        self.step = max(1, -(-len(facts.cutoffs) // _MOST_SCORES))
        is_drawn = pc.is_in(table["row_id"], pa.array(row_ids, pa.int64()))
        drawn = table.filter(is_drawn)
        self._rows = table.filter(pc.or_(is_drawn, pc.is_in(table["row_id"], drawn["nearest_kept"])))
        self.row_ids: list[int] = self._rows["row_id"].to_pylist()
        self.answers: dict[int, list[dict[str, Any]]] = {}
        if with_questions and "group" in table.column_names:
            answers = table.select([name for name in _ANSWER if name in table.column_names])
            questions: dict[int, list[dict[str, Any]]] = {}
            for answer in answers.filter(pc.is_in(table["group"], drawn["group"])).sort_by("row_id").to_pylist():
                question = questions.setdefault(answer["group"], [])
                question.append(answer)
                self.answers[answer["row_id"]] = question

    def lines(self, row_ids: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Return the lines of these rows, in their order."""
        table = self._rows if columns is None else self._rows.select(columns)
        return table.take(pc.index_in(pa.array(row_ids, pa.int64()), value_set=self._rows["row_id"]))

    def as_json(self, pieces: Sequence[str]) -> str:
        """Return what the browser knows of the filtering, with the pieces of its rows."""
        settings = self._facts.settings
        threshold = settings.get("threshold")
        head = {
            "name": self._facts.representation,
            "threshold": threshold if isinstance(threshold, int | float) else None,
            "cutoffs": self._facts.cutoffs,
            "groups": settings.get("remove") == "groups",
            "step": self.step,
        }
        return _json_with_lists(head, rows=pieces)


class _RowParts:
    """Rows of the page, each once whichever filtering shows it, and their values in each filtering.

    `size`: bytes of all JSON so far.
    """

    def __init__(self, analysis: Analysis, tables: RowTables, entries: Sequence[_Entry]) -> None:
        asked = analysis.facts.right_label is not None
        drawn: list[list[int]] = [[] for _ in analysis.facts.filterings]
        for entry in entries:
            drawn[entry.number].append(entry.row_id)
        self.filterings = [
            _Filtering(one, tables.read(one.representation), row_ids, with_questions=asked)
            for one, row_ids in zip(analysis.facts.filterings, drawn, strict=True)
        ]
        self.values = RowValues(analysis, tables, {row_id for one in self.filterings for row_id in one.row_ids})
        self.questions = Questions(analysis)
        self.rows: list[str] = []
        self.size = 0
        self._places: dict[int, int] = {}
        self._loaded: dict[int, str] = {}

    def pieces(self, entries: Sequence[_Entry]) -> Iterator[tuple[_Entry, str]]:
        """Yield the values of each row in its filtering as JSON; `_AT_ONCE` rows are read at a time."""
        for start in range(0, len(entries), _AT_ONCE):
            block = entries[start : start + _AT_ONCE]
            facts: dict[tuple[int, int], dict[str, Any]] = {}
            for number, filtering in enumerate(self.filterings):
                drawn = [entry.row_id for entry in block if entry.number == number]
                lines = filtering.lines(drawn, _FACTS)
                facts |= {(number, fact["row_id"]): fact for fact in lines.to_pylist()}
                wanted = dict.fromkeys(drawn + lines["nearest_kept"].drop_null().to_pylist())
                rows = self.values.of(filtering.lines([row_id for row_id in wanted if row_id not in self._loaded]))
                self._loaded |= {row["id"]: script_json(row) for row in rows}
            for entry in block:
                yield entry, self._piece(entry, facts[entry.number, entry.row_id])

    def _piece(self, entry: _Entry, fact: Mapping[str, Any]) -> str:
        found = self._fact(entry, fact)
        if answers := self.filterings[entry.number].answers.get(entry.row_id):
            found["question"], size = self.questions.add(answers)
            found["picked"] = self.questions.picked(answers)
            self.size += size
        piece = script_json(found)
        self.size += len(piece) + 1
        return piece

    def _fact(self, entry: _Entry, fact: Mapping[str, Any]) -> dict[str, Any]:
        scores, instead, nearest = (
            fact[name] for name in ("predictability_by_iteration", "predicted_instead", "nearest_kept")
        )
        classes, step = self.values.classes, self.filterings[entry.number].step
        found = {
            "row": self._place(entry.row_id),
            "kept": entry.side == "kept",
            "outside": True if entry.side == "outside" else None,
            "removed": fact["removed_in_iteration"],
            "score": rounded(fact["predictability"], 3),
        }
        if scores is not None:
            thinned = scores[::step] + (scores[-1:] if (len(scores) - 1) % step else [])
            found |= {"scores": [rounded(each, 3) for each in thinned], "passes": len(scores)}
        if instead is not None:
            pairs = zip(instead, fact["predicted_instead_share"], strict=True)
            found["instead"] = [[classes[name], round(share, 4)] for name, share in pairs]
        if nearest is not None:
            found["nearest"] = [self._place(nearest), rounded(fact["nearest_similarity"] or 0.0, 3)]
        if fact["suggested_label"] is not None:
            found["suggested"] = classes[fact["suggested_label"]]
            found["probabilities"] = [rounded(fact[f"{name}_probability"], 4) for name in ("label", "suggested")]
        return {name: value for name, value in found.items() if value is not None}

    def _place(self, row_id: int) -> int:
        """Return the place of a row in `rows`, to which it is added the first time."""
        if row_id not in self._places:
            self._places[row_id] = len(self.rows)
            self.rows.append(self._loaded[row_id])
            self.size += len(self._loaded[row_id]) + 1
        return self._places[row_id]
