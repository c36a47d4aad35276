"""Arrays of a result or of unfinished work that are damaged: the error names the file and what to do."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import PublishedResult
from aflite_assets.stages.embedding import embeddings, spread_encoding
from aflite_assets.stages.filtering.filtered_sets import Checkpoint
from aflite_assets.stages.shared.published import open_features
from tests.test_array_files import HOSTILE, npy


@pytest.mark.parametrize("name", ["negative", "too many numbers", "objects", "cut short", "empty"])
def test_damaged_features_of_a_result_are_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "features.npy"
    path.write_bytes(HOSTILE[name])
    part = PublishedResult("embeddings", "tiny", "key", tmp_path)
    said = re.escape(f"{path} is not the array that was published (") + ".*run `aflite doctor --deep --fix`, then "
    "materialise it"
    with pytest.raises(StoreError, match=said):
        open_features(part)


@pytest.mark.parametrize("name", ["negative", "objects", "cut short", "empty"])
def test_a_damaged_state_of_a_filter_is_named(tmp_path: Path, name: str) -> None:
    checkpoint = Checkpoint(tmp_path)
    assert checkpoint.load() is None
    (tmp_path / "state.npz").write_bytes(HOSTILE[name])
    said = (
        re.escape(f"{tmp_path / 'state.npz'} is not a saved state of a filter (") + ".*delete this file to start the "
        "filter from the beginning"
    )
    with pytest.raises(StoreError, match=said):
        checkpoint.load()
    np.savez(tmp_path / "state.npz", predictability=np.zeros(3))
    with pytest.raises(StoreError, match=said):
        checkpoint.load()


@pytest.mark.parametrize(
    "arrays",
    [
        {},
        {"features": np.zeros((3, 2), np.float32)},
        {"features": np.zeros((2, 2), np.float32), "own": np.zeros(3, np.float32)},
        {"features": np.zeros((3, 2), np.float32), "own": np.zeros((3, 1), np.float32)},
        {"features": np.array(3.0), "own": np.zeros(3, np.float32)},
    ],
)
def test_a_shard_of_other_rows_is_named(tmp_path: Path, arrays: Any) -> None:
    path = tmp_path / f"{0:012d}-{3:012d}.npz"
    np.savez(path, **arrays)
    said = re.escape(f"{path} holds no encoded rows (") + ".*delete the file, and its rows will be encoded again"
    with pytest.raises(StoreError, match=said):
        spread_encoding._joined(tmp_path, 3, tmp_path / "features.npy")
    path.write_bytes(b"PK\x03\x04")
    with pytest.raises(StoreError, match=said):
        spread_encoding._joined(tmp_path, 3, tmp_path / "features.npy")
    assert not (tmp_path / "features.npy").exists()


@pytest.mark.parametrize("content", [HOSTILE["negative"], HOSTILE["cut short"], npy((3, 3), body=bytes(36))])
def test_rows_of_an_unfinished_extraction_that_are_damaged_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "features.npy"
    path.write_bytes(content)
    (tmp_path / "progress.json").write_text(json.dumps({"rows": 1}))
    said = (
        re.escape(f"{path} does not contain encoded rows (") + f".*delete the folder {re.escape(str(tmp_path))} and mat"
    )
    with pytest.raises(StoreError, match=said):
        embeddings._mapped(path, (3, 2), begun=True)
    assert embeddings._mapped(path, (3, 2), begun=False).shape == (3, 2)
