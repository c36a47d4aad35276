"""What is stale, by the check of all datasets and by the asset that shows the plan of all."""

import dagster as dg

from aflite_assets.assets.refresh import refresh_plan
from aflite_assets.assets.watched import source_files
from aflite_assets.automation.up_to_date import up_to_date
from aflite_assets.stages.pipeline import STAGES
from resources import ResultStoreResource
from tests.automation.conftest import Deployment


def test_the_check_is_evaluated_by_hand(deployment: Deployment) -> None:
    deployment.edit("digits", title="Other words")
    (deployment.folder / "circles_2.yaml").write_text("title: [", encoding="utf-8")
    chosen = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey("source_files"), "up_to_date"))
    built = dg.Definitions(
        assets=[source_files],
        asset_checks=[up_to_date],
        jobs=[dg.define_asset_job("checks", chosen)],
        resources={"result_store": ResultStoreResource()},
    )
    done = built.resolve_job_def("checks").execute_in_process(instance=deployment.instance)
    (found,) = done.get_asset_check_evaluations()
    assert (found.check_name, found.passed, found.severity) == ("up_to_date", False, dg.AssetCheckSeverity.WARN)
    stale = [line.split(":")[:2] for line in str(found.metadata["stale"].value).splitlines()]
    behind = [["digits", f" {stage}"] for stage in ("published_dataset", "analysis", "benchmark_report")]
    assert stale[:3] == behind
    assert stale[3] == ["circles_2", " all"]
    assert deployment.state.last_check() is not None


def test_the_plan_is_shown(deployment: Deployment) -> None:
    deployment.edit("digits", title="Other words")
    done = dg.materialize([refresh_plan], resources={"result_store": ResultStoreResource()})
    (event,) = done.get_asset_materialization_events()
    metadata = event.materialization.metadata
    plan, status = metadata["plan"], metadata["status"]
    assert isinstance(plan, dg.TableMetadataValue)
    assert isinstance(status, dg.TableMetadataValue)
    rows = [record.data for record in plan.records]
    assert [(row["dataset"], row["stage"], row["state"]) for row in rows] == [
        ("digits", "published_dataset", "made"),
        ("digits", "analysis", "made"),
        ("digits", "benchmark_report", "after"),
    ]
    assert [row["why"] for row in rows[:2]] == ['title: "digits" -> "Other words"'] * 2
    standing = {record.data["dataset"]: str(record.data["stages"]) for record in status.records}
    assert standing["circles_1"] == "F" * len(STAGES)
    assert standing["digits"].count("F") == len(STAGES) - 3
    assert (metadata["stages_to_make"].value, metadata["datasets_up_to_date"].value) == (3, 2)
    assert metadata["paused"].value == "no"
