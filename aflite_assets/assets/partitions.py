"""The registry of datasets and Dagster's partitions made of it, read once when definitions are loaded."""

import click
import dagster as dg

from aflite_assets.errors import SpecError
from aflite_assets.specs.registry import Registry, load_registry

REGISTRY: Registry = load_registry()
"""The datasets known when the definitions were loaded; *Reload definitions* reads the folders again."""


class DatasetPartitions(dg.StaticPartitionsDefinition):
    """One partition per dataset; a name that is none of them is answered with the names there are."""

    def validate_partition_key(self, partition_key: str, context: object) -> None:
        """Nothing for a dataset that is loaded.

        Raises:
            DagsterUnknownPartitionError: names the nearest dataset, all datasets, and why a file of that name failed.
            ClickException: the same in a command such as `dg launch`, which ends with that line. Of Dagster's own error
                it would print Python's whole trace, and with `--assets` another message.
        """
        if self.has_partition_key(partition_key):
            return
        why = _why_unknown(partition_key)
        in_command = click.get_current_context(silent=True) is not None
        raise click.ClickException(why) if in_command else dg.DagsterUnknownPartitionError(why)


def _why_unknown(name: str) -> str:
    failed = next((why for file, why in REGISTRY.failures.items() if file.stem == name), None)
    if failed is not None:
        return f"the file of dataset {name!r} was refused: {failed}"
    try:
        REGISTRY[name]
    except SpecError as error:
        return f"{error}; correct --partition"
    return f"dataset {name!r} was not there when the definitions were loaded; reload them"


DATASETS = DatasetPartitions(sorted(REGISTRY.specs))
OWNERS = ["team:aflite"]

__all__ = ["DATASETS", "OWNERS", "REGISTRY"]
