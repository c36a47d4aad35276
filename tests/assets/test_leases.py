"""A stage that is made on a card holds a slot of the pool `gpu` and a leased card; others hold neither, nor wait."""

import time
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from aflite_assets.assets import data, embedding, evaluation, warmup
from aflite_assets.assets.steps import attempts
from aflite_assets.cluster import ClusterSettings
from aflite_assets.models import device_leases
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import BUNDLED, load_spec, parse_spec
from aflite_assets.stages import child_process
from aflite_assets.stages.child_process import StageJob, StageWorker
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.stage import no_progress
from aflite_assets.studies import parts
from resources import ComputeDevice
from tests.assets.made import few_circles, materialize, register, resources
from tests.forked import ForkedChild

ASSETS = [
    asset
    for asset in (
        *dg.load_assets_from_modules([data, warmup, embedding, evaluation]),
        *parts("assets.assets", dg.AssetsDefinition),
    )
    if isinstance(asset, dg.AssetsDefinition) and asset.key.path[-1] in STAGES
]


def test_cards_are_leased_named_and_given_back(
    tracking_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    register(monkeypatch, few_circles(200, 100))
    monkeypatch.setattr(device_leases, "_first_lease", [])
    monkeypatch.setattr(child_process, "ChildProcess", ForkedChild)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    monkeypatch.setenv("AFLITE_DEVICE_LOCKS", str(tmp_path / "locks"))
    with (
        device_leases.lease_devices(["3"], tmp_path / "locks", purpose="another step"),
        dg.DagsterInstance.ephemeral(str(tmp_path)) as instance,
    ):
        result = materialize(
            ASSETS, selection=["raw_dataset", "warmup_split"], instance=instance,
            resources=resources(compute_device=ComputeDevice()),
        )  # fmt: skip
        said = [event.user_message for event in instance.all_logs(result.run_id)]
    assert result.success
    metadata = {one.asset_key.path[-1]: one.metadata for one in _materializations(result)}
    assert metadata["warmup_split"]["gpu"].value == "5"
    assert "gpu" not in metadata["raw_dataset"]
    assert "warmup_split of circles_1 has GPU 5" in said
    assert _parameter(tracking_home, "warmup_split", "devices") == "5"
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
    job = StageJob("embeddings", load_spec(BUNDLED / "circles_1.yaml"), ResultStore(tmp_path), cluster=cluster)
    with _instance(tmp_path) as instance, attempts._leased(_step(instance), job, ComputeDevice()) as lease:
        assert lease.devices == devices
        assert _slots_taken(instance) == len(devices)
    with _instance(tmp_path) as instance:
        assert _slots_taken(instance) == 0


def test_a_stage_without_a_card_waits_for_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All slots are taken: on the processor, and by a stage that never uses a card, none is asked for."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("AFLITE_DEVICE_LOCKS", str(tmp_path / "locks"))
    spec, store = load_spec(BUNDLED / "circles_1.yaml"), ResultStore(tmp_path)
    with _instance(tmp_path) as instance:
        instance.event_log_storage.initialize_concurrency_limit_to_default("gpu")
        assert instance.event_log_storage.claim_concurrency_slot("gpu", "another run", "its step").is_claimed
        for name, device in (("embeddings", ComputeDevice(device="cpu")), ("raw_dataset", ComputeDevice())):
            with attempts._leased(_step(instance), StageJob(name, spec, store), device) as lease:
                assert lease.devices == ()


def test_a_stage_waits_for_a_slot_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("AFLITE_DEVICE_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setattr(device_leases, "_first_lease", [])
    job = StageJob("embeddings", load_spec(BUNDLED / "circles_1.yaml"), ResultStore(tmp_path))
    lines: list[str] = []
    with _instance(tmp_path) as instance:
        taken = instance.event_log_storage
        taken.initialize_concurrency_limit_to_default("gpu")
        assert taken.claim_concurrency_slot("gpu", "another run", "its step").is_claimed
        release = Timer(1.5, lambda: taken.free_concurrency_slots_for_run("another run"))
        release.start()
        started = time.monotonic()
        with attempts._leased(_step(instance, lines.append), job, ComputeDevice()) as lease:
            assert time.monotonic() - started >= 1.5
            assert lease.devices == ("0",)
        release.join()
        assert _slots_taken(instance) == 0
    assert lines[0] == "Waiting for a slot of the pool 'gpu', because other runs that use GPUs hold all slots"


def test_what_holds_nothing_is_made_in_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec, store = parse_spec(few_circles(200, 100)), ResultStore(tmp_path / "results")
    for name in STAGES["train_sample"].input_names:
        run_stage(name, spec, store=store)

    def refused(*job: object, **rest: object) -> None:
        pytest.fail("a process, or a run of MLflow, for nothing")

    monkeypatch.setattr(attempts, "make_in_child", refused)
    tracker: Any = SimpleNamespace(run=refused)
    job = StageJob("train_sample", spec, store, tracker)
    with _instance(tmp_path) as instance:
        obtained = attempts.found_or_made(
            _step(instance), job, no_progress, compute_device=ComputeDevice(), worker=StageWorker()
        )
    assert not obtained.cached
    assert obtained.result.summary == {"nothing_asked": True}


def _instance(folder: Path) -> dg.DagsterInstance:
    """One slot in every pool, and a history in files."""
    (folder / "dagster.yaml").write_text(
        "telemetry: {enabled: false}\nconcurrency: {pools: {granularity: op, default_limit: 1}}\n"
    )
    return dg.DagsterInstance.from_config(str(folder))


def _step(instance: dg.DagsterInstance, log: Callable[[str], object] = lambda line: None) -> Any:
    """What a step's context has that leases and slots look at."""
    return SimpleNamespace(
        instance=instance,
        run=dg.DagsterRun("benchmark", run_id="this run"),
        op_def=SimpleNamespace(name="embeddings"),
        log=SimpleNamespace(info=log),
        retry_number=0,
    )


def _slots_taken(instance: dg.DagsterInstance) -> int:
    return instance.event_log_storage.get_concurrency_info("gpu").active_slot_count


def _materializations(result: dg.ExecuteInProcessResult) -> list[dg.AssetMaterialization]:
    return [event.materialization for event in result.get_asset_materialization_events()]


def _parameter(home: Path, asset: str, name: str) -> str:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{home}/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("aflite/circles_1")
    (run,) = client.search_runs([experiment.experiment_id], f"tags.`aflite.asset` = '{asset}'")
    return str(run.data.params[name])
