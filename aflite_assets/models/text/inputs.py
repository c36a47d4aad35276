"""Conversion of texts to padded batches of tokens, and selection of the columns that a model reads. The other files of
this folder contain the models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import torch

from aflite_assets.data.examples import Examples

TextColumn = Literal["text", "text_pair"]
TOKENIZED_AT_ONCE = 4096


def text_columns(examples: Examples, inputs: Sequence[TextColumn] | None) -> list[TextColumn]:
    """Return the text columns that a model reads, in the dataset's order. `inputs=None` means all text columns."""
    present: list[TextColumn] = ["text"]
    if "text_pair" in examples.table.column_names:
        present.append("text_pair")
    return present if inputs is None else [column for column in present if column in inputs]


@dataclass(frozen=True)
class TokenizedTexts:
    """Token rows of different lengths in flat arrays. Row i of an array is `array[offsets[i] : offsets[i + 1]]`.

    `arrays` maps each argument of the model (`input_ids`, `attention_mask`, ...) to int32 values. `padding` maps each
    argument to the value with which shorter rows of a batch are padded.
    """

    arrays: Mapping[str, np.ndarray]
    padding: Mapping[str, int]
    offsets: np.ndarray
    padding_side: Literal["left", "right"]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """Number of tokens per row, int64."""
        return np.diff(self.offsets)

    def batch(self, positions: Sequence[int] | np.ndarray) -> dict[str, torch.Tensor]:
        """Return the model's arguments for the rows at `positions`. Each argument is int64, rows x longest row."""
        return {name: torch.from_numpy(self._padded(name, positions)) for name in self.arrays}

    def _padded(self, name: str, positions: Sequence[int] | np.ndarray) -> np.ndarray:
        rows = [self.arrays[name][self.offsets[i] : self.offsets[i + 1]] for i in positions]
        longest = max(map(len, rows))
        padded = np.full((len(rows), longest), self.padding[name], dtype=np.int64)
        for target, row in zip(padded, rows, strict=True):
            target[slice(longest - len(row), None) if self.padding_side == "left" else slice(len(row))] = row
        return padded


def tokenize(
    examples: Examples,
    tokenizer: Any,
    *,
    inputs: Sequence[TextColumn] | None,
    max_length: int,
    arguments: Sequence[str],
) -> TokenizedTexts:
    """Tokenize all rows. If a row has more than `max_length` tokens, its longest text is shortened first. `arguments`
    are the arguments that the model accepts.
    """
    columns = [examples.texts(column) for column in text_columns(examples, inputs)]
    padding = {"input_ids": tokenizer.pad_token_id, "token_type_ids": tokenizer.pad_token_type_id, "attention_mask": 0}
    names = [name for name in arguments if name in padding and name in tokenizer.model_input_names]
    chunks: dict[str, list[np.ndarray]] = {name: [] for name in names}
    lengths: list[int] = []
    for start in range(0, len(examples), TOKENIZED_AT_ONCE):
        texts = [column[start : start + TOKENIZED_AT_ONCE] for column in columns]
        encoded = tokenizer(*texts, truncation=True, max_length=max_length, return_attention_mask=True)
        rows = {name: _without_empty_rows(name, encoded[name], padding) for name in names}
        lengths += [len(row) for row in rows["input_ids"]]
        for name in names:
            chunks[name].append(np.fromiter(chain.from_iterable(rows[name]), np.int32))
    return TokenizedTexts(
        arrays={name: np.concatenate([np.empty(0, np.int32), *parts]) for name, parts in chunks.items()},
        padding={name: padding[name] for name in names},
        offsets=np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]),
        padding_side=tokenizer.padding_side,
    )


def _without_empty_rows(name: str, rows: list[list[int]], padding: Mapping[str, int]) -> list[list[int]]:
    # A tokenizer without special tokens makes nothing of an empty text, and attention over nothing is NaN.
    filler = [1 if name == "attention_mask" else padding[name]]
    return [row or filler for row in rows]
