"""The one folder that holds all state: results, MLflow's database and files, caches of the libraries used."""

import os
from hashlib import sha256
from pathlib import Path

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
    """Return the folder named by `AFLITE_HOME`, by default `.aflite` in the working directory; absolute."""
    return Path(os.environ.get("AFLITE_HOME") or ".aflite").expanduser().absolute()


def cache_folder(name: str) -> Path:
    """Return the folder below `AFLITE_HOME` in which a library stores files that it can recreate."""
    return aflite_home() / "cache" / name


def kernels_folder(parent: Path) -> Path:
    """Return a folder below `parent` for the engine's compiled code; every state of the engine's sources has its own
    folder.

    The reason is that numba recompiles a file when it changes, but not when an imported file changes.
    """
    sources = sorted((Path(__file__).parent / "algorithm" / "linear").rglob("*.py"))
    return parent / sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:16]


def old_kernels() -> list[Path]:
    """Return folders of compiled code below `AFLITE_HOME` that belong to another state of the engine's sources."""
    folder = cache_folder("numba")
    current = kernels_folder(folder)
    return sorted(place for place in folder.iterdir() if place != current) if folder.is_dir() else []


_THREADS = {
    # Threads that spin while they wait make small models ten times slower as soon as another process wants a core.
    "OMP_WAIT_POLICY": "PASSIVE",
}


def configure_libraries() -> None:
    """Make libraries imported later store caches below `AFLITE_HOME`, use only the step's threads (`processors`), wait
    without spinning and send no telemetry.

    Variables that the user has set are not changed. Applications call this once, before anything heavy is imported.
    """
    for variable, folder in _LIBRARY_CACHES.items():
        os.environ.setdefault(variable, str(cache_folder(folder)))
    os.environ.setdefault("NUMBA_CACHE_DIR", str(kernels_folder(cache_folder("numba"))))
    for variable, value in (_TELEMETRY_OFF | _THREADS).items():
        os.environ.setdefault(variable, value)
    bound_libraries()
