"""Numbers in words: what is read first, what stands below it, and what a column is sorted by."""

from dataclasses import replace
from typing import Any

import pytest

from aflite_assets.analysis.comparisons.differences import Difference
from aflite_assets.analysis.rules.verdicts import Verdict
from aflite_assets.analysis.scores.score_tables import Accuracy
from aflite_assets.reports.tables import cells
from aflite_assets.text import percent, short

FACTS: Any = None  # these cells need none
DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def accuracy(status: Any = "done", reason: str | None = None, *, unfinished: int = 0, **numbers: Any) -> Accuracy:
    given: dict[str, Any] = {"train_rows": None, "train_rows_most": None, "test_rows": 100} | numbers
    return Accuracy(
        representation="a", evaluator="p", train_set="full", test_set="test", tested_on="full", column=None,
        category=None, label=None, top=1, status=status, reason=reason, unfinished_seeds=unfinished, **given,
    )  # fmt: skip


def score(deviation: float | None, seeds: int, unfinished: int) -> Accuracy:
    return accuracy(
        unfinished=unfinished, accuracy=0.642, seeds_deviation=deviation, seeds=seeds, effective_rows=100.0,
        interval_low=0.55, interval_high=0.72,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "seeds", "in_short"),
    [
        (score(0.004, 3, 0), "±0.4 over 3 seeds", "±0.4"),
        (score(0.004, 2, 1), "±0.4 over 2 of 3 seeds", "±0.4 over 2 of 3 seeds"),
        (score(None, 1, 0), "one seed", "one seed"),
        (score(None, 1, 2), "1 of 3 seeds", "1 of 3 seeds"),
    ],
)
def test_scores_stand_with_both_spreads(given: Accuracy, seeds: str, in_short: str) -> None:
    cell = cells.score(FACTS, given)
    assert (cell.text, cell.small, cell.value) == ("64.2", (seeds, "[55.0, 72.0]"), 0.642)
    assert cell.plain == f"64.2, {seeds}, [55.0, 72.0]"
    assert cells.short_score(FACTS, given).small[0] == in_short


def test_missing_scores_say_why() -> None:
    failed = cells.score(FACTS, accuracy("failed", "out of memory", unfinished=1))
    assert (failed.text, failed.kind, failed.value) == ("failed: out of memory", "missing", None)
    assert cells.score(FACTS, accuracy("not run", unfinished=1)).text == "not run"
    assert len(cells.score(FACTS, accuracy("failed", "W" * 999)).text) == 300


def compared(*, counts_training: bool = True, **verdict: Any) -> Difference:
    return Difference(
        comparison="control", representation="a", evaluator="p", train_set="filtered", tested_on="full",
        against_representation=None, against_evaluator=None, against="random", against_tested_on=None,
        test_set="test", difference=-2.04, low=-3.46, high=-0.5, counts_training=counts_training, **verdict,
    )  # fmt: skip


def test_differences_stand_with_their_bounds_and_verdict() -> None:
    cell = cells.judged(FACTS, compared(side="below"))
    assert (cell.text, cell.value, cell.shaded) == (f"{MINUS}2.0", -2.04, True)
    assert cell.small == (f"[{MINUS}3.5, {MINUS}0.5]", "below")
    assert cells.difference(FACTS, compared(side="below")).plain == f"{MINUS}2.0, [{MINUS}3.5, {MINUS}0.5]"
    alone = cells.judged(FACTS, compared(counts_training=False, why="one seed"))
    assert alone.plain == f"{MINUS}2.0, [{MINUS}3.5, {MINUS}0.5], rows alone, no verdict: one seed"
    assert not alone.shaded
    missing = replace(compared(), difference=None, low=None, high=None)
    texts = [cells.difference(FACTS, replace(missing, test_rows=rows)).text for rows in (None, 0, 5)]
    assert texts == ["not run", "no rows", "not run"]


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict("above", None), "above"),
        (Verdict("open", "under 1 point"), "open: under 1 point"),
        (Verdict(None, "one seed"), "no verdict: one seed"),
    ],
)
def test_verdicts_in_words(verdict: Verdict, text: str) -> None:
    assert cells.verdict_text(verdict) == text


def test_sizes_points_and_values() -> None:
    def trained(*sizes: int | None) -> str:
        return cells.sizes(FACTS, *(accuracy(train_rows=one, train_rows_most=one) for one in sizes)).text

    assert [trained(), trained(None), trained(400), trained(400, None)] == [DASH, DASH, "400", "400"]
    assert (
        trained(390, 400) == cells.sizes(FACTS, accuracy(train_rows=390, train_rows_most=400)).text == f"390{DASH}400"
    )
    differences = [cells.points(FACTS, replace(compared(), difference=points)) for points in (None, -0.04, 3.2)]
    assert [(cell.text, cell.value) for cell in differences] == [
        (DASH, None), ("0.0", -0.04), ("3.2", 3.2),
    ]  # fmt: skip
    assert [(cell.text, cell.value, cell.kind) for cell in map(cells.value, (12345, True, float("nan"), None))] == [
        ("12,345", 12345, "number"), ("yes", None, "text"), ("none", None, "text"), ("none", None, "text"),
    ]  # fmt: skip


def test_a_field_is_a_cell_in_its_form() -> None:
    found = [cells.field("test_rows", strong=True)(FACTS, accuracy(test_rows=rows)) for rows in (12345, None)]
    assert [(cell.text, cell.value, cell.strong) for cell in found] == [("12,345", 12345, True), (DASH, None, False)]
    assert cells.field("accuracy", percent)(FACTS, score(None, 1, 0)).plain == "64.2"


def test_parts_have_names() -> None:
    assert cells.part_text(None, None, None) == "all"
    assert cells.part_text("rule", None, "yes") == "any rule, yes"
    assert cells.part_text("kind", "x", None) == "x"
    assert short("a\n" + "b" * 99) == f"a {'b' * 57}…"
