"""What the sensors tell of runs that ended: after the last try, about what is new."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

import definitions
from aflite_assets.automation import alerts
from aflite_assets.automation.alerts import failure_alerts, refresh_alerts
from aflite_assets.errors import NotificationError
from tests.notifying.conftest import Webhook, webhook

__all__ = ["webhook"]

DATASETS = dg.StaticPartitionsDefinition(["circles_1", "circles_2"])
SUCCESS = dg.DagsterRunStatus.SUCCESS
Tell = Callable[[], list[str]]


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        yield made


@pytest.fixture
def tell(instance: dg.DagsterInstance, webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> Tell:
    """The sensor whose business the latest run is looks at it; returns the lines that the webhook got."""
    monkeypatch.setenv("AFLITE_ALERT_WEBHOOK", webhook.address)

    def look() -> list[str]:
        webhook.texts.clear()
        (run,) = instance.get_runs(limit=1)
        kind = dg.DagsterEventType.RUN_SUCCESS if run.status == SUCCESS else dg.DagsterEventType.RUN_FAILURE
        (entry,) = instance.all_logs(run.run_id, of_type=kind)
        context = dg.build_run_status_sensor_context("alerts", entry.get_dagster_event(), instance, run)
        if run.status == SUCCESS:
            refresh_alerts(context)
        else:
            failure_alerts(context.for_run_failure())
        return [line for text in webhook.texts for line in text.splitlines()]

    return look


def stage(
    name: str, body: Callable[[], Any], checks: list[dg.AssetCheckSpec] | None = None, **options: Any
) -> dg.AssetsDefinition:
    """An asset that is named after a stage and does what it is given."""

    @dg.asset(name=name, partitions_def=DATASETS, check_specs=checks or [], **options)
    def made() -> dg.MaterializeResult:
        return body()

    return made


def result(*, reused: bool = False, **options: Any) -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"key": "k", "reused": reused}, **options)


def run(instance: dg.DagsterInstance, *assets: dg.AssetsDefinition, **tags: str) -> None:
    dg.materialize(list(assets), partition_key="circles_1", instance=instance, raise_on_error=False, tags=tags)


def refuses() -> Any:
    raise dg.Failure(description="no label <!channel>\nin row 3", allow_retries=False)


def test_a_failed_stage_is_told_with_its_reason(instance: dg.DagsterInstance, tell: Tell) -> None:
    run(instance, stage("raw_dataset", refuses))
    run_id = instance.get_runs()[0].run_id
    assert tell() == [
        f"*circles_1*, raw_dataset failed: `no label &lt;!channel&gt; in row 3` <http://127.0.0.1:3000/runs/{run_id}|open>"
    ]


def test_an_error_of_any_kind_is_named_by_its_own_line(instance: dg.DagsterInstance, tell: Tell) -> None:
    def breaks() -> Any:
        raise KeyError("premise\nand more")

    run(instance, stage("raw_dataset", breaks))
    assert "KeyError: 'premise\\nand more'" in tell()[0]


def test_a_run_that_never_began_a_stage_is_told(instance: dg.DagsterInstance, tell: Tell) -> None:
    run = instance.create_run_for_job(definitions.defs.resolve_job_def("benchmark"))
    instance.report_run_failed(run)
    (line,) = tell()
    assert line.startswith("*all datasets*, the run of benchmark failed: `the run ended without a failed step` <")


def test_a_run_that_is_tried_again_tells_no_failure(instance: dg.DagsterInstance, tell: Tell) -> None:
    run(instance, stage("raw_dataset", refuses), **{"dagster/will_retry": "true"})
    assert tell() == []
    run(instance, stage("raw_dataset", refuses), **{"dagster/will_retry": "false"})
    assert len(tell()) == 1


def test_a_retry_that_is_announced_and_does_not_come_is_told(
    instance: dg.DagsterInstance, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alerts, "started_elsewhere", lambda run: True)
    monkeypatch.setattr(alerts, "_RETRY_SECONDS", 0.0)
    run(instance, stage("raw_dataset", refuses), **{"dagster/will_retry": "true"})
    assert len(tell()) == 1
    retried = {"dagster/will_retry": "true", "dagster/auto_retry_run_id": "7"}
    run(instance, stage("raw_dataset", refuses), **retried)
    assert tell() == []


def test_a_retry_that_dagster_announces_late_is_seen(
    instance: dg.DagsterInstance, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(instance, stage("raw_dataset", refuses))
    (failed,) = instance.get_runs()
    monkeypatch.setattr(type(instance), "run_retries_enabled", property(lambda _: True))
    announce = {"dagster/will_retry": "true"}
    monkeypatch.setattr(
        "aflite_assets.automation.alerts.time.sleep", lambda _: instance.add_run_tags(failed.run_id, announce)
    )
    assert tell() == []


def test_failed_checks_of_what_was_made_are_told(instance: dg.DagsterInstance, tell: Tell) -> None:
    specs = [dg.AssetCheckSpec(name, asset="raw_dataset") for name in ("finite", "repeats", "labels")]

    def checked(*, reused: bool) -> dg.AssetsDefinition:
        outcomes = [
            dg.AssetCheckResult(check_name="finite", passed=False, metadata={"what_to_do": "drop <them>"}),
            dg.AssetCheckResult(check_name="repeats", passed=False, severity=dg.AssetCheckSeverity.WARN),
            dg.AssetCheckResult(check_name="labels", passed=True),
        ]
        return stage("raw_dataset", lambda: result(reused=reused, check_results=outcomes), specs)

    run(instance, checked(reused=False))
    first, second = tell()
    assert "raw_dataset has failed checks: `finite: drop &lt;them&gt;; repeats (warning)`" in first
    assert "raw_dataset was refreshed: `made raw_dataset`" in second
    run(instance, checked(reused=True))  # told when it was made
    assert tell() == []


@pytest.mark.parametrize("reused", [True, False])
def test_a_check_that_blocks_is_told_as_a_check_alone(instance: dg.DagsterInstance, tell: Tell, reused: bool) -> None:
    specs = [dg.AssetCheckSpec("finite", asset="raw_dataset", blocking=True)]
    outcome = [dg.AssetCheckResult(check_name="finite", passed=False)]
    run(instance, stage("raw_dataset", lambda: result(reused=reused, check_results=outcome), specs))
    assert instance.get_runs()[0].status == dg.DagsterRunStatus.FAILURE
    (line,) = tell()
    assert "has failed checks: `blocked by finite`" in line


def test_a_finished_refresh_says_what_it_made(instance: dg.DagsterInstance, tell: Tell) -> None:
    raw = stage("raw_dataset", lambda: result(reused=True))
    filtered = stage("filtered_sets", result, deps=["raw_dataset"])
    report = stage(
        "benchmark_report",
        lambda: dg.MaterializeResult(metadata={"reused": False, "verdicts": "helps on clean\nmore"}),
        deps=["filtered_sets"],
    )
    run(instance, raw, filtered, report)
    (line,) = tell()
    assert (
        "benchmark_report was refreshed: `made filtered_sets, benchmark_report; found 1 more; helps on clean`" in line
    )
    run(instance, raw)
    assert tell() == []


def test_a_dataset_that_lost_rows_is_told(instance: dg.DagsterInstance, tell: Tell) -> None:
    def counts(rows: int) -> dg.AssetsDefinition:
        metadata = {"reused": False, "dagster/row_count": rows}
        return stage("raw_dataset", lambda: dg.MaterializeResult(metadata=metadata))

    run(instance, counts(569))
    assert not any("has fewer rows" in line for line in tell())
    run(instance, counts(560))
    assert not any("has fewer rows" in line for line in tell())
    run(instance, counts(279))
    assert tell()[0].startswith(
        "*circles_1*, raw_dataset has fewer rows: `279 instead of 560; see whether its files are"
    )
    run(instance, counts(600))
    assert not any("has fewer rows" in line for line in tell())


@pytest.mark.parametrize(("answer", "trouble"), [(503, "answered 503"), (302, "answered 302")])
def test_a_webhook_that_takes_no_message_is_named_without_its_address(
    instance: dg.DagsterInstance, tell: Tell, webhook: Webhook, answer: int, trouble: str
) -> None:
    run(instance, stage("raw_dataset", refuses))
    webhook.answer = answer
    with pytest.raises(NotificationError, match=f"the alert webhook {trouble}; correct AFLITE_ALERT_WEBHOOK") as failed:
        tell()
    assert "secret" not in str(failed.value)


def test_without_a_webhook_nothing_is_posted(
    instance: dg.DagsterInstance, tell: Tell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AFLITE_ALERT_WEBHOOK")
    run(instance, stage("raw_dataset", refuses))
    assert tell() == []


@pytest.mark.parametrize("name", ["failure_alerts", "refresh_alerts"])
def test_the_sensors_are_there_and_off(name: str) -> None:
    sensor = definitions.defs.get_repository_def().get_sensor_def(name)
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED
