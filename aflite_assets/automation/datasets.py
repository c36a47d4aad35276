"""The sensor `datasets`, which lists a partition for each dataset file, so that no reload is needed."""

import dagster as dg

from aflite_assets.assets.partitions import DATASETS, listing_requests
from aflite_assets.specs.registry import load_registry
from resources import ResultStoreResource


@dg.sensor(
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Lists a partition for each dataset file, and removes the partitions of deleted files. The sensor "
    "starts no runs. The history of a removed partition stays, and is shown again if the file returns.",
)
def datasets(context: dg.SensorEvaluationContext, result_store: ResultStoreResource) -> dg.SensorResult:
    """Compare the dataset files with the listed partitions."""
    registry = load_registry(made=result_store.open().datasets())
    requests = listing_requests(registry, set(context.instance.get_dynamic_partitions(str(DATASETS.name))))
    for path, why in registry.failures.items():
        context.log.warning(f"{path.name} is refused: {why}")
    changes = [
        f"{'listed' if isinstance(request, dg.AddDynamicPartitionsRequest) else 'removed'}: "
        f"{', '.join(request.partition_keys)}"
        for request in requests
    ]
    return dg.SensorResult(
        dynamic_partitions_requests=requests, skip_reason="; ".join(changes) or "no file was added or deleted"
    )
