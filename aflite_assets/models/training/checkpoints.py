"""Files of an unfinished training run. A killed training run resumes from these files after the last finished epoch.
This module trains nothing.
"""

import hashlib
import json
import os
import random
import shutil
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from aflite_assets.data.examples import Examples
from aflite_assets.errors import ModelError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.training.dynamics import EpochDynamics
from aflite_assets.models.training.early_stopping import TrainingRows
from aflite_assets.models.weights_files import LOADING_ERRORS, cause_of, reading_problem
from aflite_assets.results.files import flush_entry, write_json
from aflite_assets.specs.models.settings import TrainingSpec

Weights = Mapping[str, torch.Tensor]


@dataclass(frozen=True)
class TrainingState:
    """State of a training run after a finished epoch, with everything that the next epoch depends on.

    `accuracies` (on the held-back rows) and `epochs` have one element per finished epoch. `parts` is the number of
    micro-batches in which a batch was computed. `weights`, `optimizer` and `scheduler` are `state_dict`s, and
    `generators` is from `generator_states`.
    """

    epochs: list[EpochDynamics]
    accuracies: list[float]
    parts: int
    weights: Weights
    optimizer: Mapping[str, Any]
    scheduler: Mapping[str, Any]
    generators: Mapping[str, Any]


class CheckpointStore:
    """The folder of one training run. Files with another `fingerprint` belong to another training run and are deleted
    at once.

    The folder holds `fingerprint.json`, the state after the last finished epoch in `state.pt`, and the weights of the
    best epoch in `best-<epoch>.pt`. Files are written under a temporary name and then renamed. If a training run is
    killed, the folder therefore contains a complete state or no state. Only tensors and plain values are unpickled.
    """

    def __init__(self, folder: Path, fingerprint: str, log: Callable[[str], None]) -> None:
        self.folder = folder
        self._log = log
        if self._found_fingerprint() != fingerprint:
            self.delete()
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "fingerprint.json", {"fingerprint": fingerprint})

    def load(self) -> TrainingState | None:
        """Return the state after the last finished epoch, with tensors in main memory. Returns None if no state can be
        read.
        """
        path = self.folder / "state.pt"
        if not path.is_file():
            return None
        try:
            values = torch.load(path, map_location="cpu", weights_only=True)
            epochs = [EpochDynamics(**epoch) for epoch in values.pop("epochs")]
            return TrainingState(epochs=epochs, **values)
        except LOADING_ERRORS as error:
            self._log(
                f"the training starts from the beginning, because {path} cannot be read "
                f"({reading_problem(path, error)})"
            )
            return None

    def save(self, state: TrainingState, *, best_epoch: int | None) -> None:
        """Replace the saved state, then delete all saved weights except the weights of `best_epoch`."""
        values = {name: getattr(state, name) for name in (field.name for field in fields(state))}
        self._write("state.pt", {**values, "epochs": [vars(epoch) for epoch in state.epochs]})
        for path in self.folder.glob("best-*.pt"):
            if path.name != f"best-{best_epoch}.pt":
                path.unlink()

    def save_best(self, epoch: int, weights: Weights) -> None:
        """Save the model's weights after the epoch."""
        self._write(f"best-{epoch}.pt", dict(weights))

    def best(self, epoch: int) -> Weights:
        """Load the weights that were saved for an epoch into main memory.

        Raises:
            ModelError: the file is damaged or missing.
        """
        path = self.folder / f"best-{epoch}.pt"
        try:
            return dict(torch.load(path, map_location="cpu", weights_only=True))
        except LOADING_ERRORS as error:
            raise ModelError(
                f"the file {path} cannot be read ({reading_problem(path, error)}); delete the folder {self.folder} to "
                "start the training from the beginning"
            ) from cause_of(error)

    def delete(self) -> None:
        """Delete the folder."""
        if self.folder.exists():
            shutil.rmtree(self.folder)

    def _found_fingerprint(self) -> str | None:
        try:
            return str(json.loads((self.folder / "fingerprint.json").read_text(encoding="utf-8"))["fingerprint"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _write(self, name: str, values: Mapping[str, Any]) -> None:
        aside = self.folder / f".{name}"
        with aside.open("wb") as stream:
            torch.save(dict(values), stream)
            stream.flush()
            os.fsync(stream.fileno())
        aside.replace(self.folder / name)
        flush_entry(self.folder)


def fingerprint(
    settings: TrainingSpec, rows: TrainingRows, weights: Weights, *, seed: int, device: DeviceSettings
) -> str:
    """Return a SHA-256 hash of everything that determines the result of training: settings, rows, initial weights,
    seed, device and libraries.
    """
    parts = {
        "settings": settings.model_dump(mode="json"),
        "seed": seed,
        "device": [device.resolve().type, device.precision],
        "libraries": [torch.__version__, transformers.__version__],
        "train": _rows_digest(rows.train),
        "held_back": None if rows.held_back is None else _rows_digest(rows.held_back),
        "weights": _weights_digest(weights),
    }
    if rows.weights is not None:
        parts["row_weights"] = hashlib.sha256(np.ascontiguousarray(rows.weights).tobytes()).hexdigest()
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _rows_digest(examples: Examples) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(examples.row_ids).tobytes())
    digest.update(np.ascontiguousarray(examples.labels).tobytes())
    # The source's ids, or hashes of the contents.
    digest.update("\n".join(map(str, examples.table["source_id"].to_pylist())).encode())
    return digest.hexdigest()


def _weights_digest(weights: Weights) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(weights.items()):
        # A checksum per tensor: sha256 over all weights would take as long as some steps of the training.
        bits = zlib.crc32(tensor.contiguous().reshape(-1).view(torch.uint8).numpy().data)
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} {bits}".encode())
    return digest.hexdigest()


def copied_weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return a copy of the model's current weights in main memory."""
    return {name: tensor.detach().to("cpu", copy=True) for name, tensor in model.state_dict().items()}


def generator_states() -> dict[str, Any]:
    """Return the states of the global random generators of Python, numpy and torch (CPU and current GPU), as plain
    values.
    """
    version, words, gauss = random.getstate()
    name, keys, *rest = np.random.get_state(legacy=True)
    return {
        "python": [version, list(words), gauss],
        "numpy": [str(name), torch.from_numpy(np.asarray(keys, dtype=np.int64)), *rest],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state() if torch.cuda.is_available() else None,
    }


def restore_generators(states: Mapping[str, Any]) -> None:
    """Set the global random generators to the states that `generator_states` returned."""
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, *rest = states["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(states["torch"])
    if states["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
