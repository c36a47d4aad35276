"""The external asset `source_files`, which shows in the lineage that a dataset's inputs have changed.

The asset represents all files and commits that a dataset's YAML file names. The asset does not represent settings; the
settings that a stage reads are in the metadata of the stage's materialisations. The sensor `refresh` reports the
version of the asset.
"""

import dagster as dg

from aflite_assets.assets.partitions import DATASETS, OWNERS
from aflite_assets.stages.stage import Stage

_READERS = ("raw_dataset", "challenge_sets")


def watched_parents(stage: Stage) -> tuple[str, ...]:
    """Return the external assets that a stage reads; only the first stages read external assets."""
    return ("source_files",) if stage.name in _READERS else ()


source_files = dg.AssetSpec(
    "source_files",
    partitions_def=DATASETS,
    group_name="data",
    kinds={"file"},
    owners=OWNERS,
    tags={"domain": "data"},
    description="The files and commits of a dataset's source, annotations, challenge sets and models. The sensor "
    "`refresh` reports the version of this asset; the asset is never materialised.",
)

__all__ = ["source_files", "watched_parents"]
