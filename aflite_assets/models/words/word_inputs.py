"""Splitting of texts into words, a vocabulary from the train texts, padded batches of one or two texts, and operations
on such batches in a network. The module `word_vectors` reads word vectors.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, pre_tokenizers
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.text.inputs import TextColumn, TokenizedTexts

NO_WORD = 0
"""Number with which shorter rows of a batch are padded."""

UNKNOWN_WORD = 1
"""Number of every word outside the vocabulary. This number also represents a text without words."""

NO_PIECE = -1
"""Number with which shorter rows of word pieces are padded. The numbers of word pieces begin at 0."""

PAIR: tuple[TextColumn, ...] = ("text", "text_pair")
SIDES = ("first", "second")
"""Names of the model's arguments for the words of the first and the second text."""

VOCABULARY_FILE = "vocabulary.json"

CURLY_APOSTROPHE = "\u2019"

_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_]&&[^{_ALONE}]]"
_APOSTROPHE = f"['{CURLY_APOSTROPHE}]"
WORD_PATTERN = (
    rf"(?i)[{_ALONE}]"
    r"|\p{N}+(?:[.,]\p{N}+)+"
    rf"|{_LETTER}+?(?=n{_APOSTROPHE}t\b)|n{_APOSTROPHE}t\b|{_APOSTROPHE}(?:s|re|ve|ll|d|m)\b"
    rf"|{_LETTER}+"
    r"|[^\s\p{C}]"
)
"""Definition of a word in Oniguruma's syntax. The first matching alternative is used. A word is a Chinese or Japanese
character, or a number with its points and commas. English contractions are split into the verb, "n't" and "'s", as in
the Penn Treebank and therefore in GloVe's vectors. Other words are runs of letters, marks and digits of any script, or
any other single character that is not a control character.
"""

_SPLITTER = pre_tokenizers.Split(Regex(WORD_PATTERN), "removed", invert=True)


def words_of(text: str) -> list[str]:
    """Return the words of a text in order, in lower case and with plain apostrophes. `WORD_PATTERN` defines a word."""
    return [word for word, _ in _SPLITTER.pre_tokenize_str(text.lower().replace(CURLY_APOSTROPHE, "'"))]


def word_spans(text: str) -> np.ndarray:
    """Return the start and end positions of each word in a text, in characters: int64, words x 2."""
    spans = [span for _, span in _SPLITTER.pre_tokenize_str(text)]
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def is_one_word(text: str) -> bool:
    """Return True if `words_of` can return the given word for some text. The vectors of all other words would never be
    used.
    """
    return words_of(text) == [text]


def frequent_words(texts: Iterable[str], most: int) -> dict[str, int]:
    """Return the most frequent words (at most `most`) with their counts. The most frequent word is first, and equally
    frequent words are in alphabetical order.
    """
    counts = Counter(word for text in texts for word in words_of(text))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


@dataclass(frozen=True)
class PairInputs:
    """Rows of word numbers, usually for two texts per row. Each element of `parts` becomes an argument of the model and
    is padded separately.
    """

    parts: Sequence[TokenizedTexts]

    def __len__(self) -> int:
        return len(self.parts[0])

    @property
    def lengths(self) -> np.ndarray:
        """Total length of each row, summed over all parts, int64."""
        return np.sum([part.lengths for part in self.parts], axis=0)

    def batch(self, positions: Sequence[int] | np.ndarray) -> dict[str, torch.Tensor]:
        """Return the model's arguments for the rows at `positions`, each argument int64, rows x longest row."""
        return {name: values for part in self.parts for name, values in part.batch(positions).items()}


def ragged(name: str, rows: Sequence[Sequence[int] | np.ndarray], *, padding: int = NO_WORD) -> TokenizedTexts:
    """Return rows of numbers as the model argument `name`, in flat arrays with offsets."""
    return TokenizedTexts(
        arrays={name: np.fromiter((number for row in rows for number in row), np.int32)},
        padding={name: padding},
        offsets=np.concatenate([[0], np.cumsum([len(row) for row in rows], dtype=np.int64)]),
        padding_side="right",
    )


class WordReader:
    """A reader that converts texts to word numbers. The number of `words[i]` is `i + 2`."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self._numbers = {word: number for number, word in enumerate(self.words, start=UNKNOWN_WORD + 1)}

    def __len__(self) -> int:
        """Return the size of the vocabulary, including padding and the unknown word."""
        return len(self.words) + 2

    def inputs(self, examples: Examples, *, max_length: int, columns: Sequence[TextColumn] = PAIR) -> PairInputs:
        """Return `first_words` and, for pairs, `second_words`: the first `max_length` words of each text."""
        return PairInputs(
            [
                ragged(f"{side}_words", [self.numbers(text)[:max_length] for text in examples.texts(column)])
                for side, column in zip(SIDES, columns, strict=False)
            ]
        )

    def numbers(self, text: str) -> list[int]:
        """Return the word numbers of a text. A text without words gets the number of the unknown word."""
        return [self.number(word) for word in words_of(text)] or [UNKNOWN_WORD]

    def number(self, word: str) -> int:
        """Return the number of a lower-case word."""
        return self._numbers.get(word, UNKNOWN_WORD)

    def save_pretrained(self, folder: Path) -> None:
        """Write the words to `vocabulary.json`, as a list in the order of their numbers."""
        (folder / VOCABULARY_FILE).write_text(json.dumps(self.words, ensure_ascii=False, indent=0), encoding="utf-8")

    @classmethod
    def from_pretrained(cls, folder: Path) -> "WordReader":
        """Return the reader that `save_pretrained` wrote.

        Raises:
            ModelError: the folder contains no saved word reader.
        """
        try:
            words = json.loads((folder / VOCABULARY_FILE).read_text(encoding="utf-8"))
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise ValueError("the file is not a list of words")
        except (OSError, ValueError) as error:
            raise ModelError(
                f"the folder {folder} holds no readable {VOCABULARY_FILE} ({error}); materialise the asset "
                "`warmup_models` again"
            ) from error
        return cls(words)


def stacked(first: torch.Tensor, second: torch.Tensor, padding: int) -> torch.Tensor:
    """Stack the first texts and the second texts, padded to equal length, so that one operation processes both."""
    longest = max(first.shape[1], second.shape[1])
    return torch.cat([nn.functional.pad(side, (0, longest - side.shape[1]), value=padding) for side in (first, second)])


def run_lstm(lstm: nn.LSTM, inputs: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return the LSTM's outputs in both directions. The outputs are zero after the end of a text. The outputs are
    float32, because some devices do not support half-precision LSTMs.

    `inputs`: texts x words x width; `present`: texts x words, bool.
    """
    with torch.autocast(inputs.device.type, enabled=False):
        packed = pack_padded_sequence(inputs.float(), present.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=inputs.shape[1])
    return outputs
