"""The folder for all state of the project: results, MLflow's database and files, and caches of libraries."""

import os
from hashlib import sha256
from pathlib import Path

from aflite_assets.errors import InvalidInputError
from aflite_assets.processors import bound_libraries

_LIBRARY_CACHES = {
    "HF_HOME": "huggingface",
    "TORCH_HOME": "torch",
    "MPLCONFIGDIR": "matplotlib",
}
_TELEMETRY_OFF = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_UPDATE_DOWNLOAD_COUNTS": "0",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DAGSTER_DISABLE_TELEMETRY": "1",
}


def aflite_home() -> Path:
    """Return the absolute path of the folder `AFLITE_HOME`, by default `.aflite` in the working directory."""
    return Path(os.environ.get("AFLITE_HOME") or ".aflite").expanduser().absolute()


def dagster_home() -> Path | None:
    """Return the folder `DAGSTER_HOME`, which Dagster reads in the same way, or None if the variable is not set.

    Raises:
        InvalidInputError: the path is relative, which Dagster refuses.
    """
    given = os.environ.get("DAGSTER_HOME")
    folder = Path(given).expanduser() if given else None
    if folder is not None and not folder.is_absolute():
        raise InvalidInputError(f"`DAGSTER_HOME` is {given!r}, which is a relative path; set it to an absolute path")
    return folder


def cache_folder(name: str) -> Path:
    """Return the folder below `AFLITE_HOME` for the cache of the library `name`."""
    return aflite_home() / "cache" / name


def kernels_folder(parent: Path) -> Path:
    """Return a folder below `parent` for compiled code of the linear engine.

    The folder's name is a hash of the engine's source files.

    A separate folder per version of the source is needed, because numba does not recompile a file if an imported file
    changes.
    """
    sources = sorted((Path(__file__).parent / "algorithm" / "linear").rglob("*.py"))
    return parent / sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def old_kernels() -> list[Path]:
    """Return the folders below `AFLITE_HOME` with code that was compiled from other versions of the linear engine's
    source.
    """
    folder = cache_folder("numba")
    current = kernels_folder(folder)
    return sorted(place for place in folder.iterdir() if place != current) if folder.is_dir() else []


_THREADS = {
    # If waiting threads spin, small models are ten times slower as soon as another process uses a core.
    "OMP_WAIT_POLICY": "PASSIVE",
}


def configure_libraries() -> None:
    """Set the environment variables of libraries that are imported later.

    The variables make libraries store caches below `AFLITE_HOME`, send no telemetry, and let threads wait without
    spinning. The variables also limit libraries to the number of threads that a step may use (see `processors`).
    Variables that the user has set are not changed. Applications call this function once, before other imports.
    """
    for variable, folder in _LIBRARY_CACHES.items():
        os.environ.setdefault(variable, str(cache_folder(folder)))
    os.environ.setdefault("NUMBA_CACHE_DIR", str(kernels_folder(cache_folder("numba"))))
    for variable, value in (_TELEMETRY_OFF | _THREADS).items():
        os.environ.setdefault(variable, value)
    bound_libraries()
