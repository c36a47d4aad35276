import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from mlflow import MlflowClient
from mlflow.entities import Metric, Run

from aflite_assets.errors import InvalidInputError, TrackingError
from aflite_assets.tracking import MlflowTracker

RunsOf = Callable[[str], list[Run]]


def test_parameters_are_flattened_and_cut(tracker: MlflowTracker, client: MlflowClient) -> None:
    with tracker.run("filtered_sets", "snli", "k1") as run:
        run.log_parameters(
            {
                "settings": {"threshold": 0.75, "solver": {"name": "newton"}},
                "classes": [0, 1],
                "empty": {},
                "nothing": None,
                "blank": "",
                "long": "x" * 7000,
            }
        )
    assert client.get_run(run.run_id).data.params == {
        "settings.threshold": "0.75",
        "settings.solver.name": "newton",
        "classes": "[0, 1]",
        "empty": "{}",
        "nothing": "None",
        "blank": "",
        "long": "x" * 6000,
    }


def test_parameters_again_keep_the_first_value_and_tag_the_new_one(
    tracker: MlflowTracker, client: MlflowClient
) -> None:
    with tracker.run("filtered_sets", "snli", "k1") as run:
        run.log_parameters({"device": "cuda", "seed": 0})
    with tracker.run("filtered_sets", "snli", "k1") as run:
        run.log_parameters({"device": "cpu", "seed": 0, "threads": 2})
    stored = client.get_run(run.run_id).data
    assert stored.params == {"device": "cuda", "seed": "0", "threads": "2"}
    changed = {name: value for name, value in stored.tags.items() if "changed" in name}
    assert changed == {"aflite.changed_parameter.device": "cpu"}


def test_more_parameters_and_metrics_than_fit_in_one_batch(tracker: MlflowTracker, client: MlflowClient) -> None:
    with tracker.run("filtered_sets", "snli", "k1") as run:
        run.log_parameters({f"p{number}": number for number in range(205)})
        run.log_metrics({f"m{number}": number / 2 for number in range(1003)})
    stored = client.get_run(run.run_id).data
    assert len(stored.params) == 205
    assert len(stored.metrics) == 1003
    assert stored.metrics["m1002"] == 501


def test_metrics_by_step_leave_out_what_is_not_finite(tracker: MlflowTracker, client: MlflowClient) -> None:
    with tracker.run("filtered_sets", "snli", "k1") as run:
        run.log_metrics({"representation_bias": 0.9, "odd": float("nan")}, step=0)
        run.log_metrics({"representation_bias": 0.5, "odd": float("inf")}, step=3)
        run.log_metrics({"rows": 7})
    history = client.get_metric_history(run.run_id, "representation_bias")
    assert [(point.step, point.value) for point in history] == [(0, 0.9), (3, 0.5)]
    assert client.get_run(run.run_id).data.metrics == {"representation_bias": 0.5, "rows": 7}


def test_series_are_logged_step_by_step_in_as_few_requests_as_mlflow_takes(
    tracker: MlflowTracker, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    log_batch = MlflowClient.log_batch

    def counted(self: MlflowClient, run_id: str, metrics: Sequence[Metric] = (), **settings: Any) -> Any:
        sizes.append(len(metrics))
        return log_batch(self, run_id, metrics, **settings)

    monkeypatch.setattr(MlflowClient, "log_batch", counted)
    losses = [1 / (epoch + 1) for epoch in range(700)]
    with tracker.run("warmup_models", "snli", "k1") as run:
        run.log_series({"epoch/loss": losses, "epoch/accuracy": [0.5, float("nan"), 0.75] * 200}, first_step=1)
    assert sizes == [1000, 100]
    history = client.get_metric_history(run.run_id, "epoch/loss")
    assert [(point.step, point.value) for point in history] == list(enumerate(losses, 1))
    accuracy = client.get_metric_history(run.run_id, "epoch/accuracy")
    assert [(point.step, point.value) for point in accuracy[:3]] == [(1, 0.5), (3, 0.75), (4, 0.5)]


def test_hostile_names_and_texts_are_stored(tracker: MlflowTracker, client: MlflowClient) -> None:
    with tracker.run("filtered_sets", "snli", "k1") as run:
        run.log_metrics({"accuracy/genre=a|b": 1.0, "accuracy/genre=a?b": 0.0, "/../x": 0.5, "": 0.25})
        run.log_parameters({"prompt": "null \x00 and half \udc80 of a pair"})
        with run.child("<script>'\"\x00", tags={"a=b": "\x00"}) as child:
            pass
    stored = client.get_run(run.run_id).data
    assert sorted(stored.metrics.values()) == [0, 0.25, 0.5, 1]
    assert stored.params == {"prompt": "null \N{REPLACEMENT CHARACTER} and half ? of a pair"}
    assert client.get_run(child.run_id).info.run_name == "<script>'\"\N{REPLACEMENT CHARACTER}"


def test_a_dataset_is_an_input_with_our_digest(tracker: MlflowTracker, client: MlflowClient) -> None:
    digest = "0123456789abcdef" * 4
    with tracker.run("evaluator_models", "snli", "k1") as run:
        for _ in range(2):
            run.log_dataset("snli filtered", digest=digest, context="training")
        run.log_dataset("snli test", digest="ff", context="evaluation")
    inputs = {entry.dataset.name: entry for entry in client.get_run(run.run_id).inputs.dataset_inputs}
    assert set(inputs) == {"snli filtered", "snli test"}
    entry = inputs["snli filtered"]
    assert entry.dataset.digest == digest[:36]
    assert json.loads(entry.dataset.source)["tags"]["aflite.digest"] == digest
    assert [(tag.key, tag.value) for tag in entry.tags] == [("mlflow.data.context", "training")]


def test_a_folder_is_kept_with_its_files(tracker: MlflowTracker, client: MlflowClient, tmp_path: Path) -> None:
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "curve.svg").write_text("<svg/>")
    with tracker.run("benchmark_report", "snli", "k1") as run:
        run.log_artifact(tmp_path / "figures")
        with pytest.raises(InvalidInputError, match=r"missing\.html does not exist; write the file"):
            run.log_artifact(tmp_path / "missing.html")
    assert [entry.path for entry in client.list_artifacts(run.run_id, "figures")] == ["figures/curve.svg"]


def test_a_table_is_one_that_mlflow_loads(
    tracker: MlflowTracker, client: MlflowClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = pa.table({"word": ["<b>\x1b", "not"], "z": [float("nan"), 4.0]})
    with tracker.run("bias_evidence", "snli", "k1") as run:
        run.log_table("words", words.slice(0, 1))
        run.log_table("words", words)  # a retry: the later one stands, whole
        run.log_table("../out of the way", words)
    assert run.reference is not None
    assert sorted(entry.path for entry in client.list_artifacts(run.run_id, "tables"))[1] == "tables/words.json"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", client.tracking_uri)  # load_table asks MLflow's own setting
    loaded = client.load_table(run.experiment_id, "tables/words.json", run_ids=[run.run_id])
    assert loaded["word"].tolist() == ["<b>\x1b", "not"]
    assert np.isnan(loaded["z"][0])
    assert loaded["z"][1] == 4.0
    logged = json.loads(client.get_run(run.run_id).data.tags["mlflow.loggedArtifacts"])
    assert [entry["type"] for entry in logged] == ["table", "table"]
    assert [entry["path"].count("/") for entry in logged] == [1, 1]


def named(run: Run) -> str:
    """A child's name, and the asset of a run that is none."""
    return str(run.data.tags.get("dagster/asset_key", run.info.run_name))


def test_children_hang_below_their_parent_and_continue(
    tracker: MlflowTracker, client: MlflowClient, runs_of: RunsOf
) -> None:
    def two_cells(*, fail: bool) -> None:
        with tracker.run("evaluator_models", "snli", "k1") as run:
            for seed in range(2):
                with run.child(f"linear filtered seed {seed}", tags={"seed": str(seed)}) as cell:
                    cell.log_metrics({"accuracy": 0.5 + seed})
                    if fail and seed:
                        raise RuntimeError("no disk space")

    with pytest.raises(RuntimeError, match="no disk space"):
        two_cells(fail=True)
    first = {named(run): run.info for run in runs_of("aflite/snli")}
    assert {name: info.status for name, info in first.items()} == {
        "evaluator_models": "FAILED",
        "linear filtered seed 0": "FINISHED",
        "linear filtered seed 1": "FAILED",
    }
    two_cells(fail=False)
    second = {named(run): run for run in runs_of("aflite/snli")}
    assert {run.info.run_id for run in second.values()} == {info.run_id for info in first.values()}
    assert {run.info.status for run in second.values()} == {"FINISHED"}
    child = second["linear filtered seed 1"]
    assert child.data.tags["mlflow.parentRunId"] == first["evaluator_models"].run_id
    assert child.data.tags["seed"] == "1"
    assert child.data.metrics == {"accuracy": 1.5}


def test_children_of_one_name_under_two_parents_are_two_runs(tracker: MlflowTracker, runs_of: RunsOf) -> None:
    for key in ("k1", "k2"):
        with tracker.run("evaluator_models", "snli", key) as run, run.child("seed 0"):
            pass
    assert len(runs_of("aflite/snli")) == 4


def test_mlflow_refusing_is_a_tracking_error(tracker: MlflowTracker, client: MlflowClient) -> None:
    def log_to_a_deleted_run() -> None:
        with tracker.run("filtered_sets", "snli", "k1") as run:
            client.delete_run(run.run_id)
            run.log_metrics({"accuracy": 0.5})

    with pytest.raises(TrackingError, match=r"cannot be used: .*must be in the 'active' state"):
        log_to_a_deleted_run()


def test_an_error_that_cannot_be_recorded_is_not_hidden(tracker: MlflowTracker, client: MlflowClient) -> None:
    def fail_in_a_deleted_run() -> None:
        with tracker.run("filtered_sets", "snli", "k1") as run:
            client.delete_run(run.run_id)
            raise ValueError("the real error")

    with pytest.raises(ValueError, match="the real error") as caught:
        fail_in_a_deleted_run()
    assert any("must be in the 'active' state" in note for note in caught.value.__notes__)


def test_an_error_text_too_long_for_a_tag_is_cut(tracker: MlflowTracker, client: MlflowClient) -> None:
    with pytest.raises(ValueError, match=r"y{9000}"), tracker.run("x", "snli", "k1") as run:
        raise ValueError("y" * 9000)
    assert len(client.get_run(run.run_id).data.tags["aflite.error"]) == 8000


def test_threads_of_one_process_open_children_side_by_side(tracker: MlflowTracker, runs_of: RunsOf) -> None:
    with tracker.run("evaluator_models", "snli", "k1") as run:

        def cell(number: int) -> None:
            with run.child(f"cell {number % 4}") as child:
                child.log_metrics({"number": number})

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(cell, range(16)))
    stored = runs_of("aflite/snli")
    children = [one.info.run_name for one in stored if one.data.tags.get("mlflow.parentRunId") == run.run_id]
    assert sorted(children) == [f"cell {number}" for number in range(4)]
    assert len(stored) == 5
