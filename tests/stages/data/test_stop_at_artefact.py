"""`scan: {stop: artefact}`: a run ends after the scan if it finds an artefact, before any model is trained."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from aflite_assets.command_line.main import main
from aflite_assets.command_line.preview.data_preview import reused_results
from aflite_assets.command_line.preview.plan_warnings import scan_section
from aflite_assets.errors import ArtefactFoundError, SpecError
from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_pipeline, run_stage, stage_key
from tests.planted_reviews import planted_reviews
from tests.small_datasets import feature_vectors

pytestmark = pytest.mark.usefixtures("undrawn")

STOP = {"stop": "artefact"}


def reviews(folder: Path, *, share: float = 0.6, **changes: Any) -> DatasetSpec:
    return parse_spec(planted_reviews(folder, share=share, **changes))


def planted_vectors(folder: Path, *, scan: dict[str, str], planted: bool) -> DatasetSpec:
    """Features of 600 rows, of which one column is declared and tells the label if it is planted."""
    content = feature_vectors(folder)
    rng = np.random.default_rng(1)
    for split, rows in (("train", 600), ("test", 200)):
        labels = rng.integers(2, size=rows)
        features = rng.normal(size=(rows, 3)) + labels[:, None] * [1.0, 1.0, 3.0 * planted]
        files = content["source"]["splits"][split]
        np.save(files["features"], features.astype(np.float32))
        np.save(files["labels"], labels)
    return parse_spec({**content, "irrelevant": ["column 2"], "scan": scan})


def made(store: ResultStore) -> set[str]:
    return {name for name in STAGES if store.current_key(name, "reviews") is not None}


def test_an_artefact_ends_a_run_before_any_model_is_trained(tmp_path: Path, store: ResultStore) -> None:
    spec = reviews(tmp_path, scan=STOP)
    with pytest.raises(ArtefactFoundError) as refused:
        run_pipeline(spec, store=store)
    assert made(store) == {"raw_dataset", "challenge_sets", "cue_scan", "train_sample"}
    assert store.current("train_sample", "reviews").summary["nothing_asked"]
    said = str(refused.value)
    assert said.startswith(
        "the scan of 'reviews' found an artefact. No model is trained, because the dataset's YAML file sets "
        "`scan: {stop: artefact}`. Found 1 artefact that tells the label "
        "(“ellipsis sign (…) (review)” for class “good”, 79 %)"
    )
    assert (
        "To see all cues, run `aflite scan reviews`; mend it: aflite fix reviews --cue 1 --to NEW_FOLDER (makes it"
        in said
    )
    assert said.endswith("or, to train anyway, set `scan: {stop: never}` or leave out `scan`")
    assert refused.value.refuses
    assert not refused.value.may_pass


def test_the_command_of_the_message_mends_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "reviews.yaml").write_text(yaml.safe_dump(planted_reviews(tmp_path, share=0.6, scan=STOP)))
    monkeypatch.setenv("AFLITE_DATASETS", str(tmp_path / "sets"))
    assert main(["fix", "reviews", "--cue", "1", "--to", str(tmp_path / "mended"), "--by", "rebalance"]) == 0
    assert capsys.readouterr().out.startswith("Cue 1 is gone: “ellipsis sign (…) (review)” for class “good”")
    assert main(["scan", str(tmp_path / "mended" / "reviews_fixed.yaml")]) == 0


def test_a_stage_scans_on_the_way_if_its_run_has_not(tmp_path: Path, store: ResultStore) -> None:
    spec = reviews(tmp_path, scan=STOP)
    run_stage("raw_dataset", spec, store=store)
    run_stage("train_sample", spec, store=store)
    with pytest.raises(ArtefactFoundError, match="found an artefact"):
        run_stage("warmup_split", spec, store=store)
    assert store.current("cue_scan", "reviews").summary["verdict"] == "artefact"


def test_by_default_the_run_goes_on_under_the_same_keys(tmp_path: Path, store: ResultStore) -> None:
    results = run_pipeline(planted_vectors(tmp_path, scan={"stop": "never"}, planted=True), store=store)
    assert results["cue_scan"].result.summary["verdict"] == "artefact"
    assert results.keys() == STAGES.keys()
    stopping = planted_vectors(tmp_path, scan=STOP, planted=True)
    published = {name: obtained.result for name, obtained in results.items()}
    for name, stage in STAGES.items():
        inputs = {each: published[each] for each in stage.input_names}
        assert stage_key(stage, stopping, inputs).digest == published[name].key, name
    again = run_pipeline(stopping, store=store)
    assert all(obtained.cached for obtained in again.values())


def test_without_an_artefact_a_run_goes_on(tmp_path: Path, store: ResultStore) -> None:
    results = run_pipeline(planted_vectors(tmp_path, scan=STOP, planted=False), store=store)
    assert results["cue_scan"].result.summary["verdict"] in ("nothing", "candidates")
    assert results["benchmark_report"].result.file("report.html").is_file()


def test_a_plan_calls_what_follows_refused_and_says_why(tmp_path: Path, store: ResultStore) -> None:
    spec = reviews(tmp_path, scan=STOP)
    for name in ("raw_dataset", "challenge_sets"):
        run_stage(name, spec, store=store)
    before = plan_dataset(spec, store)
    assert (before["cue_scan"].state, before["train_sample"].state) == ("made", "made")
    run_stage("train_sample", spec, store=store)
    waiting = plan_dataset(spec, store)["warmup_split"]
    assert (waiting.state, [str(reason) for reason in waiting.reasons]) == ("after", ["after cue_scan"])
    assert _warned(spec, store) == [
        "`scan.stop` is artefact: if `cue_scan` finds an artefact, the run ends, and no model is trained"
    ]
    run_stage("cue_scan", spec, store=store)
    stopped = plan_dataset(spec, store)
    assert stopped["warmup_split"].state == "refused"
    assert str(stopped["warmup_split"].reasons[0]).startswith("the scan of 'reviews' found an artefact")
    assert str(stopped["warmup_models"].reasons[-1]) == "after warmup_split"
    (warning,) = _warned(spec, store)
    assert warning.startswith("warning: a run would end after cue_scan: the scan of 'reviews' found an artefact")
    assert plan_dataset(reviews(tmp_path), store)["warmup_split"].state == "made"
    assert _warned(reviews(tmp_path), store) == []


def _warned(spec: DatasetSpec, store: ResultStore) -> list[str]:
    return list(scan_section(spec, reused_results(spec, store)))


def test_a_sample_is_not_tried_with_an_artefact(tmp_path: Path, store: ResultStore) -> None:
    sample = {"start": 100, "step": 100, "most": 200, "model": {"kind": "linear"}}
    spec = reviews(tmp_path, rows=2100, scan=STOP, sample=sample)
    with pytest.raises(ArtefactFoundError, match="found an artefact"):
        run_pipeline(spec, store=store)
    assert made(store) == {"raw_dataset", "challenge_sets", "cue_scan"}


def test_what_is_no_way_to_stop_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"scan\.stop"):
        reviews(tmp_path, scan={"stop": "candidate"})
