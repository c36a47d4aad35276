"""A step's tries: found here, made in a child, tried again where that can help, refused where it cannot."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import pytest

from aflite_assets.assets import data
from aflite_assets.assets.steps import attempts
from aflite_assets.errors import AfliteError, DataError, MissingDataError, WorkerLostError
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.stages.pipeline import run_stage
from tests.assets.made import few_circles, register
from tests.assets.made import materialize as run_of

Materialize = Callable[..., dg.ExecuteInProcessResult]


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def materialize(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> Materialize:
    """`raw_dataset` of circles with fewer rows, under the name of a partition of the definitions."""
    register(monkeypatch, few_circles(40, 20))
    monkeypatch.setattr(attempts, "RETRY_DELAYS", (0.01, 0.02))
    return lambda **tags: run_of(
        [data.raw_dataset],
        tracked=False,
        instance=instance,
        tags={name.replace("__", "/"): value for name, value in tags.items()},
        raise_on_error=False,
    )


def failing(monkeypatch: pytest.MonkeyPatch, *errors: AfliteError) -> list[Any]:
    """The child fails with each of these in turn, and succeeds from then on; what it was asked for."""
    asked: list[Any] = []

    def make(job: Any, *, seconds: float | None, **rest: Any) -> StoredResult:
        asked.append((job.name, seconds))
        if len(asked) <= len(errors):
            raise errors[len(asked) - 1]
        return run_stage(job.name, job.spec, store=job.store)

    monkeypatch.setattr(attempts, "make_in_child", make)
    return asked


def description(result: dg.ExecuteInProcessResult) -> str:
    failure = result.failure_data_for_node("raw_dataset")
    assert failure is not None
    assert failure.user_failure_data is not None
    return str(failure.user_failure_data.description)


def test_what_is_to_be_made_has_a_process_and_what_is_found_has_none(materialize: Materialize, home: Any) -> None:
    assert materialize().success
    made = ResultStore(home / "results").current("raw_dataset", "circles_1")
    assert made.manifest["process"] != os.getpid()
    assert [path.name.split("-")[1] for path in made.path.parent.glob("shown/*")] == ["findings"]
    with pytest.MonkeyPatch.context() as patch:
        asked = failing(patch)
        again = materialize()
    assert again.success
    assert asked == []
    (reported,) = again.asset_materializations_for_node("raw_dataset")
    assert reported.metadata["reused"].value is True


def test_what_may_pass_is_tried_three_times(materialize: Materialize, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = failing(monkeypatch, WorkerLostError("killed once"), WorkerLostError("killed twice"))
    result = materialize()
    assert result.success
    assert len(asked) == 3
    assert len(retries(result)) == 2


def test_a_retry_that_waits_ends_with_its_cancelled_run(
    materialize: Materialize, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def make(job: Any, **rest: Any) -> StoredResult:
        asked.append(job.name)
        (run,) = instance.get_runs()
        instance.report_run_canceling(run)  # as Dagster's pages do; the signal to the process is lost
        raise WorkerLostError("killed")

    monkeypatch.setattr(attempts, "make_in_child", make)
    result = materialize()
    assert asked == ["raw_dataset"]
    assert not result.success
    assert instance.get_runs()[0].status == dg.DagsterRunStatus.CANCELED


def retries(result: dg.ExecuteInProcessResult) -> list[dg.DagsterEvent]:
    return [event for event in result.all_events if event.event_type_value == "STEP_UP_FOR_RETRY"]


def test_the_third_failure_is_the_last(materialize: Materialize, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = failing(monkeypatch, *[WorkerLostError(f"killed {number}") for number in range(4)])
    result = materialize()
    assert not result.success
    assert len(asked) == 3
    assert description(result) == "killed 2 (tried 3 times)"


def test_a_hub_that_is_busy_is_asked_again_and_a_missing_file_is_not(
    materialize: Materialize, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = MissingDataError("the hub answers 503")
    busy.may_pass = True
    asked = failing(monkeypatch, busy, MissingDataError("file 'x' does not exist"))
    result = materialize()
    assert len(asked) == 2
    assert description(result) == "file 'x' does not exist"


def test_refusals_are_never_tried_again(materialize: Materialize, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = failing(monkeypatch, DataError("label 'x' is unknown"))
    result = materialize()
    assert (len(asked), description(result), retries(result)) == (1, "label 'x' is unknown", [])


def test_a_tag_limits_the_seconds_of_a_step(materialize: Materialize, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = failing(monkeypatch)
    assert materialize(aflite__max_runtime_seconds="90").success
    assert asked == [("raw_dataset", 90.0)]


@pytest.mark.parametrize("given", ["soon", "0", "-1", "inf", "nan"])
def test_a_limit_that_is_none_is_refused(materialize: Materialize, given: str) -> None:
    expected = (
        f"the run tag `aflite/max_runtime_seconds` is {given!r}, but a time limit is a positive number of seconds; "
        "correct the tag"
    )
    assert description(materialize(aflite__max_runtime_seconds=given)) == expected


def test_a_step_over_its_limit_fails_and_says_which(materialize: Materialize) -> None:
    told = description(materialize(aflite__max_runtime_seconds="0.05"))
    assert told.startswith(
        "raw_dataset of 'circles_1' was stopped at its time limit of 0.05 seconds; raise the limit, and materialise the"
    )
