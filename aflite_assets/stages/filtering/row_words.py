"""Words of a dataset's rows, by which a filter with `rank: vocabulary` orders its candidates for removal.

Each stage that needs the words computes them from the texts. The words are not stored, because computing them for
550,000 sentence pairs takes well under a minute.
"""

from dataclasses import dataclass

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.words import DistinctWords, distinct_words
from aflite_assets.errors import DataError

_TEXTS = ("text", "text_pair")


@dataclass(frozen=True, eq=False)
class DatasetWords:
    """The distinct words of each row of the raw dataset, over all its texts.

    `row_ids` (int64): the row ids, in the order of `words`.
    """

    row_ids: np.ndarray
    words: DistinctWords

    @classmethod
    def of(cls, raw: Examples) -> "DatasetWords":
        """Compute the words from the texts.

        Raises:
            DataError: the rows have no texts.
        """
        texts = [raw.table[name] for name in _TEXTS if name in raw.table.column_names]
        if not texts:
            raise DataError(
                f"`filter.rank` is `vocabulary`, but the rows of this dataset are {raw.modality} and have no words; "
                "leave out `rank`"
            )
        return cls(raw.row_ids, distinct_words(texts))

    def of_rows(self, row_ids: np.ndarray) -> DistinctWords:
        """Return the words of the rows whose ids are in `row_ids`, in the order of `row_ids`."""
        order = np.argsort(self.row_ids)
        return self.words.of_rows(order[np.searchsorted(self.row_ids, row_ids, sorter=order)])
