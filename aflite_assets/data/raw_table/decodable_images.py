"""Removal of rows with undecodable images, up to a share that the spec allows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import undecodable
from aflite_assets.data.raw_table.labels import one_class_text
from aflite_assets.data.rows import rows_at
from aflite_assets.errors import DataError
from aflite_assets.processors import threads_per_step
from aflite_assets.wording import quoted_list

NAMED_IMAGES = 20
"""Largest number of undecodable images that a message names per split."""


@dataclass(frozen=True)
class UndecodableImages:
    """Undecodable images of one split: their number, their share, and the first few ids."""

    rows: int
    share: float
    row_ids: tuple[int, ...]
    source_ids: tuple[str, ...]


@dataclass(frozen=True)
class DecodableExamples:
    """The rows with decodable images, and the dropped rows by split; splits without dropped rows have no entry."""

    examples: Examples
    dropped: Mapping[str, UndecodableImages]


def drop_undecodable(
    examples: Examples,
    *,
    largest_share: float,
    complete: bool = True,
    log: Callable[[str], None] = lambda line: None,
) -> DecodableExamples:
    """Drop the rows with images that cannot be decoded; rows with other inputs are unchanged.

    `largest_share`, in [0, 1): largest allowed share of undecodable images per split. `complete=False` means that
    `examples` contains only the first rows. If `complete` is False, any share of undecodable images is allowed.

    Raises:
        DataError: a split has too many undecodable images, or only one class is left in train.
    """
    if examples.modality != "image":
        return DecodableExamples(examples, {})
    threads = min(threads_per_step(), 16)
    broken = np.zeros(len(examples), bool)
    broken[undecodable(examples.table["image"], threads=threads, log=log)] = True
    if not broken.any():
        return DecodableExamples(examples, {})
    splits = examples.table["split"].to_numpy()
    ids = examples.table.select(["row_id", "source_id"])
    dropped = {}
    for split in dict.fromkeys(splits[broken].tolist()):
        inside = splits == split
        dropped[split] = _named(ids.filter(pa.array(broken & inside)), of=int(inside.sum()))
        if complete and dropped[split].share > largest_share:
            raise _too_many(split, dropped[split], int(inside.sum()), largest_share)
    kept = Examples(rows_at(examples.table, np.flatnonzero(~broken)), examples.label_names)
    if complete:
        _require_two_classes(kept.labels[splits[~broken] == "train"], kept.label_names, dropped)
    return DecodableExamples(kept, dropped)


def _named(broken: pa.Table, *, of: int) -> UndecodableImages:
    first = broken.slice(0, NAMED_IMAGES)
    return UndecodableImages(
        broken.num_rows,
        broken.num_rows / of,
        tuple(first["row_id"].to_pylist()),
        tuple(first["source_id"].to_pylist()),
    )


def _too_many(split: str, dropped: UndecodableImages, images: int, largest_share: float) -> DataError:
    return DataError(
        f"split {split!r}: {dropped.rows} of {images} images ({dropped.share:.2%}) cannot be decoded, but "
        f"`undecodable_images` allows only {largest_share:.2%} (first: {_first_ids(dropped)}); repair these images or "
        "remove them from the source, or raise `undecodable_images` to drop their rows"
    )


def _require_two_classes(
    train_labels: np.ndarray, names: tuple[str, ...], dropped: Mapping[str, UndecodableImages]
) -> None:
    if "train" in dropped and len(np.unique(train_labels)) < 2:
        left = one_class_text(train_labels, names) if len(train_labels) else "has no rows"
        raise DataError(
            f"without the {dropped['train'].rows} images that cannot be decoded (first: "
            f"{_first_ids(dropped['train'])}), split 'train' {left}; repair these images"
        )


def _first_ids(dropped: UndecodableImages) -> str:
    return quoted_list(dropped.source_ids[:5], most=5, length=200)
