"""Names of the files of a saved model, and detection of damaged files for error messages. This module loads no
weights.
"""

import pickle
import struct
from pathlib import Path

from huggingface_hub.errors import StrictDataclassError
from safetensors import SafetensorError, safe_open

CONFIGURATION_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
LOADING_ERRORS = (
    OSError, EOFError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError, AssertionError,
    RuntimeError, ImportError, SafetensorError, StrictDataclassError, pickle.UnpicklingError, struct.error,
)  # fmt: skip
"""Errors that libraries raise for a folder or hub id with a wrong, incomplete or malicious model."""

_PICKLES = (".bin", ".pt", ".pth", ".ckpt")


def reading_problem(folder: str | Path, error: Exception) -> str:
    """Return a phrase that explains why a model cannot be loaded, with the names of truncated or damaged files.

    `folder` may also be a file or a hub id. For a hub id, the file's name is only known from the text of the error.
    """
    if is_refused_pickle(error):
        files = [Path(folder)] if Path(folder).is_file() else sorted(Path(folder).glob("*"))
        named = [path.name for path in files if path.suffix in _PICKLES]
        return (
            f"{', '.join(named) or 'the weights file'} is damaged or contains objects that are not tensors, which are "
            "never unpickled"
        )
    if not isinstance(error, SafetensorError):
        return str(error).strip() or type(error).__name__
    damaged = [path.name for path in sorted(Path(folder).glob("*.safetensors")) if not _is_whole(path)]
    return f"{', '.join(damaged) or 'the safetensors file'} is truncated or damaged: {error}"


def is_refused_pickle(error: BaseException) -> bool:
    """Return True if torch refused to unpickle a file. The text of torch's error recommends unsafe unpickling, so it
    must not be shown to users.
    """
    return isinstance(error, pickle.UnpicklingError) or "weights_only" in str(error)


def cause_of(error: Exception) -> Exception | None:
    """Return the error to use as the cause of a message about loading (`raise ... from`). Return None if the text of
    the error must not be shown to users.
    """
    return None if is_refused_pickle(error) else error


def _is_whole(path: Path) -> bool:
    try:
        with safe_open(path, framework="pt"):
            return True
    except (OSError, SafetensorError):
        return False
