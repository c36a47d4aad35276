"""Suspected label errors from the loop to its controls: listed, or taken out before the first iteration."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.errors import DataError
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.filtering import filter_inputs, filtered_sets
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.shared.published import label_errors, predicted_instead, quarantined_rows, read_control_sets

STAGES = ("raw_dataset", "warmup_split", "warmup_models", "embeddings", "filtered_sets", "control_sets")


def walked(content: dict[str, Any], store: ResultStore) -> dict[str, PublishedResult]:
    spec = parse_spec(content)
    return {name: run_stage(name, spec, store=store).result for name in STAGES}


def wrong_labels(rows: int) -> np.ndarray:
    """Every tenth label of the alternating classes is the other one."""
    return np.arange(rows) % 2 ^ (np.arange(rows) % 10 == 0)


@pytest.fixture
def noisy(feature_files: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Features of two classes, some labels wrong, under a decision about them."""

    def content(decision: Any = None) -> dict[str, Any]:
        made = feature_files(train_labels=wrong_labels(120), test_labels=wrong_labels(40))
        if decision is not None:
            made["filter"]["suspected_label_errors"] = decision
        return made

    return content


def suspects_of(part: PublishedResult) -> pa.Table:
    suspects = label_errors(part)
    assert suspects is not None
    return suspects


def test_suspects_are_listed_and_kept_by_default(noisy: Callable[..., dict[str, Any]], store: ResultStore) -> None:
    results = walked(noisy(), store)
    part = results["filtered_sets"].part("given")
    suspects, rows = suspects_of(part), pq.read_table(part.file("rows.parquet"))
    assert suspects.num_rows == part.summary["suspected_label_errors"] > 10
    assert part.summary["quarantined"] == len(quarantined_rows(part)) == 0
    assert set(suspects["row_id"].to_pylist()) <= set(rows["row_id"].to_pylist())
    named = rows.filter(np.isin(rows["row_id"].to_numpy(), suspects["row_id"].to_numpy()))
    found = dict(zip(named["row_id"].to_pylist(), named["label_probability"].to_pylist(), strict=True))
    assert [found[row_id] for row_id in suspects["row_id"].to_pylist()] == suspects["label_probability"].to_pylist()
    assert (suspects["label"].to_numpy() != suspects["suggested_label"].to_numpy()).all()


def test_quarantined_rows_are_in_no_set(noisy: Callable[..., dict[str, Any]], store: ResultStore) -> None:
    kept = walked(noisy(), store)["filtered_sets"].part("given")
    results = walked(noisy("quarantine"), store)
    part = results["filtered_sets"].part("given")
    suspects, rows = suspects_of(part), pq.read_table(part.file("rows.parquet"))
    # The same first iteration says it, whatever is then done.
    assert suspects.drop_columns(["quarantined"]).equals(suspects_of(kept).drop_columns(["quarantined"]))
    in_train = suspects["split"].to_numpy(zero_copy_only=False) == "train"
    np.testing.assert_array_equal(suspects["quarantined"].to_numpy(zero_copy_only=False), in_train)
    assert 0 < in_train.sum() < len(in_train)
    taken_out = quarantined_rows(part)
    assert part.summary["quarantined"] == len(taken_out) == in_train.sum()
    before = pq.read_table(kept.file("rows.parquet"))["row_id"].to_numpy()
    np.testing.assert_array_equal(rows["row_id"].to_numpy(), before[~np.isin(before, taken_out)])
    for control in read_control_sets(results["control_sets"]):
        assert not np.isin(control.row_ids, taken_out).any(), control.name
        if control.split == "train":
            assert len(control.row_ids) == part.summary["kept"]["train"]


def test_an_interrupted_filter_goes_on_with_the_same_quarantine(
    noisy: Callable[..., dict[str, Any]], store: ResultStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = walked(noisy("quarantine"), ResultStore(tmp_path / "whole"))["filtered_sets"].part("given")

    def full_disk(*given: Any) -> None:
        raise OSError("disk full")

    def asked_again(*given: Any, **options: Any) -> None:
        raise AssertionError("the suspects are in the scratch folder")

    with monkeypatch.context() as patch:
        patch.setattr(filtered_sets, "_write", full_disk)
        with pytest.raises(OSError, match="disk full"):
            walked(noisy("quarantine"), store)
    monkeypatch.setattr(filter_inputs.FilterInputs, "first_probabilities", asked_again)
    resumed = walked(noisy("quarantine"), store)["filtered_sets"].part("given")
    assert resumed.manifest["files"] == whole.manifest["files"]


def test_test_rows_are_quarantined_where_asked(noisy: Callable[..., dict[str, Any]], store: ResultStore) -> None:
    decisions = {"train": "quarantine", "test": "quarantine"}
    part = walked(noisy(decisions), store)["filtered_sets"].part("given")
    suspects = suspects_of(part)
    assert set(suspects["split"].to_pylist()) == {"train", "test"}
    assert len(quarantined_rows(part)) == suspects.num_rows


def test_too_many_probabilities_are_refused_or_left_out(
    noisy: Callable[..., dict[str, Any]], store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filter_inputs, "_MOST_PROBABILITIES", 100)
    part = walked(noisy(), store)["filtered_sets"].part("given")
    assert label_errors(part) is None
    assert "suspected_label_errors" not in part.summary
    with pytest.raises(DataError, match=r"but 160 rows times 2 classes give more than 100 probabilities; set `limit`"):
        walked(noisy("quarantine"), store)


def test_what_was_predicted_instead_is_published(noisy: Callable[..., dict[str, Any]], store: ResultStore) -> None:
    part = walked(noisy(), store)["filtered_sets"].part("given")
    instead, rows = predicted_instead(part), pq.read_table(part.file("rows.parquet"))
    assert instead is not None
    assert instead["row_id"].equals(rows["row_id"])
    assert instead["label_2"].null_count == instead["share_3"].null_count == rows.num_rows  # there are two classes
    wrong = 1 - rows["predictability"].to_numpy()
    np.testing.assert_allclose(np.nan_to_num(instead["share_1"].to_numpy()), wrong, atol=1e-6)
    named = np.flatnonzero(wrong > 0)
    np.testing.assert_array_equal(instead["label_1"].to_numpy()[named], 1 - rows["label"].to_numpy()[named])
