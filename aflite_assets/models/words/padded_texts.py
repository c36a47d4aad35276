"""Operations on padded batches of words inside a network: stacking of two texts, and LSTMs. The module `word_inputs`
builds the batches.
"""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


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
