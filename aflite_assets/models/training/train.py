"""Training of a neural model: the loop over epochs and batches, the optimiser, and the learning-rate schedule.

Other modules define the inputs and outputs of the loop: `batches`, `dynamics`, `early_stopping` and `checkpoints`.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import cross_entropy, logsigmoid
from torch.nn.modules.batchnorm import _BatchNorm
from torch.optim.lr_scheduler import LambdaLR
from transformers import get_linear_schedule_with_warmup, set_seed
from transformers.trainer_pt_utils import get_parameter_names

from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import answer_pairs
from aflite_assets.data.rows import rows_at
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.classifiers import NeuralClassifier
from aflite_assets.models.devices import DeviceSettings, torch_threads_for
from aflite_assets.models.global_state import library_seed
from aflite_assets.models.training.batches import EpochSampler, TrainBatches, train_batches
from aflite_assets.models.training.checkpoints import (
    CheckpointStore,
    TrainingState,
    Weights,
    copied_weights,
    fingerprint,
    generator_states,
    restore_generators,
)
from aflite_assets.models.training.dynamics import DynamicsRecorder, check_divergence
from aflite_assets.models.training.early_stopping import EarlyStopping, training_rows
from aflite_assets.models.training.epochs import write_epochs
from aflite_assets.models.training.out_of_memory import RanOut, more_parts, release_memory, tried
from aflite_assets.models.training.predictions import accuracy, on_device
from aflite_assets.specs.models.settings import TrainingSpec

FOLDER = "training"
"""Folder below `scratch` for checkpoints, deleted when the training ends."""

MAX_GRADIENT_NORM = 1.0
"""Largest norm of the gradient over all weights. Gradients with a larger norm are scaled down to this norm."""

NOT_DECAYED = (r"bias", r"layernorm", r"rmsnorm", r"(?:^|\.)norm(?:$|\.)", r"_norm(?:$|\.)")
"""Names of weights without weight decay, in addition to the weights of `torch.nn.LayerNorm`. The list is from
transformers' Trainer.
"""

MicroBatch = dict[str, torch.Tensor]
"""Arguments of the model for some rows, with `labels` and `positions`."""


@dataclass(frozen=True)
class TrainingResult:
    """`dynamics`: a table with one line per train row and epoch (row_id, epoch, label_probability, correct). `metrics`:
    numbers by name.
    """

    dynamics: pa.Table
    metrics: Mapping[str, float]


@dataclass(frozen=True)
class TrainingSteps:
    """Numbers of optimiser steps: per epoch, in all epochs (`total`), and during warm-up of the learning rate."""

    per_epoch: int
    total: int
    warmup: int


def training_steps(settings: TrainingSpec, n_rows: int) -> TrainingSteps:
    """Count the optimiser steps of a training run. The last batch of an epoch may have fewer rows than the other
    batches.
    """
    settings = settings.for_rows(n_rows)
    per_epoch = math.ceil(n_rows / settings.batch_size)
    total = settings.epochs * per_epoch
    return TrainingSteps(per_epoch, total, int(settings.warmup_share * total))


def train_classifier(
    classifier: NeuralClassifier,
    examples: Examples,
    *,
    seed: int,
    device: DeviceSettings,
    scratch: Path,
    log: Callable[[str], None],
    held_back: Examples | None = None,
    row_weights: np.ndarray | None = None,
) -> TrainingResult:
    """Train the classifier in place with AdamW, a linear schedule and cross-entropy. Call this function within
    `isolated_random_state`.

    If `settings.loss` is `bradley_terry`, the loss of a pair of answers is -log(sigmoid(difference of their scores))
    (Bradley and Terry 1952). With `bradley_terry`, dynamics and metrics refer to pairs. The model is not trained on
    answers without a pair.

    With `row_weights` (float32, at least 0, one per row of `examples`), the loss of each row is multiplied by the row's
    weight. The loss of a batch is still the sum over its rows, divided by the number of rows. Row weights affect
    neither the dynamics nor the metrics. The dynamics use the logits from training mode, before the optimiser step on
    the batch (Swayamdipta et al. 2020, section 2). With `settings.early_stopping`, training ends when the accuracy on
    `held_back` no longer rises, and the weights of the best epoch are kept. By default, `held_back` is a share of
    `examples`. The model is not trained on `held_back`. If a run was killed, a run with the same `scratch` folder
    resumes after the last finished epoch. On the CPU, the result of a resumed run is bit-identical. If memory runs out,
    each batch is computed in more micro-batches.

    `metrics` has train_loss and train_accuracy, measured when rows are presented, in the epoch with the kept weights.
    `metrics` also has seconds (of this process), rows (trained on) and steps. Early stopping adds held_back_rows,
    best_epoch (from 1), held_back_accuracy and epochs. The loss and the accuracy of every epoch are written to
    `scratch` for `epochs.read_epochs`.

    Raises:
        DataError: there are no rows, or there are too few rows to hold some of them back.
        ModelError: the training diverged (see `check_divergence`), a loss is not finite, memory is too small for a
            single row, or the rows of `early_stopping.split` are missing.
    """
    if not len(examples):
        raise DataError("there are no rows to train on; give the dataset more rows or a smaller warm-up share")
    started = time.perf_counter()
    classifier = replace(classifier, settings=classifier.settings.for_rows(len(examples)))
    settings = classifier.settings
    if settings.loss == "bradley_terry":
        examples, row_weights = _paired(examples, row_weights)
    rows = training_rows(examples, settings.early_stopping, held_back, seed=seed, weights=row_weights)
    start = copied_weights(classifier.model)
    mark = fingerprint(settings, rows, start, seed=seed, device=device)
    training = _Training(
        classifier,
        train_batches(classifier, rows.train, seed=seed, device=device.resolve()),
        start,
        DynamicsRecorder(len(rows.train)),
        None if rows.held_back is None else _early_stopping(classifier, rows.held_back, device, log),
        CheckpointStore(scratch / FOLDER, mark, log),
        seed,
        device,
        log,
        settings.gradient_accumulation,
        None if rows.weights is None else torch.from_numpy(rows.weights.copy()),
    )
    with torch_threads_for(classifier.model, device):
        kept = training.run()
    metrics = _metrics(training, kept, seconds=time.perf_counter() - started)
    write_epochs(scratch, _by_epoch(training))
    return TrainingResult(training.recorder.table(rows.train.row_ids), metrics)


def _paired(examples: Examples, weights: np.ndarray | None) -> tuple[Examples, np.ndarray | None]:
    """Return the rows that belong to a pair of answers, and the weights of these rows."""
    places = np.unique(answer_pairs(examples))
    if not len(places):
        raise DataError(
            f"`loss` is bradley_terry, but the {len(examples)} train rows hold no question with a right and a wrong "
            "answer; leave `loss` out, or set `source.format` to preference or multiple_choice"
        )
    rows = Examples(rows_at(examples.table, places), examples.label_names)
    return rows, None if weights is None else weights[places]


def _metrics(training: "_Training", kept: int, *, seconds: float) -> dict[str, float]:
    """Return the metrics of `train_classifier`. `kept` is the number of the epoch with the kept weights, counted from
    1.
    """
    rows, epoch = training.recorder.n_rows, training.recorder.epochs[kept - 1]
    steps = training_steps(training.classifier.settings, training.batches.n_presented)
    return {
        "train_loss": epoch.loss,
        "train_accuracy": epoch.accuracy,
        "seconds": seconds,
        "rows": float(rows),
        "steps": float(len(training.recorder.epochs) * steps.per_epoch),
        **({} if training.stopping is None else training.stopping.metrics()),
    }


def _by_epoch(training: "_Training") -> dict[str, list[float]]:
    epochs = training.recorder.epochs
    stopping = {} if training.stopping is None else {"held_back_accuracy": training.stopping.accuracies}
    return {
        "train_loss": [epoch.loss for epoch in epochs],
        "train_accuracy": [epoch.accuracy for epoch in epochs],
        **stopping,
    }


def _early_stopping(
    classifier: NeuralClassifier, held_back: Examples, device: DeviceSettings, log: Callable[[str], None]
) -> EarlyStopping:
    stopping = classifier.settings.early_stopping
    assert stopping is not None
    inputs = classifier.inputs(held_back)

    def score() -> float:
        return accuracy(classifier, inputs, held_back.labels, device=device, log=log)

    return EarlyStopping(stopping.patience, len(held_back), score)


@dataclass
class _Training:
    """A training run. If memory runs out, training is attempted again with smaller micro-batches.

    `start`: the weights before the first step. `parts`: the current number of micro-batches per batch. `row_weights`: a
    factor for the loss of each row.
    """

    classifier: NeuralClassifier
    batches: TrainBatches
    start: Weights
    recorder: DynamicsRecorder
    stopping: EarlyStopping | None
    files: CheckpointStore
    seed: int
    device: DeviceSettings
    log: Callable[[str], None]
    parts: int
    row_weights: torch.Tensor | None

    def run(self) -> int:
        """Train to the end. Return the number of the epoch with the kept weights, counted from 1."""
        try:
            while isinstance(outcome := tried(self._train), RanOut):
                self.parts = self._more_parts(outcome.problem)
            kept = self._keep_best()
            self._check(kept)
        except ModelError:
            # Starting again from what is there would end in the same way.
            self.files.delete()
            raise
        self.files.delete()
        return kept

    def _train(self) -> None:
        """Train all remaining epochs, starting after the last finished epoch."""
        settings, device = self.classifier.settings, self.device.resolve()
        # Dropout draws from the global generators; each attempt draws the same.
        set_seed(library_seed(self.seed))
        model = self.classifier.model.to(device)
        if hasattr(model, "config"):
            # A decoder would keep its layers' keys and values for words to come.
            model.config.use_cache = False
        optimizer = _adamw(model, settings)
        steps = training_steps(settings, self.batches.n_presented)
        schedule = get_linear_schedule_with_warmup(optimizer, steps.warmup, steps.total)
        self._restore(optimizer, schedule)

        items = settings.batch_size // settings.rows_per_item
        sampler = EpochSampler(self.batches, items)
        loader = self.batches.loader(sampler, micro_batch_size=items // self.parts)
        for epoch in range(len(self.recorder.epochs), settings.epochs):
            sampler.epoch = epoch
            self.recorder.begin_epoch(device)
            model.train()
            for batch in _batches(loader, self.parts):
                self._add_gradients(batch)
                torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_GRADIENT_NORM)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            self._end_epoch(epoch + 1)
            if self._is_over(epoch + 1):
                break
            self._save(optimizer, schedule)

    def _add_gradients(self, batch: Sequence[MicroBatch]) -> None:
        """Compute the gradients of the batch's mean loss as a sum over its micro-batches."""
        rows = sum(len(micro_batch["labels"]) for micro_batch in batch)
        for micro_batch in batch:
            (self._summed_loss(micro_batch) / rows).backward()

    def _summed_loss(self, micro_batch: MicroBatch) -> torch.Tensor:
        """Return the summed cross-entropy of the logits, and record the dynamics of the rows. The loss function in a
        checkpoint's configuration is ignored.

        With label smoothing (Szegedy et al. 2016, section 7), the targets are smoothed but the recorded losses are not.
        """
        arguments = on_device(micro_batch, self.device.resolve())
        positions, labels = arguments.pop("positions"), arguments.pop("labels")
        model, smoothing = self.classifier.model, self.classifier.settings.label_smoothing
        with self.device.autocast(), _running_statistics(model) if len(labels) == 1 else nullcontext():
            logits = model(**arguments).logits
            if self.classifier.settings.loss == "bradley_terry":
                return self._summed_pair_loss(positions, labels, logits.float())
            self.recorder.record(positions, labels, logits)
            if self.row_weights is None:
                return cross_entropy(logits.float(), labels, reduction="sum", label_smoothing=smoothing)
            losses = cross_entropy(logits.float(), labels, reduction="none", label_smoothing=smoothing)
            return (losses * self.row_weights.to(losses.device)[positions]).sum()

    def _summed_pair_loss(self, positions: torch.Tensor, labels: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        """Return the summed loss of the pairs. In the batch, right answers come before wrong answers."""
        right = int(labels[0])
        scores = logits[:, right] - logits[:, 1 - right]
        margins = scores[0::2] - scores[1::2]
        signed = torch.zeros_like(logits)
        signed[:, right] = torch.stack([margins, -margins], dim=1).ravel()
        self.recorder.record(positions, labels, signed)
        losses = -logsigmoid(margins)
        if self.row_weights is not None:
            losses = losses * self.row_weights.to(losses.device)[positions].reshape(-1, 2).mean(dim=1)
        return 2 * losses.sum()

    def _end_epoch(self, number: int) -> None:
        """Complete and log the dynamics of an epoch. `number` is the epoch's number, counted from 1.

        Raises:
            ModelError: the epoch's loss is not a finite number.
        """
        epoch, settings, stopping = self.recorder.end_epoch(), self.classifier.settings, self.stopping
        if not math.isfinite(epoch.loss):
            raise ModelError(
                f"training diverged: the loss of epoch {number} is {epoch.loss}; lower `learning_rate` (now "
                f"{settings.learning_rate})"
            )
        held_back = "" if stopping is None else f", {stopping.end_epoch():.3f} on {stopping.rows} held-back rows"
        line = f"loss {epoch.loss:.4f}, accuracy {epoch.accuracy:.3f}{held_back}"
        self.log(f"epoch {number} of {settings.epochs}: {line}")

    def _is_over(self, number: int) -> bool:
        if number == self.classifier.settings.epochs:
            return True
        if self.stopping is None or not self.stopping.patience_is_over:
            return False
        self.log(f"stopped after epoch {number}: no later epoch was better than epoch {self.stopping.best_epoch}")
        return True

    def _restore(self, optimizer: torch.optim.Optimizer, schedule: LambdaLR) -> None:
        """Restore the training run to the state after its last finished epoch, or to its initial state."""
        state = self.files.load()
        self.classifier.model.load_state_dict(self.start if state is None else state.weights)
        self.recorder.epochs = [] if state is None else list(state.epochs)
        if self.stopping is not None:
            self.stopping.accuracies = [] if state is None else list(state.accuracies)
        if state is not None:
            self.parts = max(self.parts, state.parts)
            optimizer.load_state_dict(dict(state.optimizer))
            schedule.load_state_dict(dict(state.scheduler))
            restore_generators(state.generators)

    def _save(self, optimizer: torch.optim.Optimizer, schedule: LambdaLR) -> None:
        """Save the state that the next epoch depends on. If the epoch is the best so far, save the weights too."""
        weights, epochs, stopping = self.classifier.model.state_dict(), self.recorder.epochs, self.stopping
        best_epoch = None if stopping is None else stopping.best_epoch
        if best_epoch == len(epochs):
            self.files.save_best(best_epoch, weights)
        state = TrainingState(
            epochs=epochs,
            accuracies=[] if stopping is None else stopping.accuracies,
            parts=self.parts,
            weights=weights,
            optimizer=optimizer.state_dict(),
            scheduler=schedule.state_dict(),
            generators=generator_states(),
        )
        self.files.save(state, best_epoch=best_epoch)

    def _more_parts(self, problem: str) -> int:
        settings = self.classifier.settings
        self.classifier.model.zero_grad(set_to_none=True)
        release_memory()
        more = more_parts(self.parts, batch_size=settings.batch_size // settings.rows_per_item)
        size = next((name for name in ("max_length", "image_size") if hasattr(settings, name)), None)
        if more is None:
            raise ModelError(
                f"memory ran out with `batch_size` {settings.batch_size}, although the batch was computed one row at "
                f"a time{'' if size is None else f', and `{size}` {getattr(settings, size)}'} ({problem}); "
                f"{'' if size is None else f'lower `{size}`, '}choose a smaller model, or free memory of the device"
            )
        self.log(
            f"memory ran out: batches of {settings.batch_size} rows are now computed in {more} parts of "
            f"{settings.batch_size // more} (set gradient_accumulation: {more} to do so from the start)"
        )
        return more

    def _keep_best(self) -> int:
        epochs = len(self.recorder.epochs)
        if self.stopping is None or self.stopping.best_epoch == epochs:
            return epochs
        self.classifier.model.load_state_dict(self.files.best(self.stopping.best_epoch))
        return self.stopping.best_epoch

    def _check(self, kept: int) -> None:
        settings = self.classifier.settings
        items = settings.batch_size // settings.rows_per_item
        keys = itertools.islice(EpochSampler(self.batches, items), items)
        first_batch = self.batches.positions([item for _, item in keys])
        check_divergence(
            self.recorder.epochs, first_batch, kept=kept, classes=self.classifier.n_classes, rate=settings.learning_rate
        )


def _adamw(model: torch.nn.Module, settings: TrainingSpec) -> torch.optim.AdamW:
    """Return AdamW (Loshchilov and Hutter 2019) for the trainable weights, without weight decay for biases and layer
    normalisations.
    """
    decayed = set(get_parameter_names(model, [torch.nn.LayerNorm], NOT_DECAYED))
    learning = [(name, weights) for name, weights in model.named_parameters() if weights.requires_grad]
    groups = [
        {"params": [weights for name, weights in learning if name in decayed], "weight_decay": settings.weight_decay},
        {"params": [weights for name, weights in learning if name not in decayed], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=True)


def _batches(micro_batches: Iterable[MicroBatch], parts: int) -> Iterator[list[MicroBatch]]:
    """Yield the batches of an epoch, each as a list of `parts` micro-batches. The last batch may have fewer
    micro-batches.
    """
    left = iter(micro_batches)
    while batch := list(itertools.islice(left, parts)):
        yield batch


@contextmanager
def _running_statistics(model: torch.nn.Module) -> Iterator[None]:
    """Let batch normalisation use its running mean and variance inside the `with` block, because a single row has no
    variance.
    """
    layers = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    for layer in layers:
        layer.eval()
    try:
        yield
    finally:
        for layer in layers:
            layer.train()
