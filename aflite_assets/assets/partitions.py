"""Dagster's partitions: one per dataset, listed from the YAML files by the sensor `datasets`."""

import click
import dagster as dg

from aflite_assets.errors import SpecError
from aflite_assets.specs.registry import Registry, load_registry

REGISTRY: Registry = load_registry()
"""The datasets that were known when this process loaded the definitions. Each run has its own process, and therefore
reads the files again.
"""


class DatasetPartitions(dg.DynamicPartitionsDefinition):
    """One partition per dataset. Every dataset with a file can be run, whether it is listed in the instance or not.

    Therefore, a new instance without listed partitions can run any dataset, and a run continues if its dataset file is
    replaced.
    """

    def has_partition_key(self, partition_key: str, *_: object, **__: object) -> bool:
        """Return True for a dataset that has a file, or had one when the definitions were loaded."""
        return _why_unknown(partition_key, REGISTRY) is None or _why_unknown(partition_key, load_registry()) is None

    def validate_partition_key(self, partition_key: str, context: object) -> None:
        """Refuse a name that no dataset has.

        Raises:
            DagsterUnknownPartitionError: names the most similar dataset, all datasets, and why a file of that name
                failed.
            ClickException: the same message in a command such as `dg launch`. Dagster's own error would make the
                command print a whole traceback and, with `--assets`, another message.
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
    """Return the requests that make the `listed` partitions equal to the registry, in the order of names.

    A dataset with an invalid file stays listed. If a folder cannot be read, no dataset is removed.
    """
    new, deleted = sorted(registry.specs.keys() - listed), registry.without_file(listed)
    return [
        *([DATASETS.build_add_request(new)] if new else []),
        *([DATASETS.build_delete_request(deleted)] if deleted else []),
    ]


def _why_unknown(name: str, registry: Registry) -> str | None:
    """Return the reason why no dataset has this name, or None if there is such a dataset."""
    try:
        registry[name]
    except SpecError as error:
        refused = any(path.stem == name for path in registry.failures)
        return f"the file of dataset {name!r} was refused: {error}" if refused else f"{error}; correct --partition"
    return None


__all__ = ["DATASETS", "OWNERS", "REGISTRY", "listing_requests"]
