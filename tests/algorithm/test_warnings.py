from typing import Any

import numpy as np
import pytest

from aflite_assets.algorithm import FilterSettings, IterationRecord, StopReason, filter_dataset
from aflite_assets.algorithm.warnings import ClassMove, class_moves, warnings_of

SETTINGS = FilterSettings(target_size=500, train_size=100, slice_size=100)
CLASSES = np.array([3, 8])


def record(**changes: Any) -> IterationRecord:
    fields = {
        "iteration": 0,
        "rows_in": 1000,
        "scored_rows_in": 0,
        "counted_rows_in": 1000,
        "removed": 100,
        "scored_removed": 0,
        "counted_removed": 100,
        "cutoff": 1.0,
        "tied_at_cutoff": 100,
        "representation_bias": 0.9,
        "scored_bias": None,
        "rows_per_class": (500, 500),
        "never_held_out": 0,
        "smallest_train_size": 100,
        "largest_train_size": 100,
        "seconds": 1.0,
    }
    return IterationRecord(**(fields | changes))


def last(**changes: Any) -> IterationRecord:
    ending = {"iteration": 5, "removed": 0, "cutoff": None, "tied_at_cutoff": 0, "representation_bias": 0.6}
    return record(**(ending | changes))


def sentences(*records: IterationRecord, settings: FilterSettings = SETTINGS) -> tuple[str, ...]:
    return warnings_of(records, settings, classes=CLASSES)


def test_a_sound_run_has_no_warning() -> None:
    assert sentences(record(), last()) == ()


@pytest.mark.parametrize(
    ("rows_per_class", "chance"), [((500, 500), "0.500"), ((800, 200), "0.680"), ((1000, 0), "1.000")]
)
def test_bias_under_chance(rows_per_class: tuple[int, int], chance: str) -> None:
    first = record(rows_per_class=rows_per_class)
    messages = sentences(first, last(representation_bias=0.46, rows_per_class=rows_per_class))
    assert len(messages) == 1
    assert f"bias, 0.460, is below {chance}, the value for guessing each class as often as it occurs" in messages[0]
    assert sentences(first, last(representation_bias=1.0, rows_per_class=rows_per_class)) == ()


def test_bias_under_chance_by_less_than_two_deviations_is_no_finding() -> None:
    # The deviation of 1,000 fair guesses is 0.0158.
    assert sentences(record(), last(representation_bias=0.469)) == ()
    assert len(sentences(record(), last(representation_bias=0.468))) == 1


def test_a_class_whose_share_moved() -> None:
    messages = sentences(record(rows_per_class=(500, 500)), last(rows_per_class=(560, 440)))
    assert [text.split(":")[0] for text in messages] == [
        "Class 3 made up 50.0% of the rows and makes up 56.0% of the kept ones",
        "Class 8 made up 50.0% of the rows and makes up 44.0% of the kept ones",
    ]
    assert sentences(record(rows_per_class=(500, 500)), last(rows_per_class=(550, 450))) == ()


def test_a_class_that_moved_is_said_by_name_and_with_other_advice() -> None:
    (move, _) = class_moves(np.array([0.5, 0.5]), np.array([0.56, 0.44]), np.array([3, 8]))
    assert move == ClassMove(3, 0.5, 0.56)
    assert move.sentence().endswith("kept ones: compare with a random subset that has the same class sizes.")
    assert move.sentence("“ham”", ".") == ("Class “ham” made up 50.0% of the rows and makes up 56.0% of the kept ones.")


def test_training_sets_over_half_of_the_pool() -> None:
    messages = sentences(record(), record(iteration=1, rows_in=200), last(rows_in=199, rows_per_class=(99, 100)))
    assert len(messages) == 1
    assert messages[0].startswith("From iteration 5 on, train_size 100 is over half of the pool (199 rows)")


def test_more_than_a_slice_tied() -> None:
    messages = sentences(record(tied_at_cutoff=101), record(iteration=1, tied_at_cutoff=250), last())
    assert messages == (
        "When the filter ended (iteration 1), 250 rows had the same predictability, 1.000. A slice has 100, so the "
        "removed rows were drawn at random among them. Those rows are always predicted: lower target_size, so that "
        "all of them can be removed.",
    )
    under = sentences(record(tied_at_cutoff=250, cutoff=0.9), last())
    assert under[0].endswith("Raise n_partitions, or lower target_size.")
    assert sentences(record(tied_at_cutoff=250), record(iteration=1, tied_at_cutoff=100), last()) == ()
    assert sentences(last()) == ()
    drawn = FilterSettings(target_size=500, train_size=100, slice_size=100, selection="gumbel")
    assert sentences(record(tied_at_cutoff=250), last(), settings=drawn) == ()


def test_a_run_carries_its_warnings() -> None:
    labels = np.repeat([0, 1], 50)
    result = filter_dataset(
        np.where(labels == 1, 5.0, -5.0)[:, None],
        labels,
        settings=FilterSettings(target_size=60, train_size=35, slice_size=10, n_partitions=8),
        seed=0,
    )
    assert len(result.warnings) == 2
    assert result.warnings[0].startswith("From iteration 4 on, train_size 35 is over half of the pool (60 rows)")
    assert result.warnings[1].startswith(
        "When the filter ended (iteration 3), 70 rows had the same predictability, 1.000."
    )


def test_ties_decide_nothing_where_the_threshold_ends_the_filter() -> None:
    labels = np.repeat([0, 1], 50)
    rng = np.random.default_rng(0)
    clear = np.where(np.arange(100) % 2 == 0, np.where(labels == 1, 5.0, -5.0), rng.normal(size=100))
    settings = FilterSettings(target_size=20, train_size=15, slice_size=10, n_partitions=8, threshold=0.95)
    result = filter_dataset(clear[:, None], labels, settings=settings, seed=0)
    assert result.stop_reason is StopReason.THRESHOLD
    assert max(record.tied_at_cutoff for record in result.iterations) > 10
    assert not [text for text in result.warnings if "last slice" in text]
