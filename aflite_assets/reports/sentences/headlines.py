"""What becomes of one evaluator's accuracy from full to filtered, in scores and in a sentence."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.scores.accuracy import Score
from aflite_assets.reports.sentences.wording import bounds_text
from aflite_assets.reports.tables.falls import Change, Fall, FallStep, falls
from aflite_assets.reports.tables.main_tables import TestColumns, main_table
from aflite_assets.reports.text import listed, percent, signed_points

_CHANGES: Mapping[Change, str] = {
    "test rows": "as the filtered test rows alone are asked",
    "fewer train rows": "with fewer train rows",
    "class sizes": "with the class sizes of filtered",
    "which train rows": "with which train rows were kept",
}


@dataclass(frozen=True)
class Headline:
    """The comparison of one evaluator on one natural test set.

    `full`: trained and tested on full. `random`: trained on random, tested on full. `filtered`: trained and tested on
    filtered. `fall`: from the first to the last, in terms that add up.
    """

    representation: str
    evaluator: str
    test_set: str
    full: Score
    random: Score
    filtered: Score
    fall: Fall


def headlines(data: BenchmarkData, representation: str) -> tuple[Headline, ...]:
    """One comparison per evaluator, on the test set of `falls`; empty when no natural test set was filtered."""
    tests = {
        (row.evaluator, row.train_set, test.test_set): test
        for row in main_table(data, representation)
        for test in row.tests
    }
    return tuple(_headline(fall, tests) for fall in falls(data, representation))


def _headline(fall: Fall, tests: Mapping[tuple[str, str, str], TestColumns]) -> Headline:
    full, random, filtered = (tests[fall.evaluator, name, fall.test_set] for name in ("full", "random", "filtered"))
    after = filtered.filtered
    if after is None:
        raise AssertionError(f"{fall.test_set} was filtered, but has no column for that")
    return Headline(fall.representation, fall.evaluator, fall.test_set, full.full, random.full, after, fall)


def headline_sentence(headline: Headline) -> str:
    """The comparison in words, with what the fall is made of, or why there is none."""
    where, fall = f"{headline.evaluator} on {headline.test_set}", headline.fall
    missing = [name for name in ("full", "random", "filtered") if getattr(headline, name).accuracy is None]
    if fall.start is None or fall.end is None:
        return f"{where}: nothing to compare yet, because there is no result for {listed(missing)}."
    text = (
        f"{where}: trained and tested on full it is right on {percent(fall.start)} % of the {fall.unit}s; trained and "
        f"tested on filtered it {_changes(100 * (fall.start - fall.end))}, to {percent(fall.end)} %."
    )
    unknown = [step.after for step in fall.steps if step.fall is None]
    if unknown:
        return f"{text} Without a result for {unknown[0]} it is open what this is made of."
    return f"{text} Step by step, in points: {'; '.join(_step_text(step) for step in fall.steps)}."


def _step_text(step: FallStep) -> str:
    if step.fall is None:
        return "is unknown"
    after = f" ({step.after})" if step.what in ("fewer train rows", "class sizes") else ""
    change = replace(step.fall, difference=-step.fall.difference, low=-step.fall.high, high=-step.fall.low)
    return f"{signed_points(change.difference)} ({bounds_text(change)}) {_CHANGES[step.what]}{after}"


def _changes(drop: float) -> str:
    if round(drop, 1) == 0:
        return "does not change"
    return f"{'falls' if drop > 0 else 'rises'} by {signed_points(abs(drop))} points"
