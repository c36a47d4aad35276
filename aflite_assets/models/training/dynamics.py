"""What a training shows of its rows: label probability and correctness, per row and epoch. No training here."""

import math
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import torch


@dataclass
class EpochDynamics:
    """One epoch's record, an element per train row: `log_probability` float32, NaN until presented; `correct` bool."""

    log_probability: torch.Tensor
    correct: torch.Tensor

    @property
    def loss(self) -> float:
        """Mean cross-entropy in nats."""
        return -float(self.log_probability.mean())

    @property
    def accuracy(self) -> float:
        """Share of rows whose label had the highest logit."""
        return float(self.correct.double().mean())


@dataclass
class DynamicsRecorder:
    """Keeps what the model said of each train row when the row was presented, epoch by epoch."""

    n_rows: int
    epochs: list[EpochDynamics] = field(default_factory=list)

    def begin_epoch(self, device: torch.device) -> None:
        """Make room for the next epoch where the model is, so that recording never waits for a copy."""
        self.epochs.append(
            EpochDynamics(
                torch.full((self.n_rows,), math.nan, device=device),
                torch.zeros(self.n_rows, dtype=torch.bool, device=device),
            )
        )

    def record(self, positions: torch.Tensor, labels: torch.Tensor, logits: torch.Tensor) -> None:
        """Keep one batch: `positions` and `labels` int64 (rows,), `logits` rows x classes."""
        detached = logits.detach().float()
        scores = detached.log_softmax(dim=1)
        self.epochs[-1].log_probability[positions] = scores.gather(1, labels[:, None])[:, 0]
        self.epochs[-1].correct[positions] = detached.argmax(dim=1) == labels

    def end_epoch(self) -> EpochDynamics:
        """The epoch that has just ended, now in main memory."""
        last = self.epochs[-1]
        self.epochs[-1] = EpochDynamics(last.log_probability.cpu(), last.correct.cpu())
        return self.epochs[-1]

    def table(self, row_ids: np.ndarray) -> pa.Table:
        """row_id int64, epoch int64 from 0, label_probability float32 in [0, 1], correct bool; by epoch, then row."""
        return pa.table(
            {
                "row_id": np.tile(row_ids.astype(np.int64), len(self.epochs)),
                "epoch": np.repeat(np.arange(len(self.epochs), dtype=np.int64), self.n_rows),
                "label_probability": torch.cat([e.log_probability.exp() for e in self.epochs]).numpy(),
                "correct": torch.cat([e.correct for e in self.epochs]).numpy(),
            }
        )
