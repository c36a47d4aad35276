"""Sizes of the filter that samples do not meet: refused before a training, or by the name of the chosen one."""

import re
from typing import Any

import pytest

from aflite_assets.errors import DataError
from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.stage import Progress
from tests.small_datasets import template_pairs

SAMPLE = {"start": 100, "step": 100, "most": 600, "model": {"kind": "linear"}}
CONTENT = template_pairs(train=2000, test=60, warmup=0.2) | {"sample": SAMPLE}


def _spec(**changes: Any) -> DatasetSpec:
    return parse_spec({**CONTENT, **changes})


FEW = {"target_size": 1_950, "n_partitions": 4}


def test_sizes_that_no_sample_of_these_rows_meets_are_refused_before_a_training(store: ResultStore) -> None:
    sample = SAMPLE | {"most": 2_500}
    message = (
        r"the sizes of warm-up and filter do not fit any sample of 100 to 1900 rows; the problem with 1900 rows: "
        r"`filter\.target_size` is 1,950, but there are only 1,520 train rows to filter; set it to at most 1,520, or"
    )
    spec = _spec(sample=sample, filter=FEW)
    run_stage("raw_dataset", spec, store=store)
    logged: list[str] = []
    keys: list[str] = []
    with pytest.raises(DataError, match=message):
        run_stage(
            "train_sample",
            spec,
            store=store,
            progress=Progress(logged.append),
            on_making=lambda key: keys.append(key.digest),
        )
    assert logged == keys == []  # no try is counted: the file that is mended has the same key
    refused = plan_dataset(spec, store)["train_sample"]
    assert refused.state == "refused"
    assert re.search(message, str(refused.reasons[0]))
    mended = plan_dataset(_spec(sample=sample, filter={**FEW, "target_size": 0.5}), store)["train_sample"]
    assert mended.state == "made"


def test_a_chosen_sample_that_does_not_fit_is_refused_by_its_name(
    store: ResultStore,
) -> None:
    run_stage("raw_dataset", _spec(), store=store)
    chosen = run_stage("train_sample", _spec(), store=store).result.summary["rows"]
    assert chosen < 600
    spec = _spec(filter={"target_size": chosen, "n_partitions": 4})
    assert run_stage("train_sample", spec, store=store).cached
    larger = next(size for size in range(100, 601, 100) if 0.8 * size >= chosen)
    left = round(0.8 * chosen)
    message = (
        rf"`train_sample` chose a sample of {chosen} rows, which does not fit other sizes in the dataset's YAML file: "
        rf"`filter\.target_size` is {chosen}, but there are only {left} train rows to filter; set it to at most "
        rf"{left}, or to a share such as 0\.5, or set `sample\.start` to {larger}"
    )
    with pytest.raises(DataError, match=message):
        run_stage("warmup_split", spec, store=store)
    refused = plan_dataset(spec, store)["warmup_split"]
    assert refused.state == "refused"
    assert re.search(message, str(refused.reasons[0]))
