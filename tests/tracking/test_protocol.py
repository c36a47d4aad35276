import pytest

from aflite_assets.tracking import RunReference


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
