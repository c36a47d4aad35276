"""A whole pipeline on an object store gives the keys and data versions that it gives in a folder."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.cluster import ClusterSettings
from aflite_assets.errors import InvalidInputError
from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, _check_shared, run_pipeline
from tests.object_stores import SECRET, bucket


@pytest.mark.usefixtures("undrawn")
def test_a_pipeline_on_an_object_store_is_the_one_in_a_folder(
    first_walk: tuple[dict[str, Any], Path], machine: Callable[[str], ResultStore]
) -> None:
    content, folder = first_walk
    spec, local = parse_spec(content), ResultStore(folder / "results")
    here, there = machine("here"), machine("there")
    made = run_pipeline(spec, store=here)
    assert [result.cached for result in made.values()] == [False] * len(STAGES)
    expected = {name: local.current(name, spec.name) for name in STAGES}
    assert {name: (obtained.result.key, obtained.result.data_version) for name, obtained in made.items()} == {
        name: (result.key, result.data_version) for name, result in expected.items()
    }
    assert [each.name.count("/") for each in bucket(here).objects(f"refreshes/{spec.name}/")] == [2]

    assert plan_dataset(spec, there).up_to_date
    again = run_pipeline(spec, store=there)
    assert {name: obtained.result.data_version for name, obtained in again.items()} == {
        name: obtained.result.data_version for name, obtained in made.items()
    }
    assert all(obtained.cached for obtained in again.values())
    assert list(there.root.rglob("*.parquet")) == []  # nothing was read, so nothing was fetched
    report = there.current("benchmark_report", spec.name).file("report.html")
    assert report.read_bytes() == expected["benchmark_report"].file("report.html").read_bytes()
    for each in bucket(here).objects():
        stored = bucket(here).get(each.name)
        assert stored is not None
        assert SECRET.encode() not in stored.body


def test_a_cluster_of_other_machines_is_refused(
    first_walk: tuple[dict[str, Any], Path], machine: Callable[[str], ResultStore]
) -> None:
    """Its nodes would not see this machine's copies; a cluster on this machine does."""
    here, cluster = machine("here"), ClusterSettings("ray", "10.0.0.1:6379")
    with pytest.raises(
        InvalidInputError, match=r"selects the Ray cluster at 10\.0\.0\.1:6379, whose nodes cannot read .*s3://"
    ):
        _check_shared(cluster, here)
    for used, store in ((ClusterSettings("ray", "local"), here), (cluster, ResultStore(first_walk[1] / "results"))):
        _check_shared(used, store)
    _check_shared(ClusterSettings(), here)
