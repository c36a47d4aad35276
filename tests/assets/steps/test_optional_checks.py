"""Checks that a dataset has nothing for pass and say so, by dataset; checks can be run alone."""

from collections.abc import Iterator

import dagster as dg
import pytest

from aflite_assets.assets.common import check, check_by_dataset
from aflite_assets.assets.steps.optional_checks import asset_with_optional_checks

DATASETS = dg.StaticPartitionsDefinition(["features", "texts"])


class Store(dg.ConfigurableResource):
    made: str


@asset_with_optional_checks(
    group_name="data",
    kinds={"parquet"},
    owners=["team:aflite"],
    partitions_def=DATASETS,
    deps=["source"],
    code_version="3",
    tags={"domain": "data"},
    check_specs=[
        check_by_dataset("ids", asset="table", description="", blocking=True, partitions_def=DATASETS),
        check_by_dataset("finite", asset="table", description="", blocking=True, partitions_def=DATASETS),
        check_by_dataset("no_empty_texts", asset="table", description="", blocking=False, partitions_def=DATASETS),
    ],
)
def table(context: dg.AssetExecutionContext, store: Store) -> dg.MaterializeResult:
    """A table.

    With text.
    """
    of_texts = context.partition_key == "texts"
    if not store.made:
        raise RuntimeError("as if killed")
    finite = {"result": "not applicable: features only"} if of_texts else {"rows": 3}
    return dg.MaterializeResult(
        metadata={"made": store.made},
        data_version=dg.DataVersion("v1"),
        check_results=[
            check("ids", True, rows=3),
            check("finite", True, **finite),
            *([check("no_empty_texts", False, warn=True, empty=1)] if of_texts else []),
        ],
    )


@dg.asset(deps=[table], partitions_def=DATASETS)
def follows() -> None:
    """Made after the table."""


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def run(instance: dg.DagsterInstance, partition: str, *, made: str = "here") -> dg.ExecuteInProcessResult:
    defs = dg.Definitions(assets=[table, follows], resources={"store": Store(made=made)})
    job = defs.resolve_implicit_global_asset_job_def()
    return job.execute_in_process(partition_key=partition, instance=instance, raise_on_error=False)


def reported(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    return {one.check_name: one.passed for one in result.get_asset_check_evaluations()}


def test_what_does_not_apply_passes_and_what_follows_is_made(instance: dg.DagsterInstance) -> None:
    result = run(instance, "features")
    assert result.success
    assert reported(result) == {"ids": True, "finite": True, "no_empty_texts": True}
    (left_out,) = [one for one in result.get_asset_check_evaluations() if one.check_name == "no_empty_texts"]
    assert left_out.metadata["result"].value == "does not apply to this dataset"
    events = [one.materialization for one in result.get_asset_materialization_events()]
    assert [one.asset_key.path[-1] for one in events] == ["table", "follows"]
    assert events[0].metadata["made"].value == "here"
    assert (events[0].tags or {})["dagster/data_version"] == "v1"


def test_a_check_that_applies_is_reported(instance: dg.DagsterInstance) -> None:
    assert reported(run(instance, "texts")) == {"ids": True, "finite": True, "no_empty_texts": False}


def outcomes(instance: dg.DagsterInstance, name: str) -> dict[str | None, str]:
    """What Dagster keeps of a check, by dataset."""
    found = instance.event_log_storage.get_asset_check_partition_info([dg.AssetCheckKey(dg.AssetKey("table"), name)])
    return {one.partition_key: one.latest_execution_status.value for one in found}


def test_each_dataset_keeps_its_outcome(instance: dg.DagsterInstance) -> None:
    run(instance, "texts")
    run(instance, "features")
    assert outcomes(instance, "no_empty_texts") == {"texts": "FAILED", "features": "SUCCEEDED"}
    assert outcomes(instance, "finite") == {"texts": "SUCCEEDED", "features": "SUCCEEDED"}


def test_a_run_that_ended_without_outcomes_leaves_none_once_another_has_ended(instance: dg.DagsterInstance) -> None:
    run(instance, "texts")
    assert not run(instance, "features", made="").success
    assert outcomes(instance, "finite") == {"texts": "SUCCEEDED", "features": "PLANNED"}
    run(instance, "features")
    for name, texts in (("ids", "SUCCEEDED"), ("finite", "SUCCEEDED"), ("no_empty_texts", "FAILED")):
        assert outcomes(instance, name) == {"texts": texts, "features": "SUCCEEDED"}


def test_a_check_run_alone_needs_a_dataset(instance: dg.DagsterInstance) -> None:
    selection = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey("table"), "no_empty_texts"))
    jobs = [dg.define_asset_job("only", selection)]
    defs = dg.Definitions(assets=[table, follows], resources={"store": Store(made="here")}, jobs=jobs)
    result = defs.resolve_job_def("only").execute_in_process(instance=instance, raise_on_error=False)
    failure = result.failure_data_for_node("table")
    assert failure is not None
    assert "to run the checks, materialise `table` for the dataset" in str(failure)


def test_the_asset_is_what_a_plain_one_would_be() -> None:
    spec = table.get_asset_spec()
    assert spec.key == dg.AssetKey("table")
    assert spec.description == "A table.\n\nWith text."
    assert (spec.group_name, spec.code_version, spec.owners) == ("data", "3", ["team:aflite"])
    assert {dep.asset_key.path[-1] for dep in spec.deps} == {"source"}
    assert table.op.name == "table"
    assert {key.name for key in table.check_keys} == {"ids", "finite", "no_empty_texts"}


def run_alone(instance: dg.DagsterInstance, partition: str | None) -> dg.ExecuteInProcessResult:
    selection = dg.AssetSelection.checks(dg.AssetCheckKey(dg.AssetKey("table"), "no_empty_texts"))
    jobs = [dg.define_asset_job("only", selection)]
    defs = dg.Definitions(assets=[table, follows], resources={"store": Store(made="here")}, jobs=jobs)
    tags = {"dagster/partition": partition} if partition else {}
    return defs.resolve_job_def("only").execute_in_process(instance=instance, tags=tags, raise_on_error=False)


def test_a_check_can_be_run_alone(instance: dg.DagsterInstance) -> None:
    result = run_alone(instance, "texts")
    assert result.success
    assert reported(result) == {"no_empty_texts": False}
    assert not result.get_asset_materialization_events()
