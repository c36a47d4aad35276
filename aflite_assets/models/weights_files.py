"""Finding the weights file of a folder that cannot be read, for error messages. Loads no weights."""

from pathlib import Path

from safetensors import SafetensorError, safe_open


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
