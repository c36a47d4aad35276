"""How a step gets its stage's result: found here or made in a child process, tried again where that can help."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import dagster as dg

from aflite_assets.errors import AfliteError, InvalidInputError
from aflite_assets.results import Obtained
from aflite_assets.stages.child import StageJob, make_in_child
from aflite_assets.stages.pipeline import find_stage
from aflite_assets.stages.progress import Progress

RETRY_DELAYS = (10.0, 60.0)
"""Seconds before the second and the third try of a step whose error may pass; there is no fourth."""

TIME_LIMIT_TAG = "aflite/max_runtime_seconds"
"""Tag of a run: for how many seconds each of its steps may make a result; what is found takes none."""


def found_or_made(context: dg.AssetExecutionContext, job: StageJob, progress: Progress) -> Obtained:
    """The result of a stage: found in this process, or made in one of its own.

    Raises:
        dg.Failure: the stage refused its input, took too long, or failed for the last time; no retry would help.
        dg.RetryRequested: something was the matter that may pass, such as a busy hub or a killed process.
    """
    if context.retry_number:
        # Here, and not between the tries: Dagster hears of a cancellation only while a step runs.
        time.sleep(RETRY_DELAYS[context.retry_number - 1])
    with _as_dagster_errors(context):
        found = find_stage(job.name, job.spec, store=job.store)
        return found or make_in_child(job, progress=progress, seconds=_time_limit(context.run.tags))


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
