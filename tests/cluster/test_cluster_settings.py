"""Which clusters can be asked for, and what is refused."""

import sys
from typing import Any

import pytest

from aflite_assets.cluster import ClusterSettings, open_cluster
from aflite_assets.errors import ClusterError, InvalidInputError


@pytest.mark.parametrize("address", ["auto", "10.0.0.1:6379", "head.cluster.local:6379", "ray://10.0.0.1:10001"])
def test_addresses(address: str) -> None:
    assert str(ClusterSettings("ray", address)) == f"the Ray cluster at {address}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind": "dask"}, r"kind` is 'dask', which is not a known kind; give one of local, ray"),
        ({"address": "auto"}, r"address` is 'auto', but `compute_cluster.kind` is 'local'; set `kind` to 'ray'"),
        ({"kind": "ray", "address": "10.0.0.1"}, r"address` is '10.0.0.1', which is not an address; give 'auto'"),
        ({"kind": "ray", "workers": 0}, r"workers` is 0; give a number of at least 1, or leave"),
        ({"kind": "ray", "gpus": -1.0}, r"gpus` is -1.0; give a number of at least 0"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ClusterSettings(**given)


def test_this_process_spreads_nothing() -> None:
    with open_cluster(ClusterSettings(), log=print) as cluster:
        assert not cluster.spreads


def test_ray_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with (
        pytest.raises(ClusterError, match=r"Ray cannot be imported .*; install `aflite-assets\[ray\]`"),
        open_cluster(ClusterSettings("ray"), log=print),
    ):
        pass
