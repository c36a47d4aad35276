"""Rows of the page's browser: a random sample of either side of each filtering, as JSON under a size. No markup."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import FilteringFacts
from aflite_assets.analysis.json_values import to_json
from aflite_assets.analysis.rows.table import RowTables
from aflite_assets.reports.figures.interactive import script_json
from aflite_assets.reports.page.row_questions import Questions
from aflite_assets.reports.page.row_values import RowValues, marked_words, measured_texts
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
_DRAWN_BY = ["row_id", "status", "label_probability", "suggested_label"]
_FACTS = [
    "row_id", "removed_in_iteration", "predictability", "label_probability", "predictability_by_iteration",
    "predicted_instead", "predicted_instead_share", "nearest_kept", "nearest_similarity", "suggested_label",
    "suggested_probability",
]  # fmt: skip


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
    """One row of one filtering, and where it is shown: its share of its side's draw."""

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
    names = analysis.facts.representations
    draw = _Draw([tables.read(name).select(_DRAWN_BY) for name in names], seed, most)
    entries = list(draw.entries())
    parts = _RowParts(analysis, tables, entries)
    chosen: list[list[tuple[float, str]]] = [[] for _ in names]
    counts: Counter[tuple[int, Side]] = Counter()
    left, full = budget - 64_000, False
    waiting = iter(entries)
    while (block := list(islice(waiting, _AT_ONCE))) and not full:
        for entry, fact in zip(block, parts.load(block), strict=True):
            piece, size = parts.piece(entry, fact)
            if size > left:
                full = True
                break
            left -= size
            chosen[entry.number].append((entry.shown_at, piece))
            counts[entry.number, entry.side] += 1
    filterings = map(_filtering, analysis.facts.filterings, map(_in_order, chosen))
    frame = to_json(
        {
            "labels": [printable(name) for name in analysis.facts.label_names],
            "columns": [printable(name) for name in analysis.facts.text_columns.values()],
            "words": parts.words,
            "questions": parts.questions.shown,
            "trainings": [
                {"name": one.name} | ({} if one.sets is None else {"sets": one.sets})
                for one in analysis.facts.weak_trainings
            ],
            "filterings": [],
        }
    )
    head = script_json(frame).removesuffix("[]}")
    text = f'{head}[{",".join(filterings)}],"rows":[{",".join(parts.rows)}]}}'
    return RowBrowser(text, tuple(_shown(names, draw, counts, full=full, most=most)))


class _Draw:
    """Choice and order of the rows that are shown, by a few columns of each representation's rows."""

    def __init__(self, drawn_by: Sequence[pa.Table], seed: int, most: int) -> None:
        self._most = most
        self.row_ids = [table["row_id"].to_numpy() for table in drawn_by]
        self.sides = list(map(_sides, drawn_by))
        self.suspects = _surest(drawn_by)
        rows = 1 + max((int(ids.max()) for ids in self.row_ids if len(ids)), default=-1)
        self._ranks = np.random.default_rng(seed).permutation(rows)
        """By row id."""

    def entries(self) -> Iterator[_Entry]:
        """Yield rows in the order in which they are shown while there is room: filterings and sides in turn."""
        first = self._ranks.copy()
        first[self.suspects] = np.arange(len(self.suspects)) - len(self.suspects)
        sides: list[list[_Entry]] = []
        for number, (row_ids, masks) in enumerate(zip(self.row_ids, self.sides, strict=True)):
            for side, inside in masks.items():
                chosen = row_ids[inside]
                chosen = chosen[np.argsort(first[chosen])][: self._most]
                shown_at = self._ranks[chosen].argsort().argsort() / max(len(chosen), 1)
                pairs = zip(chosen.tolist(), shown_at.tolist(), strict=True)
                sides.append([_Entry(number, side, *pair) for pair in pairs])
        for turn in zip_longest(*sides):
            yield from (entry for entry in turn if entry is not None)


def _sides(rows: pa.Table) -> dict[Side, np.ndarray]:
    """Return which of the rows are of which side, bool; without the last if the filter left no split alone."""
    masks = {side: pc.equal(rows["status"], _STATUS[side]).to_numpy() for side in get_args(Side)}
    return {side: mask for side, mask in masks.items() if side != "outside" or mask.any()}


def _surest(drawn_by: Sequence[pa.Table]) -> np.ndarray:
    """Return ids of the likeliest label errors, the surest first; at most `MOST_SUSPECTS` per filtering."""
    found: dict[int, None] = {}
    for rows in drawn_by:
        suspected = rows.filter(pc.is_valid(rows["suggested_label"]))
        own = pc.fill_null(suspected["label_probability"], 1.0).to_numpy()
        found |= dict.fromkeys(suspected["row_id"].to_numpy()[np.argsort(own, kind="stable")][:MOST_SUSPECTS].tolist())
    return np.array(list(found), np.int64)


def _shown(
    names: Sequence[str], draw: _Draw, counts: Mapping[tuple[int, Side], int], *, full: bool, most: int
) -> Iterator[Shown]:
    for number, (name, row_ids, masks) in enumerate(zip(names, draw.row_ids, draw.sides, strict=True)):
        suspected = np.isin(row_ids, draw.suspects)
        for side, inside in masks.items():
            rows, shown = int(inside.sum()), counts.get((number, side), 0)
            suspects = min(int((inside & suspected).sum()), shown)
            yield Shown(name, side, shown, rows, full and shown < min(rows, most), suspects)


def _in_order(pieces: list[tuple[float, str]]) -> list[str]:
    """Sort as drawn, sides mixed, so that what is shown for another reason than the draw does not come first."""
    return [piece for _, piece in sorted(pieces, key=lambda one: one[0])]


def _filtering(one: FilteringFacts, pieces: Sequence[str]) -> str:
    threshold = one.settings.get("threshold")
    head = script_json(
        to_json(
            {
                "name": one.representation,
                "threshold": threshold if isinstance(threshold, int | float) else None,
                "cutoffs": one.cutoffs,
                "groups": one.settings.get("remove") == "groups",
                "step": _step(one),
            }
        )
    )
    return f'{head.removesuffix("}")},"rows":[{",".join(pieces)}]}}'


def _step(one: FilteringFacts) -> int:
    """Return every how many iterations a score is shown."""
    return max(1, -(-len(one.cutoffs) // _MOST_SCORES))


class _Lines:
    """Lines of the table of rows that may be shown of one representation, found by row id."""

    def __init__(self, table: pa.Table, row_ids: Sequence[int], *, with_questions: bool) -> None:
        """`row_ids` are drawn; their nearest kept rows and all answers of their questions come along."""
        inside = pc.is_in(table["row_id"], pa.array(row_ids, pa.int64()))
        drawn = table.filter(inside)
        inside = pc.or_(inside, pc.is_in(table["row_id"], drawn["nearest_kept"]))
        self._answers: dict[int, list[dict[str, Any]]] = {}
        self._group_of: dict[int, int] = {}
        if with_questions and "group" in table.column_names:
            asked = pc.is_in(table["group"], drawn["group"])
            names = ["row_id", "group", "label", "predictability", "text", "text_pair"]
            answers = table.select([name for name in names if name in table.column_names]).filter(asked)
            for answer in answers.sort_by("row_id").to_pylist():
                self._answers.setdefault(answer["group"], []).append(answer)
                self._group_of[answer["row_id"]] = answer["group"]
        self.table = table.filter(inside)
        self._places = {row_id: place for place, row_id in enumerate(self.table["row_id"].to_pylist())}

    def of(self, row_ids: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Return the lines of these rows, in their order."""
        table = self.table if columns is None else self.table.select(columns)
        return table.take(pa.array([self._places[row_id] for row_id in row_ids], pa.int64()))

    def answers(self, row_id: int) -> list[dict[str, Any]]:
        """Return all answers of the row's question, in the source's order; empty if the row is no answer."""
        return self._answers.get(self._group_of.get(row_id, -1), [])


class _RowParts:
    """Rows of the page, each once whichever filtering shows it, and their values in each filtering."""

    def __init__(self, analysis: Analysis, tables: RowTables, entries: Sequence[_Entry]) -> None:
        self._places: dict[int, int] = {}
        self._loaded: dict[int, str] = {}
        self._steps = list(map(_step, analysis.facts.filterings))
        self.rows: list[str] = []
        self.words = marked_words(analysis)
        self.questions = Questions(analysis)
        asked = analysis.facts.right_label is not None
        self._lines = [
            _Lines(tables.read(name), [one.row_id for one in entries if one.number == number], with_questions=asked)
            for number, name in enumerate(analysis.facts.representations)
        ]
        ids = [one.table["row_id"].to_numpy() for one in self._lines]
        measured = measured_texts(analysis, tables, np.unique(np.concatenate([np.empty(0, np.int64), *ids])))
        self._values = RowValues(analysis.facts, self.words, measured, tables.image)

    def load(self, entries: Sequence[_Entry]) -> list[dict[str, Any]]:
        """Read the rows of these entries at once, and return the facts of each."""
        known: dict[_Entry, dict[str, Any]] = {}
        for number, lines in enumerate(self._lines):
            mine = [entry for entry in entries if entry.number == number]
            facts = lines.of([entry.row_id for entry in mine], _FACTS).to_pylist()
            known |= dict(zip(mine, facts, strict=True))
            ids = (row_id for fact in facts for row_id in (fact["row_id"], fact["nearest_kept"]))
            wanted = [row_id for row_id in dict.fromkeys(ids) if row_id is not None and row_id not in self._loaded]
            rows = self._values.of(lines.of(wanted))
            self._loaded |= {row["id"]: script_json(row) for row in rows}
        return [known[entry] for entry in entries]

    def piece(self, entry: _Entry, fact: Mapping[str, Any]) -> tuple[str, int]:
        """Return the values of a row in one filtering as JSON, and by how much the page grows."""
        size = 0
        for row_id in (fact["row_id"], fact["nearest_kept"]):
            if row_id is not None and row_id not in self._places:
                self._places[row_id] = len(self.rows)
                self.rows.append(self._loaded[row_id])
                size += len(self._loaded[row_id]) + 1
        found = self._fact(entry, fact)
        if answers := self._lines[entry.number].answers(fact["row_id"]):
            found["question"], is_new = self.questions.of(answers)
            found["picked"] = self.questions.picked(answers)
            size += len(script_json(self.questions.shown[-1]["answers"])) + 16 if is_new else 0
        piece = script_json(found)
        return piece, size + len(piece) + 1

    def _fact(self, entry: _Entry, fact: Mapping[str, Any]) -> dict[str, Any]:
        score, instead, nearest = (fact[name] for name in ("predictability", "predicted_instead", "nearest_kept"))
        scores = fact["predictability_by_iteration"]
        found: dict[str, Any] = {"row": self._places[fact["row_id"]], "kept": entry.side == "kept"}
        if entry.side == "outside":
            found["outside"] = True
        if fact["removed_in_iteration"] is not None:
            found["removed"] = fact["removed_in_iteration"]
        if (rounded := _rounded(score, 3)) is not None:
            found["score"] = rounded
        if scores is not None:
            step = self._steps[entry.number]
            thinned = scores[::step] + (scores[-1:] if (len(scores) - 1) % step else [])
            found["scores"] = [_rounded(each, 3) for each in thinned]
            found["passes"] = len(scores)
        if instead is not None:
            shares = fact["predicted_instead_share"]
            pairs = zip(map(self._values.label, instead), shares, strict=True)
            found["instead"] = [[label, round(share, 4)] for label, share in pairs]
        if nearest is not None:
            found["nearest"] = [self._places[nearest], _rounded(fact["nearest_similarity"] or 0.0, 3)]
        if fact["suggested_label"] is not None:
            found["suggested"] = self._values.label(fact["suggested_label"])
            probabilities = (fact["label_probability"], fact["suggested_probability"])
            found["probabilities"] = [_rounded(each, 4) for each in probabilities]
        return found


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None or value != value else round(value, digits)
