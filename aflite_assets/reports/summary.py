"""What the numbers say, as plain sentences computed from the tables, with what they do not say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pyarrow.compute as pc

from aflite_assets.reports.accuracy import Score
from aflite_assets.reports.cautions import ONE_ANSWER, SMALL_TEST_SET, cautions
from aflite_assets.reports.groups import control
from aflite_assets.reports.intervals import CrossedInterval
from aflite_assets.reports.meaning import headline_split, meaning
from aflite_assets.reports.paired import PairedDifference, paired_differences, primary_comparison
from aflite_assets.reports.records import BenchmarkData, FilteredSet
from aflite_assets.reports.tables import FilterRow, MainRow, TestColumns, filter_table, main_table, points
from aflite_assets.reports.text import count, listed, one_line, percent, signed_points, truncated
from aflite_assets.reports.wording import bounds_text, interval_points, paired_text, stop_text, verdict_text


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
    from full on full to filtered on filtered rows: full is asked about the filtered rows alone, then random, then
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


def plain_summary(data: BenchmarkData) -> tuple[str, ...]:
    """What the numbers say and then what to mind: `findings` and `cautions`."""
    return findings(data) + cautions(data)


def findings(data: BenchmarkData) -> tuple[str, ...]:
    """Sentences per representation: verdict, filtering, each evaluator before and after, the pairs, what it means."""
    sentences: list[str] = []
    for filtered in data.filtered:
        sentences.append(verdict_sentence(data, filtered.representation))
        sentences.append(filtering_sentence(filtered))
        sentences += [headline_sentence(headline) for headline in headlines(data, filtered.representation)]
        sentences += _paired_sentences(data, filtered.representation)
        paragraph = meaning(data, filtered.representation)
        sentences += [] if paragraph is None else [paragraph]
    return tuple(sentences)


def verdict_sentence(data: BenchmarkData, representation: str) -> str:
    """Whether filtering helps or harms training, by the primary comparison, and how many of the others say so."""
    lead = f"Verdict on representation {representation}"
    differences = paired_differences(data, representation)
    primary = next((one for one in differences if one.primary), None)
    if primary is None:
        return f"{lead}: none, as {_no_primary(data)}."
    who = f"{primary.evaluator} trained on filtered instead of {primary.against}, on {primary.test_set}"
    why = "" if primary.verdict.why is None else f" ({primary.verdict.why})"
    text = f"{lead}: {primary.verdict.side or 'none'}{why}, by the primary comparison ({who}"
    text += f": {paired_text(primary.interval)})." if primary.interval is not None else ")."
    others = [one for one in differences if one.whole and not one.primary and one.verdict.side is not None]
    return f"{text} {_others(others)}" if others else text


def _no_primary(data: BenchmarkData) -> str:
    if primary_comparison(data) is None and data.test_sets and data.plain_evaluators:
        return (
            "the rows of every test set took part in the filter; a challenge set can be judged, or a split with "
            "evaluation_rows: kept"
        )
    return "nothing was trained that could be compared"


def _others(others: Sequence[PairedDifference]) -> str:
    sides = {side: sum(one.verdict.side == side for one in others) for side in ("above", "below", "open")}
    counted_sides = listed([f"{count(number)} {side}" for side, number in sides.items()])
    return f"{_other_comparisons(len(others))}, judged together with all of the report: {counted_sides}."


def _other_comparisons(number: int) -> str:
    return "One other comparison on a whole set" if number == 1 else f"{count(number)} other comparisons on whole sets"


def _paired_sentences(data: BenchmarkData, representation: str) -> list[str]:
    """A sentence per evaluator about the natural test set of the headlines and every challenge set."""
    natural = headline_split([one.name for one in data.test_sets if not one.challenge])
    found = [
        one
        for one in paired_differences(data, representation)
        if (one.train_set, one.against) == ("filtered", control(data, representation))
        and (one.test_set == natural or one.tested_on == "all")
    ]
    by_evaluator = ([one for one in found if one.evaluator == name] for name in data.plain_evaluators)
    return [text for pairs in by_evaluator if (text := paired_sentence(pairs))]


def filtering_sentence(filtered: FilteredSet) -> str:
    """How much was kept, why filtering stopped, and what became of representation bias."""
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    kept, rows = int(pc.sum(train["kept"]).as_py() or 0), train.num_rows
    share = f" ({percent(kept / rows)} %)" if rows else ""
    text = (
        f"Filtering with representation {filtered.representation} kept {count(kept)} of {count(rows)} train rows{share}"
    )
    table = filter_table(filtered)
    text += f" and stopped because {stop_text(filtered.stop_reason)}."
    return f"{text} {_bias_sentence(table, chance_by_iteration(filtered))}" if table else text


def _bias_sentence(table: Sequence[FilterRow], chance: Sequence[float]) -> str:
    first, last = table[0].representation_bias, table[-1].representation_bias
    verb = "fell" if last < first else "rose" if last > first else "stayed"
    return (
        f"Over {len(table)} passes representation bias {verb} from {percent(first)} % to {percent(last)} %; "
        f"the most frequent class makes up {percent(chance[-1])} % of the train rows left."
    )


def chance_by_iteration(filtered: FilteredSet) -> tuple[float, ...]:
    """Share in [0, 1] of the most frequent class among the train rows that entered each iteration."""
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    labels = train["label"].to_numpy()
    removed_in = pc.fill_null(train["removed_in_iteration"], np.iinfo(np.int64).max).to_numpy()
    pools = [labels[removed_in >= row.iteration] for row in filter_table(filtered)]
    return tuple(float(np.bincount(pool).max() / len(pool)) if len(pool) else 0.0 for pool in pools)


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
    here = {train_set: found[name] for train_set, found in tests.items()}
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
        one.interval
        for one in paired_differences(data, representation)
        if (one.evaluator, one.train_set, one.against) == (evaluator, "filtered", against)
        and (one.test_set, one.tested_on) == (test_set, "filtered")
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


def paired_sentence(differences: Sequence[PairedDifference]) -> str | None:
    """One evaluator's differences between filtered and random in words; None where no pair has a result.

    Of the parts of challenge sets only gold labels are spoken of, where they go in opposite directions.
    """
    said = [text for one in differences if one.whole and (text := _paired_text(one, differences))]
    if not said:
        return None
    return (
        f"{differences[0].evaluator}, trained on filtered against as many random rows ({differences[0].against}), both "
        f"tested on the same rows: {'; '.join(said)}."
    )


def _paired_text(one: PairedDifference, differences: Sequence[PairedDifference]) -> str | None:
    if one.interval is None:
        return None
    labels = [part for part in differences if part.test_set == one.test_set and part.is_label]
    sides = [part for part in labels if part.verdict.found]
    if len({part.verdict.side for part in sides}) == 2:
        apart = [f"{paired_text(part.interval)} on {_label(part)}" for part in sides if part.interval is not None]
        return (
            f"in opposite directions on the gold labels of {one.test_set}, {listed(apart)} (all its rows: "
            f"{interval_points(one.interval)}, {verdict_text(one.verdict)})"
        )
    rows = f"the filtered rows of {one.test_set}" if one.tested_on == "filtered" else one.test_set
    return f"{paired_text(one.interval)} on {rows} ({verdict_text(one.verdict)})"


def _label(part: PairedDifference) -> str:
    return truncated(one_line(part.label or ""), 60)


__all__ = [
    "ONE_ANSWER",
    "SMALL_TEST_SET",
    "FallStep",
    "Headline",
    "cautions",
    "chance_by_iteration",
    "filtering_sentence",
    "findings",
    "headline_sentence",
    "headlines",
    "paired_sentence",
    "plain_summary",
    "verdict_sentence",
]
