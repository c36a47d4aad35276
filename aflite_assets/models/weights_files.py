"""Names of a saved model's files, and detection of unreadable ones, for error messages. No weights are loaded here."""

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
"""Errors that libraries raise on a folder or hub id that holds no such model, an incomplete one, or a malicious one."""

_PICKLES = (".bin", ".pt", ".pth", ".ckpt")


def reading_problem(folder: str | Path, error: Exception) -> str:
    """Explain an error of loading a model, with the names of the files that are truncated or damaged, if any are.

    `folder` may be a file, or a hub id, for which only the error names the file.
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
    """Return True if torch refused to unpickle a file; its error text advises doing so and must not be repeated."""
    return isinstance(error, pickle.UnpicklingError) or "weights_only" in str(error)


def cause_of(error: Exception) -> Exception | None:
    """Return the error that a message about loading is raised from, or None if its text must not be repeated."""
    return None if is_refused_pickle(error) else error


def _is_whole(path: Path) -> bool:
    try:
        with safe_open(path, framework="pt"):
            return True
    except (OSError, SafetensorError):
        return False
