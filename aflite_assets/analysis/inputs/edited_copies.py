"""Records of challenge sets whose rows are edited copies of natural test rows."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

EditKind = Literal["word", "sign", "capital letters", "blanks or order", "column"]
"""Kinds of edits. "capital letters": the words are equal except for their case; "blanks or order": the words and signs
are equal, and the text is not; "column": a feature column.
"""


@dataclass(frozen=True)
class Edit:
    """Something that differs in some of the pairs.

    `place`: the text column (`text` or `text_pair`), or "" for a feature column. `name`: the word in lower case, the
    sign, or the feature column as "column 3" (from 0); "" for other kinds. `pairs`: the number of pairs that differ.
    `more`, `less`: the numbers of pairs in which the copy has more or less of it than the original, or a higher or
    lower value; 0 for kinds without a name.
    """

    kind: EditKind
    place: str
    name: str
    pairs: int
    more: int
    less: int


@dataclass(frozen=True, eq=False)
class EditedCopies:
    """A challenge set whose rows are edited copies of rows of a natural set, with the same labels.

    `originals`: int64, for each row of the challenge set, the position of its original in the natural set.
    """

    test_set: str
    natural_set: str
    originals: np.ndarray
    edits: tuple[Edit, ...]
