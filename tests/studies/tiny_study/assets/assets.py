"""The asset `counted_rows`."""

from typing import Any

from aflite_assets.assets.common import AssetRun, stage_asset


@stage_asset(group="evaluation", kinds={"parquet"})
def counted_rows(run: AssetRun) -> dict[str, Any]:
    """The number of train rows."""
    return dict(run.summary)


PART = counted_rows
