"""The files of tests that take longest, which run first: at the end both processes then have short ones to share.

Left to itself xdist begins with the files of the most tests, and the last process ends on a long one of a single test.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

LONGEST = (
    "command_line/test_web.py",
    "assets/test_browser.py",
    "assets/test_events_of_a_run.py",
    "stages/test_child_process.py",
    "stages/shared/test_training_workers.py",
    "faults/test_kills.py",
    "automation/test_refresh_sensor.py",
    "reports/page/test_page_browser.py",
    "assets/test_definitions.py",
    "algorithm/test_same_law.py",
    "command_line/fixing/test_command.py",
    "algorithm/test_filter_properties.py",
    "algorithm/linear/solver/test_compiled_lbfgs.py",
    "stages/shared/test_train_sets.py",
    "stages/test_transfer.py",
    "reports/page/test_html.py",
    "algorithm/test_planted_artifacts.py",
    "stages/evaluation/test_forgettable_sets.py",
    "stages/data/test_train_sample.py",
    "stages/test_policies.py",
    "deploy/test_postgres.py",
    "stages/test_models_walk.py",
    "automation/test_one_process.py",
    "automation/web/test_other_origins.py",
    "stages/report/test_benchmark_report.py",
    "stages/warmup/test_warmup_size.py",
    "stages/data/test_stop_at_artefact.py",
    "stages/test_object_store.py",
    "stages/test_bundled_benchmarks.py",
    "assets/test_leases.py",
    "automation/test_run_scope.py",
    "benchmarks/test_card.py",
)
"""Below `tests`, in order; whatever is not named keeps its place after them."""


def longest_first(items: Sequence[pytest.Item], folder: Path) -> list[pytest.Item]:
    """The tests of the longest files, in the order of `LONGEST`, then all others as they come."""
    places = {folder / name: place for place, name in enumerate(LONGEST)}
    return sorted(items, key=lambda item: places.get(item.path, len(places)))
