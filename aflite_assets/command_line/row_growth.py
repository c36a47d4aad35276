"""Numbers of rows added to a dataset's tables since its results were computed, for `aflite plan`."""

from typing import TYPE_CHECKING

from aflite_assets.command_line.terminal import one_line
from aflite_assets.errors import AfliteError

if TYPE_CHECKING:
    from aflite_assets.refresh.plan import DatasetPlan
    from aflite_assets.results import ResultStore
    from aflite_assets.specs.dataset import DatasetSpec

MOST_BYTES = 256 << 20
"""Larger tables are not read, since a plan is to be quick."""


def row_growth(spec: "DatasetSpec", plan: "DatasetPlan", store: "ResultStore") -> str | None:
    """Return the row counts of changed splits, or why a table cannot be read; None unless tables in files changed."""
    from aflite_assets.data.loading import load_source
    from aflite_assets.specs.sources import TableSource

    stage = plan["raw_dataset"]
    if stage.state != "made" or not any(reason.kind == "file" for reason in stage.reasons):
        return None
    files = () if plan.contents is None else plan.contents.files(["source"]).get("source", ())
    if not isinstance(spec.source, TableSource) or sum(file.mark.size for file in files) > MOST_BYTES:
        return None
    try:
        now = {split: table.num_rows for split, table in load_source(spec.source).items()}
        before = store.current("raw_dataset", spec.name).summary.get("source_rows", now)
    except AfliteError as error:
        return f"its new rows cannot be counted: {one_line(str(error))}"
    changed = [
        f"{split} has {now[split]:,} rows, {abs(growth):,} {'new' if growth > 0 else 'fewer'}"
        for split in now
        if (growth := now[split] - before.get(split, 0))
    ]
    return "; ".join(changed) or None
