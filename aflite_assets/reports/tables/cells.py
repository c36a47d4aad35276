"""Numbers of a report as cells of a table: what is read first, what stands below, what they are sorted by."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from aflite_assets.analysis.intervals import CrossedInterval
from aflite_assets.analysis.rules.verdicts import Verdict
from aflite_assets.analysis.scores.accuracy import Score
from aflite_assets.analysis.scores.score_table import score_record
from aflite_assets.reports.tables.table import Heading, TableCell
from aflite_assets.text import DASH, MAX_SHOWN_CHARACTERS, count, one_line, percent, signed_points, value_text
from aflite_assets.wording import counted, truncate

NOTHING = TableCell(DASH)
"""Where nothing applies."""

_LONGEST_HEADING = 60
_LONGEST_VALUE = 2_000


def score_cell(
    score: Score | None,
    *,
    shaded: bool = False,
    short: bool = False,
    form: str | None = None,
    keys: Mapping[str, Any] | None = None,
) -> TableCell:
    """Accuracy in per cent, its deviation over seeds and its interval, or why there is none; a dash for None.

    `short`: without the number of seeds where all of several finished. In the table in long form `form` it stands
    with these `keys`.
    """
    if score is None:
        return NOTHING
    record = {**(keys or {}), **score_record(score)}
    if score.accuracy is None:
        why = score.status if score.reason is None else f"{score.status}: {score.reason}"
        return TableCell(truncate(why, MAX_SHOWN_CHARACTERS), kind="missing", form=form, record=record)
    interval = score.accuracy.interval
    bounds = f"[{percent(interval.low)}, {percent(interval.high)}]"
    seeds = _seeds_text(score.accuracy.seeds_deviation, score.accuracy.seeds, score.unfinished_seeds, short=short)
    said = TableCell(percent(score.accuracy.mean), (seeds, bounds), score.accuracy.mean, strong=True, shaded=shaded)
    return replace(said, form=form, record=record)


def _seeds_text(deviation: float | None, finished: int, unfinished: int, *, short: bool) -> str:
    """Deviation over seeds in points and how many seeds: "±0.4 over 3 seeds"."""
    seeds = f"{finished} of {finished + unfinished} seeds" if unfinished else counted(finished, "seed")
    if deviation is None:
        return seeds if unfinished else "one seed"
    return f"±{percent(deviation)}" if short and not unfinished else f"±{percent(deviation)} over {seeds}"


def points_cell(points: float | None) -> TableCell:
    """A difference in points; a dash for None."""
    return NOTHING if points is None else TableCell(signed_points(points), value=points)


def difference_cell(
    interval: CrossedInterval | None, *, test_rows: int | None = None, verdict: Verdict | None = None
) -> TableCell:
    """A difference in points with its bounds, and with its verdict where one is given, shaded where it found one.

    Without an interval it says why: there are no `test_rows`, or a side has no result.
    """
    if interval is None:
        return TableCell("no rows" if test_rows == 0 else "not run", kind="missing")
    small: tuple[str, ...] = (f"[{signed_points(interval.low)}, {signed_points(interval.high)}]",)
    small += () if interval.counts_training else ("rows alone",)
    small += () if verdict is None else (verdict_text(verdict),)
    found = verdict is not None and verdict.found
    return TableCell(signed_points(interval.difference), small, interval.difference, strong=True, shaded=found)


def verdict_text(verdict: Verdict) -> str:
    """A verdict in words: "above", "below", "open", "open: under 1 point", "no verdict: one seed"."""
    side = "no verdict" if verdict.side is None else verdict.side
    return side if verdict.why is None else f"{side}: {verdict.why}"


def sizes_cell(sizes: Sequence[int]) -> TableCell:
    """Train rows over seeds: one number, or the smallest and the largest; a dash for none."""
    if not sizes:
        return NOTHING
    text = count(sizes[0]) if sizes[0] == sizes[-1] else f"{count(sizes[0])}{DASH}{count(sizes[-1])}"
    return TableCell(text, value=sizes[0])


def count_cell(number: int) -> TableCell:
    """A count."""
    return TableCell(count(number), value=number)


def text_cell(text: str, *, strong: bool = False, shaded: bool = False) -> TableCell:
    """A text."""
    return TableCell(truncate(text, _LONGEST_VALUE), kind="text", strong=strong, shaded=shaded)


def value_cell(value: object) -> TableCell:
    """Any value of a setting, a statistic or an iteration."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and value == value
    text = truncate(value_text(value), _LONGEST_VALUE)
    return TableCell(text, value=float(value)) if number else TableCell(text, kind="text")  # type: ignore[arg-type]


def rows_heading(text: str, test_rows: int, *notes: str) -> Heading:
    """The heading of a column about so many test rows; dataset text is cut to one short line."""
    return Heading(short(text), (*notes, f"n = {count(test_rows)}"))


def short(text: str) -> str:
    """Dataset text as it stands in a heading."""
    return truncate(one_line(text), _LONGEST_HEADING)


def part_text(category_column: str | None, category: str | None, label: str | None) -> str:
    """Heading of one part of a challenge set, "all" for the whole set."""
    any_value = f"any {category_column}" if category_column is not None else None
    names = (category if category is not None else any_value, label)
    return ", ".join(name for name in names if name is not None) or "all"


def minus(pair: tuple[str, str]) -> tuple[str]:
    """Headings of a row that has the difference between two train sets."""
    return (f"{pair[0]} minus {pair[1]}, points",)
