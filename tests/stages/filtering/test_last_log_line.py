"""The log's last line counts the rows that would have been removed next."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.algorithm import FilterSettings, filter_dataset
from aflite_assets.stages.filtering.filter_inputs import FilterInputs
from aflite_assets.stages.filtering.last_log_line import stop_line


def _inputs(settings: FilterSettings) -> FilterInputs:
    """Rows of which 60 % have a feature that is their label, and the others noise; two rows are a group."""
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    tells = np.arange(200) < 120
    features = np.where(tells, 2.0 * labels - 1, rng.normal(size=200))[:, None].astype(np.float32)
    rows = pa.table({"row_id": np.arange(200), "label": labels, "split": ["train"] * 200, "group": np.arange(200) // 2})
    everything, split = np.arange(200), np.array(["train"] * 200)
    return FilterInputs(rows, everything, features, split, np.zeros(200, bool), settings, {}, None, None, True)


@pytest.mark.parametrize(("target", "why"), [(190, "at its target size"), (40, "at its threshold")])
def test_the_reason_the_settings_and_the_rows_that_would_be_next_are_logged(target: int, why: str) -> None:
    settings = FilterSettings(target_size=target, train_size=30, slice_size=10, n_partitions=32, threshold=0.9)
    given = _inputs(settings)
    result = filter_dataset(given.features, given.labels, settings=settings, seed=0, groups=given.groups)
    line = stop_line("small", result, given, chance=0.5)
    reached = int((result.predictability[result.kept_rows] >= np.float32(0.9)).sum())
    assert line.startswith(f"filtering small stopped {why}")
    assert f"It kept {len(result.kept_rows)} of 200 train rows (`target_size` {target})." in line
    assert f"In the last pass, {reached} of the kept rows reach the `threshold` 0.9; an" in line
    assert "an iteration removes at most 10 rows (`slice_size`)" in line
    assert line.endswith("The mean predictability with shuffled labels is 0.500")
    assert (reached > 100) == (target == 190)


def test_groups_that_leave_together_reach_the_threshold_by_their_mean() -> None:
    settings = FilterSettings(target_size=190, train_size=30, slice_size=10, threshold=0.9, remove="groups")
    given = _inputs(settings)
    result = filter_dataset(given.features, given.labels, settings=settings, seed=0, groups=given.groups)
    scores = result.predictability.copy()
    scores[result.kept_rows] = np.where(result.kept_rows % 2, 1.0, 0.7)  # every group has 0.85
    assert "pass, 0 of the kept" in stop_line("small", replace(result, predictability=scores), given, chance=0.5)
    scores[result.kept_rows] = np.where(result.kept_rows % 2, 1.0, 0.8)
    line = stop_line("small", replace(result, predictability=scores), given, chance=0.5)
    assert f"In the last pass, {len(result.kept_rows)} of the kept rows reach" in line


def test_rows_at_the_threshold_do_not_exceed_it() -> None:
    settings = FilterSettings(target_size=190, train_size=30, slice_size=10, threshold=0.75, comparison="greater")
    given = _inputs(settings)
    result = filter_dataset(given.features, given.labels, settings=settings, seed=0, groups=given.groups)
    scores = np.full(200, 0.75, np.float32)
    line = stop_line("small", replace(result, predictability=scores), given, chance=0.5)
    assert "In the last pass, 0 of the kept rows exceed the `threshold` 0.75; an" in line
