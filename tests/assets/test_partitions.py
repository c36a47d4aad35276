import re
from datetime import UTC, datetime
from pathlib import Path

import click
import dagster as dg
import pytest
from dagster._core.definitions.partitions.context import PartitionLoadingContext
from dagster._core.definitions.temporal_context import TemporalContext

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
    with pytest.raises(dg.DagsterUnknownPartitionError, match=re.escape(message)) as refusal:
        job.validate_partition_key("digitz", selected_asset_keys=None, context=CONTEXT)
    assert all(repr(name) in str(refusal.value) for name in REGISTRY.specs)
    job.validate_partition_key("digits", selected_asset_keys=None, context=CONTEXT)


def test_name_of_a_refused_file_is_answered_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = Registry(REGISTRY.specs, REGISTRY.files, {Path("/specs/mine.yaml"): "filter.treshold: unknown key"})
    monkeypatch.setattr(partitions, "REGISTRY", broken)
    with pytest.raises(
        dg.DagsterUnknownPartitionError, match=r"file of dataset 'mine' was refused: filter\.treshold: unkn"
    ):
        DATASETS.validate_partition_key("mine", context=CONTEXT)


@pytest.mark.parametrize("chosen", [["--job", "benchmark"], ["--assets", "raw_dataset"]])
def test_a_command_ends_with_one_line(chosen: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """`dg launch` with a partition that is no dataset, in another folder than the project's."""
    from dagster_dg_cli.cli import cli

    arguments = ["launch", "-m", "definitions", *chosen, "--partition", "digitz"]
    with pytest.raises(SystemExit) as ended:
        cli(arguments)
    assert ended.value.code == 1
    written = capsys.readouterr().err
    assert "Traceback" not in written
    line = written.strip().splitlines()[-1]
    assert line.startswith("Error: no dataset is named 'digitz'; did you mean 'digits'? (known: [")
    assert line.endswith("; correct --partition")


def test_in_a_command_the_error_is_one_that_it_prints() -> None:
    with click.Context(click.Command("launch")), pytest.raises(click.ClickException, match="no dataset is named 'x'"):
        DATASETS.validate_partition_key("x", context=CONTEXT)


def test_partitions_are_dagsters_static_ones() -> None:
    assert dg.StaticPartitionsDefinition(sorted(REGISTRY.specs)) == DATASETS
