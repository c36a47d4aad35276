"""Attempts to get the result of a step's stage: reuse it, or compute it in a child process with retries."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import dagster as dg

from aflite_assets.assets.steps.card_slots import card_slot
from aflite_assets.errors import AfliteError, InvalidInputError, TooManyTriesError
from aflite_assets.models.device_leases import DeviceLease
from aflite_assets.refresh.state import RefreshState, is_refusal
from aflite_assets.results import PublishedResult, StoredResult
from aflite_assets.stages.child_process import StageJob, StageWorker, make_in_child
from aflite_assets.stages.pipeline import ON_CARDS, STAGES, find_stage, require_no_artefact
from aflite_assets.stages.stage import Progress
from aflite_assets.tracking import NullTracker
from resources import ComputeDevice

RETRY_DELAYS = (10.0, 60.0)
"""Seconds before the second and the third attempt after a temporary error; there is no fourth attempt."""

TIME_LIMIT_TAG = "aflite/max_runtime_seconds"
"""Run tag with the time limit, in seconds, for each step that computes a result."""

REFRESH_TAG = "aflite/refresh"
"""Tag of runs that the sensor `refresh` starts; its value is the key of the run request."""


def found_or_made(
    context: dg.AssetExecutionContext,
    job: StageJob,
    progress: Progress,
    *,
    compute_device: ComputeDevice,
    worker: StageWorker,
) -> StoredResult:
    """Return the result of a stage; if no current result exists, compute the result in `worker` on a leased device.

    If the dataset's YAML file does not request a result, an empty result is written in this process.

    Raises:
        Failure: a retry would not help, because the stage refused its input, took too long, or has no retries left.
        RetryRequested: a retry may succeed, for example because the hub was busy or a process was killed.
        DagsterExecutionInterruptedError: the run was cancelled while the step waited for its retry.
    """
    if context.retry_number:
        _wait_for_retry(context)
    state, key = RefreshState.beside(job.store), ""

    def begin(made_for: str) -> None:
        nonlocal key
        key = made_for
        refusal = state.refusal(job.spec.name, job.name, key)
        if refusal is not None and REFRESH_TAG in context.run.tags:
            raise TooManyTriesError(
                f"the stage `{job.name}` of {job.spec.name!r} failed and is not retried until its inputs change: "
                f"{refusal}"
            )

    with _as_dagster_errors(context):
        try:
            obtained = _obtained(context, job, progress, compute_device, worker, begin)
        except Exception as error:
            if key and is_refusal(error):
                state.note_refusal(job.spec.name, job.name, key, str(error))
            raise
        if key and obtained.result.summary.get("incomplete"):
            # The run succeeds, so that only this note keeps refreshes from trying the failed parts again and again.
            state.note_refusal(job.spec.name, job.name, key, "its result lacks parts that failed")
        else:
            state.note_made(job.spec.name, job.name)
        return obtained


def was_cancelled(instance: dg.DagsterInstance, run_id: str) -> bool:
    """Return True if a person cancelled the run.

    The request to cancel counts, because Dagster records no end of a run whose process died.
    """
    asked = {dg.DagsterEventType.RUN_CANCELING, dg.DagsterEventType.RUN_CANCELED}
    return bool(instance.all_logs(run_id, of_type=asked))


def _wait_for_retry(context: dg.AssetExecutionContext) -> None:
    """Wait for the time in `RETRY_DELAYS` inside the step, because Dagster can interrupt a run only during a step.

    Raises:
        DagsterExecutionInterruptedError: the run was cancelled during the wait.
    """
    end = time.monotonic() + RETRY_DELAYS[context.retry_number - 1]
    while not was_cancelled(context.instance, context.run.run_id):
        if (left := end - time.monotonic()) <= 0:
            return
        time.sleep(min(left, 1.0))
    raise dg.DagsterExecutionInterruptedError


def _obtained(
    context: dg.AssetExecutionContext,
    job: StageJob,
    progress: Progress,
    compute_device: ComputeDevice,
    worker: StageWorker,
    on_making: Callable[[str], None],
) -> StoredResult:
    """Reuse or compute the result of a stage; raise errors about artefacts before waiting for a GPU."""

    def first(name: str) -> PublishedResult:
        return _obtained(context, replace(job, name=name), progress, compute_device, worker, lambda key: None).result

    obtained = find_stage(job.name, job.spec, store=job.store)
    if obtained is not None:
        return obtained
    require_no_artefact(job.name, job.spec, first)
    if STAGES[job.name].settings.is_disabled(job.spec):
        return replace(job, tracker=NullTracker()).run(progress=progress, on_making=on_making)
    seconds = _time_limit(context.run.tags)
    with _leased(context, job, compute_device) as lease:
        return make_in_child(
            replace(job, device=compute_device.settings(lease)),
            progress=progress,
            worker=worker,
            environment=lease.environment,
            seconds=seconds,
            on_making=on_making,
        )


@contextmanager
def _leased(context: dg.AssetExecutionContext, job: StageJob, compute_device: ComputeDevice) -> Iterator[DeviceLease]:
    """Lease a GPU and a slot of the pool `gpu` for a `with` block, or yield an empty lease if no GPU is needed.

    The stage `evaluator_models` leases all free GPUs until it ends, because it trains a cell on each GPU. On a Ray
    cluster, Ray assigns the GPUs.
    """
    if job.name not in ON_CARDS or job.cluster.is_ray or not compute_device.cards():
        yield DeviceLease()
        return
    purpose = f"{job.name} of {job.spec.name}"
    with (
        card_slot(context.instance, context.run, context.op_def.name, log=context.log.info),
        compute_device.lease(purpose, all_free=job.name == "evaluator_models", log=context.log.info) as lease,
    ):
        yield lease


@contextmanager
def _as_dagster_errors(context: dg.AssetExecutionContext) -> Iterator[None]:
    try:
        yield
    except AfliteError as error:
        tries = context.retry_number + 1
        if _is_tried_again(context, error):
            context.log.warning(f"{error}\nThe step is retried in {RETRY_DELAYS[tries - 1]:g} seconds")
            raise dg.RetryRequested(max_retries=len(RETRY_DELAYS)) from error
        tried = f" (tried {tries} times)" if error.may_pass else ""
        raise dg.Failure(description=f"{error}{tried}", allow_retries=False) from error


def _is_tried_again(context: dg.AssetExecutionContext, error: Exception) -> bool:
    return isinstance(error, AfliteError) and error.may_pass and context.retry_number < len(RETRY_DELAYS)


def _time_limit(tags: Mapping[str, str]) -> float | None:
    given = tags.get(TIME_LIMIT_TAG)
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InvalidInputError(
            f"the run tag `{TIME_LIMIT_TAG}` is {given!r}, but a time limit is a positive number of seconds; correct "
            "the tag"
        )
    return seconds
