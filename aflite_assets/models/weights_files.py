"""Names of a saved model's files, and which of them cannot be read, for error messages. Loads no weights."""

from pathlib import Path

from safetensors import SafetensorError, safe_open

CONFIGURATION_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
READING_ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError)
"""What loading a folder that holds no such model, or half of one, leads to."""


def reading_problem(folder: str | Path, error: Exception) -> str:
    """What an error of loading a model says, with the names of the files that are cut short or damaged, if any are.

    `folder` may be a hub id, of which the file is known only by the error.
    """
    if not isinstance(error, SafetensorError):
        return str(error)
    damaged = [path.name for path in sorted(Path(folder).glob("*.safetensors")) if not _is_whole(path)]
    return f"{', '.join(damaged) or 'its safetensors file'} is cut short or damaged: {error}"


def _is_whole(path: Path) -> bool:
    try:
        with safe_open(path, framework="pt"):
            return True
    except (OSError, SafetensorError):
        return False
