"""A run that a person cancelled is not started again for the keys that it was about."""

import re
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta

import dagster as dg
import pytest

import definitions
from aflite_assets.assets import common
from aflite_assets.automation import run_requests
from aflite_assets.command_line.main import main
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages import pipeline
from aflite_assets.stages.pipeline import STAGES
from tests.automation.conftest import Deployment, write_table
from tests.automation.test_refresh_sensor import requested, why_not

pytestmark = pytest.mark.usefixtures("undrawn")

WORDS = ["published_dataset", "analysis", "benchmark_report"]
"""What is due where a dataset's title has changed."""


@pytest.fixture
def settled(deployment: Deployment) -> Deployment:
    """The deployment after its first looks."""
    assert requested(deployment.settled()) == {}
    # The commands see the same history, as with DAGSTER_HOME.
    deployment.monkeypatch.setenv("DAGSTER_HOME", str(deployment.folder))
    deployment.monkeypatch.setattr(run_requests, "opened_instance", lambda: nullcontext(deployment.instance))
    return deployment


def begin(deployment: Deployment, dataset: str, request: dg.RunRequest | None = None) -> dg.DagsterRun:
    """A run as the daemon (or, without a request, a person) makes it, of which no step is run."""
    run = deployment.instance.create_run_for_job(
        definitions.defs.resolve_job_def("benchmark"),
        tags={**(request.tags if request else {}), "dagster/partition": dataset},
        asset_selection=None if request is None else frozenset(request.asset_selection or ()),
    )
    deployment.instance.report_dagster_event(
        dg.DagsterEvent(dg.DagsterEventType.PIPELINE_START.value, run.job_name), run.run_id
    )
    return run


def cancel(deployment: Deployment, run: dg.DagsterRun) -> None:
    deployment.instance.report_run_canceling(run)
    deployment.instance.report_run_canceled(run)


def cancelled(deployment: Deployment) -> dg.DagsterRun:
    """The run of a changed title, which a person cancelled."""
    deployment.edit("digits", title="Other words")
    (request,) = deployment.tick().run_requests or ()
    run = begin(deployment, "digits", request)
    cancel(deployment, run)
    return run


def test_it_is_not_started_again(settled: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    run = cancelled(settled)
    why = "not retried by itself until its inputs change"
    expected = f"published_dataset: it is {why}: run {run.run_id[:8]} was cancelled"
    for _ in range(3):
        assert expected in why_not(settled.tick())
        settled.now += timedelta(days=1)

    assert main(["plan", "digits"]) == 0
    said = capsys.readouterr().out
    assert expected in said
    assert re.search("digits +published_dataset +cancelled", said)
    assert main(["status", "digits"]) == 0
    assert expected in capsys.readouterr().out


def test_a_changed_input_starts_what_reads_it(settled: Deployment) -> None:
    cancelled(settled)
    settled.tick()
    write_table(settled.table("digits"), rows=122, seed=2)
    stages = requested(settled.settled())["digits"]
    assert stages[0] == "raw_dataset"
    assert set(WORDS) <= set(stages)


def test_an_input_that_changed_before_the_cancel_was_seen_is_not_swallowed(settled: Deployment) -> None:
    cancelled(settled)
    write_table(settled.table("digits"), rows=122, seed=2)
    assert requested(settled.settled())["digits"][0] == "raw_dataset"


def test_a_raised_code_version_counts_as_a_changed_input(settled: Deployment) -> None:
    cancelled(settled)
    assert requested(settled.tick()) == {}
    raised = replace(STAGES["bias_evidence"], code_version="raised")
    settled.monkeypatch.setitem(pipeline.STAGES, "bias_evidence", raised)
    stages = requested(settled.tick())["digits"]
    assert sorted(stages) == sorted(["published_dataset", "bias_evidence", "analysis", "benchmark_report"])


def test_a_person_who_starts_it_lifts_that(settled: Deployment) -> None:
    cancelled(settled)
    settled.tick()
    by_hand = dg.RunRequest(partition_key="digits", asset_selection=[dg.AssetKey(stage) for stage in STAGES])
    made = settled.run(by_hand)
    assert [stage for stage, is_made in made.items() if is_made] == WORDS
    assert requested(settled.tick()) == {}


def test_a_persons_run_of_some_stages_lifts_it_for_the_others(settled: Deployment) -> None:
    cancelled(settled)
    settled.tick()
    settled.run(dg.RunRequest(partition_key="digits", asset_selection=[dg.AssetKey("published_dataset")]))
    assert requested(settled.tick()) == {"digits": WORDS[1:]}


def test_a_run_that_a_person_started_and_cancelled_is_left_too(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    run = begin(settled, "digits")
    assert why_not(settled.tick()) == f"digits waits for run {run.run_id}"
    cancel(settled, run)
    assert f"run {run.run_id[:8]} was cancelled" in why_not(settled.tick())
    settled.edit("digits", title="Third words")
    assert requested(settled.tick()) == {"digits": WORDS}


def test_a_run_cancelled_when_all_was_made_holds_nothing_back_later(settled: Deployment) -> None:
    cancel(settled, begin(settled, "digits"))
    settled.tick()
    settled.edit("digits", title="Other words")
    assert requested(settled.tick()) == {"digits": WORDS}


def test_a_cancelled_run_before_later_ones_holds_nothing_back(settled: Deployment) -> None:
    cancel(settled, begin(settled, "digits"))
    settled.run(dg.RunRequest(partition_key="digits", asset_selection=[dg.AssetKey("raw_dataset")]))
    settled.edit("digits", title="Other words")
    assert requested(settled.tick()) == {"digits": WORDS}


def test_refresh_makes_it_only_now(settled: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    run = cancelled(settled)
    settled.tick()
    settled.monkeypatch.setattr(common, "REGISTRY", load_registry())
    refresh = ["refresh", "digits", "--device", "cpu", "--no-tracking", "--settle", "1"]
    assert main(refresh) == 0
    left = (
        "digits: published_dataset: it is not retried by itself until its inputs change: "
        f"run {run.run_id[:8]} was cancelled; "
    )
    assert left in capsys.readouterr().out
    assert len(settled.instance.get_runs()) == 1
    assert main([*refresh, "--now"]) == 0
    assert "digits: up to date now: published_dataset, analysis, benchmark_report\n" in capsys.readouterr().out
    by_hand, _ = settled.instance.get_runs()
    assert by_hand.status == dg.DagsterRunStatus.SUCCESS
    assert requested(settled.tick()) == {}
