"""What becomes of one evaluator's accuracy from full to filtered, in parts that add up, and in a sentence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.intervals import CrossedInterval
from aflite_assets.reports.scores.accuracy import Score
from aflite_assets.reports.scores.groups import control
from aflite_assets.reports.sentences.interpretation import headline_split
from aflite_assets.reports.sentences.wording import bounds_text
from aflite_assets.reports.tables.main_tables import MainRow, TestColumns, main_table, points
from aflite_assets.reports.tables.paired import paired_differences
from aflite_assets.reports.text import listed, percent, signed_points


@dataclass(frozen=True)
class FallStep:
    """Part of a fall in accuracy: by how many points changing `what` alone lowers it, None where a result is missing.

    `after`: the train set that this step comes to. `interval` is of the fall, where the step is a comparison with the
    control.
    """

    what: Literal["test rows", "fewer train rows", "class sizes", "which train rows"]
    after: str
    fall: float | None
    interval: CrossedInterval | None = None


@dataclass(frozen=True)
class Headline:
    """The comparison of one evaluator on one natural test set; drops are in points, None where undefined.

    `full`: trained and tested on full. `random`: trained on random, tested on full. `filtered`: trained and tested on
    filtered. `drop_random` and `drop_filtered` are both measured from `full`. `steps`: the latter in parts that add up,
    from full on full to filtered on filtered rows: full tested on the filtered rows alone, then random, then
    random_matched (where there is one), then filtered.
    """

    representation: str
    evaluator: str
    test_set: str
    full: Score
    random: Score
    filtered: Score
    drop_random: float | None
    drop_filtered: float | None
    steps: tuple[FallStep, ...]


def headlines(data: BenchmarkData, representation: str) -> tuple[Headline, ...]:
    """One comparison per evaluator, on the natural test set "test", else "validation", else the first.

    Empty when no natural test set was filtered.
    """
    table = main_table(data, representation)
    return tuple(
        headline
        for evaluator in data.plain_evaluators
        if (headline := _headline(data, [row for row in table if row.evaluator == evaluator], representation))
    )


def headline_sentence(headline: Headline) -> str:
    """The comparison in words, with what the fall is made of, or why there is none."""
    where = f"{headline.evaluator} on {headline.test_set}"
    full, filtered = headline.full.accuracy, headline.filtered.accuracy
    missing = [name for name in ("full", "random", "filtered") if getattr(headline, name).accuracy is None]
    if full is None or filtered is None or headline.drop_filtered is None:
        return f"{where}: nothing to compare yet, because there is no result for {listed(missing)}."
    text = (
        f"{where}: trained and tested on full it is right on {percent(full.mean)} % of the rows; trained and "
        f"tested on filtered it {_change(headline.drop_filtered)}, to {percent(filtered.mean)} %."
    )
    unknown = [step.after for step in headline.steps if step.fall is None]
    if unknown:
        return f"{text} Without a result for {unknown[0]} it is open what this is made of."
    return f"{text} Step by step accuracy falls by {listed([_step_text(step) for step in headline.steps])}."


def _step_text(step: FallStep) -> str:
    said = {
        "test rows": "as the filtered test rows alone are asked",
        "fewer train rows": f"with fewer train rows ({step.after})",
        "class sizes": f"with the class sizes of filtered ({step.after})",
        "which train rows": "with which train rows were kept",
    }[step.what]
    return f"{_fall_text(step)} {said}"


def _fall_text(step: FallStep) -> str:
    text = f"{signed_points(step.fall or 0.0)} points"
    return text if step.interval is None else f"{text} ({bounds_text(step.interval)})"


def _change(drop: float) -> str:
    if round(drop, 1) == 0:
        return "does not change"
    return f"{'falls' if drop > 0 else 'rises'} by {signed_points(abs(drop))} points"


def _headline(data: BenchmarkData, rows: Sequence[MainRow], representation: str) -> Headline | None:
    tests = {row.train_set: {test.test_set: test for test in row.tests} for row in rows}
    names = [name for name, test in tests["full"].items() if test.filtered is not None]
    name = headline_split(names)
    if name is None:
        return None
    here = {train_set: scores[name] for train_set, scores in tests.items()}
    full, random, after = here["full"].full, here["random"].full, here["filtered"].filtered
    if after is None:
        return None
    evaluator, drops = rows[0].evaluator, (points(full, random), points(full, after))
    steps = _steps(data, representation, evaluator, here)
    return Headline(representation, evaluator, name, full, random, after, *drops, steps)


def _steps(
    data: BenchmarkData, representation: str, evaluator: str, tests: Mapping[str, TestColumns]
) -> tuple[FallStep, ...]:
    """All but the first are on the filtered rows, where nothing but training differs."""
    against, test_set = control(data, representation), tests["full"].test_set
    steps = [FallStep("test rows", "full", tests["full"].drop), _step("fewer train rows", "full", "random", tests)]
    if against != "random":
        steps.append(_step("class sizes", "random", against, tests))
    last = _step("which train rows", against, "filtered", tests)
    paired = next(
        difference.interval
        for difference in paired_differences(data, representation)
        if (difference.evaluator, difference.train_set, difference.against) == (evaluator, "filtered", against)
        and (difference.test_set, difference.tested_on) == (test_set, "filtered")
    )
    fall = None if paired is None else replace(
        paired, difference=-paired.difference, low=-paired.high, high=-paired.low, trainings=paired.trainings[::-1]
    )  # fmt: skip
    return (*steps, replace(last, interval=fall))


def _step(
    what: Literal["fewer train rows", "class sizes", "which train rows"],
    before: str,
    after: str,
    tests: Mapping[str, TestColumns],
) -> FallStep:
    one, other = tests[before].filtered, tests[after].filtered
    return FallStep(what, after, None if one is None or other is None else points(one, other))
