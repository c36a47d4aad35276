"""Siamese models as one torch module, with a bag of words or an LSTM as encoder. The module `saved_models` builds and
loads models.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput

from aflite_assets.models.words.saved_networks import WordNetwork
from aflite_assets.models.words.word_inputs import NO_WORD, run_lstm, stacked
from aflite_assets.models.words.word_tables import PartlyLearntVectors


@dataclass(frozen=True)
class SiameseConfiguration:
    """Configuration of a saved model.

    `words`: number of learned word vectors. `other_words`: number of word vectors that are not learned. `texts`: number
    of texts that the model reads, 1 or 2. `width`: width of one direction of the LSTM, or of the projection in the bag
    of words (None for no projection). `layers` applies only to the LSTM, and `pooling` only to the bag of words. If
    `encoder` is "overlap", the model is `overlap.WordOverlapNetwork`, which uses none of these settings.
    """

    label_names: tuple[str, ...]
    words: int
    other_words: int
    vector_width: int
    texts: int
    encoder: Literal["bag", "lstm", "overlap"]
    width: int | None
    hidden: int
    dropout: float
    layers: int = 1
    pooling: Literal["mean", "max"] = "mean"


class BagEncoder(nn.Module):
    """An encoder that pools over the words of a text with the mean or the maximum. Each word vector x is pooled
    directly or as tanh(W x + b).
    """

    def __init__(self, vector_width: int, width: int | None, pooling: Literal["mean", "max"]) -> None:
        super().__init__()
        self.projection = None if width is None else nn.Linear(vector_width, width)
        self.pooling = pooling
        self.width = vector_width if width is None else width

    def forward(self, vectors: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """Encode each text. `vectors` is texts x words x vector width, and the result is texts x `width`."""
        values = vectors if self.projection is None else torch.tanh(self.projection(vectors))
        if self.pooling == "max":
            return _highest(values, present)
        return (values * present[:, :, None]).sum(dim=1) / present.sum(dim=1, keepdim=True)


class LstmEncoder(nn.Module):
    """An encoder that runs a bidirectional LSTM and returns the maximum of the top layer's outputs over the words of a
    text.
    """

    def __init__(self, vector_width: int, width: int, layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(vector_width, width, num_layers=layers, batch_first=True, bidirectional=True)
        self.width = 2 * width

    def forward(self, vectors: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """Encode each text. `vectors` is texts x words x vector width, and the result is texts x `width`."""
        return _highest(run_lstm(self.lstm, vectors, present), present)


class Siamese(WordNetwork):
    """A classifier that reads each text separately with the same weights (Yaghoobzadeh et al., EACL 2021, appendix A).

    The classifier's input is [p, h, |p - h|, p * h] for two texts with the vectors p and h. For a single text, the
    input is the text's vector. Two layers follow: a hidden layer with tanh and layer normalisation, and an output layer
    with one output per class. Padding of the texts does not change the result. New weights are drawn from torch's
    global generator.
    """

    model_type = "siamese"

    def __init__(self, configuration: SiameseConfiguration) -> None:
        super().__init__(configuration)
        self.vectors = PartlyLearntVectors(configuration.words, configuration.other_words, configuration.vector_width)
        self.dropout = nn.Dropout(configuration.dropout)
        self.encoder = _encoder(configuration)
        compared = self.encoder.width * (4 if configuration.texts == 2 else 1)
        self.hidden = nn.Linear(compared, configuration.hidden)
        self.normalise = nn.LayerNorm(configuration.hidden)
        # Last, where `representations.final_layer` looks for it.
        self.output = nn.Linear(configuration.hidden, self.num_labels)

    def forward(self, first_words: torch.Tensor, second_words: torch.Tensor | None = None) -> SequenceClassifierOutput:
        """Return logits, rows x classes, for the int64 word numbers (rows x longest) of one or two texts."""
        words = first_words if second_words is None else stacked(first_words, second_words, NO_WORD)
        texts = self.encoder(self.dropout(self.vectors(words)), words != NO_WORD)
        compared = texts if second_words is None else _compared(*texts.chunk(2))
        hidden = self.normalise(torch.tanh(self.hidden(self.dropout(compared))))
        return SequenceClassifierOutput(logits=self.output(hidden))


def _encoder(configuration: SiameseConfiguration) -> BagEncoder | LstmEncoder:
    if configuration.encoder == "bag":
        return BagEncoder(configuration.vector_width, configuration.width, configuration.pooling)
    assert configuration.width is not None
    return LstmEncoder(configuration.vector_width, configuration.width, configuration.layers)


def _highest(values: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    return values.masked_fill(~present[:, :, None], -torch.inf).amax(dim=1)


def _compared(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    return torch.cat([first, second, (first - second).abs(), first * second], dim=1)
