"""Detection of rows that are exact copies, so that the filter removes or keeps them together."""

import numpy as np

from aflite_assets.data.raw_table.columns import content_digests
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import PublishedResult

_INPUTS = ("text", "text_pair", "image", "features")


def copy_codes(raw: PublishedResult, row_ids: np.ndarray) -> np.ndarray | None:
    """Return a number (int64) per row id; rows with identical input and label have the same number.

    Inputs are compared byte for byte. The input of an image is its encoded bytes or the hash of its file. Return None
    if no row is a copy of another.
    """
    examples = load_examples(raw.path)
    inputs = {name: examples.table[name] for name in _INPUTS if name in examples.table.column_names}
    numbers: dict[tuple[bytes, int], int] = {}
    contents = zip(content_digests(inputs), examples.labels.tolist(), strict=True)
    everything = np.fromiter((numbers.setdefault(content, len(numbers)) for content in contents), dtype=np.int64)
    order = np.argsort(examples.row_ids)
    codes = everything[order[np.searchsorted(examples.row_ids, row_ids, sorter=order)]]
    return codes if len(np.unique(codes)) < len(codes) else None
