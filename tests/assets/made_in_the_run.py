"""The definitions with stages made in the run's own process: what a Dagster loads that is only looked at.

Every stage's process imports its libraries anew, which is most of what a tiny dataset's run takes.
"""

from typing import Any

import definitions
from aflite_assets.assets.steps import attempts


def _make(job: Any, *, progress: Any, on_making: Any, **rest: Any) -> Any:
    return job.run(progress=progress, on_making=on_making)


attempts.make_in_child = _make
defs = definitions.defs
