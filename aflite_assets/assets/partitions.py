"""The registry of datasets and Dagster's partitions made of it, read once when definitions are loaded."""

import dagster as dg
from dagster._core.errors import DagsterUnknownPartitionError

from aflite_assets.errors import SpecError
from aflite_assets.specs.registry import Registry, load_registry

REGISTRY: Registry = load_registry()
"""The datasets known when the definitions were loaded; *Reload definitions* reads the folders again."""


class DatasetPartitions(dg.StaticPartitionsDefinition):
    """One partition per dataset; a name that is none of them is answered with the names there are.

    `dg launch --partition` prints Python's whole trace, of which people read the end: the names stand there.
    """

    def validate_partition_key(self, partition_key: str, context: object) -> None:
        """Nothing for a dataset that is loaded.

        Raises:
            DagsterUnknownPartitionError: names the nearest dataset, all datasets, and why a file of that name failed.
        """
        if self.has_partition_key(partition_key):
            return
        failed = next((why for file, why in REGISTRY.failures.items() if file.stem == partition_key), None)
        if failed is not None:
            raise DagsterUnknownPartitionError(f"the file of dataset {partition_key!r} was refused: {failed}")
        try:
            REGISTRY[partition_key]
        except SpecError as error:
            raise DagsterUnknownPartitionError(str(error)) from error


DATASETS = DatasetPartitions(sorted(REGISTRY.specs))
OWNERS = ["team:aflite"]

__all__ = ["DATASETS", "OWNERS", "REGISTRY"]
