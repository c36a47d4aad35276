import re
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.partitions.context import PartitionLoadingContext
from dagster._core.definitions.temporal_context import TemporalContext
from dagster._core.errors import DagsterUnknownPartitionError

from aflite_assets.assets import partitions
from aflite_assets.assets.partitions import DATASETS, REGISTRY
from aflite_assets.specs.registry import Registry
from definitions import defs

CONTEXT = PartitionLoadingContext(
    temporal_context=TemporalContext(effective_dt=datetime.now(UTC), last_event_id=None), dynamic_partitions_store=None
)


def test_name_of_no_dataset_is_answered_with_the_nearest_and_all_of_them() -> None:
    job = defs.resolve_job_def("benchmark")
    message = "no dataset is named 'digitz'; did you mean 'digits'? (known: ["
    with pytest.raises(DagsterUnknownPartitionError, match=re.escape(message)) as refusal:
        job.validate_partition_key("digitz", selected_asset_keys=None, context=CONTEXT)
    assert all(repr(name) in str(refusal.value) for name in REGISTRY.specs)
    job.validate_partition_key("digits", selected_asset_keys=None, context=CONTEXT)


def test_name_of_a_refused_file_is_answered_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Registry(REGISTRY.specs, REGISTRY.files, {Path("/specs/mine.yaml"): "filter.treshold: unknown key"})
    monkeypatch.setattr(partitions, "REGISTRY", broken)
    with pytest.raises(
        DagsterUnknownPartitionError, match=r"file of dataset 'mine' was refused: filter\.treshold: unkn"
    ):
        DATASETS.validate_partition_key("mine", context=CONTEXT)


def test_partitions_are_dagsters_static_ones() -> None:
    assert dg.StaticPartitionsDefinition(sorted(REGISTRY.specs)) == DATASETS
