"""What a result was made with: the versions and the machine that stand in its manifest, never in its key."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

from aflite_assets import __version__
from aflite_assets.processors import threads_per_step

_LIBRARIES = ("datasets", "mlflow", "numpy", "pyarrow", "scikit-learn", "timm", "torch", "transformers")


def environment() -> dict[str, str | int | None]:
    """Versions of this project, Python and the libraries that compute; system, kind, cores, threads per step."""
    return {
        "aflite_assets": __version__,
        "python": platform.python_version(),
        **{name: _installed(name) for name in _LIBRARIES},
        "system": platform.system(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "threads": threads_per_step(),
    }


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
