"""Stages of Dagster runs made in the run's own process, which has loaded their libraries, in place of a child."""

from collections.abc import Callable
from typing import Any

from aflite_assets.results import StoredResult
from aflite_assets.stages.child_process import StageJob
from aflite_assets.stages.stage import Progress


def make_here(
    job: StageJob, *, progress: Progress, on_making: Callable[[str], None] = lambda key: None, **rest: Any
) -> StoredResult:
    """What `make_in_child` has a child do."""
    return job.run(progress=progress, on_making=on_making)
