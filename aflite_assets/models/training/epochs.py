"""Files with the loss and accuracy of each epoch, which a training writes to its scratch folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from aflite_assets.results.files import write_json

_FILE = "epochs.json"


def write_epochs(scratch: Path, values: Mapping[str, Sequence[float]]) -> None:
    """Write, for each name, one value per epoch into the folder. Values of an earlier training are replaced."""
    write_json(scratch / _FILE, {name: list(each) for name, each in values.items()})


def read_epochs(scratch: Path) -> dict[str, list[float]]:
    """Return the values that `write_epochs` wrote: train_loss (in nats) and train_accuracy, both at presentation, and
    held_back_accuracy.

    For further stages of a training, the names begin with `stage_1.`, `stage_2.` and so on. Returns an empty dictionary
    if the last training in this folder had no epochs, as with scikit-learn models.
    """
    file = scratch / _FILE
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


__all__ = ["read_epochs", "write_epochs"]
