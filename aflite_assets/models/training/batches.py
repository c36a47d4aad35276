"""The order in which train rows are presented, and the batches of train rows. The module `train` uses the batches."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, Sampler

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import answer_pairs
from aflite_assets.models.classifiers import ModelInputs, NeuralClassifier
from aflite_assets.models.global_state import library_seed
from aflite_assets.processors import threads_per_step

BUCKET_BATCHES = 50
"""Number of batches in a chunk of rows that is sorted by length. With larger chunks, an epoch's batches would depend
too much on the lengths.
"""

MOST_WORKERS = 16
"""Maximum number of processes that build batches of images for a GPU."""

WORKER_MEMORY = 2**28
"""Bytes of shared memory that must be free for each worker process. Containers often have 64 MiB and kill a process
that uses more.
"""

FEWEST_WORKERS_MEMORY = 4
"""Number of worker processes for which memory must be free. Otherwise, no worker process is started."""

MOST_THREADS = 8
"""Maximum number of threads that decode images for a GPU that only predicts. Each thread holds a batch in main
memory.
"""

_ORDER, _AUGMENTATION = 0, 1
"""Numbers of the streams of random numbers that are derived from the seed."""

RowKey = tuple[int, int]
"""Key of an item in an epoch: the number of the epoch (from 0) and the number of the item. A batch depends only on its
keys, and not on the process that builds it.
"""


def epoch_order(n_rows: int, *, batch_size: int, lengths: np.ndarray | None, seed: int, epoch: int) -> np.ndarray:
    """Return all row positions (int64) in the order of the epoch `epoch`. Consecutive positions form the batches.

    With `lengths` (rows,), a batch holds rows of similar length. Shuffled rows are split into chunks. A chunk has
    `BUCKET_BATCHES` batches, but at most a quarter of the rows. Each chunk is sorted by length and split into batches.
    Finally, the batches are shuffled. The batch with the longest row comes first, so that a lack of memory is noticed
    at once. Rows that do not fill a batch come last, regardless of their lengths. The order depends only on `seed`,
    `epoch` and the lengths.
    """
    rng = np.random.default_rng([library_seed(seed), _ORDER, epoch])
    order = rng.permutation(n_rows)
    if lengths is None or n_rows < 2 * batch_size or lengths.min() == lengths.max():
        return order
    whole = n_rows // batch_size * batch_size
    stretch = batch_size * min(BUCKET_BATCHES, max(1, n_rows // (4 * batch_size)))
    pieces = [_by_length(order[start : min(start + stretch, whole)], lengths) for start in range(0, whole, stretch)]
    batches = rng.permutation(np.concatenate(pieces).reshape(-1, batch_size))
    longest = int(lengths[batches].max(axis=1).argmax())
    batches[[0, longest]] = batches[[longest, 0]]
    return np.concatenate([batches.ravel(), _by_length(order[whole:], lengths)])


def _by_length(rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    return rows[np.argsort(lengths[rows], kind="stable")]


@dataclass(frozen=True)
class TrainBatches(Dataset[RowKey]):
    """Train rows in the form that data loaders need. The object is built once, even if training restarts several times.

    `augmentation`: the random generator of `inputs`, which is seeded again for each batch. `items`: the row positions
    of each item, int64 (items, rows per item), or None if each item is a single row. `lengths`: the length of each
    item, or None if batches do not depend on lengths.
    """

    inputs: ModelInputs
    labels: torch.Tensor
    seed: int
    augmentation: np.random.Generator | None
    items: np.ndarray | None
    lengths: np.ndarray | None
    workers: int
    pinned: bool

    def __len__(self) -> int:
        """Return the number of items. An item is a row or a pair of answers."""
        return len(self.labels if self.items is None else self.items)

    def __getitems__(self, keys: Sequence[RowKey]) -> dict[str, torch.Tensor]:
        """Return the model's arguments for the items in `keys`, with `labels` and `positions` int64 (rows,)."""
        positions = self.positions([item for _, item in keys])
        if self.augmentation is not None:
            entropy = [library_seed(self.seed), _AUGMENTATION, *keys[0]]
            self.augmentation.bit_generator.state = np.random.PCG64(entropy).state
        rows = torch.as_tensor(positions, dtype=torch.int64)
        return {**self.inputs.batch(positions), "labels": self.labels[rows], "positions": rows}

    def positions(self, items: Sequence[int]) -> list[int]:
        """Return the row positions of the given items, in the order of the items."""
        if self.items is None:
            return list(items)
        rows: list[int] = self.items[items].ravel().tolist()
        return rows

    @property
    def n_presented(self) -> int:
        """Number of rows that an epoch presents. An answer in several pairs counts once per pair."""
        return len(self) * (1 if self.items is None else self.items.shape[1])

    def loader(self, sampler: "EpochSampler", *, micro_batch_size: int) -> DataLoader:
        """Return a data loader for batches of `micro_batch_size` items. The last batch of an epoch may have fewer
        items.
        """
        return DataLoader(
            self,
            batch_size=micro_batch_size,
            sampler=sampler,
            collate_fn=_unchanged,
            num_workers=self.workers,
            persistent_workers=self.workers > 0,
            pin_memory=self.pinned,
        )


def _unchanged(batch: Any) -> Any:
    return batch


@dataclass
class EpochSampler(Sampler[RowKey]):
    """A sampler that yields the keys of all items (rows or pairs of answers) in the order of one epoch, for optimiser
    steps of `batch_size` items. The caller sets `epoch` before each iteration.
    """

    batches: TrainBatches
    batch_size: int
    epoch: int = 0

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[RowKey]:
        rows = self.batches
        order = epoch_order(
            len(rows), batch_size=self.batch_size, lengths=rows.lengths, seed=rows.seed, epoch=self.epoch
        )
        return ((self.epoch, row) for row in order.tolist())


def train_batches(classifier: NeuralClassifier, examples: Examples, *, seed: int, device: torch.device) -> TrainBatches:
    """Return the train rows in the form that the classifier's training needs. The classifier's settings determine the
    augmentation and whether batches have rows of similar lengths.

    Raises:
        DataError: an image cannot be decoded.
    """
    settings = classifier.settings
    augmentation = np.random.default_rng(seed) if classifier.reads_images else None
    inputs = classifier.inputs(examples, augmentation_seed=augmentation or seed)
    bucketed = settings.length_bucketing and examples.modality == "text"
    items = answer_pairs(examples) if settings.loss == "bradley_terry" else None
    lengths = inputs.lengths if items is None else inputs.lengths[items].max(axis=1)
    return TrainBatches(
        inputs,
        torch.from_numpy(examples.labels.copy()),
        seed,
        augmentation,
        items,
        lengths if bucketed else None,
        loader_workers(images=augmentation is not None, device=device),
        pinned=device.type == "cuda",
    )


def loader_workers(*, images: bool, device: torch.device) -> int:
    """Return the number of processes that decode and augment images while the GPU computes. The number is 0 for texts,
    on the CPU, and if no process can be started.
    """
    # A daemon, as a grid's worker process is, may have no children.
    if not images or device.type != "cuda" or current_process().daemon:
        return 0
    return max(0, min(MOST_WORKERS, threads_per_step() - 1, _workers_with_memory()))


def _workers_with_memory() -> int:
    shared = Path("/dev/shm")
    if not shared.is_dir():
        return MOST_WORKERS
    workers = shutil.disk_usage(shared).free // WORKER_MEMORY
    return workers if workers >= FEWEST_WORKERS_MEMORY else 0


def reading_threads(*, images: bool, device: torch.device) -> int:
    """Return the number of threads that decode the next images while the GPU predicts. The number is 0 for texts and on
    the CPU.
    """
    if not images or device.type != "cuda":
        return 0
    return max(0, min(MOST_THREADS, threads_per_step() - 1))
