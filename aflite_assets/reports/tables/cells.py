"""Conversion of a report's numbers to cells and headings of tables, and helpers that several tables share."""

from collections.abc import Callable
from functools import partial
from typing import Any

from aflite_assets.analysis.comparisons.differences import Difference
from aflite_assets.analysis.comparisons.edited_copies import SetEdit
from aflite_assets.analysis.comparisons.falls import FallTerm
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.analysis.rules.verdicts import Verdict
from aflite_assets.analysis.scores.score_tables import Accuracy
from aflite_assets.reports.tables.table import NOTHING, Column, Heading, TableCell
from aflite_assets.text import DASH, MAX_SHOWN_CHARACTERS, count, percent, short, signed_points, value_text
from aflite_assets.wording import counted, truncate

MINUS = ("{train_set} minus {against}, points",)
"""Prefix of the name of a row that shows the difference between two train sets."""

CellMaker = Callable[[DatasetFacts, Any], TableCell]
_LONGEST_VALUE = 2_000
_LONGEST_NAME = 40


def number(
    given: float | None, form: Callable[[Any], str] = count, *small: str, strong: bool = False, shaded: bool = False
) -> TableCell:
    """Return a cell with the number `given`, formatted by `form`, or with a dash for None.

    `small`: lines of text below the number.
    """
    return NOTHING if given is None else TableCell(form(given), small, given, strong=strong, shaded=shaded)


def field(name: str, form: Callable[[Any], str] = count, *, strong: bool = False) -> CellMaker:
    """Return a function that makes a cell with a number from one field of a record."""
    return lambda facts, one: number(getattr(one, name), form, strong=strong)


decimal = "{:.3f}".format
points = field("difference", signed_points)


def score(_facts: DatasetFacts, one: Accuracy, *, shaded: bool = False, short: bool = False) -> TableCell:
    """Return a cell with the accuracy in per cent, its deviation over seeds and its interval.

    If there is no score, the cell shows the reason.

    `short`: whether to leave out the number of seeds.
    """
    if one.accuracy is None or one.interval_low is None or one.interval_high is None:
        why = one.status if one.reason is None else f"{one.status}: {one.reason}"
        return TableCell(truncate(why, MAX_SHOWN_CHARACTERS), kind="missing")
    finished, unfinished = one.seeds or 0, one.unfinished_seeds
    seeds = f"{finished} of {finished + unfinished} seeds" if unfinished else counted(finished, "seed")
    if one.seeds_deviation is not None:
        seeds = f"±{percent(one.seeds_deviation)}{'' if short and not unfinished else f' over {seeds}'}"
    elif not unfinished:
        seeds = "one seed"
    ends = f"[{percent(one.interval_low)}, {percent(one.interval_high)}]"
    return TableCell(percent(one.accuracy), (seeds, ends), one.accuracy, strong=True, shaded=shaded)


short_score = partial(score, short=True)


def bounds(*ends: float | None) -> str:
    """Return the bounds of an interval in points, such as "[0.5, 3.5]", or a dash for None."""
    return f"[{', '.join(DASH if end is None else signed_points(end) for end in ends)}]"


def difference(_facts: DatasetFacts, one: Difference | FallTerm, *, judged: bool = False) -> TableCell:
    """Return a cell with a difference in points and its bounds, or with the reason why there is no difference.

    The cell is shaded if the difference is significant.
    """
    if one.difference is None or one.low is None or one.high is None:
        return TableCell("no rows" if getattr(one, "test_rows", None) == 0 else "not run", kind="missing")
    small = [bounds(one.low, one.high), *(() if one.counts_training else ("rows alone",))]
    if judged and isinstance(one, Difference):
        small.append(verdict_text(one))
    shaded = isinstance(one, Difference) and one.found
    return TableCell(signed_points(one.difference), tuple(small), one.difference, strong=True, shaded=shaded)


judged = partial(difference, judged=True)


def verdict_text(verdict: Verdict | Difference) -> str:
    """Return the verdict on a difference in words.

    Examples are "above", "below", "open", "open: under 1 point" and "no verdict: one seed".
    """
    side = "no verdict" if verdict.side is None else verdict.side
    return side if verdict.why is None else f"{side}: {verdict.why}"


def sizes(_facts: DatasetFacts, *trained: Accuracy) -> TableCell:
    """Return a cell with the number of train rows.

    If the number of train rows differs between seeds, the cell has the minimum and the maximum. If the number of train
    rows is unknown, the cell has a dash.
    """
    known = [rows for one in trained for rows in (one.train_rows, one.train_rows_most) if rows is not None]
    if not known:
        return NOTHING
    least, most = min(known), max(known)
    return TableCell(count(least) if least == most else f"{count(least)}{DASH}{count(most)}", value=least)


test_rows = field("test_rows")


def value(given: object, *, strong: bool = False, shaded: bool = False) -> TableCell:
    """Return a cell for any value: a text, a number, a truth value or None."""
    text = truncate(value_text(given), _LONGEST_VALUE)
    if isinstance(given, int | float) and not isinstance(given, bool) and given == given:
        return TableCell(text, value=float(given), strong=strong, shaded=shaded)
    return TableCell(text, kind="text", strong=strong, shaded=shaded)


def rows_heading(text: str, test_rows: int, *notes: str) -> Heading:
    """Return the heading of a column, with the number of test rows.

    A long text from the dataset is cut to one short line.
    """
    return Heading(short(text), (*notes, f"n = {count(test_rows)}"))


def part_text(category_column: str | None, category: str | None, label: str | None) -> str:
    """Return the heading of one part of a challenge set, or "all" for the whole set."""
    if category is None and category_column is not None:
        category = f"any {category_column}"
    return ", ".join(name for name in (category, label) if name is not None) or "all"


def part_name(one: Accuracy | Difference) -> tuple[str | None, str | None, str | None]:
    """Return the name of a part of a challenge set, made of category column, category and gold label."""
    return one.column, one.category, one.label


def set_column(_facts: DatasetFacts, one: Accuracy | Difference, *, whole_split: str = "all") -> Column:
    """Return the column for a score on a test set or on a part of a test set.

    The group heading of the column is the name of the test set.

    `whole_split`: the heading for all rows of a split.
    """
    text = whole_split if one.tested_on == "full" else part_text(*part_name(one))
    return Column(rows_heading(text, one.test_rows or 0), Heading(one.test_set), key=part_name(one))


def is_of_filtering(_facts: DatasetFacts, one: Accuracy | Difference) -> bool:
    """Return True if the score belongs to a filtering and is not a top-5 accuracy."""
    return one.representation is not None and one.top == 1


def is_whole_or_category(facts: DatasetFacts, one: Accuracy | Difference) -> bool:
    """Return True if a plain evaluator's score is on a whole test set or on a category of a challenge set."""
    plain = one.evaluator in facts.plain_evaluators and one.tested_on in ("full", "all")
    return plain and (
        one.whole or (one.tested_on == "all" and facts.test_set[one.test_set].part[part_name(one)].by_size)
    )


def units_text(facts: DatasetFacts, _one: object = None) -> str:
    """Return the unit in which test sets are counted, which is "rows", "questions", or "rows or questions"."""
    return " or ".join(sorted({f"{one.unit}s" for one in facts.test_sets}, reverse=True)) or "rows"


def property_name(one: PropertyLeaning) -> str:
    """Return a property's name, such as "the attribute place", "the word “not” of text_pair", "the number of words of
    text".
    """
    name = short(one.name, _LONGEST_NAME)
    if one.kind in ("word", "topic word"):
        return f"the word “{short(one.word, _LONGEST_NAME)}” of {name}"
    if one.kind == "column":
        return name if name.startswith("column ") else f"the column {name}"
    if one.kind == "length":
        return f"the {name}"
    return f"the attribute {name}" if one.kind == "attribute" else f"“{name}”"


def edit_name(one: SetEdit) -> str:
    """Return an edit in words, such as "the word “not” of “claim”", or "column 3" if columns have no names."""
    if one.kind == "column" and one.name.startswith("column "):
        return one.name
    place = f" of “{short(one.place, _LONGEST_NAME)}”" if one.place else ""
    named = f" “{short(one.name, _LONGEST_NAME)}”" if one.name else ""
    return f"{f'the {one.kind}' if one.name else one.kind}{named}{place}"
