"""From shares to counts."""

import pytest

from aflite_assets.errors import DataError
from aflite_assets.specs.dataset import WarmupSpec
from aflite_assets.specs.filter import FilterSpec
from aflite_assets.stages.shared.sizes import filter_settings, resolve_count, warmup_rows


def test_whole_numbers_are_counts_and_decimals_are_shares() -> None:
    assert [resolve_count(count, 200, field="x") for count in (1, 1.0, 0.25, 200)] == [1, 200, 50, 200]


@pytest.mark.parametrize(("count", "size"), [(201, 201), (0.001, 0)])
def test_counts_that_cannot_be_met_are_named(count: float, size: int) -> None:
    with pytest.raises(DataError, match=rf"filter.x is {count}, which is {size} of 200 rows; choose between 1 and 200"):
        resolve_count(count, 200, field="filter.x")


def test_warmup_rows() -> None:
    assert warmup_rows(WarmupSpec(size=0.1), 500, needed=True) == 50
    assert warmup_rows(WarmupSpec(size=0.1), 500, needed=False) == 0
    with pytest.raises(DataError, match=r"warmup.size 499 leaves 1 of 500 train rows; lower it"):
        warmup_rows(WarmupSpec(size=499), 500, needed=True)


def test_train_size_defaults_to_the_warmup_rows_or_a_tenth() -> None:
    assert filter_settings(FilterSpec(), 1000, 77).train_size == 77
    assert filter_settings(FilterSpec(), 1000, 0).train_size == 100
    assert filter_settings(FilterSpec(train_size=0.3), 1000, 77).train_size == 300


def test_every_setting_is_handed_on() -> None:
    spec = FilterSpec(
        target_size=500,
        slice_size=0.1,
        n_partitions=7,
        threshold=0.6,
        selection="gumbel",
        classifier="both",
        inverse_regularization=2.0,
        remove="groups",
    )
    settings = filter_settings(spec, 1000, 0)
    assert (settings.target_size, settings.slice_size, settings.n_partitions) == (500, 100, 7)
    assert (settings.threshold, settings.selection, settings.classifier) == (0.6, "gumbel", "both")
    assert (settings.inverse_regularization, settings.remove) == (2.0, "groups")


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"train_size": 500}, r"filter\.train_size must be below target_size, 500; received 500: lower train_size"),
        ({"slice_size": 501}, r"filter\.slice_size must not exceed target_size, 500; received 501: lower slice_size"),
    ],
)
def test_sizes_that_contradict_each_other_are_named(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        filter_settings(FilterSpec(target_size=500, **sizes), 1000, 0)


def test_the_target_is_in_train_rows_and_the_other_sizes_about_the_pool() -> None:
    spec = FilterSpec(target_size=100, train_size=199, slice_size=200)
    assert filter_settings(spec, 1000, 0, train_rows=500).train_size == 199
    with pytest.raises(DataError, match=r"train_size must be below target_size, 200 rows of the pool; received 200"):
        filter_settings(spec.model_copy(update={"train_size": 200}), 1000, 0, train_rows=500)
