"""What every test has: a home of its own, no network, one thread per library, and a heap without what was imported."""

import atexit
import gc
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from aflite_assets.paths import kernels_folder
from tests.longest import longest_first
from tests.undrawn import undrawn_figures

# Before any library is imported: a second thread per library only waits when tests share the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("DAGSTER_DISABLE_TELEMETRY", "1")
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
# Processes that tests start have other homes, but need not compile, or look for fonts, again.
os.environ.setdefault("NUMBA_CACHE_DIR", str(kernels_folder(Path(__file__).parent / "__pycache__" / "numba")))
os.environ.setdefault("MPLCONFIGDIR", str(Path(__file__).parent / "__pycache__" / "matplotlib"))
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Whatever is written is flushed to its disk and waited for; one in memory has nothing to wait for.
MEMORY_DISK, ROOM = Path("/dev/shm"), 4 * 2**30
if os.access(MEMORY_DISK, os.W_OK) and shutil.disk_usage(MEMORY_DISK).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY_DISK))

# Tests say what is right; how long one example takes depends on what else the machine does.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")

MANY_MODULES = 100
FROZEN = [0]
"""Numbers of modules whenever the heap was frozen."""

pytest_plugins = ["tests.pipeline_fixtures", "tests.object_stores", "tests.running_dagster"]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collecting garbage looks at what tests make, and not at the million objects of the libraries that they import."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        atexit.register(gc.unfreeze)


@pytest.fixture(autouse=True)
def frozen_libraries() -> None:
    """Libraries that a test imported are left out of every later collection, as those of the collection are."""
    if len(sys.modules) > FROZEN[-1] + MANY_MODULES:
        gc.collect()
        gc.freeze()
        FROZEN.append(len(sys.modules))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first."""
    items[:] = longest_first(items, Path(__file__).parent)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh `AFLITE_HOME`, and no dataset folders, Dagster home or addresses of the user's."""
    folder = tmp_path / "home"
    monkeypatch.setenv("AFLITE_HOME", str(folder))
    for variable in (
        "AFLITE_DATASETS",
        "AFLITE_BUNDLED",
        "DAGSTER_HOME",
        "MLFLOW_TRACKING_URI",
        "AFLITE_STORE",
        *(f"AFLITE_{name}_URL" for name in ("DAGSTER", "MLFLOW", "RESULTS", "SOURCE")),
    ):
        monkeypatch.delenv(variable, raising=False)
    return folder


@pytest.fixture(scope="module")
def undrawn() -> Iterator[None]:
    """As `undrawn_figures`: for modules that run pipelines over and over and look at no picture."""
    with undrawn_figures():
        yield


@pytest.fixture(scope="session")
def example_data() -> Path:
    """The folder of real example data that `AFLITE_EXAMPLE_DATA` names."""
    folder = os.environ.get("AFLITE_EXAMPLE_DATA")
    if not folder:
        pytest.skip("AFLITE_EXAMPLE_DATA names no folder of real example data")
    return Path(folder)
