"""What the sensors report about runs that ended: a failure after the last try, and failed checks."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import definitions
from aflite_assets.automation import alerts
from aflite_assets.automation.alerts import LONGEST, check_alerts, failure_alerts, inert
from aflite_assets.errors import NotificationError
from tests.automation.local_webhook import Webhook, webhook

__all__ = ["webhook"]

DATASETS = dg.StaticPartitionsDefinition(["circles_1", "circles_2"])
Tell = Callable[..., list[str]]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        yield made


@pytest.fixture
def tell(instance: dg.DagsterInstance, webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """The sensor looks at the latest run; returns the messages that the webhook got."""
    monkeypatch.setenv("AFLITE_ALERT_WEBHOOK", webhook.address)

    def look(**of_run: str) -> list[str]:
        webhook.texts.clear()
        (run,) = (one._replace(**of_run) for one in instance.get_runs(limit=1))
        succeeded = run.status == dg.DagsterRunStatus.SUCCESS
        kind = dg.DagsterEventType.RUN_SUCCESS if succeeded else dg.DagsterEventType.RUN_FAILURE
        (entry,) = instance.all_logs(run.run_id, of_type=kind)
        context = dg.build_run_status_sensor_context("alerts", entry.get_dagster_event(), instance, run)
        if succeeded:
            check_alerts(context)
        else:
            failure_alerts(context.for_run_failure())
        return list(webhook.texts)

    return look


def stage(
    body: Callable[[], Any], checks: list[dg.AssetCheckSpec] | None = None, *, name: str = "raw_dataset"
) -> dg.AssetsDefinition:
    """An asset that is named after a stage and does what it is given; others than the first run after the first."""
    deps = [] if name == "raw_dataset" else ["raw_dataset"]

    @dg.asset(name=name, partitions_def=DATASETS, check_specs=checks or [], deps=deps)
    def made() -> dg.MaterializeResult:
        return body()

    return made


def run(instance: dg.DagsterInstance, *assets: dg.AssetsDefinition, **tags: str) -> str:
    """Run the assets, and return the run's id."""
    done = dg.materialize(list(assets), partition_key="circles_1", instance=instance, raise_on_error=False, tags=tags)
    return done.run_id


def refuses() -> Any:
    raise dg.Failure(description="no label <!channel>\nin row 3", allow_retries=False)


def test_a_failed_stage_is_reported_with_its_reason_and_a_link(instance: dg.DagsterInstance, tell: Tell) -> None:
    run_id = run(instance, stage(refuses))
    assert tell() == [
        f"`circles_1: run {run_id[:8]} failed: raw_dataset: no label &lt;!channel&gt; in row 3` "
        f"http://127.0.0.1:3000/runs/{run_id}"
    ]


def test_an_error_of_any_kind_is_named_by_its_own_line(instance: dg.DagsterInstance, tell: Tell) -> None:
    def breaks() -> Any:
        raise KeyError("premise\nand more")

    run(instance, stage(breaks))
    assert "raw_dataset: KeyError: 'premise\\nand more'`" in tell()[0]


def test_a_killed_run_is_reported_with_the_stage_that_was_running(instance: dg.DagsterInstance, tell: Tell) -> None:
    lines: list[str] = []

    def dies() -> dg.MaterializeResult:  # reports the end of its own run, as the code server of a killed run does
        (killed,) = instance.get_runs()
        signal = f"Run execution process for {killed.run_id} was terminated by signal 9 (SIGKILL)"
        instance.report_engine_event(f"{signal}. It usually means a lack of memory. Possible solutions are.", killed)
        instance.report_run_failed(killed)
        instance.report_engine_event("Process for run exited (pid: 7).", killed)
        lines.extend(tell())
        return dg.MaterializeResult()

    run_id = run(instance, stage(lambda: dg.MaterializeResult()), stage(dies, name="cue_scan"))
    assert lines == [
        f"`circles_1: run {run_id[:8]} failed: cue_scan: Run execution process was terminated by signal 9 (SIGKILL). "
        f"It usually means a lack of memory` http://127.0.0.1:3000/runs/{run_id}"
    ]


def test_a_run_that_dagster_interrupted_is_reported_in_words(instance: dg.DagsterInstance, tell: Tell) -> None:
    def is_interrupted() -> Any:
        raise dg.DagsterExecutionInterruptedError

    with suppress(dg.DagsterExecutionInterruptedError):
        run(instance, stage(is_interrupted))
    (line,) = tell()
    assert "failed: raw_dataset: its process was interrupted, for example because Dagster was stopped` http" in line


def test_a_run_that_never_began_a_stage_is_reported(instance: dg.DagsterInstance, tell: Tell) -> None:
    run = instance.create_run_for_job(definitions.defs.resolve_job_def("benchmark"))
    instance.report_run_failed(run, "its process 7 is gone")
    (line,) = tell()
    assert line.startswith(f"`benchmark: run {run.run_id[:8]} failed: its process 7 is gone` http://")


def test_a_check_that_blocks_is_named(instance: dg.DagsterInstance, tell: Tell) -> None:
    specs = [dg.AssetCheckSpec("finite", asset="raw_dataset", blocking=True)]
    outcome = [dg.AssetCheckResult(check_name="finite", passed=False)]
    run(instance, stage(lambda: dg.MaterializeResult(check_results=outcome), specs))
    (line,) = tell()
    blocked = "1 blocking asset check failed with ERROR severity: raw_dataset: finite"
    assert f"failed: raw_dataset: DagsterAssetCheckFailedError: {blocked}`" in line


def test_failed_checks_of_computed_results_are_reported(instance: dg.DagsterInstance, tell: Tell) -> None:
    specs = [dg.AssetCheckSpec(name, asset="raw_dataset") for name in ("finite", "repeats", "labels")]

    def checked(*, reused: bool) -> dg.AssetsDefinition:
        outcomes = [
            dg.AssetCheckResult(check_name="finite", passed=False, metadata={"what_to_do": "drop <them>"}),
            dg.AssetCheckResult(
                check_name="repeats", passed=False, severity=dg.AssetCheckSeverity.WARN, metadata={"found": "2 copies"}
            ),
            dg.AssetCheckResult(check_name="labels", passed=True),
        ]
        return stage(lambda: dg.MaterializeResult(metadata={"reused": reused}, check_results=outcomes), specs)

    run_id = run(instance, checked(reused=False))
    assert tell() == [
        "`circles_1: failed checks: raw_dataset: finite: drop &lt;them&gt;; raw_dataset: repeats: 2 copies` "
        f"http://127.0.0.1:3000/runs/{run_id}"
    ]
    run(instance, checked(reused=True))  # reported when it was computed
    assert tell() == []
    assert "finite" in tell(parent_run_id=run_id, root_run_id=run_id)[0]  # of a retry, whose first run was killed
    run(instance, stage(lambda: dg.MaterializeResult()))
    assert tell() == []


def test_a_run_that_dagster_tries_again_is_reported_after_its_last_try(
    instance: dg.DagsterInstance, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(instance, stage(refuses), **{"dagster/will_retry": "true"})
    assert len(tell()) == 1  # only runs that the daemon started are retried
    monkeypatch.setattr(alerts, "started_elsewhere", lambda run: True)
    run(instance, stage(refuses), **{"dagster/will_retry": "true"})
    assert tell() == []
    run(instance, stage(refuses), **{"dagster/will_retry": "false"})
    assert len(tell()) == 1


def test_a_retry_that_dagster_announces_late_is_seen(
    instance: dg.DagsterInstance, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(instance, stage(refuses))
    (failed,) = instance.get_runs()
    monkeypatch.setattr(alerts, "started_elsewhere", lambda run: True)
    monkeypatch.setattr(type(instance), "run_retries_enabled", property(lambda _: True))
    announce = {"dagster/will_retry": "true"}
    monkeypatch.setattr(
        "aflite_assets.automation.alerts.time.sleep", lambda _: instance.add_run_tags(failed.run_id, announce)
    )
    assert tell() == []


@pytest.mark.parametrize(("answer", "trouble"), [(503, "answered 503"), (302, "answered 302")])
def test_a_webhook_that_takes_no_message_is_named_without_its_address(
    instance: dg.DagsterInstance, tell: Tell, webhook: Webhook, answer: int, trouble: str
) -> None:
    run(instance, stage(refuses))
    webhook.answer = answer
    with pytest.raises(NotificationError, match=f"the alert webhook {trouble}; correct AFLITE_ALERT_WEBHOOK") as failed:
        tell()
    assert "secret" not in str(failed.value)


def test_without_a_webhook_nothing_is_posted(
    instance: dg.DagsterInstance, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AFLITE_ALERT_WEBHOOK")
    run(instance, stage(refuses))
    assert tell() == []


@pytest.mark.parametrize("name", ["failure_alerts", "check_alerts"])
def test_the_sensors_are_there_and_off(name: str) -> None:
    sensor = definitions.defs.get_repository_def().get_sensor_def(name)
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<!channel> look", "&lt;!channel&gt; look"),
        ("<https://evil.example|click>", "&lt;https:\u200b//evil.example|click&gt;"),
        ("R&D", "R&amp;D"),
        ("@all @here", "@\u200ball @\u200bhere"),
        ("a` *bold* `b", "a' *bold* 'b"),
        ("first\r\nsecond\u2028third\tend", "first second third end"),
        ("\x1b[31mred \u202eslanted\x00", "\ufffd[31mred \ufffdslanted\ufffd"),
        ("x" * 5000, "x" * (LONGEST - 1) + "…"),
        ("x" * LONGEST, "x" * LONGEST),
    ],
)
def test_hostile_text_stays_text(text: str, shown: str) -> None:
    assert inert(text) == f"`{shown}`"
