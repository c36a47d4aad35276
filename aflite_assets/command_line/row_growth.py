"""Numbers of rows that were added to a dataset's tables after its results were computed. `aflite plan` prints these
numbers.
"""

from typing import TYPE_CHECKING

from aflite_assets.errors import AfliteError

if TYPE_CHECKING:
    from aflite_assets.refresh.plan import DatasetPlan
    from aflite_assets.results import ResultStore
    from aflite_assets.specs.dataset import DatasetSpec

MOST_BYTES = 256 << 20
"""Largest size of tables that are read. Larger tables would make a plan too slow."""


def row_growth(spec: "DatasetSpec", plan: "DatasetPlan", store: "ResultStore") -> str | None:
    """Return the previous and the current number of rows of each split. Return None if the source's tables have not
    changed or cannot be read.
    """
    from aflite_assets.data.loading import load_source
    from aflite_assets.specs.sources import TableSource

    stage = plan["raw_dataset"]
    if stage.state != "made" or not any(reason.kind == "file" for reason in stage.reasons):
        return None
    files = () if plan.contents is None else plan.contents.files(["source"]).get("source", ())
    if not isinstance(spec.source, TableSource) or sum(file.mark.size for file in files) > MOST_BYTES:
        return None
    try:
        before = store.current("raw_dataset", spec.name).summary["source_rows"]
        now = {split: table.num_rows for split, table in load_source(spec.source).items()}
    except (AfliteError, KeyError):  # the stage will say what is wrong with a file
        return None
    changed = [
        f"{split} has {now[split]:,} rows, {abs(growth):,} {'new' if growth > 0 else 'fewer'}"
        for split in now
        if (growth := now[split] - before.get(split, 0))
    ]
    return "; ".join(changed) or None
