"""Outcomes of the checks of a result: computed once, stored with the result, and read by assets and the report."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult
from aflite_assets.results.sidecar_files import kept_beside, sources_version
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.stage import Stage

_PACKAGE = Path(__file__).parents[1]
_COMPUTING = (
    "algorithm",
    "analysis",
    "checks.py",
    "data",
    "diagnostics",
    "reports",
    "specs",
    "stages",
    "studies",
    "text.py",
)
_SOURCES = tuple(_PACKAGE / name for name in (*_COMPUTING, "wording.py"))
"""The code that computes checks; if it changes, stored outcomes are recomputed."""


def stage_checks(
    stage: Stage,
    result: PublishedResult,
    settings: DatasetSpec,
    results: Mapping[str, PublishedResult],
) -> tuple[CheckOutcome, ...]:
    """Return the outcomes of the checks of a stage's published result.

    Outcomes are recomputed only if the code, the settings or a result that they depend on has changed.

    Args:
        stage: the stage that computed `result`.
        result: a published result, with or without stored outcomes.
        settings: the dataset's YAML file, or settings with the fields that the checks read.
        results: results by stage name, including every result that the checks read.

    Raises:
        DataError: `result` does not match a result in `results`.
    """
    checks = stage.checks
    if not checks.asks:
        return ()
    read, inputs = checks.settings.of(settings), {name: results[name] for name in checks.inputs}
    depends = {
        "sources": sources_version(_SOURCES),
        "settings": checks.settings.as_json(settings),
        "inputs": {name: one.data_version for name, one in inputs.items()},
    }
    kept = kept_beside(
        result,
        "findings",
        version=hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:12],
        make=lambda: [asdict(outcome) for outcome in checks.run(result, inputs, read)],
    )
    return tuple(CheckOutcome(**fields) for fields in kept)
