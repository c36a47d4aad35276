"""Numbers from current results that also hold for a planned run: kept train rows, and durations of stages.

The module `known_sizes` only reads existing results.
"""

from statistics import fmean

from aflite_assets.errors import StoreError
from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import STAGES

_FILTER, _GRID, _WEIGHTS = "filtered_sets", "evaluator_models", "weights:"


def known_kept(spec: DatasetSpec, store: ResultStore) -> dict[str, int]:
    """Return the number of train rows of each filtered set in the current result, by name.

    If a run would not reuse the current result, the mapping is empty. If the filter ran several times, the number is
    the mean over its runs.
    """
    result = found_result(_FILTER, spec, store)
    summary = {} if result is None else result.summary
    return {name: round(fmean(_kept_in_runs(facts))) for name, facts in summary.items()}


def last_seconds(spec: DatasetSpec, store: ResultStore) -> dict[str, float]:
    """Return the seconds that each stage took for its current result.

    Stages whose result a run would not reuse are left out. The stage `evaluator_models` is also left out if it reused
    training runs of an earlier result.
    """
    took = {
        one.stage: one.seconds for one in plan_dataset(spec, store).stages if one.current and one.seconds is not None
    }
    if _GRID in took and not _all_trained(store.current(_GRID, spec.name)):
        del took[_GRID]
    return took


def _all_trained(grid: PublishedResult) -> bool:
    """Return True if the stage `evaluator_models` trained all evaluators itself and reused no earlier training.

    A training run that several cells share counts once.
    """
    cells = {part.key for name, part in grid.parts.items() if not name.startswith(_WEIGHTS)}
    fitted = grid.summary["fitted"]
    return isinstance(fitted, int) and fitted >= len(cells)


def found_result(stage: str, spec: DatasetSpec, store: ResultStore) -> PublishedResult | None:
    """Return the current result of a stage, or None if a run would not reuse the result."""
    try:
        result = store.current(stage, spec.name)
    except StoreError:
        return None
    needed = {stage}
    for name in reversed(list(STAGES)):
        needed |= set(STAGES[name].input_names) if name in needed else set()
    stages = {name: each for name, each in STAGES.items() if name in needed}
    return result if plan_dataset(spec, store, stages=stages)[stage].current else None


def _kept_in_runs(facts: dict[str, object]) -> list[int]:
    runs = facts.get("kept_train_rows")
    if isinstance(runs, list):
        return runs
    kept = facts["kept"]
    assert isinstance(kept, dict)
    return [kept["train"]]
