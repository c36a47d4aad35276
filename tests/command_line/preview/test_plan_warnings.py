"""Warnings about a plan's settings: what they name, what they advise, and that following the advice ends them."""

from typing import Any

from aflite_assets.command_line.preview.data_preview import preview_challenges, preview_data, preview_plan
from aflite_assets.command_line.preview.plan_warnings import sample_section
from aflite_assets.specs.registry import parse_spec
from tests.small_datasets import template_pairs

PAIRS = template_pairs(train=2000, test=60, warmup=0.2)


def _samples(start: int = 100, **filtering: Any) -> list[str]:
    sample = {"start": start, "step": 100, "most": 600, "model": {"kind": "linear"}}
    spec = parse_spec({**PAIRS, "sample": sample, "filter": {"n_partitions": 4, **filtering}})
    data = preview_data(spec)
    return list(sample_section(spec, data, preview_plan(spec, data, preview_challenges(spec, data))))


def test_samples_that_the_filter_does_not_fit_are_named() -> None:
    # A fifth of each sample is spent on the encoder: 240 of 300 rows are left, 320 of 400.
    assert _samples(target_size=300) == [
        "warning: if train_sample chooses 100 or 200 or 300 rows, the run is refused after its trainings; of 100 rows: "
        "filter.target_size is 300, which is 300 of 80 rows; choose between 1 and 80 rows; set sample.start to 400, or "
        "change these sizes"
    ]
    assert _samples(start=400, target_size=300) == []
    assert _samples(target_size=0.5) == []


def test_without_a_sample_there_is_nothing_to_fit() -> None:
    spec = parse_spec(PAIRS)
    data = preview_data(spec)
    assert list(sample_section(spec, data, preview_plan(spec, data, preview_challenges(spec, data)))) == []
