"""The asset `forgettable_sets`."""

from typing import Any

from aflite_assets.assets.common import AssetRun, stage_asset, table


@stage_asset(group="evaluation", kinds={"pytorch", "parquet"})
def forgettable_sets(run: AssetRun) -> dict[str, Any]:
    """Train rows that weak models forget or never learn, and other train rows for comparison, if `forgettables` is set.

    Evaluators of kind `fine_tuned` can be trained on the forgettable rows after `full`, if one of their stages sets
    `forgettables`.
    """
    if run.summary.get("nothing_asked"):
        return {"why_empty": "the dataset's YAML file does not set `forgettables`"}
    return {
        "weak_models": table(
            {"weak_model": name, **{field: value for field, value in facts.items() if not isinstance(value, dict)}}
            for name, facts in run.summary["models"].items()
        )
    }


PART = forgettable_sets
