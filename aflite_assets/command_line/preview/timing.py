"""Speeds of models, the filter and the scan on this machine. Each speed is measured once on a few rows of the dataset.

The module `estimate` multiplies counts of the work by the measured speeds. If the weights of a model are not on this
machine, its speed is None.
"""

import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from aflite_assets.algorithm import score_rows
from aflite_assets.command_line.preview.run_plan import RunPlan
from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.data.sampling import stratified_sample
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.family_registry import classical_family
from aflite_assets.processors import available_cores
from aflite_assets.scan.scan import ScanSettings, scan_examples
from aflite_assets.specs.models.kinds import ClassicalModelSpec, EncoderSpec, NeuralModelSpec, OneStageSpec
from aflite_assets.specs.models.settings import IdentityEncoderSpec, RbfSvmSpec, SurfaceEncoderSpec

Timing = TypeVar("Timing")

ENOUGH_SECONDS = 1.5
"""Target duration of the measurement of a training. Fits use more and more rows until a fit takes twice as long."""

MOST_STEPS, FEW_ROWS, SMALLEST_FIT = 128, 8, 64

ASSUMED_WIDTH = 768
"""Assumed width of an encoder that could not be measured: the width of most text encoders of base size."""

MOST_VALUES, MOST_ROWS = 2**25, 50_000
"""Largest number of values, and of rows, in the features for the measurement of the filter."""

MOST_SCANNED = {"text": 1_500, "features": 3_000, "image": 300}
"""Number of rows for the measurement of the scan, by kind of input."""

LIBRARIES = "import mlflow, torch, aflite_assets.stages.child_process, aflite_assets.models.evaluators"
"""Statement that imports the libraries that the process of a stage loads first."""


@dataclass(frozen=True)
class NeuralSpeed:
    """Seconds of a neural model: per built or loaded `model`, per optimiser `step`, per predicted or encoded `row`."""

    model: float
    step: float
    row: float


@dataclass(frozen=True)
class ClassicalSpeed:
    """Speed of a scikit-learn model: seconds for a fit on `rows` train rows, and seconds per predicted `row`.

    `growth`: the exponent g if the seconds grow as (number of rows)^g. `row_grows`: whether the seconds per predicted
    row also grow with the number of train rows, as for a support vector machine.
    """

    rows: int
    fit: float
    growth: float
    row: float
    row_grows: bool

    def seconds(self, train_rows: int, test_rows: int) -> float:
        """Return the seconds to fit the model on `train_rows` rows and to predict `test_rows` rows."""
        ratio = train_rows / self.rows
        return self.fit * ratio**self.growth + test_rows * self.row * (ratio if self.row_grows else 1)


class Speeds:
    """Measured speeds of models, the filter and the scan on the rows of one dataset.

    `log` receives a line for each measurement.
    """

    def __init__(self, raw: Examples, plan: RunPlan, device: DeviceSettings, log: Callable[[str], None]) -> None:
        self._raw, self._plan, self._device, self._log = raw, plan, device, log
        self._train = raw.in_split("train")
        outside = np.flatnonzero(raw.table["split"].to_numpy(zero_copy_only=False) != "train")
        self._tests = Examples(rows_at(raw.table, outside), raw.label_names)
        self._measured: dict[tuple[str, Any], Any] = {}

    def start(self) -> float:
        """Return the seconds until a new process is ready to run a stage."""
        self._log("measuring the start of a process")
        return start_seconds()

    def scan(self) -> float:
        """Return the seconds that the scan for cues takes per row."""
        self._log("measuring the scan for cues")
        rows = sample(self._train, MOST_SCANNED[self._train.modality])
        for scanned in (sample(rows, max(len(rows) // 10, 1)), rows):  # the first loads libraries
            started = time.perf_counter()
            scan_examples(scanned, settings=ScanSettings(threads=available_cores()), seed=0)
        return (time.perf_counter() - started) / len(rows)

    def neural(self, settings: NeuralModelSpec) -> NeuralSpeed | None:
        """Return the speed of a neural model, or None if its weights are not on this machine.

        The speed is measured with the batch size that a run on the whole train split uses.
        """
        settings = settings.for_rows(self._plan.rows["train"])
        if not weights_are_here(settings):
            return None
        key = (f"training and prediction of {settings.kind}", timing_key(settings))
        return self._once(key, lambda: self._time_neural(settings))

    def classical(self, settings: ClassicalModelSpec) -> ClassicalSpeed:
        """Return the speed of a scikit-learn model."""
        key = (f"fits of {settings.kind}", settings.model_dump_json())
        return self._once(key, lambda: self._time_classical(settings))

    def filter(self, encoder: EncoderSpec) -> tuple[float, str]:
        """Return the seconds per row that one iteration of the filter takes, and a note on the assumptions, or "".

        The measurement uses the dataset's own features, or random features as wide as the features of the encoder.
        """
        given = isinstance(encoder, IdentityEncoderSpec)
        width = None if isinstance(encoder, IdentityEncoderSpec) else self._width(encoder)
        assumed = "" if given or width else f"assuming features of width {ASSUMED_WIDTH}"
        key = ("the filter's classifiers", width if given else width or ASSUMED_WIDTH)
        seconds, rows = self._once(key, lambda: self._time_filter(key[1]))
        few = f"measured on {rows:,} rows" if rows < self._plan.pool_rows else ""
        return seconds, "; ".join(filter(None, (assumed, few)))

    def _width(self, encoder: NeuralModelSpec | SurfaceEncoderSpec) -> int | None:
        """Return the width of an encoder's features, or None if it is known only after a download or a training."""
        from aflite_assets.models.classifiers import new_classifier
        from aflite_assets.models.encoders import NeuralEncoder
        from aflite_assets.models.global_state import isolated_random_state

        if isinstance(encoder, SurfaceEncoderSpec) or not weights_are_here(encoder):
            return None
        with isolated_random_state(0):
            classifier = new_classifier(encoder, sample(self._train, FEW_ROWS), lambda _: None)
            return NeuralEncoder(classifier, self._device).width

    def _time_neural(self, settings: NeuralModelSpec) -> NeuralSpeed:
        """Measure the training steps and predictions of a neural model, after a training that loads the libraries."""
        short, rows = settings.model_copy(update={"epochs": 1, "early_stopping": None}), settings.batch_size
        self._timed(short, FEW_ROWS, FEW_ROWS)
        wall, metrics = self._timed(short, rows, rows)
        steps = min(math.ceil(ENOUGH_SECONDS / metrics["seconds"]), MOST_STEPS)
        if steps > 1:
            rows *= steps
            short = short.model_copy(update={"epochs": math.ceil(rows / len(self._train))})
            wall, metrics = self._timed(short, rows, rows)
        training, prediction = metrics["seconds"], metrics["prediction_seconds"]
        built = max(wall - training - prediction, 0.0)
        return NeuralSpeed(built, training / metrics["steps"], prediction / min(rows, len(self._tests)))

    def _time_classical(self, settings: ClassicalModelSpec) -> ClassicalSpeed:
        """Fit the model on increasing numbers of rows until a fit takes some seconds or all rows are used. Then measure
        predictions. The seconds of the last two fits give the growth.
        """
        self._timed(settings, 2 * FEW_ROWS, 0)
        most, low = len(self._train), 1.5 if isinstance(settings, RbfSvmSpec) else 1.0
        rows = min(SMALLEST_FIT, most)
        seconds, growth = self._timed(settings, rows, 0)[0], low
        while rows < most and seconds < 2 * ENOUGH_SECONDS:
            more = min(2 * rows, most)
            after, _ = self._timed(settings, more, 0)
            growth = min(max(math.log(after / seconds) / math.log(more / rows), low), 2 * low)
            rows, seconds = more, after
        tested = min(rows, len(self._tests))
        row = max(self._timed(settings, rows, tested)[0] - seconds, 0.0) / tested
        return ClassicalSpeed(rows, seconds, growth, row, classical_family(settings).predictions_grow)

    def _timed(self, settings: OneStageSpec, rows: int, tested: int) -> tuple[float, Mapping[str, float]]:
        """Train a model on `rows` train rows and predict `tested` test rows.

        Return the total seconds and the model's metrics.
        """
        from aflite_assets.models.evaluators import evaluate

        train, tests = sample(self._train, rows), {"test": sample(self._tests, tested)} if tested else {}
        with TemporaryDirectory() as folder:
            started = time.perf_counter()
            done = evaluate(
                settings, train, tests, seed=0, device=self._device, scratch=Path(folder), log=lambda _: None
            )
            return time.perf_counter() - started, done.metrics

    def _time_filter(self, width: int | None) -> tuple[float, int]:
        """Measure the seconds per row of one filter iteration with the planned share of training rows.

        A first iteration, which is not measured, compiles the code. Also return the number of rows.
        """
        plan, wide = self._plan, self._raw.features.shape[1] if width is None else width
        rows = min(plan.pool_rows + plan.entering("scored"), MOST_ROWS, MOST_VALUES // wide)
        if width is None:
            drawn = np.random.default_rng(0).permutation(len(self._raw))[:rows]
            features, labels = self._raw.features[drawn], self._raw.labels[drawn]
        else:
            features, labels = encoder_like_features(rows, width, len(self._raw.label_names), seed=0)
        trained = round(plan.settings.train_size * min(1.0, len(labels) / plan.pool_rows))
        settings = replace(plan.settings, train_size=min(max(trained, 2), len(labels) - 1))
        for _ in range(2):
            started = time.perf_counter()
            score_rows(features, labels, settings=settings, seed=0)
        return (time.perf_counter() - started) / len(labels), len(labels)

    def _once(self, key: tuple[str, Any], measure: Callable[[], Timing]) -> Timing:
        if key not in self._measured:
            self._log(f"measuring {key[0]}")
            self._measured[key] = measure()
        timing: Timing = self._measured[key]
        return timing


def start_seconds() -> float:
    """Measure the seconds until a new process is ready to run a stage."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-P", "-c", LIBRARIES], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return time.perf_counter() - started


def timing_key(settings: NeuralModelSpec) -> str:
    """Return a key that is equal for models with the same cost per step and row.

    The key does not depend on settings such as the number of epochs or the learning rate.
    """
    return settings.model_dump_json(exclude={"epochs", "learning_rate", "weight_decay", "warmup_share"})


def weights_are_here(settings: Any) -> bool:
    """Return True if a text model's weights need no download, because they are in a folder or in the hub's cache."""
    named = getattr(settings, "contextual", None) or getattr(settings, "checkpoint", None)
    if not hasattr(settings, "revision") or named is None or Path(named).is_dir():
        return True
    from huggingface_hub import try_to_load_from_cache

    names = [f"{stem}{end}" for stem in ("model.safetensors", "pytorch_model.bin") for end in ("", ".index.json")]
    revision = settings.revision or "main"
    return any(isinstance(try_to_load_from_cache(named, name, revision=revision), str) for name in names)


def sample(examples: Examples, rows: int) -> Examples:
    """Return a stratified sample of about `rows` rows, or all rows if there are no more.

    Repeated calls return the same sample.
    """
    if rows >= len(examples):
        return examples
    drawn = stratified_sample(examples.labels, None, rows, rng=np.random.default_rng(0))
    return Examples(rows_at(examples.table, drawn), examples.label_names)


def encoder_like_features(rows: int, width: int, n_classes: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels (int64), and random features (rows x width, float32) that resemble the output of a trained encoder.

    Most of the variance lies in the space spanned by the class centres, which has one dimension per class. Noise is
    added in all directions of the feature space. Logistic regression takes as long on the random features as on the
    features of real encoders.
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(rows) % n_classes)
    inside = 1.5 * np.eye(n_classes)[labels] + rng.normal(size=(rows, n_classes))
    along = inside @ rng.normal(size=(n_classes, width)) / math.sqrt(n_classes)
    return (0.5 * (along + 0.3 * rng.normal(size=(rows, width)))).astype(np.float32), labels
