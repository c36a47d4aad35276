"""Cells trained in processes of their own: the same results, failures that stay with their cell, killed workers."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from aflite_assets.errors import DataError, ModelError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation import cell_training
from aflite_assets.stages.evaluation.base_trainings import first_settings
from aflite_assets.stages.evaluation.cell_training import CellJob
from aflite_assets.stages.pipeline import STAGES, run_pipeline, run_stage
from aflite_assets.stages.shared import training_workers
from aflite_assets.stages.shared.training_workers import LocalWorkers, visible_gpus
from aflite_assets.stages.stage import Progress
from tests.waiting import within

pytestmark = pytest.mark.usefixtures("undrawn")

NET = {
    "kind": "small_transformer", "vocabulary": 200, "width": 16, "layers": 1, "heads": 2, "max_length": 16, "epochs": 3,
}  # fmt: skip

HOT: dict[str, Any] = {"learning_rate": 9.0, "epochs": 30, "weight_decay": 0.99}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> DatasetSpec:
    """Forty train rows whose words name their class."""
    folder = tmp_path_factory.mktemp("texts")
    for split, rows in (("train", 60), ("test", 10)):
        lines = [f"{'good' if row % 2 else 'bad'} {row % 7}\t{row % 2}" for row in range(rows)]
        (folder / f"{split}.tsv").write_text("\n".join(["text\tlabel", *lines]) + "\n", encoding="utf-8")
    return parse_spec(
        {
            "name": "texts",
            "source": {"format": "tsv", "splits": {one: str(folder / f"{one}.tsv") for one in ("train", "test")}},
            "columns": {"text": "text"},
            "labels": {"bad": 0, "good": 1},
            "warmup": {"size": 20},
            "representations": {"net": NET},
            "filter": {"target_size": 20, "train_size": 10, "slice_size": 10, "n_partitions": 8},
            "evaluators": {"net": NET, "linear": {"kind": "linear"}},
            "seeds": [0],
        }
    )


@pytest.fixture(scope="module")
def walked(texts: DatasetSpec, tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    store = ResultStore(tmp_path_factory.mktemp("walked"))
    run_pipeline(texts, store=store)
    return store


@pytest.fixture
def filtered(walked: ResultStore, store: ResultStore) -> ResultStore:
    """A store of the test's own with what cells are trained on, and no cell."""
    for name in STAGES:
        if name not in ("evaluator_models", "benchmark_report"):
            shutil.copytree(walked.root / name, store.root / name)
    return store


def _job(store: ResultStore, spec: DatasetSpec, target: Path, evaluator: str = "net", **changes: Any) -> CellJob:
    target.mkdir()
    settings = first_settings(spec.evaluators[evaluator], None).model_copy(update=changes)
    raw, challenges = (store.current(name, spec.name) for name in ("raw_dataset", "challenge_sets"))
    scratch = target.with_name(f"{target.name}-scratch")
    return CellJob(
        settings=settings,
        train_rows=np.arange(40),
        seed=0,
        device=DeviceSettings("cpu"),
        raw=raw,
        challenge_sets=challenges,
        unreported=frozenset(),
        target=target,
        scratch=scratch,
    )


@pytest.mark.usefixtures("forked_workers")
def test_two_workers_give_the_bits_of_this_process_and_outlive_errors(
    walked: ResultStore, texts: DatasetSpec, tmp_path: Path
) -> None:
    lines: list[str] = []
    here = _job(walked, texts, tmp_path / "here").run(_ignore)
    with LocalWorkers(["", ""]) as workers:
        jobs = [
            _job(walked, texts, tmp_path / name, one) for name, one in (("a", "net"), ("b", "linear"), ("c", "net"))
        ]
        metrics = workers.map(lambda job: workers.train(job, lines.append), jobs)
        assert len(multiprocessing.active_children()) == 2
        empty = _job(walked, texts, tmp_path / "empty")
        with pytest.raises(DataError, match=r"of 0 train rows .*no words"):
            workers.train(CellJob(**{**vars(empty), "train_rows": np.arange(0)}), _ignore)
        with pytest.raises(ModelError, match="training diverged"):
            workers.train(_job(walked, texts, tmp_path / "hot", **HOT), _ignore)
        assert workers.train(_job(walked, texts, tmp_path / "after", "linear"), _ignore)["rows"] == 40
    assert not multiprocessing.active_children()
    timings = {"seconds", "prediction_seconds"}
    for number in (0, 2):
        assert {k: v for k, v in metrics[number].items() if k not in timings} == {
            k: v for k, v in here.items() if k not in timings
        }
    for name in ("predictions.parquet", "dynamics.parquet"):
        found = [pq.read_table(tmp_path / folder / name) for folder in ("here", "a", "c")]
        assert found[0].equals(found[1])
        assert found[0].equals(found[2])
    assert sum("epoch 3" in line for line in lines) == 2


def _ignore(line: str) -> None:
    """Nobody reads it."""


@pytest.mark.usefixtures("forked_workers")
def test_a_killed_worker_is_named_and_replaced(walked: ResultStore, texts: DatasetSpec, tmp_path: Path) -> None:
    def kill(line: str) -> None:
        if "epoch 1" in line:
            (worker,) = multiprocessing.active_children()
            assert worker.pid is not None
            os.kill(worker.pid, signal.SIGKILL)

    with LocalWorkers(["0", "1"]) as workers:
        with pytest.raises(ModelError, match=r"worker process on GPU [01] ended with exit code -9"):
            workers.train(_job(walked, texts, tmp_path / "killed", epochs=500), kill)
        assert not multiprocessing.active_children()
        assert workers.train(_job(walked, texts, tmp_path / "after", "linear"), _ignore)["rows"] == 40


def test_an_interrupted_cell_leaves_nothing_to_the_next(
    walked: ResultStore, texts: DatasetSpec, tmp_path: Path
) -> None:
    def interrupt(line: str) -> None:
        if "epoch 1" in line:
            raise KeyboardInterrupt

    with LocalWorkers(["0", "1"]) as workers:
        with pytest.raises(KeyboardInterrupt):
            workers.train(_job(walked, texts, tmp_path / "interrupted", epochs=500), interrupt)
        assert all(worker._child is None for worker in workers._all)


_STEP = """
import sys
from aflite_assets.stages.shared.training_workers import LocalWorkers

class Endless:
    def __reduce__(self):
        return exec, (sys.argv[1],)

with LocalWorkers(["", ""]) as workers:
    workers.train(Endless(), str)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    mark = tmp_path / "worker"
    # A job that says nothing while it runs: one that logs would notice by itself that nobody listens.
    job = f"import os, pathlib, time; pathlib.Path({str(mark)!r}).write_text(f'{{os.getpid()}}.'); time.sleep(120)"
    with subprocess.Popen([sys.executable, "-c", _STEP, job]) as step:
        assert within(60, lambda: mark.is_file() and mark.read_text(encoding="utf-8").endswith("."))
        worker = int(mark.read_text(encoding="utf-8").rstrip("."))
        assert _runs(worker)
        step.kill()
    assert within(20, lambda: not _runs(worker))


def _runs(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.usefixtures("forked_workers")
@pytest.mark.parametrize("gpus", [[], ["", ""]], ids=["here", "workers"])
def test_an_error_that_nobody_expects_fails_the_cell_with_its_reason(
    walked: ResultStore, texts: DatasetSpec, tmp_path: Path, gpus: list[str]
) -> None:
    lines: list[str] = []
    job = _job(walked, texts, tmp_path / "gone", "linear")
    job.target.rmdir()
    with LocalWorkers(gpus) as workers:
        # Here a folder that is gone; a full disk is an OSError too.
        with pytest.raises(RuntimeError, match=r"^FileNotFoundError: .*gone/predictions.parquet"):
            workers.train(job, lines.append)
        assert workers.train(_job(walked, texts, tmp_path / "after", "linear"), _ignore)["rows"] == 40
    assert "Traceback" in lines[-1]
    assert "predictions.parquet" in lines[-1]


def test_a_full_disk_fails_a_cell_and_not_the_grid(
    texts: DatasetSpec, filtered: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(table: Any, path: Path) -> None:
        if path.name == "dynamics.parquet":
            raise OSError(28, "No space left on device")
        pq.write_table(table, path)

    monkeypatch.setattr(cell_training, "pq", SimpleNamespace(write_table=write))
    grid = run_pipeline(texts, store=filtered)["evaluator_models"].result
    cells = pq.read_table(grid.file("cells.parquet")).to_pylist()
    reasons = {(c["evaluator"], c["reason"]) for c in cells}
    assert reasons == {("net", "RuntimeError: OSError: [Errno 28] No space left on device"), ("linear", None)}


@pytest.mark.usefixtures("forked_workers")
def test_small_models_train_side_by_side_once_it_is_worth_it(
    walked: ResultStore, texts: DatasetSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first here, the others in two workers with the same bits, a large one in a process of its own."""
    kinds = [("a", "net", {}), ("b", "net", {}), ("c", "linear", {}), ("d", "net", {"width": 128, "layers": 6}),
             ("e", "net", {})]  # fmt: skip
    jobs = [_job(walked, texts, tmp_path / name, evaluator, **given) for name, evaluator, given in kinds]
    here: list[str] = []
    real = training_workers._train

    def noted(job: CellJob, log: Any) -> Any:
        here.append(job.target.name)
        return real(job, log)

    with LocalWorkers([], cores=2) as workers:
        monkeypatch.setattr(training_workers, "_train", noted)
        monkeypatch.setattr(training_workers, "WORTH", 0.0)
        metrics = workers.map(lambda job: workers.train(job, _ignore), jobs)
        assert len(multiprocessing.active_children()) == 3
    assert here == ["a"]
    assert not multiprocessing.active_children()
    assert [one["rows"] for one in metrics] == [40] * 5
    for name in ("predictions.parquet", "dynamics.parquet"):
        first, *others = [pq.read_table(tmp_path / folder / name) for folder in ("a", "b", "e")]
        assert all(first.equals(other) for other in others)


@pytest.mark.usefixtures("forked_workers")
def test_an_interruption_waits_for_no_training(
    walked: ResultStore, texts: DatasetSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two endless trainings, a small one in a worker and a large one that has a process alone, and Ctrl-C."""
    monkeypatch.setattr(training_workers, "WORTH", 0.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        endless: tuple[dict[str, Any], ...] = ({"epochs": 10_000}, {"epochs": 10_000, "width": 128, "layers": 6})
        for changes in endless:
            name = f"interrupted{len(changes)}"
            jobs = [_job(walked, texts, tmp_path / f"{name}-{one}", epochs=1) for one in "ab"]
            jobs += [_job(walked, texts, tmp_path / f"{name}-{one}", **changes) for one in "cd"]
            begun: list[float] = []

            def interrupt(line: str, begun: list[float] = begun) -> None:
                if "epoch 2 " in line and not begun:
                    begun.append(time.monotonic())
                    os.kill(os.getpid(), signal.SIGINT)

            with pytest.raises(KeyboardInterrupt), LocalWorkers([], cores=2) as workers:
                workers.map(lambda job, workers=workers: workers.train(job, interrupt), jobs)  # type: ignore[misc]
            assert time.monotonic() - begun[0] < 25
            assert not multiprocessing.active_children()
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_short_grid_starts_no_process(walked: ResultStore, texts: DatasetSpec, tmp_path: Path) -> None:
    jobs = [_job(walked, texts, tmp_path / name, "linear") for name in "abc"]
    with LocalWorkers([], cores=2) as workers:
        assert len(workers.map(lambda job: workers.train(job, _ignore), jobs)) == 3
        assert all(worker._child is None for worker in workers._all)


def test_workers_are_no_more_than_memory_suffices_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for free, workers in ((None, 8), (64 * 2**30, 8), (3 * 2**30 + 5, 3), (0, 1)):
        monkeypatch.setattr(training_workers, "available_memory", lambda free=free: free)
        assert training_workers.workers_with_memory(8) == workers


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
def test_what_ends_a_process_still_ends_a_worker(
    walked: ResultStore,
    texts: DatasetSpec,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    ending: type[BaseException],
) -> None:
    def end(job: CellJob, log: Any) -> None:
        raise ending

    ours, theirs = multiprocessing.Pipe()
    ours.send(_job(walked, texts, tmp_path / "cell", "linear"))
    monkeypatch.setattr(CellJob, "run", end)
    monkeypatch.setenv("AFLITE_THREADS", "1")
    with pytest.raises(ending):
        training_workers.serve(theirs)


@pytest.mark.usefixtures("forked_workers")
def test_the_grid_runs_in_workers_and_keeps_the_failure_of_one(
    texts: DatasetSpec, walked: ResultStore, filtered: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluators = {"net": NET, "hot": {**NET, **HOT}, "linear": {"kind": "linear"}}
    spec = parse_spec({**texts.model_dump(mode="json"), "evaluators": evaluators})
    monkeypatch.setattr(training_workers, "visible_gpus", lambda device: ["0", "1"])
    lines: list[str] = []
    results = run_pipeline(spec, store=filtered, progress=Progress(lines.append))
    grid = results["evaluator_models"].result
    cells = pq.read_table(grid.file("cells.parquet")).to_pylist()
    by_evaluator = {name: {c["status"] for c in cells if c["evaluator"] == name} for name in evaluators}
    assert by_evaluator == {"net": {"done"}, "hot": {"failed"}, "linear": {"done"}}
    assert all("training diverged" in c["reason"] for c in cells if c["status"] == "failed")
    expected = walked.current("evaluator_models", "texts").part("net.full.0")
    assert pq.read_table(grid.part("net.full.0").file("predictions.parquet")).equals(
        pq.read_table(expected.file("predictions.parquet"))
    )
    assert any(line.startswith(f"cell {len(cells)} of {len(cells)}, ") for line in lines)
    monkeypatch.undo()
    assert run_stage("evaluator_models", spec, store=filtered).result.summary["fitted"] == 0


def test_gpus_are_those_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert visible_gpus(DeviceSettings("cpu")) == []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert visible_gpus(DeviceSettings("auto")) == ["0", "1", "2"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2, GPU-5f")
    assert visible_gpus(DeviceSettings("cuda")) == ["2", "GPU-5f"]
