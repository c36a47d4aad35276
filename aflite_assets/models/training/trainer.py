"""`transformers.Trainer` as models are trained here: settings, the loss of a batch in parts, and its epochs' events."""

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch.utils.data import DataLoader
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainerControl, TrainingArguments

from aflite_assets.errors import ModelError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import library_seed
from aflite_assets.models.training.batches import EpochSampler, TrainBatches
from aflite_assets.models.training.checkpoints import (
    CheckpointStore,
    TrainingState,
    generator_states,
    restore_generators,
)
from aflite_assets.models.training.dynamics import DynamicsRecorder, EpochDynamics
from aflite_assets.models.training.early_stopping import EarlyStopping
from aflite_assets.models.training.predictions import on_device
from aflite_assets.specs.models import TrainingSpec

HOPELESS = 10.0
"""A mean loss of so many times ln(classes) is worse than any that a model of use has."""

RISEN = 2.0
"""A loss of so many times that of the first batch is no chance of the rows that the batch has."""

NOISE = 0.01
"""Relative: by less, dropout and rounding make mean losses differ."""


@dataclass(frozen=True)
class TrainingSteps:
    """Optimiser steps of a training: `per_epoch`, in all `epochs`, and those in which the rate rises."""

    per_epoch: int
    total: int
    warmup: int


def training_steps(settings: TrainingSpec, n_rows: int) -> TrainingSteps:
    """An epoch's last batch may have fewer rows than the others."""
    per_epoch = math.ceil(n_rows / settings.batch_size)
    total = settings.epochs * per_epoch
    return TrainingSteps(per_epoch, total, int(settings.warmup_share * total))


def check_divergence(
    epochs: Sequence[EpochDynamics], unlearnt: Sequence[int], *, kept: int, classes: int, rate: float
) -> None:
    """Tell a training that ended far from any use; one that began there and gets better is none.

    `epochs`: all that were trained; `kept`: the one whose weights stay, from 1; `unlearnt`: the rows of the first
    batch, presented before any step. Diverged is a training whose loss is over `HOPELESS` times what guessing gives,
    ln(classes) nats, and over `RISEN` times that of the first batch or, of several epochs, no lower than the first
    one's. Where the first epoch stays, the second, which begins with its weights, has to say the same. That the loss
    falls from epoch to epoch is not enough: after a divergence it does so with the schedule's rate.

    Raises:
        ModelError: the training diverged.
    """
    judged = [epoch.loss for epoch in epochs[kept - 1 : max(kept, 2)]]
    guessing, before = math.log(classes), -float(epochs[0].log_probability[list(unlearnt)].mean())
    risen, stays = judged[-1] > RISEN * before, judged[-1] > epochs[0].loss * (1 - NOISE)
    if min(judged) > HOPELESS * guessing and (risen or (stays and len(epochs) > 1)):
        raise ModelError(
            f"training diverged: the loss of epoch {kept} is {judged[0]:.4g}, before the first step it was "
            f"{before:.4g}, and guessing among {classes} classes gives {guessing:.4g}; "
            f"lower learning_rate (now {rate})"
        )


@dataclass
class EpochCallback(TrainerCallback):
    """What happens between steps: the record of an epoch, its log line, stopping, and what is kept on the disk.

    `state`: where the training goes on from (None: its start).
    """

    settings: TrainingSpec
    recorder: DynamicsRecorder
    stopping: EarlyStopping | None
    files: CheckpointStore
    sampler: EpochSampler
    parts: int
    state: TrainingState | None
    log: Callable[[str], None]

    def on_train_begin(self, *_: Any, optimizer: Any, lr_scheduler: Any, **__: Any) -> None:
        """Go on with the optimiser and the schedule where they were."""
        if self.state is not None:
            optimizer.load_state_dict(self.state.optimizer)
            lr_scheduler.load_state_dict(self.state.scheduler)

    def on_epoch_begin(self, *_: Any, model: torch.nn.Module, **__: Any) -> None:
        """Choose the epoch's order and make room for its record."""
        if self.state is not None:
            restore_generators(self.state.generators)
            self.state = None
        self.sampler.epoch = len(self.recorder.epochs)
        self.recorder.begin_epoch(next(model.parameters()).device)

    def on_epoch_end(
        self, _: Any, __: Any, control: TrainerControl, *, model: Any, optimizer: Any, lr_scheduler: Any, **___: Any
    ) -> None:
        """Log the epoch, stop a training that has diverged or gets no better, and keep what it can go on from."""
        epoch, number = self.recorder.end_epoch(), len(self.recorder.epochs)
        if not math.isfinite(epoch.loss):
            raise ModelError(
                f"training diverged: the loss of epoch {number} is {epoch.loss}; "
                f"lower learning_rate (now {self.settings.learning_rate})"
            )
        held_back = self._held_back_accuracy()
        self.log(
            f"epoch {number} of {self.settings.epochs}: loss {epoch.loss:.4f}, accuracy {epoch.accuracy:.3f}{held_back}"
        )
        if self._is_last(number):
            control.should_training_stop = True
            return
        if self.stopping is not None and self.stopping.best_epoch == number:
            self.files.save_best(number, model.state_dict())
        self._save(model, optimizer, lr_scheduler)

    def _held_back_accuracy(self) -> str:
        if self.stopping is None:
            return ""
        return f", {self.stopping.end_epoch():.3f} on {self.stopping.rows} held-back rows"

    def _is_last(self, number: int) -> bool:
        if number == self.settings.epochs:
            return True
        if self.stopping is None or not self.stopping.patience_is_over:
            return False
        self.log(f"stopped after epoch {number}: none was better than epoch {self.stopping.best_epoch}")
        return True

    def _save(self, model: Any, optimizer: Any, lr_scheduler: Any) -> None:
        state = TrainingState(
            epochs=self.recorder.epochs,
            accuracies=[] if self.stopping is None else self.stopping.accuracies,
            parts=self.parts,
            weights=model.state_dict(),
            optimizer=optimizer.state_dict(),
            scheduler=lr_scheduler.state_dict(),
            generators=generator_states(),
        )
        self.files.save(state, best_epoch=None if self.stopping is None else self.stopping.best_epoch)


class RecordingTrainer(Trainer):
    """Cross-entropy on the logits, whatever loss a checkpoint's configuration names, and a record of each batch."""

    def __init__(
        self,
        model: torch.nn.Module,
        batches: TrainBatches,
        events: EpochCallback,
        *,
        steps: TrainingSteps,
        seed: int,
        device: DeviceSettings,
    ) -> None:
        arguments = _training_arguments(events, steps, seed, device)
        super().__init__(model=model, args=arguments, train_dataset=range(len(events.sampler)), callbacks=[events])
        # With the progress bar off, Trainer prints its logs instead.
        self.remove_callback(PrinterCallback)
        # A part's loss is its share of the batch's mean already.
        self.loss_is_scaled_for_ga = True
        # Trainer begins by collecting all of the process's garbage, which takes longer than some trainings. Its own
        # objects are no cycles: a training's model and optimizer go with their last reference.
        self.accelerator.free_memory = _nothing_to_free
        self._batches, self._events, self._steps, self._device = batches, events, steps, device

    def get_train_dataloader(self) -> DataLoader:
        """Batches of one part each, in the sampler's order."""
        return self._batches.loader(self._events.sampler, part_size=self.args.per_device_train_batch_size)

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """The schedule of the whole training, also when Trainer sees the epochs that are left only."""
        return super().create_scheduler(self._steps.total, optimizer)

    def get_batch_samples(
        self, epoch_iterator: Iterator[dict[str, torch.Tensor]], num_batches: int, device: torch.device
    ) -> tuple[list[dict[str, torch.Tensor]], int]:
        """The parts of one step on the device, and the rows of them all."""
        parts = [on_device(part, device) for part in itertools.islice(epoch_iterator, num_batches)]
        return parts, sum(len(part["labels"]) for part in parts)

    def floating_point_ops(self, inputs: Any) -> int:
        """Not counted: nobody reads the number, and Trainer would go through all weights' names at every step."""
        return 0

    def compute_loss_context_manager(self) -> contextlib.ExitStack:
        """Autocast by ourselves: Trainer's own switch works through process-wide state."""
        stack = contextlib.ExitStack()
        stack.enter_context(self._device.autocast())
        return stack

    def compute_loss(
        self, model: torch.nn.Module, inputs: dict[str, torch.Tensor], *, num_items_in_batch: int, **_: Any
    ) -> torch.Tensor:
        """Cross-entropy of one part, summed over its rows and divided by those of the whole batch.

        With label smoothing (Szegedy et al. 2016, section 7) the targets are smoothed, the record's losses are not.
        """
        arguments = dict(inputs)
        positions, labels = arguments.pop("positions"), arguments.pop("labels")
        if len(labels) == 1:
            _use_running_statistics(model)
        logits = model(**arguments).logits
        self._events.recorder.record(positions, labels, logits)
        smoothing = self._events.settings.label_smoothing
        loss = torch.nn.functional.cross_entropy(logits.float(), labels, reduction="sum", label_smoothing=smoothing)
        return loss / num_items_in_batch


def _training_arguments(
    events: EpochCallback, steps: TrainingSteps, seed: int, device: DeviceSettings
) -> TrainingArguments:
    settings, target = events.settings, device.resolve()
    arguments = TrainingArguments(
        output_dir=str(events.files.folder),
        per_device_train_batch_size=settings.batch_size // events.parts,
        gradient_accumulation_steps=events.parts,
        num_train_epochs=settings.epochs - len(events.recorder.epochs),
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        optim="adamw_torch_fused",
        lr_scheduler_type="linear",
        warmup_steps=steps.warmup,
        seed=library_seed(seed),
        use_cpu=target.type == "cpu",
        save_strategy="no",
        logging_strategy="no",
        # Looking at every step's loss would make the GPU wait; the epoch's end does.
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
    )
    if target.type == "cuda" and arguments.n_gpu > 1:
        # Trainer would spread each batch over all visible GPUs; a step has been given one.
        arguments._n_gpu = 1
    return arguments


def _nothing_to_free(*_: Any) -> list[Any]:
    return []


def _use_running_statistics(model: torch.nn.Module) -> None:
    # A batch of one row has no variance for batch normalisation, which raises on 1 x 1 feature maps.
    # Trainer puts the model back into training mode before the next step.
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.eval()
