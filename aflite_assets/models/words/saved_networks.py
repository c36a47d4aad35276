"""Saving and loading of networks that read words. The packages `siamese` and `esim` define the networks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from safetensors.torch import load_file, save_file
from torch import nn

from aflite_assets.errors import ModelError
from aflite_assets.models.weights_files import CONFIGURATION_FILE, LOADING_ERRORS, WEIGHTS_FILE, reading_problem
from aflite_assets.models.words.word_inputs import WordReader

Configuration = TypeVar("Configuration")


class WordNetwork(nn.Module):
    """Base class of networks that read words. `model_type`: the kind of network, for the file of its configuration.

    `apart`: prefixes of the names of weights that are saved elsewhere.
    """

    model_type: ClassVar[str]
    apart: tuple[str, ...] = ()

    def __init__(self, configuration: Any) -> None:
        super().__init__()
        self.configuration = configuration
        self.num_labels = len(configuration.label_names)

    def save_pretrained(self, folder: Path) -> None:
        """Write the configuration and the weights."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {"model_type": self.model_type, **asdict(self.configuration)}
        (folder / CONFIGURATION_FILE).write_text(json.dumps(content, indent=2), encoding="utf-8")
        weights = {name: value.cpu() for name, value in self.state_dict().items() if not name.startswith(self.apart)}
        save_file(weights, folder / WEIGHTS_FILE)

    def load_weights(self, folder: Path) -> None:
        """Load the weights that `save_pretrained` wrote.

        Raises:
            ValueError: the file lacks weights, or has other weights.
        """
        report = self.load_state_dict(load_file(folder / WEIGHTS_FILE), strict=False)
        missing = [name for name in report.missing_keys if not name.startswith(self.apart)]
        if missing or report.unexpected_keys:
            raise ValueError(
                f"the file {WEIGHTS_FILE} lacks the entries {missing} and has the unknown entries "
                f"{report.unexpected_keys}"
            )


def read_configuration(folder: Path, network: type[WordNetwork], kind: type[Configuration]) -> Configuration:
    """Return the configuration that `WordNetwork.save_pretrained` wrote.

    Raises:
        ValueError: the configuration is that of another kind of network.
    """
    content: dict[str, Any] = json.loads((folder / CONFIGURATION_FILE).read_text(encoding="utf-8"))
    if content.pop("model_type") != network.model_type:
        raise ValueError(f"the file {CONFIGURATION_FILE} describes another kind of model")
    return kind(**content | {"label_names": tuple(content["label_names"])})


def saved_reader(folder: Path, words: int) -> WordReader:
    """Return the reader of a network with vectors of `words` words.

    Raises:
        ValueError: the vocabulary has another number of words.
    """
    reader = WordReader.from_pretrained(folder)
    if len(reader) != words:
        raise ValueError(f"the model has vectors of {words} words, but its vocabulary has {len(reader)} words")
    return reader


@contextmanager
def loading(folder: Path, network: type[WordNetwork]) -> Iterator[None]:
    """Explain every error of loading a network inside the `with` block.

    Raises:
        ModelError: the folder does not contain a saved network of this kind.
    """
    try:
        yield
    except LOADING_ERRORS as error:
        raise ModelError(
            f"the folder {folder} holds no readable {network.model_type} model ({reading_problem(folder, error)}); "
            "materialise the asset that trained the model again"
        ) from error
