"""One plain paragraph per representation: what the fall in accuracy means and what it does not."""

from collections.abc import Sequence

from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.scores.groups import cell_groups, control
from aflite_assets.reports.tables.main_tables import MainRow, TestColumns, main_table, points
from aflite_assets.reports.tables.paired import paired_differences
from aflite_assets.reports.text import listed, signed_points

HEADLINE_SPLITS = ("test", "validation")
"""The natural test set that is spoken of is the first of these that there is, else the first of all."""


def headline_split(names: Sequence[str]) -> str | None:
    """The one of these natural test sets that sentences are about."""
    return next((name for name in HEADLINE_SPLITS if name in names), names[0] if names else None)


def meaning(data: BenchmarkData, representation: str) -> str | None:
    """The paragraph of one representation, from its numbers; None where no evaluator has both ends of the comparison.

    Raises:
        InvalidInputError: the dataset was not filtered with `representation`.
    """
    rows = main_table(data, representation)
    test_set = headline_split([test.test_set for test in rows[0].tests if test.filtered is not None]) if rows else None
    if test_set is None:
        return None
    tests = {(row.evaluator, row.train_set): _test(row, test_set) for row in rows}
    falls = _falls(tests, data.plain_evaluators)
    if not falls:
        return None
    sentences = [
        f"What the fall means, for {listed(list(falls))} on {test_set} with representation {representation}: from full "
        f"to filtered, in training and in testing, accuracy {_moved(list(falls.values()))}.",
        _built_in(tests, list(falls)),
        _fewer_rows(tests, list(falls)),
        _judged(data, representation),
        _single_pass(data, representation, tests, list(falls)),
        "It does not say that what was removed is wrong or useless, nor that what was kept is the task itself: other "
        "features or another classifier would keep other rows, and wrong or disputed labels are more frequent among "
        "rows that nothing predicts.",
    ]
    return " ".join(sentence for sentence in sentences if sentence)


_Tests = dict[tuple[str, str], TestColumns]


def _test(row: MainRow, test_set: str) -> TestColumns:
    return next(test for test in row.tests if test.test_set == test_set)


def _falls(tests: _Tests, evaluators: Sequence[str]) -> dict[str, float]:
    """Points from full on full to filtered on filtered, by evaluator; those without a number are left out."""
    found = {}
    for name in evaluators:
        after = tests[name, "filtered"].filtered
        fall = None if after is None else points(tests[name, "full"].full, after)
        if fall is not None:
            found[name] = fall
    return found


def _built_in(tests: _Tests, names: list[str]) -> str:
    drops = [drop for name in names if (drop := tests[name, "full"].drop) is not None]
    if not drops:
        return ""
    return (
        "What is built in: these test rows were kept for being hard to predict, and a model trained on full and asked "
        f"about the filtered rows alone {_moved(drops)}."
    )


def _fewer_rows(tests: _Tests, names: list[str]) -> str:
    drops = [
        drop for name in names if (drop := points(tests[name, "full"].full, tests[name, "random"].full)) is not None
    ]
    if not drops:
        return "Without a result for random it is open what having fewer train rows costs."
    return f"With as few train rows, drawn at random, and all test rows it {_moved(drops)}."


def _judged(data: BenchmarkData, representation: str) -> str:
    """What training on filtered does, by the whole sets that can be judged."""
    against = control(data, representation)
    judged = [
        difference
        for difference in paired_differences(data, representation)
        if (difference.train_set, difference.against) == ("filtered", against)
        and difference.evaluator in data.plain_evaluators
        and difference.whole
        and difference.verdict.side is not None
    ]
    if not judged:
        return (
            "Whether training on filtered helps or harms is not told: it takes test rows that the filter did not "
            "choose, enough of them, and two seeds or more."
        )
    parts = [
        f"{side} for {listed(comparisons)}"
        for side in ("above", "below", "open")
        if (comparisons := [f"{one.evaluator} on {one.test_set}" for one in judged if one.verdict.side == side])
    ]
    return f"Trained on filtered instead of {against}, on test rows that the filter did not choose: {'; '.join(parts)}."


def _single_pass(data: BenchmarkData, representation: str, tests: _Tests, names: list[str]) -> str:
    trained_on = {train_set for _, train_set, _ in cell_groups(data, representation)}
    single_pass = next((one for one in ("single_pass_model", "single_pass_linear") if one in trained_on), None)
    if single_pass is None:
        return ""
    parts = []
    for name in names:
        once, looped = tests[name, single_pass].filtered, tests[name, "filtered"].filtered
        gap = None if once is None or looped is None else points(once, looped)
        if gap is None:
            continue
        if round(gap, 1) == 0:
            parts.append(f"{name} falls as much")
        else:
            parts.append(f"{name} falls {signed_points(abs(gap))} points {'less' if gap > 0 else 'more'}")
    if not parts:
        return ""
    return (
        f"For comparison, trained on as many rows that {single_pass} left and tested on the same filtered rows, "
        f"{listed(parts)}."
    )


def _moved(drops: Sequence[float]) -> str:
    """How far accuracy falls, as a number or a range over evaluators; a rise is called a rise."""
    low, high = min(drops), max(drops)
    if round(low, 1) < 0 < round(high, 1):
        return f"rises by up to {signed_points(-low)} or falls by up to {signed_points(high)} points"
    ends = sorted({signed_points(abs(low)), signed_points(abs(high))}, key=float)
    return f"{'rises' if round(low, 1) < 0 else 'falls'} by {' to '.join(ends)} points"
