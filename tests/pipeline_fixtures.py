"""Small datasets of each kind of input that walk the whole pipeline in seconds."""

import copy
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.shared import training_workers
from tests.forked import ForkedChild
from tests.small_datasets import circles, feature_vectors
from tests.undrawn import undrawn_figures

CIRCLES = circles(
    "small_circles", evaluators={"linear": {"kind": "linear"}, "rbf_svm": {"kind": "rbf_svm"}}, seeds=[0, 1]
)


@pytest.fixture
def forked_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells' workers begin with their libraries imported.

    `test_training_workers.test_an_interrupted_cell_leaves_nothing_to_the_next` does without, as users do.
    """
    monkeypatch.setattr(training_workers, "ChildProcess", ForkedChild)


@contextmanager
def permuted_four_times() -> Iterator[None]:
    """The filter's chance is of 4 permutations, for the block: 20 take a quarter of a small dataset's walk.

    Not where it matters what is over chance: `tests/stages/test_verdicts` and `tests/algorithm/test_chance`.
    """
    from aflite_assets.algorithm import score_permuted

    defaults = score_permuted.__kwdefaults__ or {}
    assert defaults["passes"] in (20, 4)  # 4 within another such block; users have 20
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(defaults, "passes", 4)
        yield


@pytest.fixture(scope="module")
def few_permutations() -> Iterator[None]:
    """As `permuted_four_times`, for a module. One that needs all 20 has a fixture of this name that does nothing."""
    with permuted_four_times():
        yield


@pytest.fixture
def store(home: Path) -> ResultStore:
    return ResultStore(home / "results")


@pytest.fixture
def circles_content() -> dict[str, Any]:
    """The spec as plain values, free to be changed."""
    return copy.deepcopy(CIRCLES)


@pytest.fixture
def circles_spec(circles_content: dict[str, Any]) -> DatasetSpec:
    return parse_spec(circles_content)


@pytest.fixture
def feature_files(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Writes `feature_vectors` to this test's folder."""
    return partial(feature_vectors, tmp_path)


@pytest.fixture(scope="session")
def first_walk(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """A dataset of features of which every stage was made: its spec as plain values, and the folder of its results."""
    folder = tmp_path_factory.mktemp("walk")
    content = feature_vectors(folder)
    from aflite_assets.stages.pipeline import run_pipeline

    with undrawn_figures(), permuted_four_times():
        run_pipeline(parse_spec(content), store=ResultStore(folder / "results"))
    return content, folder


@pytest.fixture
def made_vectors(
    first_walk: tuple[dict[str, Any], Path], few_permutations: None, store: ResultStore
) -> Iterator[dict[str, Any]]:
    """That dataset with results in this test's store; its source files are put back afterwards."""
    content, folder = first_walk
    shutil.copytree(folder / "results", store.root)
    files = {path: path.read_bytes() for path in folder.glob("*.npy")}
    yield copy.deepcopy(content)
    for path, before in files.items():
        path.write_bytes(before)


@pytest.fixture(scope="session")
def template_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database of MLflow, made once: making one takes seconds, copying one milliseconds."""
    from aflite_assets.tracking import MlflowTracker

    folder = tmp_path_factory.mktemp("template")
    assert MlflowTracker(None, folder).session.client.search_experiments()
    return folder / "mlflow" / "mlflow.db"


@pytest.fixture
def tracking_home(home: Path, template_database: Path) -> Path:
    """The test's home with a copy of that database, where MLflow's tracker makes one otherwise."""
    (home / "mlflow").mkdir(parents=True)
    shutil.copy(template_database, home / "mlflow" / "mlflow.db")
    return home
