"""Dagster's partitions: one per dataset; the sensor `datasets` lists them from the YAML files."""

import click
import dagster as dg

from aflite_assets.errors import SpecError
from aflite_assets.specs.registry import Registry, load_registry

REGISTRY: Registry = load_registry()
"""Registry of the datasets that had a YAML file when this process loaded the definitions.

Each run has its own process and therefore reads the files again.
"""


class DatasetPartitions(dg.DynamicPartitionsDefinition):
    """Partitions of the assets, one per dataset with a YAML file.

    A dataset can be run even if its partition is not listed in the Dagster instance. A new Dagster instance can run any
    dataset, and a run continues while its dataset's YAML file is being replaced.
    """

    def has_partition_key(self, partition_key: str, *_: object, **__: object) -> bool:
        """Return True if the dataset has a file now, or had a file when the definitions were loaded."""
        return _why_unknown(partition_key, REGISTRY) is None or _why_unknown(partition_key, load_registry()) is None

    def validate_partition_key(self, partition_key: str, context: object) -> None:
        """Refuse a partition key that is not the name of a dataset.

        Raises:
            DagsterUnknownPartitionError: the message names the most similar dataset, all datasets and, if the key's
                YAML file is invalid, its error.
            ClickException: the error was raised in a command such as `dg launch`. The message is that of
                DagsterUnknownPartitionError, which the command would show as a traceback or replace.
        """
        why = _why_unknown(partition_key, load_registry())
        if why is not None:
            in_command = click.get_current_context(silent=True) is not None
            raise click.ClickException(why) if in_command else dg.DagsterUnknownPartitionError(why)


DATASETS = DatasetPartitions(name="aflite_dataset")
OWNERS = ["team:aflite"]


def listing_requests(
    registry: Registry, listed: set[str]
) -> list[dg.AddDynamicPartitionsRequest | dg.DeleteDynamicPartitionsRequest]:
    """Return the requests, sorted by name, that make the partitions in Dagster (`listed`) equal to the registry.

    A dataset with an invalid file stays listed. If a folder cannot be read, no dataset is removed.
    """
    new, deleted = sorted(registry.specs.keys() - listed), registry.without_file(listed)
    return [
        *([DATASETS.build_add_request(new)] if new else []),
        *([DATASETS.build_delete_request(deleted)] if deleted else []),
    ]


def _why_unknown(name: str, registry: Registry) -> str | None:
    """Return the reason why no valid dataset has the name `name`, or None if a valid dataset has it."""
    try:
        registry[name]
    except SpecError as error:
        refused = any(path.stem == name for path in registry.failures)
        return (
            f"the YAML file of dataset {name!r} is invalid: {error}" if refused else f"{error}; correct `--partition`"
        )
    return None


__all__ = ["DATASETS", "OWNERS", "REGISTRY", "listing_requests"]
