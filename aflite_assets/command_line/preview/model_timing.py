"""How fast encoders and evaluators are on this machine: the project's own training and prediction on few rows.

Every rate is the slope between two sizes, so that loading and first calls drop out of it.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.specs.models import (
    ClassicalModelSpec,
    EsimSpec,
    LinearModelSpec,
    MaxPpmiSpec,
    RbfSvmSpec,
    TextModelSpec,
)

ENOUGH_SECONDS = 1.5
"""Steps are doubled until what they differ by takes this long, fits until the last takes twice as long."""

SLOW_SECONDS = 5.0
"""A first step that takes longer is followed by two more, and not by four."""

MOST_STEPS = 128
FEW_ROWS = 8
SMALLEST_FIT = 64

GROWTH = {LinearModelSpec: (1.0, 2.0), RbfSvmSpec: (1.5, 3.0), MaxPpmiSpec: (1.0, 2.0)}
"""Between which powers of the train rows a fit's time is taken to grow; measured within these."""


@dataclass(frozen=True)
class NeuralSpeed:
    """Seconds per `model` built or loaded, `step` of the optimiser and `row` predicted; `spent` on measuring."""

    model: float
    step: float
    row: float
    spent: float


@dataclass(frozen=True)
class EncodingSpeed:
    """Seconds per `model` loaded and `row` encoded; `width` of its features; `spent` seconds on measuring."""

    model: float
    row: float
    width: int
    spent: float


@dataclass(frozen=True)
class ClassicalSpeed:
    """Seconds of a fit on `rows` train rows, growing as their power `growth`; `row` predicted by that fit.

    A support vector machine asks all its support vectors for each prediction, so there `row` grows with the train
    rows too (`row_grows`).
    """

    rows: int
    fit: float
    growth: float
    row: float
    row_grows: bool
    spent: float

    def seconds(self, train_rows: int, test_rows: int) -> float:
        """Of one fit and its predictions."""
        ratio = train_rows / self.rows
        return self.fit * ratio**self.growth + test_rows * self.row * (ratio if self.row_grows else 1)


def training_key(settings: Any) -> str:
    """Equal for models that cost the same per step and row: everything but how long and how hard they are trained."""
    return str(settings.model_dump_json(exclude={"epochs", "learning_rate", "weight_decay", "warmup_share"}))


def weights_are_here(settings: Any) -> bool:
    """Whether a text model's weights need no download: a folder, or files in the hub's cache."""
    named = getattr(settings, "contextual", None) or getattr(settings, "checkpoint", None)
    if not isinstance(settings, TextModelSpec | EsimSpec) or named is None or Path(named).is_dir():
        return True
    from huggingface_hub import try_to_load_from_cache

    names = [f"{stem}{end}" for stem in ("model.safetensors", "pytorch_model.bin") for end in ("", ".index.json")]
    revision = settings.revision or "main"
    return any(isinstance(try_to_load_from_cache(named, name, revision=revision), str) for name in names)


def measure_neural(settings: Any, train: Examples, tests: Examples, *, device: DeviceSettings) -> NeuralSpeed:
    """Train and ask the model on a few rows, then on as many as take a second or two longer.

    Raises:
        ModelError: the model cannot be trained.
    """
    started = time.perf_counter()
    trial = _Trial(settings, train, tests, device)
    trial.run(0)
    low = trial.run(1)
    steps = 2 if low.training > SLOW_SECONDS else 4
    high = trial.run(steps)
    while (longer := high.training - low.training) < ENOUGH_SECONDS and steps < MOST_STEPS:
        each = max(longer, 1e-3) / (steps - 1)
        steps = min(max(2 * steps, math.ceil(1.2 * ENOUGH_SECONDS / each)), MOST_STEPS)
        high = trial.run(steps)
    step = _slope(low.training, high.training, low.steps, high.steps)
    row = _slope(low.prediction, high.prediction, low.rows, high.rows)
    model = max(high.wall - high.steps * step - high.rows * row, 0.0)
    return NeuralSpeed(model, step, row, time.perf_counter() - started)


def _slope(low: float, high: float, few: int, many: int) -> float:
    """Seconds per unit, at most the larger size's mean; that alone where there is one size only (few test rows)."""
    mean = high / many
    return min(max(high - low, 0.0) / (many - few), mean) if many > few else mean


def measure_encoding(settings: Any, train: Examples, *, device: DeviceSettings) -> EncodingSpeed:
    """Train an encoder on a handful of rows, load it, and encode batches as the stage does.

    Raises:
        ModelError: the model has no representation.
    """
    from aflite_assets.models.encoders import load_encoder, train_encoder

    started = time.perf_counter()
    few = settings.model_copy(update={"epochs": 1, "early_stopping": None})
    with TemporaryDirectory() as place:
        folder = Path(place) / "encoder"
        train_encoder(few, sample(train, FEW_ROWS), folder, seed=0, device=device, log=_ignore)
        loading = time.perf_counter()
        encoder = load_encoder(settings, folder, train.label_names, width=None, device=device)
        model = time.perf_counter() - loading
        encoder.encode(sample(train, FEW_ROWS))
        rows, seconds = _seconds_to_encode(encoder.encode, train)
    return EncodingSpeed(model, seconds / rows, encoder.width, time.perf_counter() - started)


def _seconds_to_encode(encode: Callable[[Examples], Any], examples: Examples) -> tuple[int, float]:
    """Rows of the largest batch tried, at most the stage's, and its seconds."""
    from aflite_assets.stages.embedding.embeddings import BATCH_ROWS

    rows = min(4 * FEW_ROWS, len(examples))
    while True:
        batch = sample(examples, rows)
        started = time.perf_counter()
        encode(batch)
        seconds = time.perf_counter() - started
        if seconds > ENOUGH_SECONDS / 2 or rows >= min(BATCH_ROWS, len(examples)):
            return rows, seconds
        rows = min(2 * rows, BATCH_ROWS, len(examples))


def measure_classical(settings: ClassicalModelSpec, train: Examples, tests: Examples) -> ClassicalSpeed:
    """Fit on more and more rows until it takes some seconds or all are used, then predict as many."""
    started = time.perf_counter()
    _fit_seconds(settings, sample(train, 2 * FEW_ROWS), None)
    low, high = GROWTH[type(settings)]
    rows = min(SMALLEST_FIT, len(train))
    seconds, growth = _fit_seconds(settings, sample(train, rows), None), low
    while rows < len(train) and seconds < 2 * ENOUGH_SECONDS:
        more = min(2 * rows, len(train))
        after = _fit_seconds(settings, sample(train, more), None)
        growth = min(max(math.log(after / seconds) / math.log(more / rows), low), high)
        rows, seconds = more, after
    asked = sample(tests, rows)
    together = _fit_seconds(settings, sample(train, rows), asked)
    row = max(together - seconds, 0.0) / max(len(asked), 1)
    grows = isinstance(settings, RbfSvmSpec)
    return ClassicalSpeed(rows, seconds, growth, row, grows, time.perf_counter() - started)


def sample(examples: Examples, rows: int) -> Examples:
    """About so many rows with the classes' shares, the same ones each time; all where there are no more."""
    if rows >= len(examples):
        return examples
    drawn = stratified_sample(examples.labels, None, rows, rng=np.random.default_rng(0))
    return Examples(rows_at(examples.table, drawn), examples.label_names)


def _fit_seconds(settings: Any, train: Examples, tests: Examples | None) -> float:
    from aflite_assets.models.evaluators import evaluate

    with TemporaryDirectory() as place:
        started = time.perf_counter()
        named = {} if tests is None else {"test": tests}
        evaluate(settings, train, named, seed=0, device=DeviceSettings("cpu"), scratch=Path(place), log=_ignore)
        return time.perf_counter() - started


def _ignore(_: str) -> None:
    return None


@dataclass(frozen=True)
class _Run:
    """What one trial did, and its seconds."""

    steps: int
    rows: int
    training: float
    prediction: float
    wall: float


@dataclass(frozen=True)
class _Trial:
    settings: Any
    train: Examples
    tests: Examples
    device: DeviceSettings

    def run(self, steps: int) -> _Run:
        """So many optimiser steps, and predictions of as many rows; 0 steps: a handful of rows, to warm up."""
        from aflite_assets.models.evaluators import evaluate

        rows = steps * self.settings.batch_size or FEW_ROWS
        train, test = sample(self.train, rows), sample(self.tests, rows)
        epochs = max(1, math.ceil(steps / math.ceil(len(train) / self.settings.batch_size)))
        settings = self.settings.model_copy(update={"epochs": epochs, "early_stopping": None})
        with TemporaryDirectory() as place:
            started = time.perf_counter()
            metrics = evaluate(
                settings, train, {"test": test}, seed=0, device=self.device, scratch=Path(place), log=_ignore
            ).metrics
            wall = time.perf_counter() - started
        return _Run(int(metrics["steps"]), len(test), metrics["seconds"], metrics["prediction_seconds"], wall)
