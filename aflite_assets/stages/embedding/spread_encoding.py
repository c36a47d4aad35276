"""Computation of features by the workers of a cluster, in shards of rows.

A stopped run resumes at its missing shards. A shard consists of whole batches. The batches are the same as without a
cluster, so the features are bit-identical.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aflite_assets.array_files import ArrayFileError, read_arrays
from aflite_assets.cluster import Needs, Work, map_in_order
from aflite_assets.cluster.protocol import Log
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import StoreError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.processors import threads_per_step
from aflite_assets.results import PublishedResult
from aflite_assets.specs.models.kinds import NeuralModelSpec
from aflite_assets.stages.stage import StageContext

if TYPE_CHECKING:
    from aflite_assets.models.encoders import EncodedBatch, Encoder

BATCH_ROWS = 256
"""Number of rows per batch, unless memory is too small; other numbers may change the last bits of the features."""

SHARD_BATCHES = 16
"""Number of batches per shard; if a worker fails, the work on one shard is lost (seconds to minutes)."""


@dataclass(frozen=True)
class EncoderJob:
    """The data that every worker receives: the encoder's settings and folder, the raw rows, and the device."""

    settings: NeuralModelSpec
    folder: Path
    raw: PublishedResult
    device: DeviceSettings

    def work(self) -> Work:
        """Return, in a worker, the function that encodes shards; the function loads the encoder when it gets the first
        shard.
        """
        from aflite_assets.models.encoders import load_encoder  # loads torch and transformers

        raw = load_examples(self.raw.path)
        encoder: list[Encoder] = []

        def load(log: Log) -> "Encoder":
            if not encoder:
                encoder.append(load_encoder(self.settings, self.folder, raw.label_names, device=self.device, log=log))
            return encoder[0]

        return partial(_encode, raw, load)


@dataclass(frozen=True)
class Shard:
    """Rows `start` to `stop` (exclusive) of the rows to encode, and the folder for the shard's file."""

    start: int
    stop: int
    folder: Path

    @property
    def path(self) -> Path:
        """Path of the shard's file, which exists once the shard is encoded."""
        return self.folder / f"{self.start:012d}-{self.stop:012d}.npz"

    def halves(self) -> list["Shard"]:
        """Split the shard into two shards of whole batches; return an empty list for a shard of one batch."""
        batches = -(-(self.stop - self.start) // BATCH_ROWS)
        middle = self.start + batches // 2 * BATCH_ROWS
        return [Shard(self.start, middle, self.folder), Shard(middle, self.stop, self.folder)] if batches > 1 else []


def encode_spread(
    name: str, job: EncoderJob, rows: Examples, scratch: Path, context: StageContext
) -> tuple[np.ndarray, np.ndarray]:
    """Return the same arrays as `encode_all`, computed by the cluster, and write `features.npy` in `scratch`."""
    folder, log = scratch / "shards", context.progress.log
    folder.mkdir(exist_ok=True)
    left = missing_shards(folder, len(rows))
    done = len(rows) - sum(shard.stop - shard.start for shard in left)
    if done:
        log(f"embeddings of {name} resume: {done} of {len(rows)} rows are already encoded")
    if left:
        ids, needs = context.cluster.share(rows.row_ids), Needs(threads_per_step(), gpu=job.device.device != "cpu")
        with context.cluster.workers(job.work, needs=needs, log=log) as workers:
            encoded: Iterator[int] = map_in_order(workers, left, common=ids, log=log, halves=Shard.halves)
            for more in encoded:
                done += more
                log(f"embeddings of {name}: {done} of {len(rows)} rows")
    return _joined(folder, len(rows), scratch / "features.npy")


def missing_shards(folder: Path, rows: int) -> list[Shard]:
    """Return the shards that have no file yet, in order.

    If a shard was split because a worker ran out of memory, the files of its parts replace the shard's own file.
    """
    ends = {int(path.stem[:12]): int(path.stem[13:]) for path in folder.glob("*.npz")}
    left, at = list[Shard](), 0
    while at < rows:
        if at in ends:
            at = ends[at]
            continue
        stop = min([at + SHARD_BATCHES * BATCH_ROWS, rows, *(start for start in ends if start > at)])
        left.append(Shard(at, stop, folder))
        at = stop
    return left


def own_probability(encoded: "EncodedBatch", labels: np.ndarray) -> np.ndarray | float:
    """Return the encoder's probability of each row's own label; the probability is NaN if the encoder has no output
    layer.
    """
    if encoded.probabilities is None:
        return np.nan
    own: np.ndarray = encoded.probabilities[np.arange(len(labels)), labels]
    return own


def _encode(raw: Examples, load: "Callable[[Log], Encoder]", shard: Shard, row_ids: np.ndarray, log: Log) -> int:
    """Encode a shard, write its file and return its number of rows."""
    if shard.path.is_file():  # written by a worker that failed afterwards
        return shard.stop - shard.start
    rows = raw.select(row_ids[shard.start : shard.stop])
    starts = range(0, len(rows), BATCH_ROWS)
    batches = (Examples(rows.table.slice(start, BATCH_ROWS), rows.label_names) for start in starts)
    encoded = list(load(log).encode_each(batches))
    own = [
        np.broadcast_to(own_probability(each, rows.labels[start : start + BATCH_ROWS]), len(each.features))
        for start, each in zip(starts, encoded, strict=True)
    ]
    features = np.concatenate([each.features for each in encoded])
    aside = shard.path.with_suffix(f".{os.getpid()}.tmp")
    with aside.open("wb") as stream:
        np.savez(stream, allow_pickle=False, features=features, own=np.concatenate(own).astype(np.float32))
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(shard.path)
    return len(rows)


def _shard(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the features and probabilities in a shard's file; check their number against the file's name."""
    try:
        arrays = read_arrays(path)
    except ArrayFileError as error:
        raise _damaged(path, str(error)) from error
    rows = int(path.stem[13:]) - int(path.stem[:12])
    shapes = {name: array.shape for name, array in arrays.items()}
    if set(shapes) != {"features", "own"} or shapes["own"] != (rows,) or shapes["features"][:-1] != (rows,):
        raise _damaged(path, f"the file has arrays of shapes {shapes}, but should hold {rows} rows")
    return arrays["features"], arrays["own"]


def _damaged(path: Path, reason: str) -> StoreError:
    return StoreError(f"{path} holds no encoded rows ({reason}); delete the file, and its rows will be encoded again")


def _joined(folder: Path, rows: int, target: Path) -> tuple[np.ndarray, np.ndarray]:
    """Join all shards into one file of features, and return the features and the probabilities.

    The file is written under another name and renamed when it is complete. Under the final name, an earlier run without
    a cluster may have left a partial file and a progress file.
    """
    own, at, aside = np.empty(rows, np.float32), 0, target.with_suffix(".tmp")
    features: np.memmap | None = None
    for path in sorted(folder.glob("*.npz")):
        part, probabilities = _shard(path)
        stop = at + len(part)
        if features is None:
            features = np.lib.format.open_memmap(aside, mode="w+", dtype=np.float32, shape=(rows, part.shape[1]))
        features[at:stop], own[at:stop] = part, probabilities
        at = stop
    assert features is not None
    assert at == rows
    features.flush()
    aside.replace(target)
    return features, own
