"""The questions of multiple choice as the browser of rows shows them: every answer, and who picked it. No markup."""

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.json_values import to_json
from aflite_assets.analysis.scores.questions import PICKED
from aflite_assets.data.rows import rows_at
from aflite_assets.reports.figures.interactive import script_json
from aflite_assets.text import printable
from aflite_assets.wording import counted

_MOST_CHARACTERS = 2_000


class Questions:
    """The questions that rows are answers of, each once, as JSON values: every answer with who picked it."""

    def __init__(self, data: BenchmarkData) -> None:
        self._data = data
        self._right = data.source.right
        self.shown: list[dict[str, Any]] = []
        self._numbers: dict[int, int] = {}
        self._members: list[list[int]] = []
        groups = data.examples.groups
        self._groups: dict[int, int] = {}
        self._rows: dict[int, list[int]] = {}
        if self._right is None or groups is None:
            return
        self._groups = dict(zip(data.examples.row_ids.tolist(), groups.tolist(), strict=True))
        self._places = places_by_id(data.examples.row_ids)
        for row_id, group in self._groups.items():
            self._rows.setdefault(group, []).append(row_id)
        self._pickers = _pickers(data)
        self._said = [_said_right(one, self._right) for one in data.filtered]

    def of(self, row_id: int) -> tuple[int | None, int]:
        """The number of the row's question in `shown`, and how many bytes the page grows by it; None without one."""
        group = self._groups.get(row_id)
        if group is None:
            return None, 0
        if group in self._numbers:
            return self._numbers[group], 0
        members = self._rows[group]
        table = self._data.examples.table
        name = "text_pair" if "text_pair" in table.column_names else "text"
        answers = rows_at(table.select([name, "label"]), np.array([self._places[member] for member in members]))
        question = [
            {"id": member, "text": short_text(text or ""), "right": label == self._right}
            | ({"by": by} if (by := self._pickers.get(member)) else {})
            for member, text, label in zip(members, *(answers[one].to_pylist() for one in (name, "label")), strict=True)
        ]
        self._numbers[group] = len(self.shown)
        self.shown.append({"answers": question})
        self._members.append(members)
        return self._numbers[group], len(script_json(to_json(question))) + 16

    def picked(self, filtering: int, question: int) -> list[float | None]:
        """Of each answer how often classifiers of the filter took it for right when it was held out, in [0, 1]."""
        said = self._said[filtering]
        return [said.get(member) for member in self._members[question]]


def _said_right(filtered: FilteredSet, right: int) -> dict[int, float]:
    """By row id the share of held-out predictions that said "right", of two classes."""
    rows = filtered.rows.select(["row_id", "label", "predictability"]).to_pylist()
    return {
        row["row_id"]: round(score if row["label"] == right else 1 - score, 3)
        for row in rows
        if (score := row["predictability"]) is not None and score == score
    }


def _pickers(data: BenchmarkData) -> dict[int, list[str]]:
    """By row id of an answer the evaluators trained on full that picked it, each with how many of its trainings."""
    counts: dict[int, Counter[str]] = {}
    trainings: Counter[tuple[str, str]] = Counter()
    asked = {one.name for one in data.test_sets if one.unit == "question" and not one.challenge}
    of_set: dict[int, str] = {}
    for cell in data.cells:
        if cell.train_set != "full" or cell.predictions is None or PICKED not in cell.predictions.column_names:
            continue
        picks = cell.predictions.filter(pc.is_valid(cell.predictions[PICKED])).select(["test_set", PICKED])
        picks = picks.filter(pc.is_in(picks["test_set"], pa.array(sorted(asked), pa.string())))
        trainings.update((cell.evaluator, name) for name in picks["test_set"].unique().to_pylist())
        for name, row_id in zip(picks["test_set"].to_pylist(), picks[PICKED].to_pylist(), strict=True):
            counts.setdefault(row_id, Counter())[cell.evaluator] += 1
            of_set[row_id] = name
    return {
        row_id: [
            f"{who} ({number} of {counted(trainings[who, of_set[row_id]], 'training')})" for who, number in by.items()
        ]
        for row_id, by in counts.items()
    }


def places_by_id(row_ids: np.ndarray) -> dict[int, int]:
    """Where each row id stands in an array of them."""
    return dict(zip(row_ids.tolist(), range(len(row_ids)), strict=True))


def short_text(text: str) -> str:
    """A text safe to show, cut after 2,000 characters with how many there are more."""
    shown = printable(text)
    if len(shown) <= _MOST_CHARACTERS:
        return shown
    return f"{shown[:_MOST_CHARACTERS]} … ({counted(len(shown) - _MOST_CHARACTERS, 'more character')})"
