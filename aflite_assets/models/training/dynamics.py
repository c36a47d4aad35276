"""Training dynamics per row and epoch, and a test for divergence. This module does not train models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import torch

from aflite_assets.errors import ModelError

HOPELESS = 10.0
"""Factor on ln(classes). A mean loss above the product is worse than the loss of any useful model."""

RISEN = 2.0
"""Factor on the first batch's loss. A larger loss cannot be explained by the choice of rows in that batch."""

NOISE = 0.01
"""Relative difference between mean losses that dropout and rounding can cause."""


@dataclass
class EpochDynamics:
    """Training dynamics of one epoch. `log_probability` (float32, NaN until the row is presented) and `correct` (bool)
    have one element per train row.
    """

    log_probability: torch.Tensor
    correct: torch.Tensor

    @property
    def loss(self) -> float:
        """Mean cross-entropy in nats."""
        return -float(self.log_probability.mean())

    @property
    def accuracy(self) -> float:
        """Share of rows whose label has the highest logit."""
        return float(self.correct.double().mean())


@dataclass
class DynamicsRecorder:
    """A recorder of the model's output for each train row and epoch, at the time when the row is presented."""

    n_rows: int
    epochs: list[EpochDynamics] = field(default_factory=list)

    def begin_epoch(self, device: torch.device) -> None:
        """Allocate memory for the next epoch on the model's device, so that recording does not wait for copies to main
        memory.
        """
        self.epochs.append(
            EpochDynamics(
                torch.full((self.n_rows,), math.nan, device=device),
                torch.zeros(self.n_rows, dtype=torch.bool, device=device),
            )
        )

    def record(self, positions: torch.Tensor, labels: torch.Tensor, logits: torch.Tensor) -> None:
        """Record one batch. `positions` and `labels` are int64 (rows,), and `logits` is rows x classes."""
        detached = logits.detach().float()
        scores = detached.log_softmax(dim=1)
        self.epochs[-1].log_probability[positions] = scores.gather(1, labels[:, None])[:, 0]
        self.epochs[-1].correct[positions] = detached.argmax(dim=1) == labels

    def end_epoch(self) -> EpochDynamics:
        """Return the record of the epoch that has just ended, in main memory."""
        last = self.epochs[-1]
        self.epochs[-1] = EpochDynamics(last.log_probability.cpu(), last.correct.cpu())
        return self.epochs[-1]

    def table(self, row_ids: np.ndarray) -> pa.Table:
        """Return the dynamics as a table, ordered by epoch and then by row. The columns of the table are row_id int64,
        epoch int64 from 0, label_probability float32 in [0, 1] and correct bool.
        """
        return pa.table(
            {
                "row_id": np.tile(row_ids.astype(np.int64), len(self.epochs)),
                "epoch": np.repeat(np.arange(len(self.epochs), dtype=np.int64), self.n_rows),
                "label_probability": torch.cat([e.log_probability.exp() for e in self.epochs]).numpy(),
                "correct": torch.cat([e.correct for e in self.epochs]).numpy(),
            }
        )


def check_divergence(
    epochs: Sequence[EpochDynamics], first_batch: Sequence[int], *, kept: int, classes: int, rate: float
) -> None:
    """Raise an error if a training run became far worse than guessing. A run that was far worse than guessing at the
    start and has improved is accepted.

    `epochs`: all trained epochs. `kept`: the number of the epoch with the kept weights, counted from 1. `first_batch`:
    positions of the rows that were presented before any step. A training run has diverged if its loss meets two
    conditions. First, the loss is over `HOPELESS` times the loss of guessing, which is ln(classes) nats. Second, the
    loss is over `RISEN` times the first batch's loss or, if there are several epochs, not clearly below the first
    epoch's loss. If the weights of the first epoch are kept, the first two epochs must meet the first condition, and
    the second epoch must meet the second condition. A falling loss alone does not rule out divergence. After a
    divergence, the loss falls because the schedule lowers the learning rate.

    Raises:
        ModelError: the training diverged.
    """
    judged = [epoch.loss for epoch in epochs[kept - 1 : max(kept, 2)]]
    guessing, before = math.log(classes), -float(epochs[0].log_probability[list(first_batch)].mean())
    risen, stays = judged[-1] > RISEN * before, judged[-1] > epochs[0].loss * (1 - NOISE)
    if min(judged) > HOPELESS * guessing and (risen or (stays and len(epochs) > 1)):
        raise ModelError(
            f"training diverged: the loss of epoch {kept} is {judged[0]:.4g}, but the loss before the first step was "
            f"{before:.4g} and guessing among {classes} classes gives {guessing:.4g}; lower `learning_rate` (now "
            f"{rate})"
        )
