"""Numbers from current results that also hold for a planned run: kept train rows, and durations of stages.

The module `known_sizes` only reads existing results.
"""

from collections.abc import Mapping
from statistics import fmean

from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec

_GRID, _WEIGHTS = "evaluator_models", "weights:"


def reused_results(spec: DatasetSpec, store: ResultStore) -> dict[str, PublishedResult]:
    """Return the current results that a run would reuse, by stage."""
    if spec.name not in store.datasets():
        return {}
    reused = [one.stage for one in plan_dataset(spec, store).stages if one.current]
    return {stage: store.current(stage, spec.name) for stage in reused}


def known_kept(reused: Mapping[str, PublishedResult]) -> dict[str, int]:
    """Return the number of train rows of each filtered set, by name; empty if a run would filter again.

    If the filter ran several times, the number is the mean over its runs.
    """
    summary = reused["filtered_sets"].summary if "filtered_sets" in reused else {}
    runs = {name: facts.get("kept_train_rows") or [facts["kept"]["train"]] for name, facts in summary.items()}
    return {name: round(fmean(rows)) for name, rows in runs.items()}


def last_seconds(reused: Mapping[str, PublishedResult]) -> dict[str, float]:
    """Return the seconds that each stage took for the result that a run would reuse.

    The stage `evaluator_models` is left out if it reused training runs of an earlier result. A training run that
    several cells share counts once.
    """
    took = {stage: result.manifest["provenance"].get("seconds") for stage, result in reused.items()}
    if _GRID in took:
        cells = {part.key for name, part in reused[_GRID].parts.items() if not name.startswith(_WEIGHTS)}
        took[_GRID] = took[_GRID] if reused[_GRID].summary["fitted"] >= len(cells) else None
    return {stage: seconds for stage, seconds in took.items() if seconds is not None}
