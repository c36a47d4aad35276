"""Detection of rows that are exact copies, so that the filter removes or keeps them together."""

import numpy as np
import pyarrow as pa

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.diagnostics.data_checks.repeats import input_codes
from aflite_assets.results import PublishedResult


def copy_codes(raw: PublishedResult, row_ids: np.ndarray) -> np.ndarray | None:
    """Return a number (int64) per row id; rows with identical input and label have the same number.

    Inputs are compared byte for byte. The input of an image is its encoded bytes or the hash of its file. Return None
    if no row is a copy of another.
    """
    examples = load_examples(raw.path)
    contents = pa.array(input_codes(examples) * len(examples.label_names) + examples.labels)
    everything = contents.dictionary_encode().indices.to_numpy().astype(np.int64)  # in order of appearance
    order = np.argsort(examples.row_ids)
    codes = everything[order[np.searchsorted(examples.row_ids, row_ids, sorter=order)]]
    return codes if len(np.unique(codes)) < len(codes) else None
