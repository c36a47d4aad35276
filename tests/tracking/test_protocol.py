import pytest

from aflite_assets.tracking import RunReference


@pytest.mark.parametrize(
    ("uri", "url"),
    [
        ("http://host:5000/", "http://host:5000/#/experiments/3/runs/ab"),
        ("https://host/mlflow", "https://host/mlflow/#/experiments/3/runs/ab"),
        ("sqlite:////data/mlflow.db", None),
    ],
)
def test_only_a_server_has_pages(uri: str, url: str | None) -> None:
    assert RunReference(uri, "3", "ab").url == url
