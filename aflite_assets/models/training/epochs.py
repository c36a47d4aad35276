"""Files with the loss and accuracy of each epoch. The trainer writes these files to its scratch folder."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from aflite_assets.results.files import write_json

_FILE = "epochs.json"


def write_epochs(scratch: Path, values: Mapping[str, Sequence[float]]) -> None:
    """Write the values of all epochs into the folder, one list per name. Values from an earlier training run are
    replaced.
    """
    write_json(scratch / _FILE, {name: list(each) for name, each in values.items()})


def read_epochs(scratch: Path) -> dict[str, list[float]]:
    """Return the values that `write_epochs` wrote: train_loss (in nats), train_accuracy and held_back_accuracy. Loss
    and accuracy of train rows are measured when a row is presented.

    For further stages of training, the names begin with `stage_1.`, `stage_2.` and so on. If the last training run in
    this folder had no epochs, as with scikit-learn models, the result is empty.
    """
    file = scratch / _FILE
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


__all__ = ["read_epochs", "write_epochs"]
