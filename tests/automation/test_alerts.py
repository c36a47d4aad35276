"""What the sensor tells of runs that ended: once for each input, after the last try, and never lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

import definitions
from aflite_assets.automation import alerts as module
from aflite_assets.automation.alerts import alerts, input_of
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import BUNDLED
from resources import NotifierResource, ResultStoreResource
from tests.notifying.conftest import Webhook, webhook

__all__ = ["webhook"]

DATASETS = dg.StaticPartitionsDefinition(["circles_1", "circles_2"])


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    (tmp_path / "dagster").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "dagster")) as made:
        yield made


@pytest.fixture
def tick(instance: dg.DagsterInstance, webhook: Webhook, monkeypatch: pytest.MonkeyPatch) -> Callable[[], str]:
    """One evaluation of the sensor, which goes on from the one before; what the tick said."""
    monkeypatch.setenv("AFLITE_ALERT_WEBHOOK", webhook.address)
    cursors: list[str | None] = [None]

    def once() -> str:
        resources = {"notifier": NotifierResource(), "result_store": ResultStoreResource()}
        context = dg.build_sensor_context(instance=instance, cursor=cursors[-1], resources=resources)
        said = alerts(context)
        cursors.append(context.cursor)
        assert isinstance(said, dg.SkipReason)
        return str(said.skip_message)

    assert once() == "watching from now on"
    return once


def stage(
    name: str, body: Callable[[], Any], checks: list[dg.AssetCheckSpec] | None = None, **options: Any
) -> dg.AssetsDefinition:
    """An asset that is named after a stage and does what it is given."""

    @dg.asset(name=name, partitions_def=DATASETS, check_specs=checks or [], **options)
    def made() -> dg.MaterializeResult:
        return body()

    return made


def result(key: str, *, reused: bool = False, **options: Any) -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"key": key, "reused": reused}, **options)


def run(instance: dg.DagsterInstance, *assets: dg.AssetsDefinition, dataset: str = "circles_1", **tags: str) -> None:
    dg.materialize(list(assets), partition_key=dataset, instance=instance, raise_on_error=False, tags=tags)


def refuses() -> Any:
    raise dg.Failure(description="no label <!channel>\nin row 3", allow_retries=False)


def test_a_failed_stage_is_told_once_for_its_input(
    instance: dg.DagsterInstance,
    tick: Callable[[], str],
    webhook: Webhook,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    run(instance, stage("raw_dataset", refuses))
    assert tick() == "1 new alerts, 1 posted"
    run_id = instance.get_runs()[0].run_id
    assert webhook.texts == [
        f"*circles_1*, raw_dataset failed: `no label &lt;!channel&gt; in row 3` <http://127.0.0.1:3000/runs/{run_id}|open>"
    ]
    run(instance, stage("raw_dataset", refuses))
    assert tick() == "0 new alerts, 0 posted"

    changed = yaml.safe_load((BUNDLED / "circles_1.yaml").read_text(encoding="utf-8")) | {"seed": 7}
    (tmp_path / "circles_1.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
    monkeypatch.setenv("AFLITE_DATASETS", str(tmp_path))
    run(instance, stage("raw_dataset", refuses))
    assert tick() == "1 new alerts, 1 posted"
    assert tick() == "0 new alerts, 0 posted"


def test_an_error_of_any_kind_is_named_by_its_own_line(
    instance: dg.DagsterInstance, tick: Callable[[], str], webhook: Webhook
) -> None:
    def breaks() -> Any:
        raise KeyError("premise\nand more")

    run(instance, stage("raw_dataset", breaks))
    tick()
    assert "KeyError: 'premise\\nand more'" in webhook.texts[0]


def test_what_failed_before_the_sensor_was_on_is_no_news(
    instance: dg.DagsterInstance, webhook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(instance, stage("raw_dataset", refuses))
    resources = {"notifier": NotifierResource(), "result_store": ResultStoreResource()}
    first = dg.build_sensor_context(instance=instance, resources=resources)
    alerts(first)
    second = dg.build_sensor_context(instance=instance, cursor=first.cursor, resources=resources)
    assert "0 new alerts" in str(alerts(second))


def test_a_run_that_is_tried_again_tells_no_failure(instance: dg.DagsterInstance, tick: Callable[[], str]) -> None:
    run(instance, stage("raw_dataset", refuses), **{"dagster/will_retry": "true"})
    assert tick() == "0 new alerts, 0 posted"
    run(instance, stage("raw_dataset", refuses), **{"dagster/will_retry": "false"})
    assert tick() == "1 new alerts, 1 posted"


def test_a_failure_waits_until_it_is_known_whether_it_is_tried_again(
    instance: dg.DagsterInstance, tick: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(instance), "run_retries_enabled", property(lambda _: True))
    monkeypatch.setattr(instance, "_should_retry_run", lambda *_: False)
    monkeypatch.setattr(instance, "add_run_tags", lambda *_: None)
    run(instance, stage("raw_dataset", refuses))
    assert tick() == "0 new alerts, 0 posted"
    monkeypatch.setattr(module, "UNDECIDED_SECONDS", 0.0)
    assert tick() == "1 new alerts, 1 posted"


def test_failed_checks_are_told_once_for_each_result(
    instance: dg.DagsterInstance, tick: Callable[[], str], webhook: Webhook
) -> None:
    specs = [dg.AssetCheckSpec(name, asset="raw_dataset") for name in ("finite", "repeats", "labels")]

    def checked(key: str) -> dg.AssetsDefinition:
        outcomes = [
            dg.AssetCheckResult(check_name="finite", passed=False, metadata={"what_to_do": "drop <them>"}),
            dg.AssetCheckResult(check_name="repeats", passed=False, severity=dg.AssetCheckSeverity.WARN),
            dg.AssetCheckResult(check_name="labels", passed=True),
        ]
        return stage("raw_dataset", lambda: result(key, reused=True, check_results=outcomes), specs)

    run(instance, checked("k1"))
    assert tick() == "1 new alerts, 1 posted"
    assert "raw_dataset has failed checks: `finite: drop &lt;them&gt;; repeats (warning)`" in webhook.texts[0]
    run(instance, checked("k1"))
    assert tick() == "0 new alerts, 0 posted"
    run(instance, checked("k2"))
    run(instance, checked("k1"), dataset="circles_2")
    assert tick() == "2 new alerts, 2 posted"


def test_a_check_that_blocks_is_told_as_a_check_alone(
    instance: dg.DagsterInstance, tick: Callable[[], str], webhook: Webhook
) -> None:
    specs = [dg.AssetCheckSpec("finite", asset="raw_dataset", blocking=True)]
    outcome = [dg.AssetCheckResult(check_name="finite", passed=False)]
    run(instance, stage("raw_dataset", lambda: result("k", check_results=outcome), specs))
    assert instance.get_runs()[0].status == dg.DagsterRunStatus.FAILURE
    assert tick() == "1 new alerts, 1 posted"
    assert "has failed checks: `blocked by finite`" in webhook.texts[0]


def test_a_finished_refresh_says_what_it_made(
    instance: dg.DagsterInstance, tick: Callable[[], str], webhook: Webhook
) -> None:
    raw = stage("raw_dataset", lambda: result("k0", reused=True))
    filtered = stage("filtered_sets", lambda: result("k1"), deps=["raw_dataset"])
    report = stage(
        "benchmark_report",
        lambda: dg.MaterializeResult(metadata={"key": "k2", "reused": False, "verdicts": "helps on clean\nmore"}),
        deps=["filtered_sets"],
    )
    run(instance, raw, filtered, report)
    assert tick() == "1 new alerts, 1 posted"
    expected = "benchmark_report was refreshed: `made filtered_sets, benchmark_report; found 1 more; helps on clean`"
    assert expected in webhook.texts[0]
    run(instance, raw)
    assert tick() == "0 new alerts, 0 posted"


def test_a_webhook_that_is_away_gets_the_alerts_later_once(
    instance: dg.DagsterInstance, tick: Callable[[], str], webhook: Webhook
) -> None:
    webhook.answer = 503
    run(instance, stage("raw_dataset", refuses))
    said = tick()
    assert said.startswith("1 new alerts, 0 posted, 1 waiting: the alert webhook answered 503")
    assert "secret" not in said
    webhook.answer = 200
    assert tick() == "0 new alerts, 1 posted"
    assert tick() == "0 new alerts, 0 posted"
    assert len(webhook.texts) == 1


def test_the_input_of_a_stage_is_the_key_it_would_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ResultStore(tmp_path)
    before = input_of("raw_dataset", "circles_1", store)
    assert before is not None
    assert len(before) == 20
    stages = {**module.STAGES, "raw_dataset": replace(module.STAGES["raw_dataset"], code_version="next")}
    monkeypatch.setattr(module, "STAGES", stages)
    assert input_of("raw_dataset", "circles_1", store) not in (None, before)
    assert input_of("filtered_sets", "circles_1", store) is None  # nothing was made that it reads
    assert input_of("raw_dataset", "gone", store) is None
    assert input_of("iteration_sets", "circles_1", store) is None


def test_the_sensor_is_there_and_off() -> None:
    sensor = definitions.defs.get_repository_def().get_sensor_def("alerts")
    assert sensor.default_status == dg.DefaultSensorStatus.STOPPED
