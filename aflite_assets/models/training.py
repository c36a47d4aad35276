"""The one trainer of all neural models: `transformers.Trainer` with training dynamics, leaving no trace behind."""

import contextlib
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch.nn.modules.batchnorm import _BatchNorm
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.classifiers import ModelInputs, NeuralClassifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.isolation import library_seed, quiet_libraries
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.model_specs import TrainingSpec


@dataclass(frozen=True)
class TrainingResult:
    """`dynamics`: one row per train row and epoch (row_id, epoch, label_probability, correct); `metrics`: totals."""

    dynamics: pa.Table
    metrics: Mapping[str, float]


def train_classifier(
    classifier: NeuralClassifier,
    examples: Examples,
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
) -> TrainingResult:
    """Train in place with AdamW, a linear schedule and cross-entropy; call within `isolated_random_state`.

    The dynamics are the logits as presented: in training mode, before the step that uses them
    (Swayamdipta et al. 2020, section 2). `metrics`: train_loss and train_accuracy of the last epoch,
    as presented too; seconds, rows, steps.

    Raises:
        DataError: there are no rows.
        ModelError: the loss stopped being a finite number.
    """
    if not len(examples):
        raise DataError("there are no rows to train on; give the dataset more rows or a smaller warm-up share")
    started = time.perf_counter()
    inputs = classifier.inputs(examples, augmentation_seed=seed)
    recorder = DynamicsRecorder(len(examples), classifier.settings, log)
    with quiet_libraries():
        trainer = _RecordingTrainer(
            model=classifier.model,
            args=_training_arguments(classifier.settings, len(examples), seed, device, scratch),
            train_dataset=range(len(examples)),
            data_collator=_Collator(inputs, torch.from_numpy(examples.labels.copy())),
            callbacks=[recorder],
        )
        trainer.recorder, trainer.device_settings = recorder, device
        # With the progress bar off, Trainer prints its logs instead.
        trainer.remove_callback(PrinterCallback)
        steps = trainer.train().global_step
    last = recorder.epochs[-1]
    return TrainingResult(
        recorder.table(examples.row_ids),
        {
            "train_loss": last.loss,
            "train_accuracy": last.accuracy,
            "seconds": time.perf_counter() - started,
            "rows": float(len(examples)),
            "steps": float(steps),
        },
    )


def _training_arguments(
    settings: TrainingSpec, n_rows: int, seed: int, device: DeviceSettings, scratch: Path
) -> TrainingArguments:
    target = device.resolve()
    steps = settings.epochs * math.ceil(n_rows / settings.batch_size)
    arguments = TrainingArguments(
        output_dir=str(scratch),
        per_device_train_batch_size=settings.batch_size,
        num_train_epochs=settings.epochs,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        optim="adamw_torch",
        lr_scheduler_type="linear",
        warmup_steps=int(settings.warmup_share * steps),
        seed=library_seed(seed),
        use_cpu=target.type == "cpu",
        save_strategy="no",
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=target.type == "cuda",
    )
    if target.type == "cuda" and arguments.n_gpu > 1:
        # Trainer would spread each batch over all visible GPUs; a step has been given one.
        arguments._n_gpu = 1
    return arguments


@dataclass(frozen=True)
class _Collator:
    """The dataset is the row positions, so that a batch is built at once; positions travel along for the record."""

    inputs: ModelInputs
    labels: torch.Tensor

    def __call__(self, positions: Sequence[int]) -> dict[str, torch.Tensor]:
        rows = torch.as_tensor(positions, dtype=torch.int64)
        return {**self.inputs.batch(positions), "labels": self.labels[rows], "positions": rows}


@dataclass
class EpochDynamics:
    """One epoch's record, an element per train row; NaN until the row was presented."""

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
class DynamicsRecorder(TrainerCallback):
    """Keeps each row's label probability and correctness per epoch, and logs a line per epoch."""

    n_rows: int
    settings: TrainingSpec
    log: Callable[[str], None]
    epochs: list[EpochDynamics] = field(default_factory=list)

    def on_epoch_begin(self, *_: Any, model: torch.nn.Module, **__: Any) -> None:
        """Make room for the next epoch where the model is."""
        device = next(model.parameters()).device
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

    def on_epoch_end(self, *_: Any, **__: Any) -> None:
        """Log the epoch, and stop a training that has diverged."""
        epoch = self.epochs[-1]
        if not math.isfinite(epoch.loss):
            raise ModelError(
                f"training diverged: the loss of epoch {len(self.epochs)} is {epoch.loss}; "
                f"lower learning_rate (now {self.settings.learning_rate})"
            )
        self.epochs[-1] = EpochDynamics(epoch.log_probability.cpu(), epoch.correct.cpu())
        self.log(
            f"epoch {len(self.epochs)} of {self.settings.epochs}: loss {epoch.loss:.4f}, accuracy {epoch.accuracy:.3f}"
        )

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


class _RecordingTrainer(Trainer):
    """Cross-entropy on the logits, whatever loss a checkpoint's configuration names, and a record of each batch."""

    recorder: DynamicsRecorder
    device_settings: DeviceSettings

    def compute_loss_context_manager(self) -> contextlib.ExitStack:
        """Autocast by ourselves: Trainer's own switch works through process-wide state."""
        stack = contextlib.ExitStack()
        stack.enter_context(self.device_settings.autocast())
        return stack

    def compute_loss(self, model: torch.nn.Module, inputs: dict[str, torch.Tensor], **_: Any) -> torch.Tensor:
        """Mean cross-entropy of one batch."""
        arguments = dict(inputs)
        positions, labels = arguments.pop("positions"), arguments.pop("labels")
        if len(labels) == 1:
            _use_running_statistics(model)
        logits = model(**arguments).logits
        self.recorder.record(positions, labels, logits)
        return torch.nn.functional.cross_entropy(logits.float(), labels)


def _use_running_statistics(model: torch.nn.Module) -> None:
    # A last batch of one row has no variance for batch normalisation, which raises on 1 x 1 feature maps.
    # Trainer puts the model back into training mode before the next step.
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
