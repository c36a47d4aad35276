"""External assets: files and settings that stages read, so that the lineage shows what changed. A sensor reports them.

`source_files` and `challenge_files` are the data of a dataset, `<stage>_settings` what the stage reads of its YAML
file, with the files or commits of models that this names. Together they have exactly what the stage's key has, so that
a stage is shown as behind where it would be made anew, and nowhere else.
"""

import dagster as dg

from aflite_assets.assets.partitions import DATASETS, OWNERS
from aflite_assets.stages.pipeline import STAGES
from aflite_assets.stages.shared.content_hashes import CONTENT_FIELDS
from aflite_assets.stages.stage import Stage

DATA_FIELDS = {"source_files": ("source", "annotations"), "challenge_files": ("challenge_sets",)}
"""The spec fields whose contents each of the two stands for."""

_SETTINGS = "_settings"


def settings_name(stage: str) -> str:
    """The external asset that stands for a stage's settings."""
    return f"{stage}{_SETTINGS}"


def watched_parents(stage: Stage) -> tuple[str, ...]:
    """The external assets that a stage reads."""
    data = [name for name, fields in DATA_FIELDS.items() if set(fields) & set(stage.reads)]
    return (*data, settings_name(stage.name))


def model_fields(stage: Stage) -> tuple[str, ...]:
    """The fields of a stage whose contents are files or commits of models."""
    data = {field for name in watched_parents(stage) for field in DATA_FIELDS.get(name, ())}
    return tuple(field for field in stage.reads if field in CONTENT_FIELDS and field not in data)


def _spec(name: str, group: str, kinds: set[str], description: str) -> dg.AssetSpec:
    return dg.AssetSpec(
        name,
        partitions_def=DATASETS,
        group_name=group,
        kinds=kinds,
        owners=OWNERS,
        tags={"domain": group},
        description=f"{description} Its version is reported by the sensor `refresh`; nothing makes it.",
    )


source_files = _spec("source_files", "data", {"file"}, "The files or the hub's commit of a dataset's source.")
challenge_files = _spec("challenge_files", "data", {"file"}, "The files or commits of a dataset's challenge sets.")
stage_settings = [
    _spec(
        settings_name(stage.name),
        "settings",
        {"yaml"},
        f"What {stage.name} reads of a dataset's file: {', '.join(stage.reads)}; with the models that this names.",
    )
    for stage in STAGES.values()
]
WATCHED = (source_files, challenge_files, *stage_settings)

__all__ = ["WATCHED", "model_fields", "settings_name", "watched_parents"]
