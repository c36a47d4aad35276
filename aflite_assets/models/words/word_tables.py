"""Tables of learned or fixed vectors for the words of the train texts. The module `word_vectors` reads files of
vectors.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from aflite_assets.errors import DataError
from aflite_assets.models.words.word_inputs import NO_WORD, UNKNOWN_WORD, WordReader, frequent_words, is_one_word
from aflite_assets.models.words.word_vectors import WordVectors, read_word_vectors


class LearntVectors(nn.Module):
    """A table with a learned vector for each word."""

    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.table = nn.Embedding(words, width, padding_idx=NO_WORD)

    @property
    def width(self) -> int:
        """Length of a word vector."""
        return self.table.embedding_dim

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the vectors, rows x longest x width, of `words` (int64, rows x longest)."""
        return self.table(words)

    @torch.no_grad()
    def fill(self, reader: WordReader, vectors: WordVectors) -> None:
        """Insert the vectors from a file. A word without a vector keeps its normally distributed numbers, scaled to the
        standard deviation of the file's vectors.
        """
        self.table.weight[UNKNOWN_WORD:] *= float(vectors.values.std())
        numbers = torch.tensor([reader.number(word) for word in vectors.words])
        self._put(numbers, torch.from_numpy(vectors.values))

    def _put(self, numbers: torch.Tensor, values: torch.Tensor) -> None:
        self.table.weight[numbers] = values


class PartlyLearntVectors(LearntVectors):
    """A table with learned vectors for the words of the train texts, and fixed vectors for other words.

    The cost of an optimiser step grows with the number of weights. In a large file, most words do not occur in the
    train texts. The vectors of words outside the train texts, `others` x `width`, are therefore stored as a buffer and
    not as weights.
    """

    def __init__(self, words: int, others: int, width: int) -> None:
        super().__init__(words, width)
        self.others: torch.Tensor
        self.register_buffer("others", torch.zeros(others, width))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return the vectors, rows x longest x width, of `words` (int64, rows x longest). The numbers of fixed words
        follow the numbers of learned words.
        """
        learnt = self.table.num_embeddings
        vectors = self.table(words.clamp(max=learnt - 1))
        if not len(self.others):
            return vectors
        return torch.where((words >= learnt)[:, :, None], self.others[(words - learnt).clamp(min=0)], vectors)

    def _put(self, numbers: torch.Tensor, values: torch.Tensor) -> None:
        learnt = self.table.num_embeddings
        of_train = numbers < learnt
        super()._put(numbers[of_train], values[of_train])
        self.others[numbers[~of_train] - learnt] = values[~of_train]


@dataclass(frozen=True)
class ReadWords:
    """Words of the train texts with their counts, most frequent first, and with their vectors from a file.

    `vectors` is None if there is no file.
    """

    counts: Mapping[str, int]
    vectors: WordVectors | None

    def reader(self) -> WordReader:
        """Reader for the words of the train texts, followed by the other words of the file."""
        others = () if self.vectors is None else self.vectors.words
        return WordReader(list(dict.fromkeys([*self.counts, *others])))


def read_words(
    texts: Iterable[str], *, rows: int, file: str | None, vocabulary: int, log: Callable[[str], None]
) -> ReadWords:
    """Return the `vocabulary` most frequent words of the train texts, with their vectors if there is a file of vectors.

    If the vocabulary has room left, further words from the start of the file are added with their vectors. Words that
    are missing from the train texts can then have vectors too. `rows`: number of train rows, for messages.

    Raises:
        DataError: the texts have no words, or the file of word vectors is unreadable or contains no word of the texts.
    """
    counts = frequent_words(texts, vocabulary)
    if not counts:
        raise DataError(
            f"the texts of {rows} train rows contain no words, so no vocabulary can be built; check the source"
        )
    if file is None:
        log(f"vocabulary: {len(counts)} words of the train texts, whose vectors are learnt")
        return ReadWords(counts, None)
    return ReadWords(counts, _vectors(Path(file), counts, vocabulary, log))


def _vectors(path: Path, counts: Mapping[str, int], most: int, log: Callable[[str], None]) -> WordVectors:
    vectors = read_word_vectors(path, counts.keys(), most_others=most - len(counts), is_word=is_one_word)
    covered = [word for word in vectors.words if word in counts]
    share = sum(counts[word] for word in covered) / sum(counts.values())
    log(
        f"{path.name}: vectors of {len(covered)} of {len(counts)} words of the train texts ({share:.1%} of their "
        f"occurrences) and {len(vectors.words) - len(covered)} other words, {vectors.width} wide"
    )
    return vectors
