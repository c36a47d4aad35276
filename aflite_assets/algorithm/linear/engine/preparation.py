"""Choices before the first pass of a run: device, precision, and a sample of rows that represents the pool."""

from dataclasses import dataclass, replace

import numpy as np
import torch

from aflite_assets.algorithm.inputs import Inputs
from aflite_assets.algorithm.linear.engine.pool import Standardization, aligned, convert
from aflite_assets.algorithm.linear.losses import n_outputs
from aflite_assets.algorithm.linear.solver.preconditioner import Sample
from aflite_assets.algorithm.linear.threads import Threads
from aflite_assets.algorithm.partitions import Purpose, generator
from aflite_assets.algorithm.settings import FilterSettings

# Rows of the sample at least and at most, and the part of the memory that its two forms may take. More rows make
# a better preconditioner, which pays where training sets are large.
_SAMPLE_ROWS, _MOST_SAMPLE_ROWS, _SAMPLE_PART = 4096, 8192, 8
# The more classes, the fewer rows are undecided about each.
_SAMPLE_ROWS_PER_OUTPUT = 800
# Rows that origin and scale are taken from.
_STANDARDIZATION_ROWS = 4096
# Jobs up to these are done in float64 by torch: an iteration takes less than loading the compiled kernels does.
_EXACT_ROWS, _EXACT_OPERATIONS = 2048, 2e8
_PASSES_GUESSED = 20
# Up to this many rows per weight vector the whole pool is rotated into the sample's basis: it costs what the passes of
# some iterations then save.
_ROWS_PER_WEIGHTS = 64


@dataclass(frozen=True)
class Preparation:
    """Device, precision and sample of a run. `compiled`: True if the compiled kernels compute the passes, in float32.
    If `compiled` is False, torch computes the passes, in `dtype`.

    `sample` is a standardized sample of rows on the device. `sample_codes` are the class numbers of the rows in
    `sample`.
    """

    device: torch.device
    compiled: bool
    dtype: np.dtype
    standardization: Standardization
    sample: Sample
    sample_codes: torch.Tensor


def prepare(
    inputs: Inputs,
    settings: FilterSettings,
    codes: np.ndarray,
    *,
    seed: int,
    device: str,
    memory_limit: int,
    threads: Threads,
) -> Preparation:
    """Choose device, precision and sample for a run. `codes`: the class number of every row. A resumed run makes the
    same choices, because the choices depend only on the inputs at the start.
    """
    where = chosen_device(device)
    compiled = where.type == "cpu" and not is_exact(inputs, settings, device)
    dtype = np.dtype(np.float32 if compiled or where.type != "cpu" else np.float64)
    most = _sample_rows(inputs, settings.train_size, memory_limit)
    rows = draw(inputs.trainable_rows, most, seed, Purpose.CURVATURE)
    standardization = Standardization.of(inputs.features[rows[:: -(-len(rows) // _STANDARDIZATION_ROWS)]], dtype)
    features = aligned(len(rows), standardization.width, dtype)
    convert(inputs.features, rows, standardization, features)
    product = threads.product if where.type == "cpu" else torch.matmul
    sample = Sample.of(torch.from_numpy(features).to(where), product)
    if compiled and sample.basis is not None and _is_rotated(inputs, settings, standardization.width, memory_limit):
        standardization, sample = replace(standardization, rotation=sample.basis.numpy()), sample.rotated()
    return Preparation(where, compiled, dtype, standardization, sample, torch.from_numpy(codes[rows]).to(where))


def is_exact(inputs: Inputs, settings: FilterSettings, device: str) -> bool:
    """Return True if torch computes the run on the CPU in float64, because the job is small."""
    return chosen_device(device).type == "cpu" and _is_small(inputs, settings)


def chosen_device(device: str) -> torch.device:
    """Return the device that "auto" selects: the first GPU that torch can use, or the CPU."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return torch.device(device)


def draw(rows: np.ndarray, most: int, seed: int, purpose: Purpose) -> np.ndarray:
    """Return at most `most` of the given rows, drawn at random, in ascending order."""
    if len(rows) <= most:
        return rows
    return np.sort(generator(seed, purpose, 0).choice(rows, most, replace=False))


def _sample_rows(inputs: Inputs, train_size: int, memory_limit: int) -> int:
    width = inputs.features.shape[1]
    fitting = memory_limit // _SAMPLE_PART // (8 * width)
    per_output = _SAMPLE_ROWS_PER_OUTPUT * n_outputs(len(inputs.classes))
    wanted = min(max(_SAMPLE_ROWS, train_size, per_output), _MOST_SAMPLE_ROWS)
    return max(1, min(fitting, max(wanted, 2 * width)))


def _is_small(inputs: Inputs, settings: FilterSettings) -> bool:
    weights = settings.n_partitions * n_outputs(len(inputs.classes)) * inputs.features.shape[1]
    operations = _PASSES_GUESSED * 4.0 * settings.train_size * weights
    return len(inputs.labels) <= _EXACT_ROWS or operations <= _EXACT_OPERATIONS


def _is_rotated(inputs: Inputs, settings: FilterSettings, width: int, memory_limit: int) -> bool:
    rows = len(inputs.labels)
    fits = rows * width * 4 <= memory_limit // 2
    return fits and rows <= _ROWS_PER_WEIGHTS * settings.n_partitions * n_outputs(len(inputs.classes))
