"""The sensor `refresh` on a simulated clock: what is due is run, and nothing else, and what moved is reported."""

import os
from dataclasses import replace
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

import definitions
from aflite_assets.automation import refresh_sensor as module
from aflite_assets.automation import runs_of_datasets
from aflite_assets.automation.refresh_sensor import TICK_SECONDS, refresh
from aflite_assets.automation.watched_versions import latest_version
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages import pipeline
from aflite_assets.stages.pipeline import STAGES, run_stage
from resources import ResultStoreResource
from tests.automation.conftest import NAMES, Deployment, write_dataset, write_table

pytestmark = pytest.mark.usefixtures("undrawn")


def requested(result: dg.SensorResult) -> dict[str, list[str]]:
    """The stages asked for, by dataset."""
    return {
        str(one.partition_key): [key.path[-1] for key in one.asset_selection or ()] for one in result.run_requests or ()
    }


def why_not(result: dg.SensorResult) -> str:
    assert result.skip_reason is not None
    return str(result.skip_reason.skip_message)


def reported(result: dg.SensorResult) -> dict[str, list[str]]:
    """The datasets of which an external asset was reported, by its name."""
    found: dict[str, list[str]] = {}
    for event in result.asset_events:
        if isinstance(event, dg.AssetMaterialization):
            found.setdefault(event.asset_key.path[-1], []).append(str(event.partition))
    return found


@pytest.fixture
def settled(deployment: Deployment) -> Deployment:
    """The deployment after its first looks."""
    assert requested(deployment.settled()) == {}
    return deployment


def test_nothing_changed_and_nothing_runs(deployment: Deployment) -> None:
    # Nothing is reported of what did not move since its results were made.
    assert reported(deployment.settled()) == {}
    for _ in range(4):
        result = deployment.tick()
        assert why_not(result) == "nothing is due"
        assert result.asset_events == []
    assert deployment.instance.get_runs() == []


def test_a_first_look_tells_what_moved_before_it(deployment: Deployment) -> None:
    write_table(deployment.table("digits"), rows=120, seed=9)
    first = reported(deployment.settled())
    assert first == {"source_files": ["digits"]}
    assert reported(deployment.tick()) == {}
    write_table(deployment.table("digits"), rows=120, seed=10)
    assert set(reported(deployment.settled())) == {"source_files"}


def test_one_changed_source_runs_its_partition_once_with_what_follows(settled: Deployment) -> None:
    write_table(settled.table("circles_2"), rows=120, seed=9)
    assert "circles_2: raw_dataset:" in why_not(settled.tick())
    result = settled.tick()
    assert requested(result) == {"circles_2": list(STAGES)}
    (request,) = result.run_requests or ()
    assert request.tags["dagster/priority"] == "-1"
    assert request.tags["aflite/because"].startswith("raw_dataset: file ")
    assert reported(result) == {"source_files": ["circles_2"]}
    assert settled.run(request) == dict.fromkeys(STAGES, True)
    assert why_not(settled.settled()) == "nothing is due"
    assert [run.tags["dagster/partition"] for run in settled.instance.get_runs()] == ["circles_2"]


def test_a_touched_file_starts_nothing_and_moves_no_version(settled: Deployment) -> None:
    before = latest_version(settled.instance, "digits")
    os.utime(settled.table("digits"))
    assert requested(settled.tick()) == {}
    result = settled.tick()
    assert why_not(result) == "nothing is due"
    assert "source_files" not in reported(result)
    assert latest_version(settled.instance, "digits") == before


def test_what_comes_out_equal_stops_there(settled: Deployment) -> None:
    # The table's bytes are others, the rows are not.
    path = settled.table("digits")
    path.write_text(path.read_text(encoding="utf-8").replace("\n", "\r\n"), encoding="utf-8", newline="")
    (request,) = settled.settled().run_requests or ()
    made = settled.run(request)
    assert made == {"raw_dataset": True} | dict.fromkeys(list(STAGES)[1:], False)
    assert why_not(settled.settled()) == "nothing is due"


def test_an_edited_setting_runs_what_reads_it(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    result = settled.tick()
    assert requested(result) == {"digits": ["published_dataset", "analysis", "benchmark_report"]}
    assert reported(result) == {}
    (request,) = result.run_requests or ()
    assert "title" in request.tags["aflite/because"]
    settled.run(request)
    assert why_not(settled.tick()) == "nothing is due"


def test_a_raised_code_version_runs_every_dataset(settled: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    raised = replace(STAGES["benchmark_report"], code_version="raised")
    monkeypatch.setitem(pipeline.STAGES, "benchmark_report", raised)
    result = settled.tick()
    assert requested(result) == {name: ["benchmark_report"] for name in NAMES}
    for request in result.run_requests or ():
        assert "code version" in request.tags["aflite/because"]
        assert settled.run(request) == {"benchmark_report": True}
    assert why_not(settled.tick()) == "nothing is due"


@pytest.mark.parametrize("failing", ["circles_1", "digits"])
def test_a_failing_dataset_blocks_no_other_and_is_released_by_none(settled: Deployment, failing: str) -> None:
    other = next(name for name in NAMES if name != failing)
    settled.table(failing).write_text("a,b,c,label\n1,2,not a number,0\n", encoding="utf-8")
    assert requested(settled.tick()) == {}  # a file has to stand still
    settled.edit(other, title="Other words")
    result = settled.tick()
    assert set(requested(result)) == {failing, other}
    for request in result.run_requests or ():
        settled.run(request)
    again = settled.tick()
    assert requested(again) == {}  # refused, and the other is done
    assert f"{failing}: raw_dataset: it is not retried by itself until its inputs change: " in why_not(again)

    # Mended in between: another content has tries of its own.
    write_table(settled.table(failing), rows=120, seed=12)
    (mended,) = settled.settled().run_requests or ()
    assert settled.run(mended)["benchmark_report"]
    assert why_not(settled.settled()) == "nothing is due"
    assert list(settled.state.folder.glob("refused/*/*.json")) == []


def test_a_refusal_is_tried_once(settled: Deployment) -> None:
    settled.table("digits").write_text("a,b,c,label\n1,2,not a number,0\n", encoding="utf-8")
    (request,) = settled.settled().run_requests or ()
    assert settled.run(request) == {}
    for later in (settled.tick(), settled.tick(), settled.tick()):
        assert requested(later) == {}
        assert "raw_dataset: it is not retried by itself until its inputs change: " in why_not(later)
    assert len(settled.instance.get_runs()) == 1
    # Another run that has the stage does not try it either.
    assert settled.run(request) == {}
    (failed,) = settled.instance.all_logs(
        settled.instance.get_runs()[0].run_id, of_type=dg.DagsterEventType.STEP_FAILURE
    )
    failure = failed.get_dagster_event().step_failure_data.user_failure_data
    assert failure is not None
    assert "`raw_dataset` of 'digits' failed and is not retried until its inputs change: " in str(failure.description)


def test_a_stage_that_failed_is_left_until_a_person_starts_it(settled: Deployment) -> None:
    def crash(*arguments: Any, **named: Any) -> Any:
        raise RuntimeError("the disk is slow")

    broken = replace(STAGES["published_dataset"], run=crash)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(pipeline.STAGES, "published_dataset", broken)
        settled.edit("digits", title="Other words")
        (request,) = settled.tick().run_requests or ()
        assert settled.run(request) == {"analysis": True}  # does not depend on what fails
        for _ in range(3):
            later = settled.tick()
            assert requested(later) == {}
            (run,) = settled.instance.get_runs()
            assert why_not(later) == (
                f"digits: published_dataset: it is not retried by itself until its inputs change: "
                f"run {run.run_id[:8]} failed: published_dataset: RuntimeError: the disk is slow; start it with "
                "`aflite refresh digits`"
            )
            settled.now += timedelta(days=1)
    assert len(settled.instance.get_runs()) == 1
    settled.run(dg.RunRequest(partition_key="digits", asset_selection=[dg.AssetKey("published_dataset")]))
    assert requested(settled.tick()) == {"digits": ["benchmark_report"]}


def test_a_run_that_never_begins_is_asked_for_once(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    (request,) = settled.tick().run_requests or ()
    run = _begin(settled.instance, request)
    _end(settled.instance, run)
    for _ in range(2):
        assert f"is not retried by itself until its inputs change: run {run.run_id[:8]} failed" in why_not(
            settled.tick()
        )
    settled.edit("digits", title="Third words")
    assert requested(settled.tick()) == {"digits": ["published_dataset", "analysis", "benchmark_report"]}


def test_a_broken_file_stops_no_other(settled: Deployment) -> None:
    (settled.folder / "circles_1.yaml").write_text("title: [", encoding="utf-8")
    settled.edit("digits", title="Other words")
    result = settled.tick()
    assert list(requested(result)) == ["digits"]
    assert any("circles_1 is left out: " in line and "circles_1.yaml" in line for line in settled.said)


def test_damaged_folders_of_one_dataset_stop_no_other(settled: Deployment) -> None:
    manifest = settled.store.current("raw_dataset", "circles_1").path / "manifest.json"
    manifest.write_text("{", encoding="utf-8")
    settled.edit("digits", title="Other words")
    assert "digits" in requested(settled.tick())


def test_a_new_dataset_is_left_until_its_file_starts_it_and_is_run_without_a_reload(settled: Deployment) -> None:
    write_dataset(settled.folder, "brand_new", seed=5)
    assert why_not(settled.settled()) == "nothing is due"
    settled.edit("brand_new", refresh={"start": True})
    result = settled.tick()
    assert requested(result) == {"brand_new": list(STAGES)}
    (request,) = result.run_requests or ()
    assert settled.instance.get_dynamic_partitions("aflite_dataset") == []  # the sensor `datasets` has not looked yet
    assert settled.run(request) == dict.fromkeys(STAGES, True)


def test_a_dataset_that_is_run_for_the_first_time_gets_no_advice_to_start_it(settled: Deployment) -> None:
    write_dataset(settled.folder, "brand_new", seed=5)
    run_stage("raw_dataset", load_registry()["brand_new"], store=settled.store)
    assert "brand_new: challenge_sets was never made; start it with `" in why_not(settled.settled())
    with settled.store.dataset_lock("brand_new", what="Dagster run 7"):
        line = why_not(settled.tick())
    assert line.startswith("brand_new waits for Dagster run 7, process ")
    assert "start it" not in line


def test_never_and_pause_are_heard(settled: Deployment) -> None:
    settled.edit("digits", title="Other words", refresh="never")
    assert why_not(settled.tick()).startswith(
        "digits: its file has `refresh: never`; remove this setting, or start it "
    )
    settled.edit("digits", refresh={})
    settled.state.pause(reason="maintenance", now=settled.now)
    assert "digits: refreshes are paused since 2026-05-04 12:01 UTC: maintenance" in why_not(settled.tick())
    settled.state.resume()
    assert requested(settled.tick()) == {"digits": ["published_dataset", "analysis", "benchmark_report"]}


def test_switched_on_late_there_is_one_run_each_at_the_next_time(settled: Deployment) -> None:
    settled.edit("digits", title="Other words", refresh={"cron": "0 3 * * *"})
    assert "changes wait for 2026-05-05 03:00 UTC" in why_not(settled.tick())
    settled.now += timedelta(days=6, hours=12)
    (request,) = settled.tick().run_requests or ()
    settled.run(request)
    assert why_not(settled.tick()) == "nothing is due"
    settled.edit("digits", title="Third words")
    assert "changes wait for 2026-05-11 03:00 UTC" in why_not(settled.tick())
    assert len(settled.instance.get_runs()) == 1


def test_two_looks_at_once_ask_for_the_same_run(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    (one,) = settled.tick().run_requests or ()
    (two,) = settled.tick().run_requests or ()
    assert one.run_key == two.run_key  # the daemon starts one run per key
    run = _begin(settled.instance, one)
    assert why_not(settled.tick()) == f"digits waits for run {run.run_id}"
    (record,) = settled.instance.get_run_records()
    queued = record._replace(dagster_run=run._replace(status=dg.DagsterRunStatus.QUEUED))
    settled.monkeypatch.setattr(settled.instance, "get_run_records", lambda *_, **__: [queued])
    assert f"digits waits for the queued run {run.run_id}" in why_not(settled.tick()).splitlines()


def test_an_older_run_that_is_active_is_waited_for(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    (request,) = settled.tick().run_requests or ()
    older, newer = _begin(settled.instance, request), _begin(settled.instance, request)
    settled.instance.report_run_canceled(newer)
    assert why_not(settled.tick()) == f"digits waits for run {older.run_id}"
    settled.instance.report_run_canceled(older)
    assert f"run {newer.run_id[:8]} was cancelled" in why_not(settled.tick())


def test_a_run_that_ends_during_a_look_is_active_in_this_look(
    settled: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled.edit("digits", title="Other words")
    (request,) = settled.tick().run_requests or ()
    run = _begin(settled.instance, request)
    _end(settled.instance, run)
    with monkeypatch.context() as patched:
        patched.setattr(module.time, "time", lambda: 0.0)  # the look began before the run ended
        assert why_not(settled.tick()) == f"digits waits for run {run.run_id}"
    assert f"run {run.run_id[:8]} failed" in why_not(settled.tick())


def test_what_a_success_leaves_due_is_another_run(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    (one,) = settled.tick().run_requests or ()
    settled.run(one)
    settled.edit("digits", title="Third words")
    settled.run(next(iter(settled.tick().run_requests or ())))
    settled.edit("digits", title="Other words")
    (again,) = settled.tick().run_requests or ()
    assert again.run_key != one.run_key
    assert not any(settled.run(again).values())


def test_a_run_of_the_command_line_is_waited_for(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    with settled.store.dataset_lock("digits", what="aflite refresh"):
        assert why_not(settled.tick()).startswith("digits waits for aflite refresh, process ")
    assert requested(settled.tick()) == {"digits": ["published_dataset", "analysis", "benchmark_report"]}


def _fails_with_a_retry_announced(settled: Deployment, request: dg.RunRequest) -> dg.DagsterRun:
    """A run of the daemon's that has just failed, and that Dagster says it will retry."""
    run = _begin(settled.instance, request, **{"dagster/will_retry": "true"})
    _end(settled.instance, run)
    settled.monkeypatch.setattr(runs_of_datasets, "started_elsewhere", lambda run: True)
    (record,) = settled.instance.get_run_records()
    settled.now = settled.now.fromtimestamp(record.end_time or 0, settled.now.tzinfo)
    return run


def test_a_retry_that_dagster_announced_is_waited_for(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    (request,) = settled.tick().run_requests or ()
    run = _fails_with_a_retry_announced(settled, request)
    assert why_not(settled.tick()) == f"digits waits for the retry of run {run.run_id}, which Dagster announced"
    settled.now += timedelta(minutes=2)
    assert f"run {run.run_id[:8]} failed" in why_not(settled.tick())


def test_a_first_run_whose_retry_does_not_come_is_named(settled: Deployment) -> None:
    write_dataset(settled.folder, "brand_new", seed=5)
    settled.settled()
    run = _fails_with_a_retry_announced(settled, dg.RunRequest(partition_key="brand_new"))
    assert why_not(settled.tick()) == f"brand_new waits for the retry of run {run.run_id}, which Dagster announced"
    settled.now += timedelta(minutes=2)
    line = why_not(settled.tick())
    until = "Dagster starts the announced retry or its inputs change"
    assert line.startswith(f"brand_new: raw_dataset: it is not retried by itself until {until}: ")
    assert f"run {run.run_id[:8]} failed: " in line
    assert "start it with `aflite refresh brand_new`" in line


def test_a_launch_is_never_retried_and_not_waited_for(settled: Deployment) -> None:
    settled.edit("digits", title="Other words")
    (request,) = settled.tick().run_requests or ()
    run = _begin(settled.instance, request, **{"dagster/will_retry": "true"})
    _end(settled.instance, run)
    assert f"run {run.run_id[:8]} failed" in why_not(settled.tick())


def test_a_source_that_is_gone_is_named_and_no_version(settled: Deployment) -> None:
    path = settled.table("digits")
    aside = path.read_bytes()
    path.unlink()
    for _ in range(2):
        result = settled.tick()
        assert requested(result) == {}
        assert f"digits: raw_dataset: the file {str(path)!r} does not exist" in why_not(result)
        assert "source_files" not in reported(result)
    path.write_bytes(aside)
    back = settled.settled()
    assert why_not(back) == "nothing is due"
    assert "source_files" not in reported(back)  # the version that Dagster has is the one that it is again


def test_a_look_hashes_no_more_than_its_budget_and_goes_on(settled: Deployment) -> None:
    write_table(settled.table("digits"), rows=120, seed=21)
    size = settled.table("digits").stat().st_size
    settled.tick()
    first = settled.tick(most_bytes=size // 2)
    assert "bytes are not hashed yet" in why_not(first)
    assert requested(settled.tick(most_bytes=4 * size)) == {"digits": list(STAGES)}


def test_the_check_says_what_is_stale_and_when_it_was_looked(settled: Deployment) -> None:
    def checks() -> list[dg.AssetCheckEvaluation]:
        return [event for event in settled.tick().asset_events if isinstance(event, dg.AssetCheckEvaluation)]

    settled.edit("digits", title="Other words")
    (check,) = checks()
    assert (check.check_name, check.passed) == ("up_to_date", False)
    assert check.severity == dg.AssetCheckSeverity.WARN
    assert check.metadata["last_looked_at"].value == settled.now.isoformat(timespec="seconds")
    assert str(check.metadata["stale"].value).splitlines()[0].startswith("digits: published_dataset: title: ")
    assert checks() == []
    settled.now += timedelta(hours=1)
    assert [one.passed for one in checks()] == [False]


def test_the_sensor_is_off_at_first_and_its_requests_can_be_run(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert refresh.default_status == dg.DefaultSensorStatus.STOPPED
    assert refresh.minimum_interval_seconds == TICK_SECONDS == 30
    monkeypatch.setattr(module, "STILL_SECONDS", 0.0)

    def evaluate() -> Any:
        context = dg.build_sensor_context(
            instance=deployment.instance,
            repository_def=definitions.defs.get_repository_def(),
            resources={"result_store": ResultStoreResource()},
        )
        return refresh.evaluate_tick(context)

    evaluate()
    second = evaluate()
    assert second.skip_message == "nothing is due"
    deployment.edit("digits", title="Other words")
    (request,) = evaluate().run_requests
    assert request.partition_key == "digits"
    selected = {key.path[-1] for key in request.asset_selection or ()}
    assert selected == {"published_dataset", "analysis", "benchmark_report"}


def _begin(instance: dg.DagsterInstance, request: dg.RunRequest, **tags: str) -> dg.DagsterRun:
    """A run as the daemon makes it, of which no step is run."""
    run = instance.create_run_for_job(
        definitions.defs.resolve_job_def("benchmark"),
        tags={**request.tags, **tags, "dagster/partition": str(request.partition_key)},
    )
    started = dg.DagsterEvent(dg.DagsterEventType.PIPELINE_START.value, run.job_name)
    instance.report_dagster_event(started, run.run_id)
    return run


def _end(instance: dg.DagsterInstance, run: dg.DagsterRun) -> None:
    instance.report_run_failed(run)


@pytest.mark.filterwarnings("ignore::dagster.BetaWarning")  # from Dagster's own tester of conditions
def test_automation_conditions_start_what_was_never_made_and_miss_changes_while_they_are_off() -> None:
    """The reason why this sensor plans by the store instead; it fails once Dagster does otherwise."""
    partitions = dg.DynamicPartitionsDefinition(name="dataset")
    eager = dg.AutomationCondition.eager()
    raw = dg.AssetSpec("raw", partitions_def=partitions)

    @dg.asset(deps=[raw], partitions_def=partitions, automation_condition=eager)
    def later() -> None: ...

    with dg.DagsterInstance.ephemeral() as instance:

        def after_a_change(dataset: str, cursor: Any = None) -> tuple[set[str | None], Any]:
            instance.report_runless_asset_event(dg.AssetMaterialization("raw", partition=dataset))
            result = dg.evaluate_automation_conditions(dg.Definitions([raw, later]), instance, cursor=cursor)
            return set(result.get_requested_partitions(dg.AssetKey("later"))), result.cursor

        instance.add_dynamic_partitions("dataset", ["made", "never_made"])
        instance.report_runless_asset_event(dg.AssetMaterialization("later", partition="made"))
        while_off, cursor = after_a_change("made")
        while_on, cursor = after_a_change("made", cursor)
        unasked, _ = after_a_change("never_made", cursor)
    assert (while_off, while_on, unasked) == (set(), {"made"}, {"never_made"})
