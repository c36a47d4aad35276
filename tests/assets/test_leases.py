"""A step of the pool `gpu` works on a leased card, says which in metadata and MLflow, and the others lease none."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from aflite_assets.assets import common, data, embedding, evaluation, warmup
from aflite_assets.assets.steps import attempts
from aflite_assets.cluster import ClusterSettings
from aflite_assets.models import device_leases
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import BUNDLED, Registry, load_spec, parse_spec
from aflite_assets.stages.child_process import StageJob
from aflite_assets.stages.pipeline import STAGES
from resources import ComputeCluster, ComputeDevice, ExperimentTracker, ResultStoreResource

ASSETS = [
    asset
    for asset in dg.load_assets_from_modules([data, warmup, embedding, evaluation])
    if isinstance(asset, dg.AssetsDefinition) and asset.key.path[-1] in STAGES
]


def test_cards_are_leased_named_and_given_back(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    content = load_spec(BUNDLED / "circles_1.yaml").model_dump(exclude_unset=True)
    content["source"]["splits"] = {"train": 200, "test": 100}
    spec = parse_spec(content)
    monkeypatch.setattr(common, "REGISTRY", Registry({spec.name: spec}, {}, {}))
    monkeypatch.setattr(device_leases, "_first_lease", [])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    monkeypatch.setenv("AFLITE_DEVICE_LOCKS", str(tmp_path / "locks"))
    resources: dict[str, Any] = {
        "result_store": ResultStoreResource(),
        "compute_device": ComputeDevice(),
        "compute_cluster": ComputeCluster(),
        "experiment_tracker": ExperimentTracker(),
    }
    with (
        device_leases.lease_devices(["3"], tmp_path / "locks", purpose="another step"),
        dg.DagsterInstance.ephemeral(str(tmp_path)) as instance,
    ):
        result = dg.materialize(
            ASSETS, selection=["raw_dataset", "warmup_split"], partition_key="circles_1", instance=instance,
            resources=resources,
        )  # fmt: skip
        said = [event.user_message for event in instance.all_logs(result.run_id)]
    assert result.success
    metadata = {one.asset_key.path[-1]: one.metadata for one in _materializations(result)}
    assert metadata["warmup_split"]["gpu"].value == "5"
    assert "gpu" not in metadata["raw_dataset"]
    assert "warmup_split of circles_1 has GPU 5" in said
    assert _parameter(home, "warmup_split", "devices") == "5"
    assert not list((tmp_path / "locks").glob("*.holder"))


def test_the_processor_needs_no_lease(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("AFLITE_DEVICE_LOCKS", str(tmp_path / "locks"))
    with ComputeDevice(device="cpu").lease("a step") as lease:
        assert lease.devices == ()
    assert not (tmp_path / "locks").exists()


@pytest.mark.parametrize(("cluster", "devices"), [(ClusterSettings(), ("0",)), (ClusterSettings("ray", "auto"), ())])
def test_cards_of_a_cluster_are_its_own_to_give(
    cluster: ClusterSettings, devices: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("AFLITE_DEVICE_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr(device_leases, "_first_lease", [])
    context: Any = SimpleNamespace(
        op_def=SimpleNamespace(pool="gpu"),
        log=SimpleNamespace(info=lambda line: None),
    )
    job = StageJob("embeddings", load_spec(BUNDLED / "circles_1.yaml"), ResultStore(tmp_path), cluster=cluster)
    with attempts._leased(context, job, ComputeDevice()) as lease:
        assert lease.devices == devices


def _materializations(result: dg.ExecuteInProcessResult) -> list[dg.AssetMaterialization]:
    return [event.materialization for event in result.get_asset_materialization_events()]


def _parameter(home: Path, asset: str, name: str) -> str:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{home}/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("aflite/circles_1")
    (run,) = client.search_runs([experiment.experiment_id], f"tags.`aflite.asset` = '{asset}'")
    return str(run.data.params[name])
