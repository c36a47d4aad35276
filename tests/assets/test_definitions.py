"""The Dagster layer: which assets exist, what they declare, and what a materialisation tells Dagster and MLflow."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import definitions
from aflite_assets.assets import common, data, embedding, evaluation, filtering, report, warmup
from aflite_assets.models import evaluators
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import ON_CARDS, STAGES
from aflite_assets.studies import parts
from resources import ComputeDevice
from tests.assets.made import few_circles, materialize, register

GROUPS = {
    "dataset_registry": "data",
    "raw_dataset": "data",
    "challenge_sets": "data",
    "cue_scan": "data",
    "train_sample": "data",
    "warmup_split": "warmup",
    "warmup_models": "warmup",
    "embeddings": "embedding",
    "filtered_sets": "filtering",
    "iteration_sets": "filtering",
    "control_sets": "filtering",
    "published_dataset": "filtering",
    "forgettable_sets": "evaluation",
    "leaning_sets": "evaluation",
    "evaluator_models": "evaluation",
    "bias_evidence": "evaluation",
    "analysis": "evaluation",
    "benchmark_report": "report",
    "refresh_plan": "report",
    "source_files": "data",
}
READ_FILES = {"raw_dataset": {"source_files"}, "challenge_sets": {"source_files"}}
FILTER_JOB = {
    "raw_dataset", "train_sample", "warmup_split", "warmup_models", "embeddings", "filtered_sets", "control_sets",
    "published_dataset",
}  # fmt: skip


def test_definitions_are_valid_and_can_be_built_anew() -> None:
    dg.Definitions.validate_loadable(definitions.defs)
    other = definitions.build_definitions(compute_device=ComputeDevice(device="cpu"))
    assert other.resources is not None
    assert other.resources["compute_device"].device == "cpu"


def test_assets_are_these_and_say_what_they_are() -> None:
    graph = definitions.defs.resolve_asset_graph()
    assert {key.path[-1]: graph.get(key).group_name for key in graph.get_all_asset_keys()} == GROUPS
    for key in graph.get_all_asset_keys():
        node = graph.get(key)
        assert node.owners == ["team:aflite"], key
        assert node.description, key
        assert node.code_version or not node.is_materializable or not node.is_partitioned, key


def test_assets_depend_on_what_their_stages_read() -> None:
    graph = definitions.defs.resolve_asset_graph()
    for stage in STAGES.values():
        parents = {key.path[-1] for key in graph.get(dg.AssetKey(stage.name)).parent_keys}
        assert parents == set(stage.input_names) | READ_FILES.get(stage.name, set()), stage.name
    assert not graph.get(dg.AssetKey("dataset_registry")).child_keys
    assert not graph.get(dg.AssetKey("iteration_sets")).child_keys


def test_no_asset_waits_in_a_pool_before_its_step_begins() -> None:
    """What is found needs no card, and a run that waits in a pool is passed over by later ones (`card_slots`)."""
    graph = definitions.defs.resolve_asset_graph()
    assert {pool for key in graph.get_all_asset_keys() for pool in graph.get(key).pools or ()} == set()
    assert set(STAGES) >= ON_CARDS


def test_jobs_hold_all_that_can_be_made_on_the_way() -> None:
    repository = definitions.defs.get_repository_def()
    assert {key.path[-1] for key in repository.get_job("filter").asset_layer.executable_asset_keys} == FILTER_JOB
    everything = {key.path[-1] for key in repository.get_job("benchmark").asset_layer.executable_asset_keys}
    assert everything == set(STAGES)


PARTITIONED = [
    asset
    for asset in (
        *dg.load_assets_from_modules([data, warmup, embedding, filtering, evaluation, report]),
        *parts("assets.assets", dg.AssetsDefinition),
    )
    if isinstance(asset, dg.AssetsDefinition) and asset.key.path[-1] in STAGES
]


@pytest.fixture
def small(
    monkeypatch: pytest.MonkeyPatch, made_here: None, undrawn: None, few_permutations: None, tracking_home: Path
) -> DatasetSpec:
    """The bundled circles with fewer rows and partitions, under the same name."""
    content = few_circles(400, 200)
    content["filter"] |= {"n_partitions": 8, "slice_size": 0.15}
    content["seeds"] = [0]
    content["evaluators"] = {"linear": content["evaluators"]["linear"]}
    register(monkeypatch, content)
    return parse_spec(content)


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral(str(tmp_path)) as made:
        yield made


def test_materialising_twice(
    small: DatasetSpec, instance: dg.DagsterInstance, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = materialize(PARTITIONED, instance=instance)
    assert first.success
    failed = {evaluation.check_name for evaluation in first.get_asset_check_evaluations() if not evaluation.passed}
    assert failed <= {"no_artefact_tells", "no_cautions", "all_rows_labelled", "not_at_chance_on_challenge_sets"}
    learnt = next(
        one for one in first.get_asset_check_evaluations() if one.check_name == "better_than_largest_class"
        and one.asset_key.path[-1] == "evaluator_models"
    )  # fmt: skip
    assert learnt.severity == dg.AssetCheckSeverity.WARN
    assert "failed" not in learnt.metadata
    assert str(learnt.metadata["found"].value).startswith("linear: ")
    (elsewhere,) = (
        one for one in first.get_asset_check_evaluations() if one.check_name == "not_at_chance_on_challenge_sets"
    )
    # no line parts the circles once their bias features are gone
    assert (elsewhere.passed, elsewhere.metadata["failed"].value) == (False, "unbiased")
    assert re.match(
        r"unbiased: At chance: linear \(5\d\.\d %; the largest class gets 50\.0 %, difference 95 % of test rows alone",
        str(elsewhere.metadata["found"].value),
    )

    iterations = _iteration_events(instance)
    assert [key["iteration"] for key in iterations] == [f"{number:03d}" for number in range(len(iterations))]
    assert {key["dataset"] for key in iterations} == {"circles_1"}
    versions = _versions(first)
    assert set(versions) == set(STAGES)
    _check_tracked_runs(home, len(iterations), first)

    _check_what_is_shown(_materializations(first), home)

    monkeypatch.setattr(evaluators, "evaluate", lambda *args, **kwargs: pytest.fail("a cell was fitted again"))
    with dg.DagsterInstance.ephemeral() as fresh:
        second = materialize(PARTITIONED, instance=fresh)
        assert second.success
        assert _versions(second) == versions
        assert [key["iteration"] for key in _iteration_events(fresh)] == [key["iteration"] for key in iterations]
        reused = {name: one.metadata["reused"].value for name, one in _materializations(second).items()}
        assert reused == dict.fromkeys(STAGES, True)


def _iteration_events(instance: dg.DagsterInstance) -> list[dict[str, str]]:
    records = instance.fetch_materializations(dg.AssetKey("iteration_sets"), limit=100, ascending=True).records
    keys = [str(record.partition_key).split("|") for record in records]
    return [{"dataset": dataset, "iteration": iteration} for dataset, iteration in keys]


def _materializations(result: dg.ExecuteInProcessResult) -> dict[str, dg.AssetMaterialization]:
    """What the stages' assets reported, by name; the loop's reports of its iterations are left out."""
    reported = [event.materialization for event in result.get_asset_materialization_events()]
    return {one.asset_key.path[-1]: one for one in reported if one.asset_key.path[-1] in STAGES}


def _versions(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    return {name: (one.tags or {})["dagster/data_version"] for name, one in _materializations(result).items()}


def _check_what_is_shown(made: dict[str, dg.AssetMaterialization], home: Path) -> None:
    """A link that works when it is pasted, numbers to plot, a curve that shows at once."""
    shown: dict[str, dict[str, Any]] = {
        name: {key: value.value for key, value in one.metadata.items()} for name, one in made.items()
    }
    report = ResultStore(home / "results").current("benchmark_report", "circles_1").file("report.html")
    assert shown["benchmark_report"]["report"] == str(report)
    assert shown["benchmark_report"]["report_link"] == report.as_uri()
    for name in ("evaluator_models", "benchmark_report"):
        assert 0 <= shown[name]["accuracy.full"] <= 1, name
        assert 0 <= shown[name]["accuracy.filtered"] <= 1, name
    filtered = shown["filtered_sets"]
    assert filtered["share_kept"] == filtered["train_rows_kept"] / 400
    assert filtered["bias_after"] < filtered["bias_before"] <= 1
    assert len(filtered["filtering_given_features"]) < 1000


def _check_tracked_runs(home: Path, iterations: int, result: dg.ExecuteInProcessResult) -> None:
    """One run per asset, nested ones per cell and representation, metrics by step, the report as an artifact.

    Runs and versions bear Dagster's names. What holds nothing has no run.
    """
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{home}/mlflow/mlflow.db")
    experiment = client.get_experiment_by_name("aflite/circles_1")
    runs = client.search_runs([experiment.experiment_id], max_results=200)
    (refresh,) = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    assert refresh.data.tags["aflite.refresh"] == refresh.data.tags["dagster/run_id"] == result.run_id
    parents = {run.data.tags["dagster/asset_key"]: run for run in runs if "dagster/asset_key" in run.data.tags}
    assert {run.data.tags["mlflow.parentRunId"] for run in parents.values()} == {refresh.info.run_id}
    assert set(parents) == set(STAGES) - {"train_sample", "forgettable_sets"}
    versions = {name: version for name, version in _versions(result).items() if name in parents}
    assert {name: run.data.tags["dagster/data_version"] for name, run in parents.items()} == versions
    assert {run.data.tags["dagster/run_id"] for run in parents.values()} == {result.run_id}
    assert {run.info.status for run in runs} == {"FINISHED"}
    children = {
        name: [run for run in runs if run.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
        for name, parent in parents.items()
    }
    loop = children["filtered_sets"][0]
    history = client.get_metric_history(loop.info.run_id, "representation_bias")
    assert [metric.step for metric in history] == list(range(iterations))
    cells = {run.info.run_name: run for run in children["evaluator_models"]}
    assert "linear.0.full" in cells
    assert len({run.data.tags["dagster/data_version"] for run in cells.values()}) > 1
    assert 0 <= cells["linear.0.full"].data.metrics["accuracy.test"] <= 1
    assert cells["linear.0.full"].inputs.dataset_inputs[0].dataset.name == "circles_1.full"
    artifacts = {file.path for file in client.list_artifacts(parents["benchmark_report"].info.run_id)}
    assert artifacts == {"report.json"}
    page = Path(parents["benchmark_report"].data.params["report_page"])
    assert page == ResultStore(home / "results").current("benchmark_report", "circles_1").file("report.html")


def test_refused_input_stops_the_run_and_names_the_reason(
    instance: dg.DagsterInstance, home: Path, monkeypatch: pytest.MonkeyPatch, small: DatasetSpec
) -> None:
    content = small.model_dump(exclude_unset=True)
    register(monkeypatch, content | {"filter": content["filter"] | {"target_size": 9999}})
    result = materialize(PARTITIONED, instance=instance, raise_on_error=False)
    assert not result.success
    failure = result.failure_data_for_node("warmup_split")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert "`filter.target_size` is 9,999, but there are only 400" in str(failure.user_failure_data.description)
    published = {path.parent.parent.parent.name for path in (home / "results").rglob("manifest.json")}
    assert published == {"raw_dataset", "challenge_sets", "cue_scan", "train_sample"}


def _flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(0, 0))  # the clock of files ticks coarsely


def test_a_damaged_result_is_made_again_by_its_next_run(
    small: DatasetSpec, instance: dg.DagsterInstance, home: Path
) -> None:
    first = _versions(materialize(PARTITIONED, instance=instance, selection="raw_dataset"))
    _flip(ResultStore(home / "results").current("raw_dataset", "circles_1").file("rows-00000.parquet"))
    result = materialize(PARTITIONED, instance=instance, selection=["raw_dataset", "warmup_split"])
    assert result.success
    assert _versions(result)["raw_dataset"] == first["raw_dataset"]
    assert len(list((home / "results" / "raw_dataset" / "circles_1" / ".damaged").iterdir())) == 1


def test_damage_after_a_result_was_found_blocks_what_follows(
    small: DatasetSpec, instance: dg.DagsterInstance, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_asset, first_two = common.run_asset, ["raw_dataset", "warmup_split"]

    def damaged_since(*arguments: Any, **given: Any) -> common.AssetRun:
        obtained = run_asset(*arguments, **given)
        _flip(obtained.result.file("rows-00000.parquet"))
        return obtained

    with monkeypatch.context() as patch:
        patch.setattr(common, "run_asset", damaged_since)
        result = materialize(PARTITIONED, instance=instance, selection=first_two, raise_on_error=False)
    assert not result.success
    assert "warmup_split" not in _versions(result)
    assert materialize(PARTITIONED, instance=instance, selection=first_two).success


def test_registry_shows_broken_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.yaml").write_text("sorce: {}")
    monkeypatch.setenv("AFLITE_DATASETS", str(tmp_path))
    result = dg.materialize([data.dataset_registry])
    assert result.success
    evaluation = result.get_asset_check_evaluations()[0]
    assert (evaluation.check_name, evaluation.passed) == ("specs_valid", False)
    assert "broken.yaml" in str(evaluation.metadata["failures"].value)
