"""The measurements of one dataset's estimate: what is measured on which rows, each distinct thing once."""

import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from aflite_assets.command_line.preview.filter_timing import (
    FilterSpeed,
    encoder_like_features,
    measure_filter,
    rows_to_measure,
)
from aflite_assets.command_line.preview.model_timing import (
    ClassicalSpeed,
    EncodingSpeed,
    NeuralSpeed,
    measure_classical,
    measure_encoding,
    measure_neural,
    training_key,
    weights_are_here,
)
from aflite_assets.command_line.preview.run_plan import RunPlan
from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.models.devices import DeviceSettings

LIBRARIES = "import mlflow, torch, aflite_assets.stages.child_process, aflite_assets.models.evaluators"
"""What the process of a stage loads before it does anything."""


def start_seconds() -> float:
    """Until a process of its own is ready for a stage that computes something."""
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", LIBRARIES], stdin=subprocess.DEVNULL, capture_output=True, check=True)
    return time.perf_counter() - started


class TimingCache:
    """Speeds of process starts, models and filter, each with the seconds that measuring took now: 0 if made before.

    A model whose weights are not here has no speed: None.
    """

    def __init__(self, raw: Examples, plan: RunPlan, device: DeviceSettings, log: Callable[[str], None]) -> None:
        self._raw, self._plan = raw, plan
        self._train = raw.in_split("train")
        outside = np.flatnonzero(raw.table["split"].to_numpy(zero_copy_only=False) != "train")
        self._tests = Examples(rows_at(raw.table, outside), raw.label_names)
        self._device, self._log = device, log
        self._made: dict[tuple[str, Any], Any] = {}

    def start(self) -> tuple[float, float]:
        """The start of a stage's process; it is measured in the time that it takes."""
        self._log("measuring the start of a process")
        seconds = start_seconds()
        return seconds, seconds

    def neural(self, settings: Any) -> tuple[NeuralSpeed | None, float]:
        """Training and prediction of a neural model."""
        if not weights_are_here(settings):
            return None, 0.0
        return self._once(
            (f"training of {settings.kind}", training_key(settings)),
            lambda: measure_neural(settings, self._train, self._tests, device=self._device),
        )

    def encoding(self, settings: Any) -> tuple[EncodingSpeed | None, float]:
        """Encoding with a neural model."""
        if not weights_are_here(settings):
            return None, 0.0
        return self._once(
            (f"encoding by {settings.kind}", training_key(settings)),
            lambda: measure_encoding(settings, self._train, device=self._device),
        )

    def classical(self, settings: Any) -> tuple[ClassicalSpeed, float]:
        """Fits and predictions of a scikit-learn model."""
        return self._once(
            (f"fits of {settings.kind}", settings.model_dump_json()),
            lambda: measure_classical(settings, self._train, self._tests),
        )

    def filter(self, width: int | None) -> tuple[FilterSpeed, float]:
        """The filter's classifiers on features of this width; None: on the dataset's own."""
        return self._once(("the filter's classifiers", width), lambda: self._measure_filter(width))

    def _measure_filter(self, width: int | None) -> FilterSpeed:
        features, labels = self._own_features() if width is None else self._features_like(width)
        groups = self._train.groups
        per_group = 1 if groups is None else round(len(groups) / len(np.unique(groups)))
        # A mean may lie over train_size where the smallest groups do not.
        within = min(per_group, self._plan.settings.train_size)
        return measure_filter(
            self._plan.settings, features, labels, pool_rows=self._plan.pool_rows, rows_per_group=within
        )

    def _own_features(self) -> tuple[np.ndarray, np.ndarray]:
        rows = rows_to_measure(self._plan, self._raw.features.shape[1])
        drawn = np.random.default_rng(0).permutation(len(self._raw))[:rows]
        return self._raw.features[drawn], self._raw.labels[drawn]

    def _features_like(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        rows = rows_to_measure(self._plan, width)
        return encoder_like_features(rows, width, len(self._raw.label_names), seed=0)

    def _once(self, key: tuple[str, Any], make: Callable[[], Any]) -> tuple[Any, float]:
        if key in self._made:
            return self._made[key], 0.0
        self._log(f"measuring {key[0]}")
        self._made[key] = make()
        return self._made[key], self._made[key].spent
