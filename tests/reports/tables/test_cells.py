"""Numbers in words: what is read first, what stands below it, and what a column is sorted by."""

import pytest

from aflite_assets.analysis.intervals import CrossedInterval, Interval
from aflite_assets.analysis.rules.verdicts import Verdict
from aflite_assets.analysis.scores.accuracy import AccuracySummary, Score
from aflite_assets.reports.tables.cells import (
    difference_cell,
    part_text,
    points_cell,
    score_cell,
    short,
    sizes_cell,
    value_cell,
    verdict_text,
)

DASH, MINUS = "\N{EN DASH}", "\N{MINUS SIGN}"


def score(deviation: float | None, seeds: int, unfinished: int) -> Score:
    summary = AccuracySummary(0.642, deviation, seeds, 100, Interval(0.55, 0.72), 100.0)
    return Score("done", None, summary, 100, unfinished)


@pytest.mark.parametrize(
    ("given", "seeds", "in_short"),
    [
        (score(0.004, 3, 0), "±0.4 over 3 seeds", "±0.4"),
        (score(0.004, 2, 1), "±0.4 over 2 of 3 seeds", "±0.4 over 2 of 3 seeds"),
        (score(None, 1, 0), "one seed", "one seed"),
        (score(None, 1, 2), "1 of 3 seeds", "1 of 3 seeds"),
    ],
)
def test_scores_stand_with_both_spreads(given: Score, seeds: str, in_short: str) -> None:
    cell = score_cell(given)
    assert (cell.text, cell.small, cell.value) == ("64.2", (seeds, "[55.0, 72.0]"), 0.642)
    assert cell.plain == f"64.2, {seeds}, [55.0, 72.0]"
    assert score_cell(given, short=True).small[0] == in_short


def test_missing_scores_say_why() -> None:
    failed = score_cell(Score("failed", "out of memory", None, 5, 1), form="x", keys={"seed": 3})
    assert (failed.text, failed.kind, failed.value) == ("failed: out of memory", "missing", None)
    assert (failed.form, failed.record["seed"], failed.record["status"]) == ("x", 3, "failed")
    assert score_cell(Score("not run", None, None, 5, 1)).text == "not run"
    assert len(score_cell(Score("failed", "W" * 999, None, 5, 1)).text) == 300
    assert score_cell(None).text == DASH


def crossed(*, trainings: int = 3) -> CrossedInterval:
    return CrossedInterval(-2.04, -3.46, -0.5, 0.1, 8.0, (trainings, 3), 50, 50.0, trainings > 1)


def test_differences_stand_with_their_bounds_and_verdict() -> None:
    cell = difference_cell(crossed(), verdict=Verdict("below", None))
    assert (cell.text, cell.value, cell.shaded) == (f"{MINUS}2.0", -2.04, True)
    assert cell.small == (f"[{MINUS}3.5, {MINUS}0.5]", "below")
    alone = difference_cell(crossed(trainings=1), verdict=Verdict(None, "one seed"))
    assert alone.plain == f"{MINUS}2.0, [{MINUS}3.5, {MINUS}0.5], rows alone, no verdict: one seed"
    assert not alone.shaded
    assert [difference_cell(None, test_rows=rows).text for rows in (None, 0, 5)] == ["not run", "no rows", "not run"]


@pytest.mark.parametrize(
    ("verdict", "text"),
    [
        (Verdict("above", None), "above"),
        (Verdict("open", "under 1 point"), "open: under 1 point"),
        (Verdict(None, "one seed"), "no verdict: one seed"),
    ],
)
def test_verdicts_in_words(verdict: Verdict, text: str) -> None:
    assert verdict_text(verdict) == text


def test_sizes_points_and_values() -> None:
    assert [sizes_cell(sizes).text for sizes in ((), (400,), (390, 400))] == [DASH, "400", f"390{DASH}400"]
    assert [(cell.text, cell.value) for cell in map(points_cell, (None, -0.04, 3.2))] == [
        (DASH, None), ("0.0", -0.04), ("3.2", 3.2),
    ]  # fmt: skip
    assert [(cell.text, cell.value, cell.kind) for cell in map(value_cell, (12345, True, float("nan"), None))] == [
        ("12,345", 12345, "number"), ("yes", None, "text"), ("none", None, "text"), ("none", None, "text"),
    ]  # fmt: skip


def test_parts_have_names() -> None:
    assert part_text(None, None, None) == "all"
    assert part_text("rule", None, "yes") == "any rule, yes"
    assert part_text("kind", "x", None) == "x"
    assert short("a\n" + "b" * 99) == f"a {'b' * 57}…"
