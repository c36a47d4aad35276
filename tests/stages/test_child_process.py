"""A stage made in a process of its own: what comes back, and what is left when something ends on the way."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.errors import DataError, MemoryRanOutError, TimeLimitError, WorkerLostError
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages import child_process as child
from aflite_assets.stages.child_process import ChildTraceback, StageJob, StageWorker, make_in_child
from aflite_assets.stages.pipeline import find_stage, run_stage
from aflite_assets.stages.stage import Progress, no_progress
from tests.forked import PRELOADED, ForkedChild

# Trackers are what a job brings along, and so what can be made to misbehave in the child.
HELPERS = """
import os, signal, time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from aflite_assets.tracking import NullTracker

@dataclass(frozen=True)
class Misbehaving:
    what: str
    note: Path

    @contextmanager
    def run(self, asset, partition, key):
        self.note.write_text(str(os.getpid()))
        try:
            match self.what:
                case "killed":
                    os.kill(os.getpid(), signal.SIGKILL)
                case "slow":
                    time.sleep(120)
                case "memory":
                    raise MemoryError("cannot hold this")
                case "cuda":
                    raise type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory. Tried 2 GiB")
                case "full":
                    raise FileNotFoundError(2, "gone", "somewhere")
                case "strange":
                    raise type("StrangeError", (Exception,), {})("of a library")
        finally:
            self.note.with_suffix(".ended").write_text("")
        with NullTracker().run(asset, partition, key) as run:
            yield run
"""


@pytest.fixture(scope="module")
def few_permutations() -> None:
    """All of them: children make as many as users' processes do."""


def test_every_preloaded_module_exists() -> None:
    # The process that is forked ignores a name that it cannot import.
    assert [name for name in PRELOADED if find_spec(name) is None] == []


@pytest.fixture
def misbehaving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """Trackers that the child can import."""
    (tmp_path / "helpers").mkdir()
    (tmp_path / "helpers" / "misbehaving_trackers.py").write_text(HELPERS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "helpers"))
    monkeypatch.syspath_prepend(str(tmp_path / "helpers"))
    monkeypatch.delitem(sys.modules, "misbehaving_trackers", raising=False)
    from misbehaving_trackers import Misbehaving  # type: ignore[import-not-found]

    return lambda what: Misbehaving(what, tmp_path / "pid")


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.05)


def test_what_a_child_makes_is_what_is_made_here(circles_spec: DatasetSpec, store: ResultStore, tmp_path: Path) -> None:
    lines: list[str] = []
    iterations: list[IterationRow] = []
    progress = Progress(lines.append, iterations.append)
    here = ResultStore(tmp_path / "here")
    for name in ("raw_dataset", "warmup_split", "warmup_models", "embeddings", "filtered_sets"):
        assert find_stage(name, circles_spec, store=store) is None
        if name not in ("raw_dataset", "filtered_sets"):
            run_stage(name, circles_spec, store=store)
            run_stage(name, circles_spec, store=here)
            continue
        made = make_in_child(StageJob(name, circles_spec, store), progress=progress)
        assert not made.cached
        assert made.result.manifest["process"] != os.getpid()
        assert made.result.data_version == run_stage(name, circles_spec, store=here).result.data_version
        found = find_stage(name, circles_spec, store=store)
        assert found is not None
        assert (found.cached, found.result) == (True, made.result)
    assert any(line.startswith("raw dataset: {'train': 400") for line in lines)
    assert [one.iteration for one in iterations] == list(range(made.result.summary["given"]["iterations"]))
    assert {path.name.split("-")[1] for path in made.result.path.parent.glob("shown/*")} == {"findings", "pictures"}


def test_one_process_makes_stage_after_stage_until_one_is_lost(
    circles_spec: DatasetSpec, store: ResultStore, misbehaving: Callable[[str], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "ChildProcess", ForkedChild)
    with StageWorker() as worker:

        def made_by(name: str, **given: Any) -> int:
            obtained = make_in_child(StageJob(name, circles_spec, store), progress=no_progress, worker=worker, **given)
            pid: int = obtained.result.manifest["process"]
            return pid

        first = made_by("raw_dataset")
        assert made_by("challenge_sets") == made_by("warmup_split") == first
        with pytest.raises(WorkerLostError, match=r"the process of warmup_models of .* exit code -9"):
            make_in_child(
                StageJob("warmup_models", circles_spec, store, misbehaving("killed")),
                progress=no_progress,
                worker=worker,
            )
        second = made_by("warmup_models")
        assert second not in (first, os.getpid())
        on_card = made_by("embeddings", environment={"CUDA_VISIBLE_DEVICES": "0"})
        assert on_card != second
        assert not alive(on_card)
        assert not alive(second)
        with monkeypatch.context() as patch:
            patch.setattr(child, "MOST_MEMORY", 0)
            heavy = made_by("filtered_sets")
        assert heavy != on_card
        assert not alive(heavy)
        last = made_by("control_sets")
        assert alive(last)
    assert not alive(last)


def test_what_is_found_is_current_again(circles_content: dict[str, Any], store: ResultStore) -> None:
    first = parse_spec(circles_content)
    other = parse_spec(circles_content | {"seed": 7})
    run_stage("raw_dataset", first, store=store)
    made = run_stage("raw_dataset", other, store=store)
    found = find_stage("raw_dataset", first, store=store)
    assert found is not None
    assert found.result.key == store.current("raw_dataset", first.name).key != made.result.key


def test_refusals_come_back_as_they_are(feature_files: Callable[..., dict[str, Any]], store: ResultStore) -> None:
    spec = parse_spec(feature_files(train_labels=[0, 1, None] * 40))
    with pytest.raises(DataError, match="train") as caught:
        make_in_child(StageJob("raw_dataset", spec, store), progress=no_progress)
    assert not caught.value.may_pass
    assert isinstance(caught.value.__cause__, ChildTraceback)
    assert "stages/data/raw_dataset.py" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("what", "error", "message"),
    [
        (
            "killed",
            WorkerLostError,
            r"^the process of raw_dataset of 'small_circles' ended with exit code -9 \(-9 usually",
        ),
        ("memory", MemoryRanOutError, r"^memory ran out while raw_dataset of .* \(MemoryError: cannot hold this\)"),
        ("cuda", MemoryRanOutError, r"\(OutOfMemoryError: CUDA out of memory\. Tried 2 GiB\); lower `batch_size`"),
        ("full", FileNotFoundError, r"^\[Errno 2\] gone: 'somewhere'$"),
        ("strange", RuntimeError, r"^StrangeError: of a library$"),
    ],
)
def test_errors_have_names(
    circles_spec: DatasetSpec,
    store: ResultStore,
    misbehaving: Callable[[str], Any],
    what: str,
    error: type[Exception],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(child, "ChildProcess", ForkedChild)
    with pytest.raises(error, match=message) as caught:
        make_in_child(StageJob("raw_dataset", circles_spec, store, misbehaving(what)), progress=no_progress)
    assert getattr(caught.value, "may_pass", False) == (error in (WorkerLostError, MemoryRanOutError))
    assert find_stage("raw_dataset", circles_spec, store=store) is None
    assert not run_stage("raw_dataset", circles_spec, store=store).cached


def test_a_time_limit_ends_the_child(
    circles_spec: DatasetSpec,
    store: ResultStore,
    misbehaving: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The clock stands still until the stage is being made, however long the child takes to begin.
    now = [0.0]
    monkeypatch.setattr(child, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def nearly_all_is_over(key: str) -> None:
        wait_until((tmp_path / "pid").exists, 60)
        now[0] = 8.3

    job = StageJob("raw_dataset", circles_spec, store, misbehaving("slow"))
    with pytest.raises(
        TimeLimitError, match=r"raw_dataset of 'small_circles' was stopped at its time limit of 8\.5 sec"
    ):
        make_in_child(job, progress=no_progress, seconds=8.5, on_making=nearly_all_is_over)
    assert (tmp_path / "pid.ended").exists()
    assert not alive(int((tmp_path / "pid").read_text()))


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A process that a script started in the background is told to ignore interruptions."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_ends_the_child_which_tidies_up(
    circles_spec: DatasetSpec,
    store: ResultStore,
    misbehaving: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from threading import Thread

    def interrupt() -> None:
        wait_until((tmp_path / "pid").exists, 60)
        os.kill(os.getpid(), signal.SIGINT)

    Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        make_in_child(StageJob("raw_dataset", circles_spec, store, misbehaving("slow")), progress=no_progress)
    assert (tmp_path / "pid.ended").exists()
    assert not alive(int((tmp_path / "pid").read_text()))
    assert not list((store.root / "raw_dataset" / "small_circles").glob(".work/*"))


KILLED_PARENT = """
import sys
from pathlib import Path
import yaml
from misbehaving_trackers import Misbehaving
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.child_process import StageJob, make_in_child
from aflite_assets.stages.stage import no_progress

spec = parse_spec(yaml.safe_load(Path(sys.argv[1]).read_text()))
job = StageJob("raw_dataset", spec, ResultStore(Path(sys.argv[2])), Misbehaving("slow", Path(sys.argv[3])))
make_in_child(job, progress=no_progress)
"""


def test_a_child_ends_when_its_parent_is_killed(
    circles_content: dict[str, Any], store: ResultStore, misbehaving: Callable[[str], Any], tmp_path: Path
) -> None:
    import yaml

    (tmp_path / "spec.yaml").write_text(yaml.safe_dump(circles_content))
    arguments = [str(tmp_path / "spec.yaml"), str(store.root), str(tmp_path / "pid")]
    searched = os.pathsep.join((os.environ["PYTHONPATH"], str(Path(__file__).parents[2])))
    parent = subprocess.Popen(
        [sys.executable, "-c", KILLED_PARENT, *arguments], env={**os.environ, "PYTHONPATH": searched}
    )
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", 60)
    pid = int((tmp_path / "pid").read_text())
    assert alive(pid)
    parent.kill()
    parent.wait()
    wait_until(lambda: not alive(pid), 15)


def test_no_module_of_the_folder_where_it_was_started_is_imported(
    circles_spec: DatasetSpec, store: ResultStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delivery of data may hold any file; libraries are imported in the child."""
    folder = tmp_path / "delivery"
    folder.mkdir()
    for name in ("filelock", "pandas", "numpy", "json"):
        (folder / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nraise ImportError('mine')\n")
    monkeypatch.chdir(folder)
    made = make_in_child(StageJob("raw_dataset", circles_spec, store=store), progress=no_progress)
    assert made.result.summary["modality"] == "features"
    assert not (tmp_path / "ran").exists()
