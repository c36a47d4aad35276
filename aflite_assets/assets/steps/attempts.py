"""How a step gets its stage's result: found here or made in a child process, tried again where that can help."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

import dagster as dg

from aflite_assets.errors import AfliteError, InvalidInputError
from aflite_assets.models.device_leases import DeviceLease
from aflite_assets.refresh.state import RefreshState
from aflite_assets.refresh.tries import CountedTry
from aflite_assets.results import StoredResult
from aflite_assets.stages.child_process import StageJob, make_in_child
from aflite_assets.stages.pipeline import find_stage
from aflite_assets.stages.stage import Progress
from resources import ComputeDevice

RETRY_DELAYS = (10.0, 60.0)
"""Seconds before the second and the third try of a step whose error may pass; there is no fourth."""

TIME_LIMIT_TAG = "aflite/max_runtime_seconds"
"""Tag of a run: for how many seconds each of its steps may make a result; what is found takes none."""

REFRESH_TAG = "aflite/refresh"
"""Tag of the runs that refreshes start, with the name under which their tries are counted."""

GPU_POOL = "gpu"
"""The pool whose steps need a card: `stage_options(pool=...)`."""


def found_or_made(
    context: dg.AssetExecutionContext, job: StageJob, progress: Progress, *, compute_device: ComputeDevice
) -> StoredResult:
    """The result of a stage: found in this process, or made in one of its own on a device that is leased for it.

    Raises:
        dg.Failure: the stage refused its input, took too long, or failed for the last time; no retry would help.
        dg.RetryRequested: something was the matter that may pass, such as a busy hub or a killed process.
    """
    if context.retry_number:
        # Here, and not between the tries: Dagster hears of a cancellation only while a step runs.
        time.sleep(RETRY_DELAYS[context.retry_number - 1])
    run = context.run.tags.get(REFRESH_TAG)
    counted = CountedTry(RefreshState.beside(job.store), job.spec.name, job.name, run)
    with _as_dagster_errors(context):
        try:
            obtained = find_stage(job.name, job.spec, store=job.store)
            if obtained is None:
                seconds = _time_limit(context.run.tags)
                with _leased(context, job, compute_device) as lease:
                    leased = replace(job, device=compute_device.settings(lease))
                    obtained = make_in_child(
                        leased,
                        progress=progress,
                        environment=lease.environment,
                        seconds=seconds,
                        on_making=counted.begin,
                    )
        except Exception as error:  # counted whatever it is, and raised again
            counted.fail(error)
            raise
        counted.end(obtained)
        return obtained


@contextmanager
def _leased(context: dg.AssetExecutionContext, job: StageJob, compute_device: ComputeDevice) -> Iterator[DeviceLease]:
    """The GPU that an asset of the pool `gpu` works on, held for the block; an empty lease for all others.

    `evaluator_models` takes every one that is free, since it trains a cell on each; it keeps them until it has ended.
    On a cluster of Ray cards are Ray's to give.
    """
    if context.op_def.pool != GPU_POOL or job.cluster.is_ray:
        yield DeviceLease()
        return
    purpose = f"{job.name} of {job.spec.name}"
    with compute_device.lease(purpose, all_free=job.name == "evaluator_models", log=context.log.info) as lease:
        yield lease


@contextmanager
def _as_dagster_errors(context: dg.AssetExecutionContext) -> Iterator[None]:
    try:
        yield
    except AfliteError as error:
        tries = context.retry_number + 1
        if error.may_pass and tries <= len(RETRY_DELAYS):
            context.log.warning(f"{error}\nTried again in {RETRY_DELAYS[tries - 1]:g} seconds")
            raise dg.RetryRequested(max_retries=len(RETRY_DELAYS)) from error
        tried = f" (tried {tries} times)" if error.may_pass else ""
        raise dg.Failure(description=f"{error}{tried}", allow_retries=False) from error


def _time_limit(tags: Mapping[str, str]) -> float | None:
    given = tags.get(TIME_LIMIT_TAG)
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InvalidInputError(f"the run's tag {TIME_LIMIT_TAG} is {given!r}; give a number of seconds over 0")
    return seconds
