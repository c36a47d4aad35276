"""Loss and accuracy of each epoch, which a training leaves in its scratch folder. Trains and logs nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from aflite_assets.results.files import write_json

_FILE = "epochs.json"


def write_epochs(scratch: Path, values: Mapping[str, Sequence[float]]) -> None:
    """Write values by name, one per epoch in order, into the folder; those of an earlier training are replaced."""
    write_json(scratch / _FILE, {name: list(each) for name, each in values.items()})


def read_epochs(scratch: Path) -> dict[str, list[float]]:
    """Return what `write_epochs` left: train_loss (nats) and train_accuracy as presented, held_back_accuracy.

    Names of further stages begin with `stage_1.` and so on. Returns an empty dictionary if the last training in this
    folder had no epochs, as those of scikit-learn.
    """
    file = scratch / _FILE
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


__all__ = ["read_epochs", "write_epochs"]
