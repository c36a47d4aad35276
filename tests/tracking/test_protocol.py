from pathlib import Path

import pyarrow as pa
import pytest

from aflite_assets.tracking import NullTracker, RunReference, Tracker


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("http://host:5000/", "http://host:5000/#/experiments/3/runs/ab?workflowType=machine_learning"),
        ("https://host/mlflow", "https://host/mlflow/#/experiments/3/runs/ab?workflowType=machine_learning"),
        ("sqlite:////data/mlflow.db", None),
    ],
)
def test_only_a_server_has_pages(uri: str, url: str | None) -> None:
    assert RunReference(uri, "3", "ab").url == url


def test_pages_are_where_they_are_told_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_MLFLOW_URL", "http://127.0.0.1:5000/")
    database = RunReference("sqlite:////data/mlflow.db", "3", "ab")
    assert database.url == "http://127.0.0.1:5000/#/experiments/3/runs/ab?workflowType=machine_learning"
    assert database.experiment_fragment == "#/experiments/3?workflowType=machine_learning"
    assert RunReference("http://mlflow:5000", "3", "ab").server == "http://127.0.0.1:5000"


def test_everything_is_accepted_and_nothing_kept(tmp_path: Path) -> None:
    tracker: Tracker = NullTracker()
    with tracker.run("filtered_sets", "snli", "k1") as run, run.child("seed 0", tags={"a": "b"}) as child:
        for each in (run, child):
            each.log_parameters({"a": {"b": 1}})
            each.log_metrics({"accuracy": 0.5}, step=1)
            each.log_series({"loss": [0.5]}, first_step=1)
            each.log_dataset("snli", digest="ff", context="training")
            each.log_artifact(tmp_path / "missing.html")
            each.log_table("words", pa.table({"word": ["not"], "z": [4.0]}))
            assert each.reference is None
    tracker.published("filtered_sets", "snli", "k1", data_version="d0", parts={})
    assert list(tmp_path.iterdir()) == []


def test_errors_pass_through() -> None:
    with pytest.raises(ValueError, match="as raised"), NullTracker().run("filtered_sets", "snli", "k1"):
        raise ValueError("as raised")
