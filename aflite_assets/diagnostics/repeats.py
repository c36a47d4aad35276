"""Rows that stand more than once: inputs shared between splits, and texts shared between rows. No near-duplicates."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.diagnostics.tables import codes_of, split_masks
from aflite_assets.sources.examples import Examples

SHOWN_ROWS = 10
SHOWN_CHARACTERS = 200


@dataclass(frozen=True)
class RepeatCount:
    """Rows outside the train split whose whole input also stands in the train split, whatever their labels.

    `share` is of all rows outside train (0 when there are none), `by_split` has every split but train,
    `row_ids` are the first few in row order.
    """

    rows: int
    share: float
    by_split: Mapping[str, int]
    row_ids: tuple[int, ...]


@dataclass(frozen=True)
class RepeatedText:
    """How many train rows share one column's text with another train row.

    `share` is of all train rows; `example` is the start of the text that stands most often (hostile: escape
    it), in `example_rows` rows.
    """

    column: str
    rows: int
    share: float
    example: str
    example_rows: int


def repeats_across_splits(examples: Examples) -> RepeatCount:
    """Count the rows outside train that train also holds, byte for byte.

    An input is the pair of text and text_pair, the bytes of the features, or the image's SHA-256.
    """
    codes = _input_codes(examples)
    masks = dict(split_masks(examples.table))
    outside = ~masks.pop("train", np.zeros(len(examples), dtype=bool))
    repeated = outside & np.isin(codes, codes[~outside])
    return RepeatCount(
        rows=int(repeated.sum()),
        share=float(repeated.sum() / max(outside.sum(), 1)),
        by_split={split: int((repeated & inside).sum()) for split, inside in masks.items()},
        row_ids=tuple(int(row) for row in examples.row_ids[repeated][:SHOWN_ROWS]),
    )


def repeated_texts(examples: Examples) -> tuple[RepeatedText, ...]:
    """The text columns in which train rows share a text, most shared first; empty when there are none.

    Rows that share a premise belong into one group: a random partition would put one into training and
    the other among the held-out rows. Rows without a text are not counted as sharing it.
    """
    train = examples.in_split("train").table
    found = [_shared_text(column, train[column]) for column in ("text", "text_pair") if column in train.column_names]
    return tuple(sorted((each for each in found if each.rows), key=lambda each: -each.rows))


def _shared_text(column: str, texts: pa.ChunkedArray) -> RepeatedText:
    counted = texts.drop_null().value_counts()
    counts = counted.field("counts").to_numpy()
    if not len(counts):
        return RepeatedText(column, 0, 0.0, "", 0)
    most = int(counts.argmax())
    rows = int(counts[counts > 1].sum())
    example = counted.field("values")[most].as_py()[:SHOWN_CHARACTERS]
    return RepeatedText(column, rows, rows / len(texts), example, int(counts[most]))


def _input_codes(examples: Examples) -> np.ndarray:
    """A number per row, equal for equal inputs."""
    if not len(examples):
        return np.empty(0, dtype=np.int64)
    if examples.modality == "features":
        return codes_of(_column([hashlib.sha256(row).digest() for row in examples.features]))[0]
    if examples.modality == "image":
        return codes_of(_column(_image_hashes(examples.table["image"])))[0]
    codes, _ = codes_of(examples.table["text"])
    if "text_pair" in examples.table.column_names:
        pair_codes, pairs = codes_of(examples.table["text_pair"])
        codes = codes * len(pairs) + pair_codes
    return codes


def _column(values: Sequence[str] | Sequence[bytes]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(values)])


def _image_hashes(images: pa.ChunkedArray) -> list[str]:
    known = pc.struct_field(images, "sha256").to_pylist()
    contents = pc.struct_field(images, "bytes")
    return [sha256 or _sha256(content) for sha256, content in zip(known, contents, strict=True)]


def _sha256(content: Any) -> str:
    return hashlib.sha256(content.as_buffer()).hexdigest()
