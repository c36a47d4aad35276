"""The definitions with stages made in the run's own process, for a Dagster that is only looked at.

A stage's own process imports its libraries anew, which is most of what a tiny dataset's run takes.
`tests/stages/test_child_process` and `tests/assets/steps/test_attempts` have the processes.
"""

import definitions
from aflite_assets.assets.steps import attempts
from tests.stages_made_here import make_here

attempts.make_in_child = make_here
defs = definitions.defs
