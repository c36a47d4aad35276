"""Padded batches of words inside a network: two texts at once, and LSTMs over them. Batches are made in
`word_inputs`.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


def stacked(first: torch.Tensor, second: torch.Tensor, padding: int) -> torch.Tensor:
    """Stack the first texts and then the second texts at equal length, so that operations on both are done once."""
    longest = max(first.shape[1], second.shape[1])
    return torch.cat([nn.functional.pad(side, (0, longest - side.shape[1]), value=padding) for side in (first, second)])


def run_lstm(lstm: nn.LSTM, inputs: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Return the outputs of both directions, zero beyond a text's end; float32, because not every device has
    half-precision LSTMs.

    `inputs`: texts x words x width; `present`: texts x words, bool.
    """
    with torch.autocast(inputs.device.type, enabled=False):
        packed = pack_padded_sequence(inputs.float(), present.sum(dim=1).cpu(), batch_first=True, enforce_sorted=False)
        outputs, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=inputs.shape[1])
    return outputs
