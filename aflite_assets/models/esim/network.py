"""ESIM, a classifier of text pairs, as a torch module. Word vectors are defined in other modules."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput

from aflite_assets.models.esim.contextual_vectors import ContextualVectors, LayerMix
from aflite_assets.models.words.saved_networks import WordNetwork
from aflite_assets.models.words.word_inputs import NO_PIECE, NO_WORD, run_lstm, stacked


@dataclass(frozen=True)
class EsimConfiguration:
    """Sizes of a saved model. `words` is the number of vectors in the model's table, or None for contextual vectors."""

    label_names: tuple[str, ...]
    vector_width: int
    words: int | None
    width: int
    dropout: float


class Esim(WordNetwork):
    """Enhanced LSTM for natural language inference (Chen et al., ACL 2017, section 3, without its syntax trees).

    One bidirectional LSTM reads both texts, and each word attends to the words of the other text. A second LSTM reads
    four vectors per word: the word, the mean of the attended words, and the difference and product of the two. A hidden
    layer reads the mean and the maximum of the second LSTM's outputs over the words. As in the authors' code, dropout
    is applied to the word vectors and to the inputs of the second LSTM, the hidden layer and the last layer. Padding of
    the texts does not change the result.

    `vectors` maps word numbers to an array, rows x longest x `vector_width`. The word number 0 means no word. With
    `ContextualVectors`, this model also learns the weights that mix the layers. New weights are drawn from torch's
    global generator.
    """

    model_type = "esim"

    def __init__(self, configuration: EsimConfiguration, vectors: nn.Module) -> None:
        super().__init__(configuration)
        width = configuration.width
        self.vectors = vectors
        self.apart = ("vectors.",) if isinstance(vectors, ContextualVectors) else ()
        self.mix = LayerMix(vectors.layers) if isinstance(vectors, ContextualVectors) else nn.Identity()
        self.dropout = nn.Dropout(configuration.dropout)
        self.encoder = nn.LSTM(configuration.vector_width, width, batch_first=True, bidirectional=True)
        self.projection = nn.Linear(8 * width, width)
        self.composer = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.hidden = nn.Linear(8 * width, width)
        # Last, where `representations.final_layer` looks for it.
        self.output = nn.Linear(width, self.num_labels)

    def forward(
        self,
        first_words: torch.Tensor,
        second_words: torch.Tensor,
        first_pieces: torch.Tensor | None = None,
        second_pieces: torch.Tensor | None = None,
    ) -> SequenceClassifierOutput:
        """Return logits, rows x classes. The arguments are int64 word numbers (rows x longest) and, for contextual
        vectors, word pieces.
        """
        words = stacked(first_words, second_words, NO_WORD)
        if first_pieces is None or second_pieces is None:
            vectors = self.vectors(words)
        else:
            vectors = self.mix(self.vectors(words, stacked(first_pieces, second_pieces, NO_PIECE)))
        present = words != NO_WORD
        encoded = run_lstm(self.encoder, self.dropout(vectors), present)
        attended = _attended(encoded, present)
        compared = torch.cat([encoded, attended, encoded - attended, encoded * attended], dim=2)
        composed = run_lstm(self.composer, self.dropout(torch.relu(self.projection(compared))), present)
        pooled = torch.cat(_pooled(composed, present).chunk(2), dim=1)
        hidden = torch.tanh(self.hidden(self.dropout(pooled)))
        return SequenceClassifierOutput(logits=self.output(self.dropout(hidden)))

    def save_pretrained(self, folder: Path) -> None:
        """Write the configuration and the weights. The encoder of contextual vectors is saved separately in the same
        folder.
        """
        super().save_pretrained(folder)
        if isinstance(self.vectors, ContextualVectors):
            self.vectors.save_pretrained(folder)


def _attended(encoded: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return, for each word, a weighted mean of the other text's words. The weights are the softmax of the dot products
    (eq. 11-13).
    """
    first, second = encoded.chunk(2)
    in_first, in_second = present.chunk(2)
    products = first @ second.transpose(1, 2)
    to_second = products.masked_fill(~in_second[:, None, :], -torch.inf).softmax(dim=2) @ second
    to_first = products.transpose(1, 2).masked_fill(~in_first[:, None, :], -torch.inf).softmax(dim=2) @ first
    return torch.cat([to_second, to_first])


def _pooled(composed: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return the mean and maximum over the words of each text."""
    mean = composed.sum(dim=1) / present.sum(dim=1, keepdim=True)
    return torch.cat([mean, composed.masked_fill(~present[:, :, None], -torch.inf).amax(dim=1)], dim=1)
