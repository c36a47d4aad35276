"""What every run begins with, in either mode of the executor."""

import json
import os
from pathlib import Path

import dagster as dg
import pytest

import definitions
from aflite_assets.automation.dead_runs import PROCESS_TAG
from aflite_assets.automation.executor import marked
from aflite_assets.processes import this_process


@dg.op
def nothing() -> None:
    """Does nothing."""


@dg.job(executor_def=marked(dg.multi_or_in_process_executor))
def work() -> None:
    nothing()


def test_a_run_is_marked_with_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_RUN_PROCESS", "")
    with dg.DagsterInstance.local_temp(str(tmp_path)) as instance:
        result = dg.execute_job(
            dg.reconstructable(work), instance, run_config={"execution": {"config": {"in_process": {}}}}
        )
        assert result.success
        run = instance.get_run_by_id(result.run_id)
    assert run is not None
    assert json.loads(run.tags[PROCESS_TAG]) == {"run": result.run_id, **this_process().as_json()}
    assert os.environ["AFLITE_RUN_PROCESS"] == str(os.getpid())


def test_jobs_use_it_with_the_settings_that_dagster_has() -> None:
    for name in ("filter", "benchmark"):
        executor = definitions.defs.resolve_job_def(name).executor_def
        assert executor.name == dg.multi_or_in_process_executor.name
        assert executor.config_schema is dg.multi_or_in_process_executor.config_schema
        assert executor.get_requirements({"in_process": {}}) == []
        assert executor.get_requirements({"multiprocess": {}}) != []
