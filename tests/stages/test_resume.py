"""Killed at any moment, a stage goes on where it was and ends with the same bits."""

import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.data.examples import Examples
from aflite_assets.models.encoders import EncodedBatch
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.embedding import embeddings
from aflite_assets.stages.embedding.spread_encoding import BATCH_ROWS
from aflite_assets.stages.filtering import filtered_sets
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.stage import Progress
from tests.forked import forking_context
from tests.small_datasets import template_pairs

TEXTS = template_pairs(train=400, test=60, warmup=60)
UNTIL_FILTER = ("raw_dataset", "challenge_sets", "warmup_split", "warmup_models", "embeddings", "filtered_sets")


def _until_killed(root: Path, content: dict[str, Any], killed_at: int) -> None:
    """Stops itself hard in the middle of an iteration, after its scores were written and before its state was."""
    saves, savez = 0, np.savez

    def save(*args: Any, **kwargs: Any) -> None:
        nonlocal saves
        saves += 1
        if saves == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        savez(*args, **kwargs)

    pytest.MonkeyPatch().setattr(np, "savez", save)
    _filter(parse_spec(content), ResultStore(root))


def _filter(spec: DatasetSpec, store: ResultStore) -> tuple[Any, list[str]]:
    logged: list[str] = []
    for name in UNTIL_FILTER:
        obtained = run_stage(name, spec, store=store, progress=Progress(logged.append))
    return obtained.result, logged


@pytest.mark.parametrize("killed_at", [1, 3])
def test_a_killed_filter_resumes_with_the_same_bits(
    killed_at: int, circles_content: dict[str, Any], tmp_path: Path
) -> None:
    spec = parse_spec(circles_content)
    whole, _ = _filter(spec, ResultStore(tmp_path / "whole"))
    process = forking_context().Process(target=_until_killed, args=(tmp_path / "killed", circles_content, killed_at))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    resumed, logged = _filter(spec, ResultStore(tmp_path / "killed"))
    resumes = [line for line in logged if "resumes" in line]
    assert resumes == ([f"filtering given resumes at iteration {killed_at - 1}"] if killed_at > 1 else [])
    assert resumed.data_version == whole.data_version
    assert resumed.part("given").manifest["files"] == whole.part("given").manifest["files"]


def test_an_error_while_publishing_loses_no_scores(
    circles_content: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = parse_spec(circles_content)
    whole, _ = _filter(spec, ResultStore(tmp_path / "whole"))
    store = ResultStore(tmp_path / "second")

    def full_disk(*args: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(filtered_sets, "_write", full_disk)
    with pytest.raises(OSError, match="disk full"):
        _filter(spec, store)
    monkeypatch.undo()
    reports: list[IterationRow] = []
    again = run_stage("filtered_sets", spec, store=store, progress=Progress(lambda line: None, reports.append)).result
    assert again.data_version == whole.data_version
    iterations = again.summary["given"]["iterations"]
    assert len(list((again.part("given").path / "scores").iterdir())) == iterations
    assert [report.iteration for report in reports] == list(range(iterations))


def test_an_error_while_publishing_embeddings_can_be_tried_again(
    circles_content: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, store = parse_spec(circles_content), ResultStore(tmp_path / "store")
    for name in UNTIL_FILTER[:4]:
        run_stage(name, spec, store=store)
    monkeypatch.setattr(pq, "write_table", lambda *args: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        run_stage("embeddings", spec, store=store)
    monkeypatch.undo()
    part = run_stage("embeddings", spec, store=store).result.part("given")
    assert np.load(part.file("features.npy")).shape == (600, 10)


def test_a_killed_warmup_training_goes_on_from_its_epoch(tmp_path: Path) -> None:
    spec, logged = parse_spec(TEXTS), list[str]()

    def kill(line: str) -> None:
        if line.startswith("epoch 3 of 4"):
            raise KeyboardInterrupt(line)

    stores = whole, killed = ResultStore(tmp_path / "whole"), ResultStore(tmp_path / "killed")
    for store in stores:
        for name in UNTIL_FILTER[:3]:
            run_stage(name, spec, store=store)
    expected = run_stage("warmup_models", spec, store=whole).result.part("small")
    with pytest.raises(KeyboardInterrupt):
        run_stage("warmup_models", spec, store=killed, progress=Progress(kill))
    progress = Progress(logged.append)
    found = run_stage("warmup_models", spec, store=killed, progress=progress).result.part("small")
    epochs = [line.split(":")[0] for line in logged if line.startswith("epoch")]
    assert epochs == ["epoch 3 of 4", "epoch 4 of 4"]
    assert found.manifest["files"] == expected.manifest["files"]
    assert found.data_version == expected.data_version


class _Counting:
    """An encoder that gives each row's first feature, and fails once at a chosen batch."""

    width = 2

    def __init__(self, fail_at: int | None) -> None:
        self.fail_at = fail_at
        self.batches: list[int] = []

    def encode(self, examples: Examples) -> EncodedBatch:
        if len(self.batches) == self.fail_at:
            raise RuntimeError("power cut")
        self.batches.append(int(examples.row_ids[0]))
        return EncodedBatch(np.repeat(examples.features[:, :1], 2, axis=1), None)

    def encode_each(self, batches: Iterable[Examples]) -> Iterator[EncodedBatch]:
        return map(self.encode, batches)


def test_a_killed_extraction_resumes_at_the_batch(tmp_path: Path) -> None:
    rows = 5 * BATCH_ROWS - 3
    table = pa.table(
        {
            "row_id": np.arange(rows),
            "label": np.zeros(rows, np.int64),
            "features": pa.array([[float(row)] for row in range(rows)], pa.list_(pa.float32())),
        }
    )
    examples, logged = Examples(table, ("a", "b")), list[str]()
    progress = Progress(logged.append)
    with pytest.raises(RuntimeError, match="power cut"):
        embeddings.encode_all("x", _Counting(3), examples, tmp_path, progress)
    second = _Counting(None)
    features, own = embeddings.encode_all("x", second, examples, tmp_path, progress)
    assert second.batches == [3 * BATCH_ROWS, 4 * BATCH_ROWS]
    assert logged[0] == f"embeddings of x resume at row {3 * BATCH_ROWS} of {rows}"
    np.testing.assert_array_equal(features[:, 1], np.arange(rows))
    assert np.isnan(own).all()
