"""The whole walk as a plain script: what comes out, what is found again, what a change of the spec makes anew."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.errors import AfliteError, DataError, ModelError, StoreError
from aflite_assets.models import evaluators
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages import pipeline
from aflite_assets.stages.pipeline import STAGES, numbers, run_pipeline, run_stage, stage_key
from aflite_assets.stages.shared.published import read_control_sets
from aflite_assets.stages.stage import Progress
from tests.pipeline_fixtures import CIRCLES

pytestmark = pytest.mark.usefixtures("undrawn")


@pytest.fixture(scope="module")
def walked(undrawn: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredResult]:
    """What a walk of the circles made; to be read alone."""
    folder = tmp_path_factory.mktemp("walked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AFLITE_HOME", str(folder / "home"))
        return run_pipeline(parse_spec(CIRCLES), store=ResultStore(folder / "home" / "results"))


@pytest.fixture
def walked_store(walked: dict[str, StoredResult], store: ResultStore) -> ResultStore:
    """A store of the test's own with all that."""
    shutil.copytree(walked["raw_dataset"].result.path.parents[2], store.root)
    return store


def test_walk_of_planted_circles(circles_spec: DatasetSpec, store: ResultStore) -> None:
    logged: list[str] = []
    iterations: list[IterationRow] = []
    results = run_pipeline(circles_spec, store=store, progress=Progress(logged.append, iterations.append))

    assert list(results) == list(STAGES)
    assert not any(obtained.cached for obtained in results.values())
    filtered = results["filtered_sets"].result
    rows = pq.read_table(filtered.part("given").file("rows.parquet")).to_pandas()
    raw = pq.read_table(results["raw_dataset"].result.path / "rows-00000.parquet").to_pandas()
    train = rows[rows.split == "train"].merge(raw[["row_id", "attribute.biased"]], on="row_id")
    biased = train["attribute.biased"] == "yes"
    assert (~train[biased].kept).mean() >= 0.9
    assert train[~biased].kept.mean() >= 0.6
    assert [report.iteration for report in iterations] == list(range(filtered.summary["given"]["iterations"]))
    assert iterations[-1].removed == 0
    assert iterations[0].representation_bias > 0.8 > iterations[-1].representation_bias

    cells = pq.read_table(results["evaluator_models"].result.file("cells.parquet")).to_pylist()
    assert {cell["train_set"] for cell in cells} >= {"full", "random", "filtered"}
    assert {cell["status"] for cell in cells} == {"done"}
    report = json.loads(results["benchmark_report"].result.file("report.json").read_text())
    assert report["schema_version"] == 3
    page = results["benchmark_report"].result.file("report.html").read_text()
    assert "Small &lt;circles&gt;" in page
    assert "Small <circles>" not in page


def test_second_walk_finds_everything_and_fits_nothing(
    circles_spec: DatasetSpec,
    walked: dict[str, StoredResult],
    walked_store: ResultStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits: list[object] = []
    monkeypatch.setattr(evaluators, "evaluate", lambda *args, **kwargs: fits.append(args))
    second = run_pipeline(circles_spec, store=walked_store)
    assert not any(obtained.cached for obtained in walked.values())
    assert all(obtained.cached for obtained in second.values())
    assert fits == []
    assert {name: o.result.data_version for name, o in walked.items()} == {
        name: o.result.data_version for name, o in second.items()
    }


def test_the_same_spec_gives_the_same_data_in_another_home(
    circles_spec: DatasetSpec, walked: dict[str, StoredResult], store: ResultStore
) -> None:
    one, two = walked, run_pipeline(circles_spec, store=store)
    for name in STAGES:
        assert one[name].result.key == two[name].result.key, name
        assert one[name].result.data_version == two[name].result.data_version, name


CHANGES: dict[str, Any] = {
    "name": "other_circles",
    "title": "Another title",
    "description": "Another description",
    "source": {"flipped_share": 0.1},
    "columns": {"attributes": ["biased"]},
    "annotations": {"format": "csv", "files": __file__, "match": {"biased": "biased"}, "annotators": "label"},
    "labels": ["a", "b"],
    "unlabelled": [-1],
    "undecodable_images": 0.5,
    "holdout": {"dev": 10},
    "limit": {"train": 300},
    "least_rows": {"train": 300},
    "seed": 1,
    "warmup": {"size": 0.3},
    "representations": {"renamed": {"kind": "identity"}},
    "filter": {"threshold": 0.8},
    "evaluators": {"linear": {"kind": "linear", "inverse_regularization": 2.0}},
    "seeds": [0, 1, 2],
    "train_sets": {"mild": 300},
    "filter_seeds": 2,
    "train_weighted": True,
    "full_includes_warmup": True,
    "drop_duplicates": True,
    "between_splits": "drop",
    "standardise": True,
    "challenge_sets": {},
    "distance_encoder": {"kind": "identity"},
    "planted": {"biased": "yes"},
    "irrelevant": ("column 2",),
    "sample": {"start": 100, "step": 100, "most": 300, "model": {"kind": "linear"}},
    "forgettables": {"net": {"model": {"kind": "timm_image", "architecture": "resnet10t"}}},
    "report": {"scatter_features": [1, 0]},
    "refresh": "never",
    "scan": {"stop": "artefact"},
}


def _changed(content: dict[str, Any], field: str) -> DatasetSpec:
    value = CHANGES[field]
    merged = {**content.get(field, {}), **value} if field in ("source", "filter") else value
    return parse_spec({**content, field: merged})


def test_every_field_has_a_change() -> None:
    # minorities needs pairs of texts; no stage but forgettable_sets reads it (test_forgettable_sets).
    # answers needs questions, which circles are not.
    assert set(CHANGES) == set(DatasetSpec.model_fields) - {"minorities", "answers"}


@pytest.mark.parametrize("field", [field for field in CHANGES if field != "challenge_sets"])
def test_keys_see_the_fields_that_are_read_and_no_other(field: str, circles_content: dict[str, Any]) -> None:
    before, after = parse_spec(circles_content), _changed(circles_content, field)
    for stage in STAGES.values():
        same = stage_key(stage, before, {}).digest == stage_key(stage, after, {}).digest
        read = stage.settings.read_of(before) + stage.settings.read_of(after)
        assert same == (field not in read), stage.name


def test_the_order_of_splits_and_models_is_seen(circles_content: dict[str, Any]) -> None:
    turned = {**circles_content, "evaluators": dict(reversed(circles_content["evaluators"].items()))}
    before, after = parse_spec(circles_content), parse_spec(turned)
    for stage in STAGES.values():
        same = stage_key(stage, before, {}).digest == stage_key(stage, after, {}).digest
        assert same == ("evaluators" not in stage.settings.read_of(before)), stage.name


def test_a_changed_challenge_set_is_seen(circles_content: dict[str, Any]) -> None:
    challenge = {"source": {**circles_content["source"], "splits": {"test": 20}}, "labels": ["inner", "outer"]}
    before, after = parse_spec(circles_content), parse_spec({**circles_content, "challenge_sets": {"clean": challenge}})
    for stage in STAGES.values():
        same = stage_key(stage, before, {}).digest == stage_key(stage, after, {}).digest
        assert same == ("challenge_sets" not in stage.reads), stage.name


def test_changed_filter_keeps_the_cells_it_does_not_touch(
    circles_content: dict[str, Any], walked_store: ResultStore
) -> None:
    logged: list[str] = []
    second = run_pipeline(_changed(circles_content, "filter"), store=walked_store, progress=Progress(logged.append))
    assert second["embeddings"].cached
    assert not second["filtered_sets"].cached
    found = {line.split(", ")[1] for line in logged if line.endswith(": found")}
    assert {"linear.full.0: found", "rbf_svm.full.0: found"} <= found


def test_what_another_machine_makes_current_in_the_middle_of_a_run_stops_it(
    circles_content: dict[str, Any], store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = parse_spec(circles_content)
    source = {**circles_content["source"], "seed": 7}
    theirs = parse_spec({**circles_content, "source": source})

    def interrupted(name: str, spec: DatasetSpec, **options: Any) -> StoredResult:
        result = run_stage(name, spec, **options)
        if name == "raw_dataset":
            run_stage(name, theirs, store=ResultStore(store.root))
        return result

    monkeypatch.setattr(pipeline, "run_stage", interrupted)
    with pytest.raises(
        StoreError,
        match=r"of 'small_circles' was computed from another run's results of \['raw_dataset'\], because "
        r"another machine ran the dataset at the same time; run the dataset again, on one machine at a time",
    ):
        run_pipeline(ours, store=store)
    assert list((store.root / "refreshes").glob("*/*.json")) == []


def test_controls_are_of_the_filtered_size_and_from_the_pool(walked: dict[str, StoredResult]) -> None:
    results = walked
    kept = results["filtered_sets"].result.summary["given"]["kept"]
    controls = read_control_sets(results["control_sets"].result)
    random = [control for control in controls if control.name == "random"]
    assert {(control.split, control.seed) for control in random} == {
        (split, seed) for split in ("train", "test") for seed in (0, 1)
    }
    for control in random:
        assert len(set(control.row_ids.tolist())) == kept[control.split]
    one, two = (control.row_ids for control in random if control.split == "train")
    assert not np.array_equal(one, two)


def test_a_failed_cell_is_listed_and_tried_again(
    circles_spec: DatasetSpec, store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(STAGES)[: list(STAGES).index("evaluator_models")]:
        run_stage(name, circles_spec, store=store)

    evaluate = evaluators.evaluate

    def fail_on_svm(settings: Any, *args: Any, **kwargs: Any) -> evaluators.Evaluation:
        if settings.kind == "rbf_svm":
            raise ModelError("out of luck <b>")
        return evaluate(settings, *args, **kwargs)

    monkeypatch.setattr(evaluators, "evaluate", fail_on_svm)
    first = run_stage("evaluator_models", circles_spec, store=store)
    assert first.result.summary["incomplete"]
    cells = pq.read_table(first.result.file("cells.parquet")).to_pylist()
    assert {cell["reason"] for cell in cells if cell["evaluator"] == "rbf_svm"} == {"ModelError: out of luck <b>"}
    assert {cell["status"] for cell in cells if cell["evaluator"] == "linear"} == {"done"}
    run_stage("bias_evidence", circles_spec, store=store)
    run_stage("analysis", circles_spec, store=store)
    page = run_stage("benchmark_report", circles_spec, store=store).result.file("report.html").read_text()
    assert "out of luck &lt;b&gt;" in page

    monkeypatch.undo()
    logged: list[str] = []
    second = run_stage("evaluator_models", circles_spec, store=store, progress=Progress(logged.append))
    assert not second.cached
    assert second.result.summary["failed"] == 0
    assert all(line.endswith(": found") for line in logged if "linear" in line and "rbf_svm" not in line)
    assert run_stage("evaluator_models", circles_spec, store=store).cached


def test_a_stage_before_its_inputs_says_what_to_do(circles_spec: DatasetSpec, store: ResultStore) -> None:
    with pytest.raises(StoreError, match=r"raw_dataset of 'small_circles' was never.*materialise it first"):
        run_stage("warmup_split", circles_spec, store=store)


def _walk(content: dict[str, Any], store: ResultStore) -> dict[str, StoredResult]:
    return run_pipeline(parse_spec(content), store=store)


BAD: list[tuple[str, dict[str, Any], type[AfliteError], str]] = [
    ("NaN feature", {"nan_row": 7}, DataError, r"1 of 120 rows .*NaN or infinite.*first: row 8"),
    ("one class", {"train_labels": np.zeros(120, int)}, DataError, r"'train' has only the class"),
    (
        "unknown label",
        {"train_labels": np.arange(120) % 3},
        DataError,
        r"label '2' \(40 rows\) is not one of the "
        r"classes",
    ),
]


@pytest.mark.parametrize(("changes", "error", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_data_are_named_and_leave_nothing(
    changes: dict[str, Any],
    error: type[AfliteError],
    message: str,
    feature_files: Callable[..., dict[str, Any]],
    store: ResultStore,
) -> None:
    content = {**feature_files(**changes), "labels": ["a", "b"]}
    with pytest.raises(error, match=message):
        _walk(content, store)
    files = {path.name for path in store.root.rglob("*") if path.is_file()}
    assert files <= {".lock", "vectors.lock", "format.json"}


def test_a_copy_of_the_label_stops_the_run_unless_the_file_allows_it(
    feature_files: Callable[..., dict[str, Any]], store: ResultStore
) -> None:
    content = feature_files()
    files = content["source"]["splits"]["train"]
    features, labels = np.load(files["features"]), np.load(files["labels"])
    features[:, 1] = 3 - 2 * labels
    np.save(files["features"], features)
    message = r"`raw_dataset` failed the check `no_label_copies`: copies of the label: column 1 \(from 0\) in all 120"
    with pytest.raises(DataError, match=message) as caught:
        _walk(content, store)
    assert str(caught.value).endswith("set `columns: {allow_label_copies: [1]}`")
    made = {path.name for path in store.root.iterdir() if list(path.rglob("manifest.json"))}
    assert made == {"raw_dataset", "challenge_sets", "cue_scan"}
    content["columns"] = {"allow_label_copies": [1]}
    run_stage("raw_dataset", parse_spec(content), store=store)
    assert run_stage("train_sample", parse_spec(content), store=store).result.summary == {"nothing_asked": True}


PLANS: list[tuple[str, dict[str, Any], type[AfliteError], str]] = [
    (
        "target above pool",
        {"filter": {"target_size": 500}},
        DataError,
        r"target_size` is 500, but there are only 120",
    ),
    (
        "train_size above target",
        {"filter": {"target_size": 20, "train_size": 26}},
        DataError,
        r"`filter\.train_size` is 26, but `target_size` corresponds to 26 rows of the pool and must be larger; lower",
    ),
    (
        "slice above target",
        {"filter": {"target_size": 30, "slice_size": 41}},
        DataError,
        r"`filter\.slice_size` is 41, but `target_size` corresponds to 40 rows of the pool and must not be smaller",
    ),
    (
        "slice of no row",
        {"filter": {"slice_size": 0.001}},
        DataError,
        "slice_size` is 0.001, but this share of the",
    ),
    (
        "encoder for text",
        {"representations": {"bert": {"kind": "huggingface_text", "checkpoint": "./nowhere"}}},
        ModelError,
        r"features",
    ),
    (
        "encoder for images",
        {"evaluators": {"net": {"kind": "timm_image", "architecture": "resnet10t"}}},
        ModelError,
        r"features",
    ),
]


@pytest.mark.parametrize(("changes", "error", "message"), [case[1:] for case in PLANS], ids=[case[0] for case in PLANS])
def test_an_impossible_plan_is_refused_before_anything_is_trained(
    changes: dict[str, Any],
    error: type[AfliteError],
    message: str,
    feature_files: Callable[..., dict[str, Any]],
    store: ResultStore,
) -> None:
    content = feature_files()
    for field, value in changes.items():
        content[field] = {**content[field], **value} if field == "filter" else value
    with pytest.raises(error, match=message):
        _walk(content, store)
    folders = {path.name for path in store.root.iterdir() if path.is_dir()}
    assert folders == {"raw_dataset", "challenge_sets", "cue_scan", "train_sample", "warmup_split", ".locks"}
    assert not list((store.root / "warmup_split").rglob("manifest.json"))


def test_missing_file_is_named(feature_files: Callable[..., dict[str, Any]], store: ResultStore) -> None:
    content = feature_files()
    Path(content["source"]["splits"]["test"]["labels"]).unlink()
    with pytest.raises(DataError, match=r"test_labels.npy' does not exist"):
        _walk(content, store)


def test_numbers_of_a_summary_are_flat() -> None:
    summary = {"a": 1, "b": {"c": 2.5, "d": "text", "e": [1]}, "f": None, "g": True}
    assert numbers(summary) == {"a": 1.0, "b.c": 2.5, "g": 1.0}
