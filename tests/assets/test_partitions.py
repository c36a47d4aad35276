import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import dagster as dg
import pytest

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.assets import common, partitions
from aflite_assets.assets.filtering import report_iteration
from aflite_assets.assets.partitions import DATASETS
from aflite_assets.specs.registry import BUNDLED, Registry, load_spec, parse_spec
from definitions import defs

BROKEN = "title: ["


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the file of one dataset that is not understood."""
    (tmp_path / "mine.yaml").write_text(BROKEN, encoding="utf-8")
    monkeypatch.setenv("AFLITE_DATASETS", str(tmp_path))
    return tmp_path


def test_name_of_no_dataset_is_answered_with_the_nearest_and_where_all_are_found(folder: Path) -> None:
    message = "no dataset is named 'digitz'; did you mean 'digits'? (known: []; folders searched: ["
    with pytest.raises(dg.DagsterUnknownPartitionError, match=re.escape(message)) as refusal:
        DATASETS.validate_partition_key("digitz", context=None)
    assert "`aflite list --bundled` lists the bundled datasets); correct `--partition`" in str(refusal.value)


def test_name_of_a_refused_file_is_answered_with_the_reason(folder: Path) -> None:
    message = r"file of dataset 'mine' is invalid: .*mine\.yaml: line 1: while parsing a flow node"
    with pytest.raises(dg.DagsterUnknownPartitionError, match=message):
        DATASETS.validate_partition_key("mine", context=None)


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
    assert line.endswith("; correct `--partition`")


def test_in_a_command_the_error_is_one_that_it_prints() -> None:
    with click.Context(click.Command("launch")), pytest.raises(click.ClickException, match="no dataset is named 'x'"):
        DATASETS.validate_partition_key("x", context=None)


def test_a_dataset_that_no_instance_lists_can_be_run(folder: Path) -> None:
    """Of its file, of the project, and while its file is replaced, as long as the definitions were loaded with it."""
    assert DATASETS.has_partition_key("digits")
    assert not DATASETS.has_partition_key("mine")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(partitions, "REGISTRY", Registry({"mine": partitions.REGISTRY["digits"]}, {}, {}))
        assert DATASETS.has_partition_key("mine")
    DATASETS.validate_partition_key("circles_1", context=None)


def test_iterations_are_mapped_to_the_filtering_of_their_dataset() -> None:
    graph = defs.resolve_asset_graph()
    iterations, filterings = dg.AssetKey("iteration_sets"), dg.AssetKey("filtered_sets")
    mapping = graph.get_partition_mapping(iterations, filterings)
    with dg.DagsterInstance.ephemeral() as instance:
        instance.add_dynamic_partitions("aflite_dataset", ["one", "two"])
        instance.add_dynamic_partitions("aflite_iteration", ["000", "001"])
        with dg.partition_loading_context(dynamic_partitions_store=instance):
            cells = graph.get(iterations).partitions_def
            assert cells is not None
            assert sorted(cells.get_partition_keys()) == ["one|000", "one|001", "two|000", "two|001"]
            cell = cells.subset_with_partition_keys([dg.MultiPartitionKey({"dataset": "two", "iteration": "001"})])
            upstream = mapping.get_upstream_mapped_partitions_result_for_partitions(cell, cells, DATASETS)
    assert set(upstream.partitions_subset.get_partition_keys()) == {"two"}
    assert not list(upstream.required_but_nonexistent_subset.get_partition_keys())


@pytest.mark.parametrize(
    ("representations", "cells"),
    [(["one"], ["circles_1|000"]), (["one", "two"], ["circles_1|one.000", "circles_1|two.000"])],
)
def test_cells_of_several_representations_are_told_apart(
    representations: list[str], cells: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = load_spec(BUNDLED / "circles_1.yaml").model_dump(exclude_unset=True)
    spec = parse_spec(content | {"representations": {name: {"kind": "identity"} for name in representations}})
    monkeypatch.setattr(common, "REGISTRY", Registry({"circles_1": spec}, {}, {}))
    facts: dict[str, Any] = dict.fromkeys((field.name for field in fields(IterationRow)), 0)

    @dg.asset(partitions_def=DATASETS)
    def filtering(context: dg.AssetExecutionContext) -> None:
        for name in representations:
            report_iteration(context, IterationRow(**facts | {"representation": name}))

    with dg.DagsterInstance.ephemeral() as instance:
        assert dg.materialize([filtering], partition_key="circles_1", instance=instance).success
        assert sorted(instance.get_materialized_partitions(dg.AssetKey("iteration_sets"))) == cells
        records = instance.fetch_materializations(dg.AssetKey("iteration_sets"), limit=5, ascending=True).records
    reported = [record.asset_materialization for record in records]
    assert [one.metadata["representation"].value for one in reported if one] == representations
