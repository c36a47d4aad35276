"""Rows of the page's browser: a random sample of either side of each filtering, as JSON under a size. No markup."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby, takewhile, zip_longest
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.filtering import threshold_of
from aflite_assets.analysis.json_values import to_json
from aflite_assets.analysis.rows.table import lines_of
from aflite_assets.reports.figures.filtering_figures import script_json
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.page.row_values import AT_ONCE, Questions, RowValues, rounded
from aflite_assets.text import printable

MOST_ROWS = 2_000
"""Rows shown of either side, kept and removed, and of those never in the pool, of each filtering."""

MOST_SUSPECTS = 200
"""Suspected label errors of each filtering that are shown whatever is drawn, the surest."""

_OUTSIDE = "not filtered"
"""The side of rows in splits that the filter left alone; the others are kept and removed."""

_MOST_SCORES = 100
_FRAME_BYTES = 64_000  # of the budget, left for all but the rows
_DRAWN_BY = ["row_id", "status", "label_probability", "suggested_label", "nearest_kept"]
_FACTS = [
    "row_id", "removed_in_iteration", "predictability", "label_probability", "predictability_by_iteration",
    "predicted_instead", "predicted_instead_share", "nearest_similarity", "suggested_label", "suggested_probability",
]  # fmt: skip
_ANSWER = ("row_id", "group", "label", "predictability", "text", "text_pair")


@dataclass(frozen=True)
class Shown:
    """Counts of the rows of one side that are on the page; `left_out_for_size`: with more it would be too large.

    `suspects`: how many of them are shown because their labels are the likeliest to be wrong, and were not drawn.
    """

    representation: str
    side: str
    shown: int
    rows: int
    left_out_for_size: bool
    suspects: int


@dataclass(frozen=True)
class _Entry:
    """One drawn row of the side `shown`; `shown_at`, in [0, 1), orders the rows of all sides of a filtering."""

    shown: Shown
    row_id: int
    nearest_kept: int | None
    shown_at: float


def row_browser(
    analysis: Analysis, inputs: ReportInputs, *, budget: int, seed: int, most: int = MOST_ROWS
) -> tuple[str, tuple[Shown, ...]]:
    """Return JSON that can stand in a script element, with rows of every filtering, and the counts of these rows.

    Rows are drawn from (seed, row id) alone, so that filterings share them if they can. `budget`: bytes of JSON at
    most; if the rows are larger, fewer of each side are shown. `most`: rows of either side.
    """
    facts = analysis.facts
    sides = _draw({name: inputs.rows.read(name).select(_DRAWN_BY) for name in facts.representations}, seed, most)
    # filterings and sides in turn, so that each has its part of the room there is
    entries = [entry for turn in zip_longest(*sides.values()) for entry in turn if entry is not None]
    page = _Page(analysis, inputs, entries)
    pieces = ((entry, page.add(entry)) for entry in entries)
    chosen = list(takewhile(lambda _: page.size <= budget - _FRAME_BYTES, pieces))
    # as drawn, so that suspects do not come first
    chosen.sort(key=lambda each: each[0].shown_at)
    content: dict[str, Any] = {
        "labels": list(map(printable, facts.label_names)),
        "columns": list(map(printable, facts.text_columns.values())),
        "words": to_json(page.values.words),
        "questions": page.questions.shown,
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
    """Draw the rows of each side by a few columns per representation, in order: suspects first, then at random."""
    ids = [table["row_id"].to_numpy().max(initial=-1) for table in tables.values()]
    ranks = np.random.default_rng(seed).permutation(1 + int(max(ids)))
    # the likeliest label errors of each filtering, the surest first
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


def _answers(table: pa.Table, drawn: pa.Table) -> dict[int, list[dict[str, Any]]]:
    """Return by row id all answers of the row's question, in order, for the questions of the drawn rows."""
    answers = table.select([name for name in _ANSWER if name in table.column_names])
    answers = answers.filter(pc.is_in(table["group"], drawn["group"]))
    in_order = answers.sort_by([("group", "ascending"), ("row_id", "ascending")]).to_pylist()
    questions = [list(each) for _, each in groupby(in_order, itemgetter("group"))]
    return {answer["row_id"]: question for question in questions for answer in question}


class _Page:
    """What the page shows: `settings` of each filtering, `rows`, each once, and `size`, the bytes of both as JSON."""

    def __init__(self, analysis: Analysis, inputs: ReportInputs, entries: Sequence[_Entry]) -> None:
        self.settings: dict[str, dict[str, Any]] = {
            one.representation: {
                "name": one.representation,
                "threshold": threshold_of(one.settings),
                "cutoffs": to_json(one.cutoffs),
                "groups": one.settings.get("remove") == "groups",
                "step": max(1, -(-len(one.cutoffs) // _MOST_SCORES)),  # of iterations whose scores are shown
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
            batches = drawn.select(_FACTS).to_batches(max_chunksize=AT_ONCE)
            self._facts[name] = chain.from_iterable(map(pa.RecordBatch.to_pylist, batches))
            asked = analysis.facts.right_label is not None and "group" in table.column_names
            self._answers[name] = _answers(table, drawn) if asked else {}
            lines.append(table.filter(pc.is_in(table["row_id"], row_ids)))
        self.values = RowValues(analysis, inputs, lines_of(pa.concat_tables(lines), row_ids))
        self._waiting = iter(self.values)
        self.questions = Questions(analysis)
        self.rows: list[dict[str, Any]] = []
        self.size = 0

    def add(self, entry: _Entry) -> dict[str, Any]:
        """Return the values of the next of the entries in its filtering; its row and question are added."""
        name, rows, questions = entry.shown.representation, len(self.rows), len(self.questions.shown)
        found = self._fact(entry, next(self._facts[name]))
        if answers := self._answers[name].get(entry.row_id):
            found |= self.questions.add(answers)
        new: list[Any] = [found, *self.rows[rows:], *self.questions.shown[questions:]]
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
            "score": rounded(fact["predictability"], 3),
        }
        if scores is not None:
            thinned = scores[::step] + (scores[-1:] if (len(scores) - 1) % step else [])
            found |= {"scores": [rounded(each, 3) for each in thinned], "passes": len(scores)}
        if instead is not None:
            pairs = zip(instead, fact["predicted_instead_share"], strict=True)
            found["instead"] = [[classes[name], round(share, 4)] for name, share in pairs]
        if entry.nearest_kept is not None:
            found["nearest"] = [self._place(entry.nearest_kept), rounded(fact["nearest_similarity"] or 0.0, 3)]
        if fact["suggested_label"] is not None:
            found["suggested"] = classes[fact["suggested_label"]]
            found["probabilities"] = [rounded(fact[f"{name}_probability"], 4) for name in ("label", "suggested")]
        return {name: value for name, value in found.items() if value is not None}

    def _place(self, row_id: int) -> int:
        """Return the place of a row in `rows`, to which it is added the first time."""
        if self._places[row_id] == len(self.rows):
            self.rows.append(next(self._waiting))
        return self._places[row_id]
