"""Which cluster the resource stands for."""

from typing import Any

import pytest

from aflite_assets.cluster import ClusterSettings
from aflite_assets.errors import InvalidInputError
from resources import ComputeCluster

LOCAL = ClusterSettings()


@pytest.mark.parametrize(
    ("given", "variable", "expected"),
    [
        ({}, None, LOCAL),
        ({}, "", LOCAL),
        ({}, "auto", ClusterSettings("ray", "auto")),
        ({"kind": "local"}, "auto", LOCAL),
        ({"kind": "ray"}, None, ClusterSettings("ray", "auto")),
        ({"kind": "ray"}, "10.0.0.1:6379", ClusterSettings("ray", "10.0.0.1:6379")),
        ({"address": "local", "workers": 2}, "auto", ClusterSettings("ray", "local", workers=2)),
        ({"kind": "ray", "cpus": 4, "gpus": 0.5}, None, ClusterSettings("ray", "auto", cpus=4, gpus=0.5)),
    ],
)
def test_the_address_decides(
    given: dict[str, Any], variable: str | None, expected: ClusterSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AFLITE_CLUSTER", raising=False)
    if variable is not None:
        monkeypatch.setenv("AFLITE_CLUSTER", variable)
    assert ComputeCluster(**given).settings() == expected


def test_this_machine_has_no_address() -> None:
    with pytest.raises(
        InvalidInputError, match=r"address` is 'auto', but `compute_cluster.kind` is 'local'; set `kind` to 'ray'"
    ):
        ComputeCluster(kind="local", address="auto").settings()
