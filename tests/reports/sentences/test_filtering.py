from dataclasses import replace

import pyarrow as pa
import pytest

from aflite_assets.analysis.filtering import filter_outcome, still_predicted
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.reports.sentences.filtering import filtering_sentence, still_predicted_sentence


@pytest.fixture
def filtered(by_hand: BenchmarkData) -> FilteredSet:
    return by_hand.filtered[0]


def kept(filtered: FilteredSet, scores: list[float | None], stop_reason: str, **settings: object) -> FilteredSet:
    """As many kept train rows as scores; a removed row and a test row, which do not count, are always right."""
    rows = len(scores) + 2
    table = pa.table(
        {
            "row_id": list(range(rows)),
            "split": ["train"] * (rows - 1) + ["test"],
            "label": [0] * rows,
            "kept": [True] * len(scores) + [False, True],
            "removed_in_iteration": pa.array([None] * len(scores) + [0, None], pa.int64()),
            "predictability": pa.array([*scores, 1.0, 1.0], pa.float32()),
            "label_probability": pa.array([0.5] * rows, pa.float32()),
        }
    )
    return replace(filtered, rows=table, stop_reason=stop_reason, settings={"threshold": 0.7, **settings})


def test_a_filter_that_the_target_size_stopped_leaves_rows_that_are_predicted_every_time(filtered: FilteredSet) -> None:
    still = still_predicted(kept(filtered, [1.0, 1.0, 0.8, 0.2, 0.1], "TARGET_SIZE"))
    assert (still.rows, still.every_time, still.over, still.unscored) == (5, 2, 3, 0)
    assert not still.all_under_threshold
    assert still_predicted_sentence(still) == (
        "40.0 % of kept rows are still predicted every time: target_size stopped the filter. 60.0 % of kept train rows "
        "(3 of 5) are at or over the threshold of 0.7."
    )


def test_under_the_threshold_is_said_and_rows_never_held_out_are_not_under_it(filtered: FilteredSet) -> None:
    under = still_predicted(kept(filtered, [0.69, 0.2], "THRESHOLD"))
    assert under.all_under_threshold
    assert still_predicted_sentence(under) == "Every kept train row is under the threshold of 0.7."
    unknown = still_predicted(kept(filtered, [0.6, None], "THRESHOLD"))
    assert not unknown.all_under_threshold
    assert still_predicted_sentence(unknown) == (
        "Every other kept train row is under the threshold of 0.7. 1 of 2 were never held out, so their "
        "predictability is unknown."
    )
    assert not still_predicted(kept(filtered, [], "TARGET_SIZE")).all_under_threshold


def test_the_threshold_itself_is_not_under_it_however_it_is_rounded(filtered: FilteredSet) -> None:
    assert still_predicted(kept(filtered, [0.7], "THRESHOLD")).over == 1


@pytest.mark.parametrize(
    ("stop_reason", "settings", "why"),
    [
        ("TARGET_SIZE", {}, "target_size stopped the filter."),
        ("CHANCE", {}, "the filter stopped because its rows were no more predictable than with shuffled labels."),
        (
            "NOTHING_LEARNT",
            {},
            "the filter stopped because its classifiers learnt nothing beyond class shares, in which",
        ),
        ("THRESHOLD", {"selection": "gumbel"}, "with selection gumbel the threshold ends the filter and does not"),
        ("THRESHOLD", {"remove": "groups"}, "whole groups are removed, by the mean of their rows."),
        ("THRESHOLD", {}, "only the last pass, which has classifiers of its own, predicted them."),
    ],
)
def test_why_rows_over_the_threshold_were_kept(
    filtered: FilteredSet, stop_reason: str, settings: dict[str, object], why: str
) -> None:
    still = still_predicted(kept(filtered, [0.9, 0.1], stop_reason, **settings))
    assert still_predicted_sentence(still).startswith(
        f"50.0 % of kept train rows (1 of 2) are still predicted at or over the threshold of 0.7: {why}"
    )


def test_filtering_sentence(planted: BenchmarkData) -> None:
    assert filtering_sentence(filter_outcome(planted.filtered[0])) == (
        "Filtering with representation roberta kept 402 of 1,200 train rows (33.5 %) and stopped because too few "
        "rows were predictable enough to be removed. Over 8 passes representation bias fell from 82.0 % to 40.0 %. "
        "The largest class makes up 33.3 % of the rows left in the pool."
    )


@pytest.mark.parametrize(
    ("passes", "bias", "said"),
    [
        (1, (0.6, 0.6), "Over one pass representation bias was 60.0 %."),
        (3, (0.80004, 0.80001), "Over 3 passes representation bias was 80.0 %."),
        (3, (0.6, 0.61), "Over 3 passes representation bias rose from 60.0 % to 61.0 %."),
    ],
)
def test_a_bias_that_is_printed_alike_neither_falls_nor_rises(
    planted: BenchmarkData, passes: int, bias: tuple[float, float], said: str
) -> None:
    outcome = replace(filter_outcome(planted.filtered[0]), passes=passes, bias=bias)
    assert f" {said} The largest class " in filtering_sentence(outcome)


def test_no_iteration_is_no_curve(planted: BenchmarkData) -> None:
    f = planted.filtered[0]
    empty = FilteredSet("roberta", f.iterations.slice(0, 0), "target_size", (), f.rows, {})
    assert filtering_sentence(filter_outcome(empty)).endswith("stopped because the target size was reached.")
