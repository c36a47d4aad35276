"""A file that is damaged below a published result: every stage that meets it says so, and the next run mends it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.results.damage import find_damage
from aflite_assets.results.refresh_records import read_refreshes
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_pipeline, run_stage
from aflite_assets.stages.stage import Progress

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture
def spec(feature_files: Callable[..., dict[str, Any]]) -> DatasetSpec:
    return parse_spec(feature_files())


def versions(results: dict[str, StoredResult]) -> dict[str, str]:
    return {name: obtained.result.data_version for name, obtained in results.items()}


def made(results: dict[str, StoredResult]) -> list[str]:
    return [name for name, obtained in results.items() if not obtained.cached]


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def test_the_next_run_makes_every_truncated_result_again(spec: DatasetSpec, store: ResultStore) -> None:
    first = run_pipeline(spec, store=store)
    harmed = 0
    for name in STAGES:
        holders = [first[name].result, *first[name].result.parts.values()]
        result = max(holders, key=lambda each: sum(each.manifest["sizes"].values()))
        if not result.manifest["sizes"]:
            continue  # no warm-up model for given features, and no sample and no weak models were asked for
        largest = max(result.manifest["sizes"], key=result.manifest["sizes"].__getitem__)
        cut(result.path / largest)
        logged: list[str] = []
        again = run_pipeline(spec, store=store, progress=Progress(logged.append))
        assert name in made(again)
        # What has the time of its making in it differs; all that follows from the same bits is found.
        assert made(again) == [name] or versions(again)[name] != versions(first)[name]
        assert any(f"{result.path} is damaged ({largest} has " in line for line in logged)
        assert find_damage(again[name].result, ignore_cache=True) is None
        first, harmed = again, harmed + 1
    assert harmed == len(STAGES) - 3
    assert len(read_refreshes(store, spec.name)) == harmed + 1


def test_a_damaged_input_is_named_and_made_again_by_the_next_run(spec: DatasetSpec, store: ResultStore) -> None:
    first = run_pipeline(spec, store=store)
    flip(first["raw_dataset"].result.path / "rows-00000.parquet")
    changed = spec.model_copy(update={"seed": 1, "title": "new"})
    with pytest.raises(
        StoreError,
        match=r"published_dataset of 'vectors' was not computed: its input raw_dataset of 'vectors' is damaged "
        r"\(the content of rows-00000.parquet has changed\) and was set aside; materialise raw_dataset again, or "
        r"the whole",
    ):
        run_stage("published_dataset", changed, store=store)
    with pytest.raises(StoreError, match="raw_dataset of 'vectors' no longer has a current result:"):
        run_stage("published_dataset", changed, store=store)
    again = run_pipeline(spec, store=store)
    assert made(again) == ["raw_dataset"]
    assert versions(again) == versions(first)


@pytest.mark.parametrize("harm", [cut, flip])
def test_a_damaged_part_of_the_filter_is_made_again(spec: DatasetSpec, store: ResultStore, harm: Any) -> None:
    first = run_pipeline(spec, store=store)
    part = first["filtered_sets"].result.part("given")
    harm(part.path / "rows.parquet")
    again = run_pipeline(spec, store=store)
    assert made(again) == ["filtered_sets"]
    assert versions(again) == versions(first)
    assert json.loads((part.path / "manifest.json").read_text())["data_version"] == part.data_version
