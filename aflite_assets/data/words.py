"""What counts as a word of a text, for everything that counts, tests or highlights words; no models."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_HYPHENS = r"[-\u2010\u2011]"

WORD = re.compile(rf"\w+(?:{_HYPHENS}\w+)*")
"""A run of letters, digits and underscores; runs that single hyphens join are one word ("xz-17", "well-known")."""

_COUNTED = "[\\p{L}\\p{N}_]+(?:[-\u2010\u2011][\\p{L}\\p{N}_]+)*"
"""The same for pyarrow, whose own classes of characters are ASCII alone."""


def word_counts(texts: pa.ChunkedArray) -> np.ndarray:
    """Words of each text, float64 of shape (rows,); NaN for a null."""
    return _floats(pc.count_substring_regex(texts, _COUNTED))


def character_counts(texts: pa.ChunkedArray) -> np.ndarray:
    """Characters (code points) of each text, float64 of shape (rows,); NaN for a null."""
    return _floats(pc.utf8_length(texts))


def _floats(counts: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(pc.fill_null(counts.cast(pa.float64()), float("nan")).to_numpy())
