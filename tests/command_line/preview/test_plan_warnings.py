"""Warnings about a plan's settings: what they name, what they advise, and that following the advice ends them."""

from typing import Any

import pytest
import yaml

from aflite_assets.command_line.preview.check import plan_section
from aflite_assets.command_line.preview.data_preview import preview_challenges, preview_data, preview_plan
from aflite_assets.command_line.preview.plan_warnings import rates_section, train_sets_section, yaml_number
from aflite_assets.errors import DataError
from aflite_assets.specs.registry import parse_spec
from aflite_assets.studies.sample.command_line.preview import PART
from tests.small_datasets import template_pairs

PAIRS = template_pairs(train=2000, test=60, warmup=0.2)
NET = {"kind": "small_transformer", "learning_rate": 0.001}
BOW = {"bow": {"model": {"kind": "siamese_bag"}}}


def _rates(**stages: list[dict[str, Any]]) -> list[str]:
    tuned = {name: {"kind": "fine_tuned", "start": "net", "stages": each} for name, each in stages.items()}
    return list(rates_section(parse_spec({**PAIRS, "forgettables": BOW, "evaluators": {"net": NET, **tuned}})))


def test_second_phases_at_the_rate_of_the_first_are_named_together() -> None:
    said = _rates(
        net_bow=[{"forgettables": "bow"}],
        net_random=[{"forgettables": "bow", "take": "random", "learning_rate": 0.001}],
        net_slow=[{"forgettables": "bow", "learning_rate": 0.0002}],
    )
    assert said == [
        "warning: evaluators.net_bow and evaluators.net_random: the second phase has a learning rate of 0.001, and the "
        "first, of net, 0.001; the paper's second rate is a fifth or a quarter of its first. On template_nli, "
        "accuracy on the dataset's test rows fell more with a high rate, and most with wrong labels; set "
        "learning_rate: 0.0002 in the stage"
    ]


def test_a_rate_over_the_firsts_is_named_and_one_below_is_not() -> None:
    (said,) = _rates(net_bow=[{"forgettables": "bow", "learning_rate": 0.0005}, {"forgettables": "bow"}])
    assert "has a learning rate of 0.001, and the first, of net, 0.001" in said
    (said,) = _rates(net_bow=[{"forgettables": "bow", "learning_rate": 0.05}])
    assert "has a learning rate of 0.05, and the first, of net, 0.001" in said
    assert _rates(net_bow=[{"forgettables": "bow", "learning_rate": 0.0009}]) == []
    assert _rates() == []


@pytest.mark.parametrize(("number", "text"), [(0.0002, "0.0002"), (4e-6, "4.0e-06"), (1.5e-5, "1.5e-05"), (2.0, "2.0")])
def test_numbers_are_those_that_yaml_reads(number: float, text: str) -> None:
    assert yaml_number(number) == text
    assert yaml.safe_load(text) == number


def _samples(start: int = 100, **filtering: Any) -> list[str]:
    sample = {"start": start, "step": 100, "most": 600, "model": {"kind": "linear"}}
    spec = parse_spec({**PAIRS, "sample": sample, "filter": {"n_partitions": 4, **filtering}})
    data = preview_data(spec)
    return list(PART.warnings(preview_plan(spec, data, preview_challenges(spec, data)), classes=3))


def test_samples_that_the_filter_does_not_fit_are_named() -> None:
    # A fifth of each sample is spent on the encoder: 240 of 300 rows are left, 320 of 400.
    assert _samples(target_size=300) == [
        "warning: if train_sample chooses 100 or 200 or 300 rows, the run fails after the "
        "training runs on the samples; of 100 rows: `filter.target_size` is 300, but there are only 80 train rows to "
        "filter; set it to at most 80, or to a share such as 0.5; set sample.start to 400, or "
        "change these sizes"
    ]
    assert _samples(start=400, target_size=300) == []
    assert _samples(target_size=0.5) == []


def test_train_sets_of_sizes_that_the_filter_never_has_are_named() -> None:
    spec = parse_spec({**PAIRS, "train_sets": {"all": 5_000, "some": 900, "few": 10}, "filter": {"n_partitions": 4}})
    data = preview_data(spec)
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    train, target = plan.train_pool_rows, plan.settings.target_size
    assert list(train_sets_section(plan)) == [
        f"warning: train_sets.all is 5,000, but only {train:,} train rows are filtered, so `filtered_all` would "
        "have all of them; set a smaller number",
        f"warning: train_sets.few is 10, but filter.target_size keeps {target} train rows, so there will be "
        f"no `filtered_few`; set at least {target}, or lower target_size",
    ]
    assert target <= 900 < train


def test_without_a_sample_there_is_nothing_to_fit() -> None:
    spec = parse_spec(PAIRS)
    data = preview_data(spec)
    assert list(PART.warnings(preview_plan(spec, data, preview_challenges(spec, data)), classes=3)) == []


def test_a_plan_is_for_the_largest_sample_that_fits() -> None:
    """As many rows as the warm-up has are trained on: 120 of a sample of 600, where the target allows 109 of 100."""
    sample = {"start": 100, "step": 100, "most": 600, "model": {"kind": "linear"}}
    content = {**PAIRS, "sample": sample, "filter": {"n_partitions": 4, "target_size": 100}}
    spec = parse_spec(content)
    data = preview_data(spec)
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    (said,) = PART.warnings(plan, classes=3)
    assert said.startswith(
        "warning: if train_sample chooses 100 or 600 rows, the run fails after the training runs on the samples"
    )
    assert said.endswith(
        "; of 100 rows: `filter.target_size` is 100, but there are only 80 train rows to filter; "
        "set it to at most 80, or to a share such as 0.5; change these sizes"
    )
    assert (plan.sampled_rows, plan.filtered_from, plan.warmup_rows) == (500, 500, 100)
    text = "\n".join(plan_section(data, plan))
    assert (
        "with 100 held back, which measure accuracies of about 80 % to ±7.8 points; the following "
        "numbers are for 500, the " in text
    )
    assert "100 rows (0.2) of 500 sampled rows" in text
    refused = parse_spec({**content, "filter": {"target_size": 590}})
    challenges = preview_challenges(refused, data)
    with pytest.raises(DataError, match="target_size` is 590, but there are only 480 train rows"):
        preview_plan(refused, data, challenges)


def test_samples_beyond_the_rows_are_named() -> None:
    sample = {"start": 500, "step": 500, "most": 5000, "model": {"kind": "linear"}}
    spec = parse_spec({**PAIRS, "sample": sample, "filter": {"n_partitions": 4, "target_size": 0.5}})
    data = preview_data(spec)
    (said,) = PART.warnings(preview_plan(spec, data, preview_challenges(spec, data)), classes=3)
    assert said == (
        "warning: sample.most is 5,000, but without the held-back rows, 1,900 train rows remain; the largest sample "
        "is 1,500"
    )
