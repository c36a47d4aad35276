"""The job `prune`."""

from pathlib import Path

import dagster as dg

from aflite_assets.automation.prune import prune_job
from aflite_assets.results import PublishedResult, ResultKey, ResultStore
from aflite_assets.results.refresh_records import record_refresh
from resources import ResultStoreResource


def _refresh(store: ResultStore, number: int) -> PublishedResult:
    key = ResultKey("1", {"n": number}, {})
    result = store.get_or_create("raw_dataset", "digits", key, lambda draft: {}).result
    record_refresh(store, [result], what="test")
    return result


def test_the_job_prunes_and_counts(home: Path) -> None:
    runs = [_refresh(ResultStore(home / "results"), number) for number in range(4)]
    resources = {"result_store": ResultStoreResource(home=str(home))}
    for dry_run in (True, False):
        config = {"ops": {"remove_unneeded": {"config": {"keep": 1, "dry_run": dry_run}}}}
        done = prune_job.execute_in_process(run_config=config, resources=resources)
        (output,) = [event for event in done.events_for_node("remove_unneeded") if event.is_successful_output]
        metadata = output.step_output_data.metadata
        assert metadata["results"] == dg.MetadataValue.int(3)
        assert metadata["results_bytes"] != dg.MetadataValue.int(0)
        assert [run.path.exists() for run in runs] == [dry_run, dry_run, dry_run, True]
