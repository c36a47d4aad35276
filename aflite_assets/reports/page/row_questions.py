"""Questions of multiple choice in the browser of rows: every answer, and who picked it. No markup."""

from collections.abc import Mapping, Sequence
from typing import Any

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.rows.measured import ANSWER_PICKS
from aflite_assets.reports.page.row_values import short_text
from aflite_assets.wording import counted


class Questions:
    """The questions that rows are answers of, each once, as JSON values: every answer with who picked it."""

    def __init__(self, analysis: Analysis) -> None:
        self._right = analysis.facts.right_label
        self._text = "text_pair" if "text_pair" in analysis.facts.text_columns else "text"
        self._pickers: dict[int, list[str]] = {}
        for one in analysis.of(ANSWER_PICKS):
            said = f"{one.evaluator} ({one.times} of {counted(one.trainings, 'training')})"
            self._pickers.setdefault(one.row_id, []).append(said)
        self._numbers: dict[int, int] = {}
        self.shown: list[dict[str, Any]] = []

    def of(self, answers: Sequence[Mapping[str, Any]]) -> tuple[int, bool]:
        """Return the number in `shown` of the question with these lines of the table of rows, and if it is new."""
        group = answers[0]["group"]
        if group in self._numbers:
            return self._numbers[group], False
        question = [
            {"id": answer["row_id"], "text": short_text(answer[self._text] or ""), "right": self._is_right(answer)}
            | ({"by": by} if (by := self._pickers.get(answer["row_id"])) else {})
            for answer in answers
        ]
        self._numbers[group] = len(self.shown)
        self.shown.append({"answers": question})
        return self._numbers[group], True

    def picked(self, answers: Sequence[Mapping[str, Any]]) -> list[float | None]:
        """Return how often classifiers of the filter took each held-out answer for right, in [0, 1]."""
        return [self._said_right(answer, answer["predictability"]) for answer in answers]

    def _said_right(self, answer: Mapping[str, Any], score: float | None) -> float | None:
        """Return the share of held-out predictions that said "right", of two classes."""
        if score is None or score != score:
            return None
        return round(score if self._is_right(answer) else 1 - score, 3)

    def _is_right(self, answer: Mapping[str, Any]) -> bool:
        return bool(answer["label"] == self._right)
