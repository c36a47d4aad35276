"""Random controls of questions are whole questions, of the subsets and lengths of those that the filter kept."""

from collections import Counter

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.stages.filtering.random_questions import question_kinds


def _rows(questions: int = 120, seed: int = 0) -> Examples:
    """Questions of 2 or 3 answers in the subsets a and b; the right answer is the longer one in about a third."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(questions):
        longer = rng.random() < 1 / 3
        for answer in range(2 + number % 2):
            right = answer == 0
            subset = "ab"[number // 2 % 2]
            text = "a long answer" if right == longer else "short"
            rows.append({"label": int(not right), "text_pair": text, "question": number, "attribute.part": subset})
    order = rng.permutation(len(rows))
    table = pa.Table.from_pylist([rows[place] for place in order])
    table = table.append_column("row_id", pa.array(np.arange(len(rows)) * 3))
    return Examples(table.append_column("text", pa.array(["q"] * len(rows))), ("right", "wrong"))


def _described(rows: Examples, row_ids: np.ndarray) -> Counter[tuple[str, int, bool]]:
    found: dict[int, list[dict[str, object]]] = {}
    for row in rows.select(row_ids).table.to_pylist():
        found.setdefault(row["question"], []).append(row)
    return Counter(
        (str(own[0]["attribute.part"]), len(own), any(one["label"] == 0 and one["text_pair"] != "short" for one in own))
        for own in found.values()
    )


def test_matched_draws_have_the_subsets_sizes_and_longer_answers_of_what_was_kept() -> None:
    rows = _rows()
    assert rows.questions is not None
    kept = np.sort(rows.row_ids[(rows.questions % 3 == 0) | (rows.questions < 20)])
    kinds = question_kinds(rows, subset="part")
    assert kinds is not None
    assert kinds.has_whole(kept)
    drawn = kinds.drawn(kept, kinds.alike, [0])
    assert _described(rows, drawn) == _described(rows, kept)
    assert drawn.tolist() != kept.tolist()
    assert drawn.tolist() == kinds.drawn(kept, kinds.alike, [0]).tolist()
    assert drawn.tolist() != kinds.drawn(kept, kinds.alike, [1]).tolist()


def test_plain_draws_have_the_numbers_of_rows_and_of_right_answers() -> None:
    rows = _rows()
    assert rows.questions is not None
    kept = rows.row_ids[rows.questions < 50]
    kinds = question_kinds(rows, subset=None)
    assert kinds is not None
    drawn = kinds.drawn(kept, kinds.sizes, [0])
    assert len(drawn) == len(kept)
    assert (rows.select(drawn).labels == 0).sum() == 50
    assert kinds.has_whole(drawn)


def test_parts_of_questions_and_other_rows_are_not_taken_for_questions() -> None:
    rows = _rows()
    kinds = question_kinds(rows, subset=None)
    assert kinds is not None
    assert not kinds.has_whole(rows.row_ids[:50])
    assert question_kinds(Examples(rows.table, ("no", "yes")), subset=None) is None
