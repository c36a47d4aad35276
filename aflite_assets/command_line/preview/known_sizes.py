"""What current results say of the sizes of a run before it: how many train rows the filters keep. Nothing is made."""

from statistics import fmean

from aflite_assets.errors import StoreError
from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import STAGES

_FILTER = "filtered_sets"


def known_kept(spec: DatasetSpec, store: ResultStore) -> dict[str, int]:
    """Train rows that each filtering keeps, by its name, where a run would find the current result; else none.

    Of several runs of the filter, their mean.
    """
    try:
        summary = store.current(_FILTER, spec.name).summary
    except StoreError:
        return {}
    needed = {_FILTER}
    for name in reversed(list(STAGES)):
        needed |= set(STAGES[name].input_names) if name in needed else set()
    stages = {name: stage for name, stage in STAGES.items() if name in needed}
    if not plan_dataset(spec, store, stages=stages)[_FILTER].current:
        return {}
    return {name: round(fmean(_kept_in_runs(facts))) for name, facts in summary.items()}


def _kept_in_runs(facts: dict[str, object]) -> list[int]:
    runs = facts.get("kept_train_rows")
    if isinstance(runs, list):
        return runs
    kept = facts["kept"]
    assert isinstance(kept, dict)
    return [kept["train"]]
