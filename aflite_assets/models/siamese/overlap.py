"""Logistic regression on the overlap of two texts, as a torch module."""

import torch
from torch import nn
from transformers.modeling_outputs import SequenceClassifierOutput

from aflite_assets.models.siamese.network import SiameseConfiguration
from aflite_assets.models.words.saved_networks import WordNetwork
from aflite_assets.models.words.word_inputs import NO_WORD, UNKNOWN_WORD
from aflite_assets.models.words.word_tables import PartlyLearntVectors

FEATURES = (
    "part of the first text",
    "all words in the first text",
    "share of words in the first text",
    "log of the difference in length",
    "mean similarity",
    "lowest similarity",
    "second lowest similarity",
)
"""Names of the features of a pair of texts, in the order of the columns."""


class WordOverlapNetwork(WordNetwork):
    """A classifier of text pairs that uses only seven features of word overlap.

    The features come from the research code of Clark, Yatskar and Zettlemoyer (EMNLP 2019) for HANS; see
    `overlap_features`. Word vectors are not trained. New weights are drawn from torch's global generator.
    """

    model_type = "siamese"

    def __init__(self, configuration: SiameseConfiguration) -> None:
        super().__init__(configuration)
        self.vectors = PartlyLearntVectors(configuration.words, configuration.other_words, configuration.vector_width)
        self.vectors.table.weight.requires_grad_(False)
        # Last, where `representations.final_layer` looks for it.
        self.output = nn.Linear(len(FEATURES), self.num_labels)

    def forward(self, first_words: torch.Tensor, second_words: torch.Tensor) -> SequenceClassifierOutput:
        """Return logits, rows x classes, for the int64 word numbers (rows x longest) of two texts."""
        vectors = self.vectors(first_words), self.vectors(second_words)
        return SequenceClassifierOutput(logits=self.output(overlap_features(first_words, second_words, *vectors)))


@torch.no_grad()
def overlap_features(
    first_words: torch.Tensor, second_words: torch.Tensor, first_vectors: torch.Tensor, second_vectors: torch.Tensor
) -> torch.Tensor:
    """Compute the seven features in `FEATURES` for each row. The result is float32, rows x 7.

    Word numbers are int64, rows x longest, padded with `NO_WORD`. Word vectors are rows x longest x width. The
    similarity of a word in the second text is its highest cosine with any word of the first text. An unknown word is
    not similar to any word.
    """
    known_first, known = first_words > UNKNOWN_WORD, second_words > UNKNOWN_WORD
    first_length, length = ((words != NO_WORD).sum(dim=1) for words in (first_words, second_words))
    same = (second_words[:, :, None] == first_words[:, None, :]) & known[:, :, None]
    found = same.any(dim=2).sum(dim=1)
    cosines = nn.functional.normalize(second_vectors, dim=-1) @ nn.functional.normalize(first_vectors, dim=-1).mT
    highest = cosines.masked_fill(~known_first[:, None, :], -torch.inf).amax(dim=2)
    compared = known & known_first.any(dim=1, keepdim=True)
    total = highest.masked_fill(~compared, 0).sum(dim=1)
    lowest = nn.functional.pad(highest.masked_fill(~compared, torch.inf), (0, 2), value=torch.inf).sort(dim=1).values
    columns = (
        _stands_whole(same, length),
        found == length,
        found / length,
        (first_length - length).clamp(min=1).log(),
        total / length,
        *lowest[:, :2].masked_fill(lowest[:, :2].isinf(), 0).unbind(dim=1),
    )
    return torch.stack([column.float() for column in columns], dim=1)


def _stands_whole(same: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
    """Return a bool per row: True if the first text contains the whole second text without a gap.

    `same`: bool, rows x words of the second text x words of the first text. `length`: number of words of the second
    text.
    """
    reached = same[:, 0, :]
    whole = reached.any(dim=1) & (length == 1)
    for place in range(1, same.shape[1]):
        reached = nn.functional.pad(reached[:, :-1], (1, 0)) & same[:, place, :]
        whole |= reached.any(dim=1) & (length == place + 1)
    return whole
