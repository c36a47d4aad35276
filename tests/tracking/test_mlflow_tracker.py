import http.server
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from mlflow import MlflowClient
from mlflow.entities import Run

from aflite_assets.errors import TrackingError
from aflite_assets.stages.evaluation.grid import GridCell
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.train_sets import TrainSet
from aflite_assets.tracking import MlflowTracker
from tests.tracking.conftest import in_four_processes

RunsOf = Callable[[str], list[Run]]


def _start(mlflow_home: Path, number: int) -> None:
    with MlflowTracker(None, mlflow_home).run("evaluator_models", "snli", f"key{number}") as run:
        run.log_metrics({"accuracy": number / 4})


def test_four_processes_meet_a_new_database_at_once(tmp_path: Path) -> None:
    in_four_processes(_start, tmp_path)
    client = MlflowClient(tracking_uri=f"sqlite:///{tmp_path}/mlflow/mlflow.db")
    experiments = [each for each in client.search_experiments() if each.name.startswith("aflite/")]
    assert [each.name for each in experiments] == ["aflite/snli"]
    runs = client.search_runs([experiments[0].experiment_id])
    assert sorted(run.data.metrics["accuracy"] for run in runs) == [0, 0.25, 0.5, 0.75]
    assert {run.info.status for run in runs} == {"FINISHED"}


def test_importing_the_package_loads_no_mlflow() -> None:
    check = "import sys, aflite_assets.tracking; sys.exit('mlflow' in sys.modules or 'sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_run_is_named_tagged_and_finished(tracker: MlflowTracker, runs_of: RunsOf) -> None:
    with tracker.run("filtered_sets", "snli", "0a1b") as run:
        (open_run,) = runs_of("aflite/snli")
        assert open_run.info.status == "RUNNING"
    (stored,) = runs_of("aflite/snli")
    assert stored.info.run_id == run.run_id
    assert re.fullmatch(r"filtered_sets 0a1b \d{4}-\d\d-\d\d snli", stored.info.run_name)
    assert stored.info.status == "FINISHED"
    assert stored.info.end_time >= stored.info.start_time
    tags = {name: value for name, value in stored.data.tags.items() if not name.startswith("mlflow.")}
    assert tags.pop("aflite.identity")
    assert tags == {
        "aflite.asset": "filtered_sets",
        "aflite.partition": "snli",
        "aflite.key": "0a1b",
        "dagster/asset_key": "filtered_sets",
        "dagster/partition": "snli",
    }


def test_a_trackers_own_tags_go_to_every_run_and_follow_a_retry(mlflow_home: Path, runs_of: RunsOf) -> None:
    for number in ("first", "second"):
        tracker = MlflowTracker(None, mlflow_home, tags={"dagster/run_id": number, "mlflow.note.content": number})
        with tracker.run("filtered_sets", "snli", "0123456789abcdef"):
            pass
    (stored,) = runs_of("aflite/snli")
    assert stored.info.run_name.startswith("filtered_sets 01234567 ")
    assert {stored.data.tags[name] for name in ("dagster/run_id", "mlflow.note.content")} == {"second"}


def test_data_versions_stand_on_the_run_and_on_those_of_the_parts(tracker: MlflowTracker, runs_of: RunsOf) -> None:
    for key in ("k1", "k2"):
        with tracker.run("warmup_models", "snli", key) as run:
            for name in ("bert", "esim", "trial.100"):
                with run.child(name, title=f"{name} with a title"):
                    pass
    tracker.published("warmup_models", "snli", "k2", data_version="d0", parts={"bert": "d1", "esim": "d2"})
    versions = {
        (run.info.run_name.split()[0], run.data.tags.get("mlflow.parentRunId")): run.data.tags["dagster/data_version"]
        for run in runs_of("aflite/snli")
        if "dagster/data_version" in run.data.tags
    }
    (parent,) = [one.info.run_id for one in runs_of("aflite/snli") if one.data.tags.get("aflite.key") == "k2"]
    assert versions == {("warmup_models", None): "d0", ("bert", parent): "d1", ("esim", parent): "d2"}


def test_cells_of_two_seeds_differ_in_their_first_30_characters() -> None:
    rows = TrainSet("single_pass_linear", "a_representation", np.arange(2))
    titles = {GridCell("bert_base", rows, seed).title[:30] for seed in range(3)}
    assert titles == {f"bert_base.{seed}.single_pass_linear" for seed in range(3)}


def test_a_run_that_is_gone_gets_no_version(tracker: MlflowTracker, runs_of: RunsOf) -> None:
    tracker.published("embeddings", "snli", "k1", data_version="d0", parts={"bert": "d1"})
    assert runs_of("aflite/snli") == []


def test_a_retry_continues_the_failed_run(tracker: MlflowTracker, mlflow_home: Path, runs_of: RunsOf) -> None:
    with pytest.raises(ValueError, match="out of memory"), tracker.run("embeddings", "snli", "k1"):
        raise ValueError("out of memory")
    (failed,) = runs_of("aflite/snli")
    assert failed.info.status == "FAILED"
    assert failed.data.tags["aflite.error"] == "ValueError: out of memory"

    with MlflowTracker(None, mlflow_home).run("embeddings", "snli", "k1") as run:
        (again,) = runs_of("aflite/snli")
        assert again.info.status == "RUNNING"
        assert "aflite.error" not in again.data.tags
    (finished,) = runs_of("aflite/snli")
    assert finished.info.run_id == failed.info.run_id == run.run_id
    assert finished.info.status == "FINISHED"


@pytest.mark.parametrize("other", [("embeddings", "snli", "k2"), ("raw_dataset", "snli", "k1")])
def test_another_key_or_asset_is_another_run(
    tracker: MlflowTracker, runs_of: RunsOf, other: tuple[str, str, str]
) -> None:
    with tracker.run("embeddings", "snli", "k1"), tracker.run(*other):
        assert len(runs_of("aflite/snli")) == 2


def test_each_dataset_has_its_experiment(tracker: MlflowTracker, runs_of: RunsOf) -> None:
    for partition in ("snli", "qnli"):
        with tracker.run("embeddings", partition, "k1"):
            pass
    assert len(runs_of("aflite/snli")) == len(runs_of("aflite/qnli")) == 1


def test_an_experiment_is_of_the_kind_that_trains_models(tracker: MlflowTracker, client: MlflowClient) -> None:
    with tracker.run("embeddings", "snli", "k1") as run:
        pass
    assert client.get_experiment(run.experiment_id).tags["mlflow.experimentKind"] == "custom_model_development"


def test_an_experiment_without_a_kind_gets_one_and_a_kind_that_a_person_chose_stays(
    tracker: MlflowTracker, client: MlflowClient
) -> None:
    earlier = client.create_experiment("aflite/snli")
    chosen = client.create_experiment("aflite/qnli", tags={"mlflow.experimentKind": "classification"})
    for partition in ("snli", "qnli"):
        with tracker.run("embeddings", partition, "k1"):
            pass
    kinds = [client.get_experiment(each).tags["mlflow.experimentKind"] for each in (earlier, chosen)]
    assert kinds == ["custom_model_development", "classification"]


def test_names_of_stages_differ_in_their_first_30_characters(tracker: MlflowTracker, runs_of: RunsOf) -> None:
    dataset = "a_dataset_whose_name_is_longer_than_thirty_characters"
    for stage in STAGES:
        for key in ("0" * 64, "1" * 64):
            with tracker.run(stage, dataset, key):
                pass
    starts = {run.info.run_name[:30] for run in runs_of(f"aflite/{dataset}")}
    assert len(starts) == 2 * len(STAGES)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interrupted_run_is_killed(
    tracker: MlflowTracker, runs_of: RunsOf, interruption: type[BaseException]
) -> None:
    with pytest.raises(interruption), tracker.run("embeddings", "snli", "k1"):
        raise interruption
    (stored,) = runs_of("aflite/snli")
    assert stored.info.status == "KILLED"
    assert stored.data.tags["aflite.error"] == f"{interruption.__name__}: "


def test_a_deleted_experiment_is_used_again(tracker: MlflowTracker, client: MlflowClient) -> None:
    with tracker.run("embeddings", "snli", "k1") as run:
        pass
    client.delete_experiment(run.experiment_id)
    with tracker.run("embeddings", "snli", "k2"):
        pass
    assert client.get_experiment(run.experiment_id).lifecycle_stage == "active"


def test_a_deleted_run_is_not_continued(tracker: MlflowTracker, client: MlflowClient, runs_of: RunsOf) -> None:
    with tracker.run("embeddings", "snli", "k1") as run:
        pass
    client.delete_run(run.run_id)
    with tracker.run("embeddings", "snli", "k1"):
        pass
    (stored,) = runs_of("aflite/snli")
    assert stored.info.run_id != run.run_id


def test_an_experiment_another_machine_made_first_is_taken(
    tracker: MlflowTracker, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = client.create_experiment("aflite/snli")
    answers = iter([None, client.get_experiment(made)])
    monkeypatch.setattr(tracker.session.client, "get_experiment_by_name", lambda name: next(answers))
    with tracker.run("embeddings", "snli", "k1") as run:
        assert run.experiment_id == made


def test_nothing_is_written_into_the_working_folder(
    tracker: MlflowTracker, mlflow_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    (tmp_path / "report.html").write_text("<p>words</p>")
    with tracker.run("benchmark_report", "snli", "k1") as run:
        run.log_artifact(tmp_path / "report.html")
    copy = mlflow_home / "mlflow" / "artifacts" / run.run_id / "artifacts" / "report.html"
    assert copy.read_text() == "<p>words</p>"
    assert list(elsewhere.iterdir()) == []


def test_telemetry_is_off_unless_the_user_says_otherwise(mlflow_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_DISABLE_TELEMETRY", raising=False)
    assert MlflowTracker(None, mlflow_home).session.client
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "true"
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "false")
    assert MlflowTracker(None, mlflow_home).session.client
    assert os.environ["MLFLOW_DISABLE_TELEMETRY"] == "false"


def test_a_relative_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TrackingError, match=r"'sqlite:///mlflow.db' is a relative path.*absolute path"):
        MlflowTracker("sqlite:///mlflow.db", tmp_path)


def test_a_home_that_sqlite_would_misread_is_refused(tmp_path: Path) -> None:
    home = tmp_path / "what?"
    with pytest.raises(TrackingError, match=r"MLflow's database cannot be in .*/what\?/mlflow, because a `\?`"):
        MlflowTracker(None, home)
    assert MlflowTracker("http://127.0.0.1:1", home).uri is not None


def test_a_given_database_is_used(mlflow_home: Path, tmp_path: Path, runs_of: RunsOf) -> None:
    tracker = MlflowTracker(f"sqlite:///{mlflow_home}/mlflow/mlflow.db", tmp_path / "other")
    with tracker.run("embeddings", "snli", "k1") as run:
        assert run.reference.tracking_uri == f"sqlite:///{mlflow_home}/mlflow/mlflow.db"
    assert len(runs_of("aflite/snli")) == 1


def test_a_server_that_is_not_there_is_named_without_its_password(tmp_path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    tracker = MlflowTracker(f"http://ann:secret@127.0.0.1:{port}", tmp_path)
    expected = rf"^MLflow at http://127.0.0.1:{port} cannot be used: .*refused.*; start the server"
    with pytest.raises(TrackingError, match=expected), tracker.run("embeddings", "snli", "k1"):
        pass


class BrokenServer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(502)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def broken_server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), BrokenServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_server_that_fails_is_not_waited_for(broken_server: str, tmp_path: Path) -> None:
    tracker = MlflowTracker(broken_server, tmp_path)
    with pytest.raises(TrackingError, match="HTTP Error 502"), tracker.run("embeddings", "snli", "k1"):
        pass


@pytest.mark.parametrize("uri", ["file:///nowhere/mlruns", "sqlite:///{file}/mlflow.db", "odd://x"])
def test_an_address_mlflow_refuses_is_named(tmp_path: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # MLflow tries ten times, each wait twice the last, to connect to a database.
    monkeypatch.setattr("mlflow.store.db.utils.MAX_RETRY_COUNT", 1)
    (tmp_path / "file").touch()
    tracker = MlflowTracker(uri.format(file=tmp_path / "file"), tmp_path)
    expected = re.escape(f"MLflow at {tracker.uri} cannot be used: ")
    with pytest.raises(TrackingError, match=expected), tracker.run("embeddings", "snli", "k1"):
        pass
