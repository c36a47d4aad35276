"""The one trainer of all neural models: from rows to trained weights, resumed, in parts, leaving no trace behind."""

import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from aflite_assets.data.examples import Examples
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.classifiers import NeuralClassifier
from aflite_assets.models.devices import DeviceSettings, torch_threads_for
from aflite_assets.models.global_state import quiet_libraries
from aflite_assets.models.training.batches import TrainBatches, train_batches
from aflite_assets.models.training.checkpoints import CheckpointStore, Weights, copied_weights, fingerprint
from aflite_assets.models.training.dynamics import DynamicsRecorder
from aflite_assets.models.training.early_stopping import EarlyStopping, training_rows
from aflite_assets.models.training.out_of_memory import is_out_of_memory, more_parts, release_memory
from aflite_assets.models.training.predictions import accuracy
from aflite_assets.models.training.trainer import EpochCallback, RecordingTrainer, check_divergence, training_steps

FOLDER = "training"
"""Below `scratch`; gone when the training ends."""


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
    held_back: Examples | None = None,
) -> TrainingResult:
    """Train in place with AdamW, a linear schedule and cross-entropy; call within `isolated_random_state`.

    The dynamics are the logits as presented: in training mode, before the step that uses them
    (Swayamdipta et al. 2020, section 2). With `settings.early_stopping`, training ends when the accuracy on
    `held_back` (default: a share of `examples`, which is then not trained on) gets no higher, and the weights of
    the best epoch stay. A training that was killed goes on from its last finished epoch if `scratch` is the same
    folder; on the CPU with the same bits. Where memory runs out, batches are computed in more and more parts.

    `metrics`: train_loss and train_accuracy of the epoch whose weights stay, as presented too; seconds (of this
    process), rows trained on, steps; with early stopping also held_back_rows, best_epoch (from 1),
    held_back_accuracy, epochs.

    Raises:
        DataError: there are no rows, or too few to hold some back.
        ModelError: the training diverged (its loss stopped being a finite number, or see `trainer.check_divergence`),
            memory does not suffice for a single row, or the rows of `early_stopping.split` were not given.
    """
    if not len(examples):
        raise DataError("there are no rows to train on; give the dataset more rows or a smaller warm-up share")
    started = time.perf_counter()
    settings = classifier.settings
    rows = training_rows(examples, settings.early_stopping, held_back, seed=seed)
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
    )
    with torch_threads_for(classifier.model, device):
        kept = training.run()
    epoch = training.recorder.epochs[kept - 1]
    return TrainingResult(
        training.recorder.table(rows.train.row_ids),
        {
            "train_loss": epoch.loss,
            "train_accuracy": epoch.accuracy,
            "seconds": time.perf_counter() - started,
            "rows": float(len(rows.train)),
            "steps": float(len(training.recorder.epochs) * training_steps(settings, len(rows.train)).per_epoch),
            **({} if training.stopping is None else training.stopping.metrics()),
        },
    )


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
    """One training, over as many attempts as memory makes it take.

    `start`: the weights before its first step; `parts`: what a batch is computed in now.
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

    def run(self) -> int:
        """Train to the end; returns the epoch, counted from 1, whose weights the model now has."""
        try:
            while (problem := self._attempt()) is not None:
                self.parts = self._more_parts(problem)
            kept = self._keep_best()
            self._check(kept)
        except ModelError:
            # Starting again from what is there would end in the same way.
            self.files.delete()
            raise
        self.files.delete()
        return kept

    def _attempt(self) -> str | None:
        """Train from the last finished epoch; returns what was said when memory ran out, None at the end."""
        settings, state = self.classifier.settings, self.files.load()
        self.classifier.model.load_state_dict(self.start if state is None else state.weights)
        self.recorder.epochs = [] if state is None else list(state.epochs)
        self.parts = self.parts if state is None else max(self.parts, state.parts)
        if self.stopping is not None:
            self.stopping.accuracies = [] if state is None else list(state.accuracies)
        events = EpochCallback(
            settings,
            self.recorder,
            self.stopping,
            self.files,
            self.batches.sampler(batch_size=settings.batch_size),
            self.parts,
            state,
            self.log,
        )
        try:
            with quiet_libraries():
                RecordingTrainer(
                    self.classifier.model,
                    self.batches,
                    events,
                    steps=training_steps(settings, self.recorder.n_rows),
                    seed=self.seed,
                    device=self.device,
                ).train()
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            return str(error)
        return None

    def _more_parts(self, problem: str) -> int:
        settings = self.classifier.settings
        self.classifier.model.zero_grad(set_to_none=True)
        release_memory()
        more = more_parts(self.parts, batch_size=settings.batch_size)
        size = next((name for name in ("max_length", "image_size") if hasattr(settings, name)), None)
        if more is None:
            raise ModelError(
                f"memory ran out with batch_size {settings.batch_size} computed one row at a time"
                f"{'' if size is None else f' and {size} {getattr(settings, size)}'} ({problem}); "
                f"{'' if size is None else f'lower {size}, '}choose a smaller model or free the device's memory"
            )
        self.log(
            f"memory ran out: batches of {settings.batch_size} rows are now computed in {more} parts "
            f"of {settings.batch_size // more} (gradient_accumulation: {more} says so from the start)"
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
        sampler = self.batches.sampler(batch_size=settings.batch_size)
        unlearnt = [row for _, row in itertools.islice(sampler, settings.batch_size)]
        check_divergence(
            self.recorder.epochs, unlearnt, kept=kept, classes=self.classifier.n_classes, rate=settings.learning_rate
        )
