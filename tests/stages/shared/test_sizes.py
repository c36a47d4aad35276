"""From shares to counts."""

from typing import Any

import pytest

from aflite_assets.errors import DataError
from aflite_assets.specs.filter import FilterSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.specs.warmup import WarmupSpec
from aflite_assets.stages.shared.sizes import filter_settings, sample_misfits, warmup_rows
from tests.small_datasets import template_pairs


def test_warmup_rows() -> None:
    assert warmup_rows(WarmupSpec(size=0.1), 500, needed=True) == 50
    assert warmup_rows(WarmupSpec(size=0.1), 500, needed=False) == 0
    with pytest.raises(DataError, match=r"`warmup.size` is 499, which leaves 1 of 500 train rows"):
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
        (
            {"train_size": 500},
            r"`filter\.train_size` is 500, but `target_size` is 500 and must be larger; lower `train_size`",
        ),
        (
            {"slice_size": 501},
            r"`filter\.slice_size` is 501, but `target_size` is 500 and must not be smaller; lower `slice_size`",
        ),
    ],
)
def test_sizes_that_contradict_each_other_are_named(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(DataError, match=message):
        filter_settings(FilterSpec(target_size=500, **sizes), 1000, 0)


def test_the_target_is_in_train_rows_and_the_other_sizes_about_the_pool() -> None:
    spec = FilterSpec(target_size=100, train_size=199, slice_size=200)
    assert filter_settings(spec, 1000, 0, train_rows=500).train_size == 199
    with pytest.raises(DataError, match=r"train_size` is 200, but `target_size` corresponds to 200 rows of the pool"):
        filter_settings(spec.model_copy(update={"train_size": 200}), 1000, 0, train_rows=500)


def _misfits(samples: list[int], *, warmup: float | str = 0.1, classes: int = 3, **filtering: Any) -> dict[int, str]:
    spec = parse_spec(template_pairs(train=20_000, test=500, warmup=warmup, **filtering))
    return sample_misfits(spec, samples, {"train": 20_000, "test": 500}, classes=classes)


def test_shares_fit_every_sample() -> None:
    assert _misfits([100, 1_000, 20_000]) == {}


def test_a_number_of_rows_may_fit_the_larger_samples_alone() -> None:
    problems = _misfits([500, 1_000, 2_000], target_size=1_000)
    assert problems == {
        500: "`filter.target_size` is 1,000, but there are only 450 train rows to filter; set it to at "
        "most 450, or to a share such as 0.5",
        1_000: "`filter.target_size` is 1,000, but there are only 900 train rows to filter; set it to at "
        "most 900, or to a share such as 0.5",
    }


def test_a_share_beside_a_number_may_fit_the_smaller_samples_alone() -> None:
    """As many rows are trained on as are spent on the warm-up, by default."""
    problems = _misfits([1_000, 5_000, 10_000], target_size=500, evaluation_rows="kept")
    assert problems == {
        5_000: "`filter.train_size` is 500, but `target_size` is 500 and must be larger; lower `train_size`, or raise "
        "`target_size`",
        10_000: "`filter.train_size` is 1000, but `target_size` is 500 and must be larger; lower `train_size`, or "
        "raise `target_size`",
    }


def test_rows_of_other_splits_count_where_they_are_pooled() -> None:
    assert list(_misfits([1_000], train_size=600, target_size=0.5)) == [] == list(_misfits([1_400], train_size=600))
    assert list(_misfits([1_000], train_size=600, target_size=0.5, evaluation_rows="kept")) == [1_000]


def test_with_auto_every_number_of_warmup_rows_has_to_fit() -> None:
    assert _misfits([10_000], warmup="auto", target_size=0.5) == {}
    # 1,600 rows of the largest curve sample and 500 held back are the most that may be spent.
    assert list(_misfits([10_000], warmup="auto", target_size=7_900, evaluation_rows="kept")) == []
    assert _misfits([10_000], warmup="auto", target_size=7_901, evaluation_rows="kept") == {
        10_000: "`filter.target_size` is 7,901, but there are only 7,900 train rows to filter; set it to "
        "at most 7,900, or to a share such as 0.5"
    }
    assert _misfits([1_000], warmup="auto")[1_000].startswith("`warmup.size` is `auto`, which needs ")
