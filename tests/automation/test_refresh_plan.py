"""What is stale, by the asset that shows the plan of all datasets."""

import dagster as dg

from aflite_assets.assets.refresh import refresh_plan
from aflite_assets.stages.pipeline import STAGES
from resources import ResultStoreResource
from tests.automation.conftest import Deployment


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
    assert standing["circles_1"] == f"{len(STAGES)} found"
    assert standing["digits"] == f"{len(STAGES) - 3} found, 2 to make, 1 after"
    assert (metadata["stages_to_make"].value, metadata["datasets_up_to_date"].value) == (3, 2)
    assert metadata["paused"].value == "no"
