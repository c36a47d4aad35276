"""Word vectors that depend on the context: a learned mix of the layers of a frozen Hugging Face encoder."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import AutoConfig, AutoModel

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.checkpoint_configuration import read_configuration
from aflite_assets.models.global_state import quiet_libraries
from aflite_assets.models.text.inputs import TOKENIZED_AT_ONCE, TextColumn
from aflite_assets.models.text.pretrained import (
    check_text_checkpoint,
    checkpoint_place,
    load_checkpoint,
    load_tokenizer,
    most_positions,
)
from aflite_assets.models.words.word_inputs import NO_PIECE, PAIR, SIDES, PairInputs, ragged, word_spans

ENCODER_FOLDER = "contextual"


class ContextualVectors(nn.Module):
    """A frozen encoder that returns the outputs of all its layers. Training does not change the encoder.

    The layers' outputs are recomputed for every batch, because storing them would take `layers` x `width` numbers for
    each word of each text.

    Raises:
        ModelError: the encoder does not return one vector per word piece and layer.
    """

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder.requires_grad_(False)
        super().train(False)
        self.layers = self._count_layers()

    @property
    def width(self) -> int:
        """Length of a word vector."""
        return int(self.encoder.config.hidden_size)

    def train(self, mode: bool = True) -> "ContextualVectors":
        """Do nothing, because the encoder always stays in evaluation mode."""
        return self

    def forward(self, words: torch.Tensor, pieces: torch.Tensor) -> torch.Tensor:
        """Return the vector of the first piece of each word, for every layer: float32, layers x rows x most words x
        width.

        Layer 0 is the embedding of the pieces, which is the input of the encoder's first block. `words` (rows x most
        words) holds the position of each word's first piece in the text, counted from 1, and is padded with 0. `pieces`
        (rows x most pieces) holds word pieces and is padded with -1. `words` and `pieces` are int64.
        """
        positions = (words - 1).clamp(min=0)[:, :, None].expand(-1, -1, self.width)
        return torch.stack([states.gather(1, positions).float() for states in self._states(pieces)])

    def _states(self, pieces: torch.Tensor) -> tuple[torch.Tensor, ...]:
        present = pieces != NO_PIECE
        filled = pieces.masked_fill(~present, self.encoder.config.pad_token_id or 0)
        with torch.no_grad():
            output = self.encoder(
                input_ids=filled, attention_mask=present.to(torch.int64), output_hidden_states=True, return_dict=True
            )
        return tuple(output.hidden_states or ())

    def _count_layers(self) -> int:
        """Run the encoder to count its layers, because configurations store the number of layers under different
        names.
        """
        tried = torch.zeros(1, 2, dtype=torch.int64, device=self.encoder.device)
        layers = self._states(tried)
        shapes = {tuple(states.shape) for states in layers}
        if shapes != {(1, 2, self.width)}:
            raise ModelError(
                f"`contextual` is a {type(self.encoder).__name__}, which returns layers of the shapes "
                f"{sorted(shapes)} for two word pieces instead of {self.width} numbers per word piece; choose an "
                "encoder such as BERT, RoBERTa or DistilBERT"
            )
        return len(layers)

    def save_pretrained(self, folder: Path) -> None:
        """Write the encoder into a subfolder of the given folder."""
        with quiet_libraries():
            self.encoder.save_pretrained(folder / ENCODER_FOLDER)


class LayerMix(nn.Module):
    """A learned weighted mean of layers, multiplied by a learned factor (Peters et al., NAACL 2018, eq. 1).

    Before training, all layers have the same weight and the factor is 1. The optimizer's weight decay pulls `weights`
    towards 0, which means equal weights for all layers. The penalty in the paper has the same effect.
    """

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.zeros(layers))
        self.scale = nn.Parameter(torch.ones(()))

    def shares(self) -> torch.Tensor:
        """Return the weight of each layer, float32 (layers,). The weights sum to 1."""
        return self.weights.float().softmax(dim=0)

    def forward(self, layers: torch.Tensor) -> torch.Tensor:
        """Return the weighted mean of `layers` (float32, layers x rows x most words x width), in the shape of one
        layer.
        """
        with torch.autocast(layers.device.type, enabled=False):
            return self.scale.float() * torch.tensordot(self.shares(), layers, dims=1)


class PieceReader:
    """A reader that converts pairs of texts to word pieces, with the position of each word's first piece.

    The encoder reads the original text up to the end of the last kept word. A piece belongs to a word if it contains a
    character of the word.
    """

    def __init__(self, tokenizer: Any, *, most_pieces: int | None) -> None:
        self.tokenizer = tokenizer
        self._most_pieces = most_pieces

    def inputs(self, examples: Examples, *, max_length: int, columns: Sequence[TextColumn] = PAIR) -> PairInputs:
        """Return `first_words`, `second_words`, `first_pieces` and `second_pieces`, in the form that
        `ContextualVectors` accepts.

        Each text keeps at most `max_length` words. The first piece of a kept word must be within the encoder's maximum
        length. A word without any piece is left out. A text without words is represented by the first piece of the
        text.
        """
        parts = []
        for side, column in zip(SIDES, columns, strict=True):
            words, pieces = self._read(examples.texts(column), max_length)
            parts += [ragged(f"{side}_words", words), ragged(f"{side}_pieces", pieces, padding=NO_PIECE)]
        return PairInputs(parts)

    def _read(self, texts: Sequence[str], max_length: int) -> tuple[list[np.ndarray], list[list[int]]]:
        words: list[np.ndarray] = []
        pieces: list[list[int]] = []
        for start in range(0, len(texts), TOKENIZED_AT_ONCE):
            some = texts[start : start + TOKENIZED_AT_ONCE]
            spans = [word_spans(text)[:max_length] for text in some]
            encoded = self.tokenizer(
                [text[: span[-1, 1]] if len(span) else "" for text, span in zip(some, spans, strict=True)],
                truncation=self._most_pieces is not None,
                max_length=self._most_pieces,
                return_offsets_mapping=True,
                return_special_tokens_mask=True,
                verbose=False,
            )
            words_of_rows = zip(spans, encoded["offset_mapping"], encoded["special_tokens_mask"], strict=True)
            words += [_first_pieces(*row) for row in words_of_rows]
            pieces += [ids or [self.tokenizer.unk_token_id or 0] for ids in encoded["input_ids"]]
        return words, pieces

    def save_pretrained(self, folder: Path) -> None:
        """Write the tokenizer into the encoder's subfolder."""
        self.tokenizer.save_pretrained(folder / ENCODER_FOLDER)


def _first_pieces(words: np.ndarray, offsets: Sequence[tuple[int, int]], special: Sequence[int]) -> np.ndarray:
    """Return the position of each word's first piece, counted from 1. If no word has a piece, one position is still
    returned.
    """
    own = np.flatnonzero(np.array(special, dtype=np.int64) == 0)
    starts, ends = np.array(offsets, dtype=np.int64).reshape(-1, 2)[own].T
    first = np.searchsorted(ends, words[:, 0], side="right")
    first, words = first[first < len(own)], words[first < len(own)]
    positions = own[first[starts[first] < words[:, 1]]] + 1
    return positions if len(positions) else np.ones(1, dtype=np.int64)


def check_contextual_checkpoint(checkpoint: str, *, revision: str | None, max_length: int) -> None:
    """Check the configuration and the tokenizer, but not the weights.

    Raises:
        ModelError: the checkpoint is neither a folder nor a known id on the hub, is not a text encoder, or cannot read
            `max_length` words. The error is also raised if the tokenizer does not return the positions of word pieces.
    """
    check_text_checkpoint(checkpoint, revision=revision, max_length=max_length)
    with quiet_libraries():
        config = read_configuration(AutoConfig, checkpoint, **checkpoint_place(checkpoint, revision))
        tokenizer = load_tokenizer(checkpoint, revision=revision)
    if config.is_encoder_decoder:
        raise ModelError(
            f"`contextual` is {checkpoint!r}, a model of type {config.model_type!r}, which has a decoder; choose an "
            "encoder such as BERT, RoBERTa or DistilBERT"
        )
    if not tokenizer.is_fast:
        raise ModelError(
            f"`contextual` is {checkpoint!r}, whose tokenizer does not return the character positions of word pieces; "
            "choose an encoder that has a tokenizer.json"
        )


def pretrained_vectors(checkpoint: str, *, revision: str | None) -> tuple[ContextualVectors, PieceReader]:
    """Return the encoder in float32, and the reader that converts texts to the encoder's word pieces.

    Raises:
        ModelError: the checkpoint cannot be loaded, or parts of the encoder are missing from it.
    """
    encoder, report, tokenizer = load_checkpoint(AutoModel, checkpoint, revision=revision)
    # A pooler's output is not used, and many checkpoints have none.
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing or report["mismatched_keys"]:
        raise ModelError(
            f"`contextual` is {checkpoint!r}, whose weights do not match its config.json: {len(missing)} weights of "
            f"{type(encoder).__name__} are missing (first: {[*missing, *report['mismatched_keys']][0]}); choose "
            "another checkpoint, or download it again"
        )
    return ContextualVectors(encoder), PieceReader(tokenizer, most_pieces=most_positions(encoder.config))
