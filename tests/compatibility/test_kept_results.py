"""Keys and results of earlier versions hold: who updates does not compute everything again."""

import json
import shutil
from pathlib import Path

import pytest

from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.pipeline import run_stage
from tests.compatibility.collected import Collected, Recorder, read_collected, values_of
from tests.compatibility.compared import Changes, compare
from tests.compatibility.kept import KEYS, NUMBERS, all_specs, small_specs, stage_keys, unpack_store
from tests.compatibility.pinned import STORED, rendered
from tests.page_sentences import long_sentences

KEPT = {spec.name: spec for spec in small_specs("kept_specs.yaml")}
ROUNDING = 1e-9
"""Relative; processors round the last bits in ways of their own."""


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(unpack_store(tmp_path))


@pytest.mark.parametrize("spec", list(all_specs()), ids=lambda spec: spec.name)
def test_every_stage_has_the_key_that_it_had(spec: DatasetSpec) -> None:
    assert stage_keys(spec) == json.loads(KEYS.read_text(encoding="utf-8"))[spec.name]


@pytest.mark.parametrize("name", KEPT)
def test_every_kept_result_is_found(name: str, store: ResultStore) -> None:
    for stage in STORED:
        kept = (store.root / stage).is_dir()
        obtained = run_stage(stage, KEPT[name], store=store)
        # A stage that came later may only be one that these datasets ask nothing of.
        assert obtained.cached if kept else obtained.result.summary == {"nothing_asked": True}, stage


@pytest.mark.parametrize("name", KEPT)
def test_reports_of_kept_results_have_the_numbers_and_words_that_they_had(name: str, store: ResultStore) -> None:
    tracker = Recorder()
    with rendered(KEPT[name], store, tracker) as results:
        now = Collected("", {name: values_of(results, tracker, store)})
        page = results["benchmark_report"].file("report.html").read_text(encoding="utf-8")
    kept = Collected("", {name: read_collected(NUMBERS).datasets[name]})
    outcome = compare(kept, now, Changes(), tolerance=ROUNDING)
    assert outcome.failures(words=True, numerals=True) == []
    assert outcome.compared > 5_000
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
