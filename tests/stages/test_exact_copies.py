"""Exact copies of rows stay together through the filter, whole runs and earlier sizes alike."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.algorithm import FilterSettings, filter_dataset
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.filtering.filter_inputs import copy_codes
from aflite_assets.stages.pipeline import run_stage

pytestmark = pytest.mark.usefixtures("undrawn")


def rows_with_copies(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """400 rows of two classes, of which the last 100 are the first 100 again."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 300)
    features = (rng.normal(size=(300, 4)) + labels[:, None]).astype(np.float32)
    return np.concatenate([features, features[:100]]), np.concatenate([labels, labels[:100]])


@pytest.mark.parametrize("selection", ["greedy", "gumbel"])
def test_copies_are_kept_or_removed_together(selection: Any) -> None:
    features, labels = rows_with_copies(0)
    settings = FilterSettings(
        target_size=200, train_size=40, slice_size=30, n_partitions=16, threshold=0.5, selection=selection
    )
    apart, together = (
        filter_dataset(features, labels, settings=settings, seed=0, copies=copies)
        for copies in (None, np.concatenate([np.arange(300), np.arange(100)]))
    )
    assert len(set(apart.kept_rows.tolist()) & set(range(100))) != len(
        set(apart.kept_rows.tolist()) & set(range(300, 400))
    )
    kept = np.zeros(400, dtype=bool)
    kept[together.kept_rows] = True
    assert np.array_equal(kept[:100], kept[300:])
    assert 200 <= kept.sum() < 400


def test_a_run_finds_the_copies_of_all_splits(tmp_path: Path) -> None:
    features, labels = rows_with_copies(1)
    for split, rows in (("train", slice(0, 320)), ("test", slice(320, 400))):
        table = pa.table({"features": features[rows].tolist(), "label": labels[rows]})
        pq.write_table(table, tmp_path / f"{split}.parquet")
    content = {
        "name": "copied",
        "source": {
            "format": "parquet",
            "splits": {split: str(tmp_path / f"{split}.parquet") for split in ("train", "test")},
        },
        "columns": {"features": "features"},
        "representations": {"given": {"kind": "identity"}},
        "filter": {"target_size": 150, "train_size": 40, "slice_size": 30, "n_partitions": 8, "threshold": 0.5},
        "evaluators": {"linear": {"kind": "linear"}},
        "train_sets": {"earlier": 220},
    }
    spec, store = DatasetSpec.model_validate(content), ResultStore(tmp_path / "results")
    for stage in ("raw_dataset", "challenge_sets", "warmup_split", "warmup_models", "embeddings", "filtered_sets"):
        run_stage(stage, spec, store=store)
    rows = pq.read_table(store.current("filtered_sets", "copied").part("given").file("rows.parquet"))
    codes, kept = rows["copy"].to_numpy(), rows["kept"].to_numpy(zero_copy_only=False)
    removed_in = rows["removed_in_iteration"].to_pylist()
    assert len(np.unique(codes)) == 300
    for code in np.unique(codes):
        assert len(set(kept[codes == code].tolist())) == 1
        assert len({removed_in[place] for place in np.flatnonzero(codes == code)}) == 1
    assert not kept.all()
    raw = store.current("raw_dataset", "copied")
    assert copy_codes(raw, rows["row_id"].to_numpy()[:50]) is None
