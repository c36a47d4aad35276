"""Keys and results of earlier versions hold: who updates does not compute everything again."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import STAGES, run_stage
from tests.compatibility.kept import KEYS, REPORT, all_specs, kept_report, small_specs, stage_keys, unpack_store
from tests.page_sentences import long_sentences

KEPT = {spec.name: spec for spec in small_specs("kept_specs.yaml")}
BEFORE_REPORT = [name for name in STAGES if name != "benchmark_report"]


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(unpack_store(tmp_path))


@pytest.mark.parametrize("spec", list(all_specs()), ids=lambda spec: spec.name)
def test_every_stage_has_the_key_that_it_had(spec: DatasetSpec) -> None:
    assert stage_keys(spec) == json.loads(KEYS.read_text(encoding="utf-8"))[spec.name]


@pytest.mark.parametrize("name", KEPT)
def test_every_kept_result_is_found_and_its_report_says_the_same(name: str, store: ResultStore) -> None:
    for stage in BEFORE_REPORT:
        kept = (store.root / stage).is_dir()
        obtained = run_stage(stage, KEPT[name], store=store)
        # A stage that came later may only be one that these datasets ask nothing of.
        assert obtained.cached if kept else obtained.result.summary == {"nothing_asked": True}, stage
    report = run_stage("benchmark_report", KEPT[name], store=store).result
    now = json.loads(report.file(REPORT).read_text(encoding="utf-8"))
    assert different(kept_report(name), now) == []
    page = report.file("report.html").read_text(encoding="utf-8")
    assert len(page) > 100_000
    assert long_sentences(page) == []


@pytest.mark.parametrize("stage", ["warmup_models", "embeddings", "filtered_sets", "evaluator_models"])
def test_kept_parts_are_found_when_their_stage_runs_again(stage: str, store: ResultStore) -> None:
    if not (store.root / "forgettable_sets").is_dir():
        run_stage("forgettable_sets", KEPT["kept_pairs"], store=store)
    before = store.current(stage, "kept_pairs")
    parts = part_folders(before)
    shutil.rmtree(before.path)
    again = run_stage(stage, KEPT["kept_pairs"], store=store)
    assert not again.cached
    assert (again.result.key, again.result.data_version) == (before.key, before.data_version)
    assert part_folders(again.result) == parts
    assert again.result.parts.keys() == before.parts.keys()


def part_folders(result: PublishedResult) -> dict[Path, int]:
    """Every part's folder of an asset's partition and when it was last written."""
    return {folder: folder.stat().st_mtime_ns for folder in (result.path.parent / "parts").glob("[0-9a-f]*")}


def different(before: Any, now: Any, place: str = "") -> list[str]:
    """Where two documents differ; numbers may by rounding."""
    if isinstance(before, dict) and isinstance(now, dict):
        if list(before) != list(now):
            return [f"{place}: keys {list(before)} became {list(now)}"]
        return [line for key in before for line in different(before[key], now[key], f"{place}.{key}")]
    if isinstance(before, list) and isinstance(now, list):
        if len(before) != len(now):
            return [f"{place}: {len(before)} entries became {len(now)}"]
        pairs = enumerate(zip(before, now, strict=True))
        return [line for i, (one, other) in pairs for line in different(one, other, f"{place}[{i}]")]
    if isinstance(before, float) and isinstance(now, float):
        same = math.isclose(before, now, rel_tol=1e-9, abs_tol=1e-12)
    else:
        same = before == now
    return [] if same else [f"{place}: {before!r} became {now!r}"]
