"""How fast encoders and evaluators are on this machine: the project's own training and prediction on few rows.

The filter's speed is in `filter_timing`; what is multiplied by these speeds is in `estimate`.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.families import classical_family
from aflite_assets.specs.models.kinds import ClassicalModelSpec, NeuralModelSpec
from aflite_assets.specs.models.settings import LinearModelSpec, MaxPpmiSpec, RbfSvmSpec

ENOUGH_SECONDS = 1.5
"""A training is timed with more and more steps until it takes this long, fits until the last takes twice as long."""

MOST_STEPS = 128
FEW_ROWS = 8
SMALLEST_FIT = 64

GROWTH = {LinearModelSpec: (1.0, 2.0), RbfSvmSpec: (1.5, 3.0), MaxPpmiSpec: (1.0, 2.0)}
"""Between which powers of the train rows a fit's time is taken to grow; measured within these."""


@dataclass(frozen=True)
class NeuralTiming:
    """Seconds per `model` built or loaded, `step` of the optimiser and `row` predicted or encoded.

    `first`: of a training on a few rows, the first in this process, which loads libraries and compiles.
    """

    model: float
    step: float
    row: float
    first: float = 0.0


@dataclass(frozen=True)
class ClassicalTiming:
    """Seconds of a fit on `rows` train rows, growing as their power `growth`; `row` predicted by that fit.

    Where a prediction uses train rows, as a support vector machine does, `row` grows with these too (`row_grows`).
    """

    rows: int
    fit: float
    growth: float
    row: float
    row_grows: bool

    def seconds(self, train_rows: int, test_rows: int) -> float:
        """Seconds of one fit and its predictions."""
        ratio = train_rows / self.rows
        return self.fit * ratio**self.growth + test_rows * self.row * (ratio if self.row_grows else 1)


def timing_key(settings: NeuralModelSpec) -> str:
    """Equal for models that cost the same per step and row: everything but how long and how hard they are trained."""
    return settings.model_dump_json(exclude={"epochs", "learning_rate", "weight_decay", "warmup_share"})


def weights_are_here(settings: Any) -> bool:
    """Whether a text model's weights need no download: a folder, or files in the hub's cache."""
    named = getattr(settings, "contextual", None) or getattr(settings, "checkpoint", None)
    if not hasattr(settings, "revision") or named is None or Path(named).is_dir():
        return True
    from huggingface_hub import try_to_load_from_cache

    names = [f"{stem}{end}" for stem in ("model.safetensors", "pytorch_model.bin") for end in ("", ".index.json")]
    revision = settings.revision or "main"
    return any(isinstance(try_to_load_from_cache(named, name, revision=revision), str) for name in names)


def measure_neural(
    settings: NeuralModelSpec, train: Examples, tests: Examples, *, device: DeviceSettings
) -> NeuralTiming:
    """Train the model for as many steps as take a second or two, after a few rows that load and compile everything.

    Raises:
        ModelError: the model cannot be trained.
    """
    settings = settings.for_rows(len(train))
    started = time.perf_counter()
    _train_and_predict(settings, sample(train, FEW_ROWS), sample(tests, FEW_ROWS), epochs=1, device=device)
    first, steps = time.perf_counter() - started, 1
    while True:
        rows = steps * settings.batch_size
        drawn = sample(train, rows)
        epochs = math.ceil(steps / math.ceil(len(drawn) / settings.batch_size))
        tested = sample(tests, rows)
        started = time.perf_counter()
        metrics = _train_and_predict(settings, drawn, tested, epochs=epochs, device=device)
        wall = time.perf_counter() - started
        training, prediction = metrics["seconds"], metrics["prediction_seconds"]
        if training >= ENOUGH_SECONDS or steps >= MOST_STEPS:
            model = max(wall - training - prediction, 0.0)
            return NeuralTiming(model, training / metrics["steps"], prediction / len(tested), first)
        steps = min(max(2 * steps, math.ceil(1.2 * ENOUGH_SECONDS * steps / training)), MOST_STEPS)


def encoder_width(settings: NeuralModelSpec, train: Examples, *, device: DeviceSettings) -> int:
    """Return the width of an encoder's features, from an untrained one and a few rows.

    Raises:
        ModelError: the model has no representation.
    """
    from aflite_assets.models.classifiers import new_classifier
    from aflite_assets.models.encoders import NeuralEncoder
    from aflite_assets.models.global_state import isolated_random_state

    few = sample(train, FEW_ROWS)
    with isolated_random_state(0):
        return NeuralEncoder(new_classifier(settings, few, _no_log), device).encode(few).features.shape[1]


def measure_classical(settings: ClassicalModelSpec, train: Examples, tests: Examples) -> ClassicalTiming:
    """Fit on more and more rows until it takes some seconds or all are used, then predict as many."""
    _fit_seconds(settings, sample(train, 2 * FEW_ROWS), None)
    low, high = GROWTH[type(settings)]
    rows = min(SMALLEST_FIT, len(train))
    seconds, growth = _fit_seconds(settings, sample(train, rows), None), low
    while rows < len(train) and seconds < 2 * ENOUGH_SECONDS:
        more = min(2 * rows, len(train))
        after = _fit_seconds(settings, sample(train, more), None)
        growth = min(max(math.log(after / seconds) / math.log(more / rows), low), high)
        rows, seconds = more, after
    tested = sample(tests, rows)
    together = _fit_seconds(settings, sample(train, rows), tested)
    row = max(together - seconds, 0.0) / max(len(tested), 1)
    return ClassicalTiming(rows, seconds, growth, row, classical_family(settings).predictions_grow)


def sample(examples: Examples, rows: int) -> Examples:
    """About so many rows with the classes' shares, the same ones each time; all where there are no more."""
    if rows >= len(examples):
        return examples
    drawn = stratified_sample(examples.labels, None, rows, rng=np.random.default_rng(0))
    return Examples(rows_at(examples.table, drawn), examples.label_names)


def _fit_seconds(settings: ClassicalModelSpec, train: Examples, tests: Examples | None) -> float:
    from aflite_assets.models.evaluators import evaluate

    with TemporaryDirectory() as place:
        started = time.perf_counter()
        named = {} if tests is None else {"test": tests}
        evaluate(settings, train, named, seed=0, device=DeviceSettings("cpu"), scratch=Path(place), log=_no_log)
        return time.perf_counter() - started


def _train_and_predict(
    settings: NeuralModelSpec, train: Examples, tests: Examples, *, epochs: int, device: DeviceSettings
) -> Mapping[str, float]:
    from aflite_assets.models.evaluators import evaluate

    short = settings.model_copy(update={"epochs": epochs, "early_stopping": None})
    with TemporaryDirectory() as folder:
        return evaluate(short, train, {"test": tests}, seed=0, device=device, scratch=Path(folder), log=_no_log).metrics


def _no_log(_: str) -> None:
    return None
