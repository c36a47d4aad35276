"""What a refresh would do and why, for small features in files: nothing changed, something did, nothing can be told."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.errors import DataError
from aflite_assets.refresh import changes
from aflite_assets.refresh.plan import DatasetPlan, plan_dataset, plan_datasets
from aflite_assets.results import ResultKey, ResultStore, file_hashes
from aflite_assets.results.file_hashes import FileHashes, Watch
from aflite_assets.results.manifests import sealed
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import Registry, parse_spec
from aflite_assets.stages import pipeline
from aflite_assets.stages.data.raw_dataset import RAW_DATASET
from aflite_assets.stages.pipeline import STAGES, record_if_whole, run_stage, stage_key
from aflite_assets.stages.shared import file_records
from aflite_assets.stages.shared.content_hashes import FieldContents

pytestmark = pytest.mark.usefixtures("undrawn")


def _states(plan: DatasetPlan) -> dict[str, str]:
    return {stage.stage: stage.state for stage in plan.stages}


def _why(plan: DatasetPlan, stage: str) -> list[str]:
    return list(plan[stage].reasons)


def _train_labels(content: dict[str, Any]) -> Path:
    return Path(content["source"]["splits"]["train"]["labels"])


def test_nothing_was_ever_made(circles_spec: DatasetSpec, store: ResultStore) -> None:
    plan = plan_dataset(circles_spec, store)
    assert list(_states(plan)) == list(STAGES)
    assert _states(plan) == {"raw_dataset": "made"} | dict.fromkeys(list(STAGES)[1:], "after")
    assert _why(plan, "raw_dataset") == ["never made"]
    assert _why(plan, "warmup_models") == ["never made", "after raw_dataset, warmup_split"]
    assert [stage.stage for stage in plan.stale] == ["raw_dataset"]
    assert not plan.up_to_date
    assert not store.root.exists()


def test_nothing_changed(made_vectors: dict[str, Any], store: ResultStore) -> None:
    plan = plan_dataset(parse_spec(made_vectors), store)
    assert set(_states(plan).values()) == {"found"}
    assert all(stage.current and not stage.reasons for stage in plan.stages)
    assert plan.up_to_date
    assert plan.stale == ()
    assert all(stage.seconds is not None and stage.seconds >= 0 for stage in plan.stages)
    current = store.current("raw_dataset", "vectors")
    assert plan["raw_dataset"].seconds == current.manifest["provenance"]["seconds"]
    # Marks and seconds are beside the key and the data version, not in them.
    assert "seconds" not in str(current.manifest["made_from"])


def test_a_changed_file_is_named_with_both_hashes(made_vectors: dict[str, Any], store: ResultStore) -> None:
    labels = _train_labels(made_vectors)
    before = FileHashes().of([labels])[0]
    np.save(labels, np.roll(np.load(labels), 1))
    after = FileHashes().of([labels])[0]
    plan = plan_dataset(parse_spec(made_vectors), store)
    assert _states(plan) == {"raw_dataset": "made"} | dict.fromkeys(list(STAGES)[1:], "after")
    assert _why(plan, "raw_dataset") == [f"file {labels}: {before[:12]} -> {after[:12]}"]
    assert _why(plan, "bias_evidence") == ["after raw_dataset, cue_scan, embeddings, filtered_sets"]


def test_a_touched_file_with_the_same_content_starts_nothing(made_vectors: dict[str, Any], store: ResultStore) -> None:
    os.utime(_train_labels(made_vectors))
    assert plan_dataset(parse_spec(made_vectors), store).up_to_date


def test_an_edited_setting_is_named_and_what_does_not_read_it_is_found(
    made_vectors: dict[str, Any], store: ResultStore
) -> None:
    made_vectors["filter"] = {**made_vectors["filter"], "threshold": 0.8}
    made_vectors["title"] = "Vectors"
    spec = parse_spec(made_vectors)
    plan = plan_dataset(spec, store)
    assert _why(plan, "warmup_split") == ["filter.threshold: 0.75 -> 0.8"]
    assert [stage for stage, state in _states(plan).items() if state == "found"] == list(STAGES)[:4]
    assert _why(plan, "published_dataset") == ['title: "" -> "Vectors"', "after filtered_sets, control_sets"]
    # Where the data version came out equal, what follows is found without being run.
    run_stage("warmup_split", spec, store=store)
    plan = plan_dataset(spec, store)
    assert [stage for stage, state in _states(plan).items() if state == "found"] == [
        *list(STAGES)[:7],
        "forgettable_sets",
        "leaning_sets",
    ]
    assert _why(plan, "filtered_sets") == ["filter.threshold: 0.75 -> 0.8"]


def test_a_setting_taken_back_is_found_but_not_current(made_vectors: dict[str, Any], store: ResultStore) -> None:
    other = parse_spec({**made_vectors, "filter": {**made_vectors["filter"], "n_partitions": 9}})
    for name in ("warmup_split", "filtered_sets"):
        run_stage(name, other, store=store)
    plan = plan_dataset(parse_spec(made_vectors), store)
    assert set(_states(plan).values()) == {"found"}
    assert [stage.stage for stage in plan.stale] == ["warmup_split", "filtered_sets"]
    assert _why(plan, "filtered_sets") == ["found, but another result is current", "filter.n_partitions: 9 -> 8"]
    assert not plan.up_to_date
    for stage in plan.stale:
        assert run_stage(stage.stage, parse_spec(made_vectors), store=store).cached
    assert plan_dataset(parse_spec(made_vectors), store).up_to_date


def test_a_raised_code_version_is_named(
    made_vectors: dict[str, Any], store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised = {**STAGES, "bias_evidence": replace(STAGES["bias_evidence"], code_version="99")}
    monkeypatch.setattr(pipeline, "STAGES", raised)
    plan = plan_dataset(parse_spec(made_vectors), store, stages=raised)
    old = STAGES["bias_evidence"].code_version
    assert _why(plan, "bias_evidence") == [f"code version: {old} -> 99"]
    open_ = [stage.stage for stage in plan.stages if stage.state != "found"]
    assert open_ == ["bias_evidence", "analysis", "benchmark_report"]
    run_stage("bias_evidence", parse_spec(made_vectors), store=store)
    assert plan_dataset(parse_spec(made_vectors), store, stages=raised).up_to_date


def test_a_new_data_version_of_an_input_is_named(made_vectors: dict[str, Any], store: ResultStore) -> None:
    old = store.current("raw_dataset", "vectors").data_version
    labels = _train_labels(made_vectors)
    np.save(labels, np.roll(np.load(labels), 1))
    spec = parse_spec(made_vectors)
    new = run_stage("raw_dataset", spec, store=store).result.data_version
    plan = plan_dataset(spec, store)
    assert _why(plan, "challenge_sets") == [f"data version of raw_dataset: {old[:12]} -> {new[:12]}"]


def test_what_cannot_be_judged_is_refused_with_the_reason(made_vectors: dict[str, Any], store: ResultStore) -> None:
    labels = _train_labels(made_vectors)
    content = labels.read_bytes()
    labels.unlink()
    plan = plan_dataset(parse_spec(made_vectors), store)
    assert plan["raw_dataset"].state == "refused"
    assert _why(plan, "raw_dataset") == [
        f"the file '{labels}' does not exist; correct its path in the dataset's YAML file"
    ]
    assert _why(plan, "warmup_split") == ["after raw_dataset, train_sample"]
    labels.write_bytes(content)
    assert plan_dataset(parse_spec(made_vectors), store).up_to_date


def test_data_that_fail_a_check_are_refused_before_what_follows(
    made_vectors: dict[str, Any], store: ResultStore
) -> None:
    labels = np.load(_train_labels(made_vectors))
    file = Path(made_vectors["source"]["splits"]["train"]["features"])
    features = np.load(file)
    features[:, 0] = labels
    np.save(file, features)
    run_stage("raw_dataset", parse_spec(made_vectors), store=store)
    plan = plan_dataset(parse_spec(made_vectors), store)
    assert (plan["raw_dataset"].state, plan["train_sample"].state) == ("found", "refused")
    assert _why(plan, "train_sample")[0].startswith("`raw_dataset` failed the check `no_label_copies`: copies of the")
    assert _why(plan, "warmup_split")[1:] == ["after train_sample"]


def test_a_model_that_is_not_there_is_refused(made_vectors: dict[str, Any], store: ResultStore, tmp_path: Path) -> None:
    gone = tmp_path / "gone.safetensors"
    net = {"kind": "timm_image", "architecture": "resnet10t", "checkpoint": str(gone)}
    made_vectors["evaluators"] = {**made_vectors["evaluators"], "net": net}
    plan = plan_dataset(parse_spec(made_vectors), store)
    assert plan["raw_dataset"].state == "found"
    assert plan["warmup_split"].state == "refused"
    assert _why(plan, "warmup_split") == [
        f"evaluators.net names '{gone}', which does not exist; put the model back or correct the path"
    ]


def test_a_moved_model_file_is_named_with_both_hashes(
    made_vectors: dict[str, Any], store: ResultStore, tmp_path: Path
) -> None:
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(b"one")
    net = {"kind": "timm_image", "architecture": "resnet10t", "checkpoint": str(weights)}
    spec = parse_spec({**made_vectors, "evaluators": {**made_vectors["evaluators"], "net": net}})
    raw = store.current("raw_dataset", "vectors")
    key = pipeline.stage_key(STAGES["warmup_split"], spec, {"raw_dataset": raw})
    weights.write_bytes(b"other")
    now = pipeline.stage_key(STAGES["warmup_split"], spec, {"raw_dataset": raw})
    found = changes.changes(key.as_json(), now, old_files={}, new_files={})
    assert [str(change) for change in found] == ["file weights.safetensors: 7692c3ad3540 -> d9298a10d1b0"]


def test_the_content_of_a_field_with_a_single_model_is_compared_by_file() -> None:
    fields = [{"contents": {"distance_encoder": {"a.bin": sha, "b.bin": "3" * 64}}} for sha in ("1" * 64, "2" * 64)]
    made_from = ResultKey("1", fields[0], {}).as_json()
    found = changes.changes(made_from, ResultKey("1", fields[1], {}), old_files={}, new_files={})
    assert found == (f"file a.bin: {'1' * 12} -> {'2' * 12}",)
    commits = [{"contents": {"source": {"commit": commit}}} for commit in ("a" * 40, "b" * 40)]
    made_from = ResultKey("1", commits[0], {}).as_json()
    found = changes.changes(made_from, ResultKey("1", commits[1], {}), old_files={}, new_files={})
    assert found == (f"commit of source: {'a' * 12} -> {'b' * 12}",)


def test_a_broken_file_stops_no_other(made_vectors: dict[str, Any], store: ResultStore, tmp_path: Path) -> None:
    spec = parse_spec(made_vectors)
    registry = Registry({"vectors": spec}, {"vectors": tmp_path / "vectors.yaml"}, {tmp_path / "bad.yaml": "bad: no"})
    good, bad = plan_datasets(registry, store)
    assert good.up_to_date
    assert (bad.dataset, bad.failure, bad.stages, bad.up_to_date) == ("bad", "bad: no", (), False)
    assert [plan.dataset for plan in plan_datasets(registry, store, ["bad"])] == ["bad"]
    with pytest.raises(Exception, match="no dataset is named 'vector'"):
        list(plan_datasets(registry, store, ["vector"]))


def test_unfinished_hashing_is_waited_for_and_carried_on(
    made_vectors: dict[str, Any], store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_hashes, "_RACY_NS", 0)  # the files are new
    np.save(_train_labels(made_vectors), np.roll(np.arange(120) % 2, 1))
    size = sum(
        Path(name).stat().st_size for split in made_vectors["source"]["splits"].values() for name in split.values()
    )
    spec = parse_spec(made_vectors)

    def plan() -> DatasetPlan:
        return plan_dataset(spec, store, contents=FieldContents(spec, hashes=FileHashes(most_bytes=1000)))

    for look in range(1, size // 1000 + 1):
        waiting = plan()["raw_dataset"]
        assert waiting.state == "waiting"
        assert waiting.reasons[0].startswith(f"{size - 1000 * look:,} bytes are not hashed yet (next file: ")
    assert plan()["raw_dataset"].state == "made"


def test_a_file_that_is_being_written_is_waited_for(made_vectors: dict[str, Any], store: ResultStore) -> None:
    now = [1000.0]
    watch = Watch(clock=lambda: now[0])
    spec = parse_spec(made_vectors)

    def plan() -> DatasetPlan:
        now[0] += 30
        return plan_dataset(spec, store, contents=FieldContents(spec, hashes=FileHashes(watch=watch)))

    plan()
    assert plan().up_to_date
    labels = _train_labels(made_vectors)
    np.save(labels, np.roll(np.load(labels), 1))
    waiting = plan()
    assert waiting["raw_dataset"].state == "waiting"
    assert _why(waiting, "raw_dataset") == [
        f"'{labels}' is new or has changed; it is used once two checks find it unchanged"
    ]
    assert plan()["raw_dataset"].state == "made"


def test_a_file_that_changes_while_it_is_read_is_refused(
    made_vectors: dict[str, Any], store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = parse_spec(made_vectors)
    shutil.rmtree(store.root)

    def change_then_read(*arguments: Any, **named: Any) -> Any:
        np.save(_train_labels(made_vectors), np.roll(np.arange(120) % 2, 1))
        return RAW_DATASET.run(*arguments, **named)

    monkeypatch.setattr(pipeline, "STAGES", {**STAGES, "raw_dataset": replace(RAW_DATASET, run=change_then_read)})
    with pytest.raises(DataError, match=r"train_labels.npy' changed between hashing .*; try again when the file"):
        run_stage("raw_dataset", spec, store=store)
    assert plan_dataset(spec, store)["raw_dataset"].reasons == ("never made",)
    monkeypatch.undo()
    run_stage("raw_dataset", spec, store=store)
    assert plan_dataset(spec, store)["raw_dataset"].state == "found"


def test_what_is_made_is_announced_with_the_key_of_the_plan(made_vectors: dict[str, Any], store: ResultStore) -> None:
    spec = parse_spec({**made_vectors, "title": "Other"})
    planned = plan_dataset(spec, store)["published_dataset"].key
    keys: list[str] = []
    for _ in range(2):
        run_stage("published_dataset", spec, store=store, on_making=lambda key: keys.append(key.digest))
    assert keys == [planned]


def test_an_incomplete_result_is_tried_again(made_vectors: dict[str, Any], store: ResultStore) -> None:
    manifest = store.current("evaluator_models", "vectors").path / "manifest.json"
    content = json.loads(manifest.read_text())
    content["summary"]["incomplete"] = True
    manifest.write_text(json.dumps(sealed(content)))
    plan = plan_dataset(parse_spec(made_vectors), store)
    assert plan["evaluator_models"].state == "made"
    assert _why(plan, "evaluator_models") == ["its result lacks parts that failed; they are tried again"]


def _edit(path: Path) -> None:
    content = json.loads(path.read_text())
    content["summary"]["unlabelled_rows"] = 7
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (_edit, "manifest.json was changed after it was published"),
        (lambda path: path.write_text("{"), "manifest.json cannot be read (Expecting property name"),
        (lambda path: path.write_text("{}"), "manifest.json has no hash"),
        (lambda path: path.with_name("rows-00000.parquet").write_text("x"), "rows-00000.parquet has 1 bytes instead"),
    ],
)
def test_a_damaged_result_is_made_again_and_the_plan_says_why(
    made_vectors: dict[str, Any], store: ResultStore, harm: Callable[[Path], object], reason: str
) -> None:
    harm(store.current("raw_dataset", "vectors").path / "manifest.json")
    plan = plan_dataset(parse_spec(made_vectors), store)
    assert plan.failure is None
    assert plan["raw_dataset"].state == "made"
    assert plan["raw_dataset"].made_before
    (why,) = _why(plan, "raw_dataset")
    assert why.startswith(f"its result is damaged: {reason}")
    if reason.startswith("manifest"):
        assert record_if_whole(store, "vectors", made=[], what="test") is None


def test_a_lost_result_is_not_called_never_made(made_vectors: dict[str, Any], store: ResultStore) -> None:
    spec = parse_spec(made_vectors)
    result = store.current("analysis", spec.name)
    next(result.path.rglob("*.parquet")).write_bytes(b"cut")
    damage = store.damage("analysis", spec.name, stage_key_of(store, spec))
    assert damage is not None
    store.set_aside(damage, log=lambda line: None)
    plan = plan_dataset(spec, store)
    lost = ["its folder is missing, or was set aside because it was damaged"]
    assert _why(plan, "analysis") == lost
    assert (plan["analysis"].state, plan["analysis"].made_before) == ("made", True)
    shutil.rmtree(result.path.parent / ".damaged")
    assert _why(plan_dataset(spec, store), "analysis") == lost


def stage_key_of(store: ResultStore, spec: DatasetSpec) -> ResultKey:
    inputs = {name: store.current(name, spec.name) for name in STAGES["analysis"].input_names}
    return stage_key(STAGES["analysis"], spec, inputs)


def test_many_files_are_kept_by_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(file_records, "MOST_FILES", 2)
    hashes = FileHashes()
    paths = [tmp_path / folder / name for folder in ("a", "b") for name in ("1", "2")]
    for path in paths:
        path.parent.mkdir(exist_ok=True)
        path.write_text(str(path))
    hashes.of(paths)
    records = file_records.file_records({"source": hashes.noted})
    assert {folder: record["files"] for folder, record in records["source"].items()} == {
        str(tmp_path / "a"): 2, str(tmp_path / "b"): 2,
    }  # fmt: skip
