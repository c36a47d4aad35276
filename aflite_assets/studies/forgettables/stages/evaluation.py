"""Sets of forgettable rows as train sets of evaluators."""

from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.settings import DrawnRows
from aflite_assets.stages.evaluation.row_sets import RowSets
from aflite_assets.stages.shared.published import read_row_sets
from aflite_assets.stages.shared.train_sets import TrainSet
from aflite_assets.studies.forgettables.specs.settings import ForgettablesSettings


def train_sets(settings: DatasetSpec, result: PublishedResult, seed: int) -> list[TrainSet]:
    """Return two train sets for each weak model with `alone`: forgettable rows, and equally many random rows."""
    alone = {name for name, entry in ForgettablesSettings.of(settings).forgettables.items() if entry.alone}
    names = {"forgettable": "forgettable", "random": "random_forgettable"}
    return [
        TrainSet(f"{names[each.name]}_{each.weak_model}", None, each.row_ids)
        for each in read_row_sets(result)
        if each.weak_model in alone and each.name in names and each.seed in (seed, None)
    ]


def why_missing(result: PublishedResult, chosen: DrawnRows) -> str:
    """Return the reason why the result of `forgettable_sets` lacks a set of rows."""
    for needed in filter(None, (chosen.weak_model, chosen.as_many_as)):
        failed = result.summary.get("failed", {}).get(needed)
        if failed is not None:
            return f"`forgettables.{needed}` failed: {failed}"
        if needed not in result.summary.get("models", {}):
            return f"`forgettable_sets` was computed before {needed!r} was in `forgettables`; materialise it again"
    weak_model, name = chosen.weak_model, chosen.set_name
    return (
        f"`forgettables.{weak_model}` has no {name} rows to train on; if `balance` is true, every class needs such "
        "rows. See its check in `forgettable_sets`, or set `balance: false` or fewer `epochs` there"
    )


PART = RowSets("forgettable_sets", train_sets, why_missing)
