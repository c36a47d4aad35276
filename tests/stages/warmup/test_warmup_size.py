"""`warmup.size: auto`: samples are nested and never split a group, points are found again, the rest stays as it was."""

import json
import os
import re
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.command_line.preview import timing
from aflite_assets.command_line.preview.check import estimate_section, plan_section
from aflite_assets.command_line.preview.data_preview import preview_challenges, preview_data, preview_plan
from aflite_assets.command_line.preview.estimate import AUTO_NOTE, estimate_cost
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models import encoders
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.training import train
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.settings import UntrainedSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_pipeline, run_stage
from aflite_assets.stages.shared.published import full_rows, read_learning_curves, read_warmup_rows
from aflite_assets.stages.shared.sizes import CurveSizes, curve_sizes
from aflite_assets.stages.stage import Progress
from aflite_assets.stages.warmup.warmup_size import draw_samples
from aflite_assets.stages.warmup.warmup_split import draw_warmup
from tests.forked import forking_context
from tests.small_datasets import SMALL_TRANSFORMER, template_pairs

pytestmark = pytest.mark.usefixtures("undrawn")

CONTENT = template_pairs(train=2000, test=60, warmup="auto")


def _spec(**changes: Any) -> DatasetSpec:
    return parse_spec({**CONTENT, **changes})


def _split(spec: DatasetSpec, store: ResultStore) -> tuple[Any, list[str]]:
    logged: list[str] = []
    run_stage("raw_dataset", spec, store=store)
    obtained = run_stage("warmup_split", spec, store=store, progress=Progress(logged.append))
    return obtained.result, logged


def _trainings(logged: list[str]) -> list[str]:
    return [line for line in logged if "training on" in line]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[ResultStore, Any, list[str]]:
    store = ResultStore(tmp_path_factory.mktemp("auto"))
    return store, *_split(_spec(), store)


def _grouped(group_size: int, *, rows: int = 4_000, one_class_each: bool = False) -> Examples:
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.arange(rows) // group_size)
    labels = groups % 3 if one_class_each else rng.integers(0, 3, rows)
    columns = {"row_id": np.arange(rows), "split": ["train"] * rows, "label": labels, "text": ["a"] * rows}
    table = pa.table({**columns, "group": groups})
    return Examples(table, ("a", "b", "c"))


@pytest.mark.parametrize("group_size", [1, 3, 10])
def test_samples_are_nested_and_whole_groups(group_size: int) -> None:
    train = _grouped(group_size)
    drawn = draw_samples(train, seed=5)
    assert train.groups is not None
    sets = [set(drawn.held_back.tolist()), *(set(sample.tolist()) for sample in drawn.samples)]
    for smaller, larger in pairwise(sets[1:]):
        assert smaller < larger
    assert not sets[0] & sets[-1]
    for rows in sets:
        inside = np.isin(train.row_ids, list(rows))
        assert not set(train.groups[inside].tolist()) & set(train.groups[~inside].tolist())
    for size, asked in zip((*drawn.sizes.samples, drawn.sizes.held_back), (40, 80, 160, 320, 640, 200), strict=True):
        assert asked - group_size < size <= asked
    spent = drawn.spent(drawn.samples[1])
    assert spent.tolist() == sorted(sets[0] | sets[2])


def test_samples_have_the_classes_shares_and_depend_on_the_seed_alone() -> None:
    train = _grouped(1)
    drawn, again, other = (draw_samples(train, seed=seed) for seed in (5, 5, 6))
    shares = np.bincount(train.labels) / len(train)
    for rows in (drawn.held_back, *drawn.samples):
        np.testing.assert_allclose(np.bincount(train.labels[rows]) / len(rows), shares, atol=1.5 / len(rows))
    for one, same, different in zip(drawn.samples, again.samples, other.samples, strict=True):
        assert one.tolist() == same.tolist() != different.tolist()


def test_groups_too_large_to_hold_some_back_are_named() -> None:
    with pytest.raises(
        DataError,
        match="has to hold back 200 rows, but only 0 can be held back without splitting a group; set `columns",
    ):
        draw_samples(_grouped(400), seed=0)


def test_groups_too_large_for_two_samples_are_named() -> None:
    message = (
        "needs at least two different samples with two classes each. The planned sizes are [40, 80, 160, 320, 640], "
        "but without splitting groups the samples have [0, 0, 0, 190, 570] rows"
    )
    with pytest.raises(DataError, match=re.escape(message)):
        draw_samples(_grouped(190, one_class_each=True), seed=0)


@pytest.mark.parametrize(
    ("rows", "classes", "samples", "held_back"),
    [
        (2_000, 3, (40, 80, 160, 320), 100),
        (10_000, 2, (100, 200, 400, 800, 1600), 500),
        (50_000, 3, (500, 1000, 2000, 4000, 8000), 1000),
        (550_000, 3, (5_500, 11_000, 22_000, 44_000, 88_000), 2000),
        (15_000, 150, (1200, 2400), 500),
    ],
)
def test_sizes_tried(rows: int, classes: int, samples: tuple[int, ...], held_back: int) -> None:
    assert curve_sizes(rows, classes=classes) == CurveSizes(samples, held_back)
    assert curve_sizes(rows, classes=classes).most == samples[-1] + held_back


@pytest.mark.parametrize(("rows", "classes", "needed"), [(1_999, 2, 2_000), (14_000, 150, 15_000)])
def test_too_few_rows_for_a_curve_are_named(rows: int, classes: int, needed: int) -> None:
    message = f"needs {needed} train rows for {classes} classes, but the dataset has {rows}; set `warmup.size` to"
    with pytest.raises(DataError, match=message):
        curve_sizes(rows, classes=classes)


def test_the_split_holds_the_chosen_sample_and_the_held_back_rows(made: tuple[ResultStore, Any, list[str]]) -> None:
    store, result, logged = made
    facts = result.summary["learning_curve"]
    (curve,) = read_learning_curves(result)
    assert (curve.representation, curve.rows, curve.held_back_rows) == ("small", (40, 80, 160, 320), 100)
    assert curve.largest_class in (33, 34, 35)
    assert facts["sample_rows"] == curve.elbow
    raw = load_examples(store.current("raw_dataset", "templates").path)
    drawn = draw_samples(raw.in_split("train"), seed=0)
    chosen = drawn.samples[curve.rows.index(curve.elbow)]
    spent = read_warmup_rows(result)
    assert spent.tolist() == drawn.spent(chosen).tolist()
    assert result.summary["rows"] == result.summary["rows_asked"] == curve.elbow + 100
    assert not np.isin(full_rows(raw, result, include_warmup=False).row_ids, spent).any()
    assert _trainings(logged) == [f"learning curve of small: training on {rows} of 320 rows" for rows in curve.rows]
    assert list(result.manifest["files"]) == ["rows.parquet"]
    assert result.parts == {}
    assert list(result.manifest["provenance"]["learning_curve"]) == [f"small.{rows}" for rows in curve.rows]


def test_a_point_is_what_the_encoder_of_its_sample_says(
    made: tuple[ResultStore, Any, list[str]], tmp_path: Path
) -> None:
    """The accuracy is that of an encoder trained by `train_encoder`, loaded again, on rows it has not seen."""
    store, result, _ = made
    (curve,) = read_learning_curves(result)
    train = load_examples(store.current("raw_dataset", "templates").path).in_split("train")
    drawn, settings, device = draw_samples(train, seed=0), _spec().representations["small"], DeviceSettings("cpu")
    assert not isinstance(settings, UntrainedSpec)
    rows = train.select(drawn.samples[1])
    encoders.train_encoder(settings, rows, tmp_path / "encoder", seed=0, device=device, log=lambda line: None)
    encoder = encoders.load_encoder(settings, tmp_path / "encoder", train.label_names, device=device)
    asked = train.select(drawn.held_back)
    probabilities = encoder.encode(asked).probabilities
    assert probabilities is not None
    assert curve.right[1] == int((probabilities.argmax(axis=1) == asked.labels).sum())


def test_another_representation_that_changes_no_row_changes_no_data_version(
    made: tuple[ResultStore, Any, list[str]],
) -> None:
    store, result, _ = made
    twice = _spec(representations={"small": SMALL_TRANSFORMER, "other": SMALL_TRANSFORMER})
    second, logged = _split(twice, store)
    # The same model with the same rows and seed is the same point.
    assert _trainings(logged) == []
    assert [curve.representation for curve in read_learning_curves(second)] == ["small", "other"]
    assert second.key != result.key
    assert second.data_version == result.data_version


def test_evaluators_and_filter_leave_the_points_as_they_are(made: tuple[ResultStore, Any, list[str]]) -> None:
    store, result, _ = made
    changed = _spec(filter={"n_partitions": 5}, evaluators={"svm": {"kind": "rbf_svm"}})
    again, logged = _split(changed, store)
    assert _trainings(logged) == []
    assert (again.key == result.key, again.data_version) == (False, result.data_version)


def _until_killed(root: Path) -> None:
    """Stops itself hard where it would train on 160 rows."""
    trained = train.train_classifier

    def killing(classifier: Any, examples: Examples, **options: Any) -> Any:
        if len(examples) == 160:
            os.kill(os.getpid(), signal.SIGKILL)
        return trained(classifier, examples, **options)

    pytest.MonkeyPatch().setattr(train, "train_classifier", killing)
    _split(_spec(), ResultStore(root))


def test_a_killed_curve_goes_on_at_the_point(made: tuple[ResultStore, Any, list[str]], tmp_path: Path) -> None:
    _, whole, _ = made
    process = forking_context().Process(target=_until_killed, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    resumed, logged = _split(_spec(), ResultStore(tmp_path))
    assert _trainings(logged) == [f"learning curve of small: training on {rows} of 320 rows" for rows in (160, 320)]
    assert resumed.data_version == whole.data_version
    assert resumed.summary["learning_curve"] == whole.summary["learning_curve"]


def test_a_training_that_fails_names_its_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trained = train.train_classifier

    def diverge(classifier: Any, examples: Examples, **options: Any) -> Any:
        if len(examples) == 80:
            raise ModelError("the loss became nan; lower learning_rate")
        return trained(classifier, examples, **options)

    monkeypatch.setattr(train, "train_classifier", diverge)
    message = (
        r"warmup\.size auto: representations\.small on a sample of 80 rows: the loss became nan; lower learning_rate"
    )
    with pytest.raises(ModelError, match=message):
        _split(_spec(), ResultStore(tmp_path))


def test_sizes_that_would_fail_are_refused_before_anything_is_trained(
    store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "train_classifier", lambda *args, **options: pytest.fail("trained"))
    spec = _spec(filter={"target_size": 400})
    message = (
        r"`warmup\.size` is `auto`, so 420 warm-up rows may be used; in this case, `filter\.train_size` is 420, "
        r"but `target_size` corresponds to 415 rows of the pool"
    )
    with pytest.raises(DataError, match=message):
        _split(spec, store)


def test_too_small_a_dataset_is_refused(store: ResultStore) -> None:
    with pytest.raises(
        DataError, match=r"needs 2000 train rows for \d classes, but the dataset has 900; set `warmup\.size` to a share"
    ):
        _split(_spec(limit={"train": 900}), store)


def test_given_features_need_no_curve(circles_content: dict[str, Any], store: ResultStore) -> None:
    result, logged = _split(parse_spec(circles_content | {"warmup": {"size": "auto"}}), store)
    assert (result.summary["rows"], result.summary["reason"]) == (0, "no representation is a trained model")
    assert "learning_curve" not in result.summary
    assert read_learning_curves(result) == ()
    assert _trainings(logged) == []


def test_a_size_that_is_given_is_drawn_as_before(store: ResultStore) -> None:
    """Without `auto` no training chooses the size, and the same rows are drawn whatever else is set."""
    spec = _spec(warmup={"size": 0.05})
    spec = spec.model_copy(update={"filter": spec.filter.model_copy(update={"stop_at_chance": None})})
    result, _ = _split(spec, store)
    assert result.summary.keys() == {"rows", "rows_asked", "share", "rows_per_class", "reason", "text_lengths"}
    assert read_warmup_rows(result)[:8].tolist() == [41, 68, 72, 98, 135, 193, 213, 292]
    assert list(result.manifest["files"]) == ["rows.parquet"]


def test_drawing_for_a_plan_trains_nothing(monkeypatch: pytest.MonkeyPatch, store: ResultStore) -> None:
    monkeypatch.setattr(train, "train_classifier", lambda *args, **options: pytest.fail("trained"))
    raw = load_examples(run_stage("raw_dataset", _spec(), store=store).result.path)
    drawn = draw_warmup(_spec(), raw)
    assert drawn.samples is not None
    assert len(drawn.row_ids) == drawn.asked == drawn.samples.sizes.most == 420


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements too short to be right, long enough to be made."""
    monkeypatch.setattr(timing, "ENOUGH_SECONDS", 0.001)
    monkeypatch.setattr(timing, "start_seconds", lambda: 2.5)  # `test_timing` starts one


def test_the_estimate_counts_what_the_curve_trains(made: tuple[ResultStore, Any, list[str]], quick: None) -> None:
    _, result, _ = made
    spec = _spec()
    data = preview_data(spec)
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    estimate = estimate_cost(data.raw.examples, plan, device=DeviceSettings("cpu"), log=lambda line: None)
    curve, encoder = (line for line in estimate.lines if line.stage in ("warmup_split", "warmup_models"))
    points = result.manifest["provenance"]["learning_curve"].values()
    folder = result.path.parent / "parts"
    summaries = [PublishedResult("warmup_split", "templates", key, folder / key).summary for key in points]
    assert (curve.what, curve.note) == ("small", AUTO_NOTE)
    assert curve.counts == {
        "model": 4,
        "step": sum(summary["steps"] for summary in summaries),
        "row": 4 * 100,
    }
    # The encoder is counted with the most rows.
    assert encoder.counts == {"model": 1, "step": 4 * 14}
    assert plan.warmup_rows == 320 + 100
    text = "\n".join(plan_section(data, plan))
    assert "warm-up      at most 420 rows of 2,000 train rows (auto: a sample of 40, 80, 160, 320, and 100 held" in text
    assert "train_size   420 rows (as warm-up) per classifier" in text
    assert any("warmup_split" in line and "4 models" in line for line in estimate_section(estimate))


def test_the_report_shows_the_curve(made: tuple[ResultStore, Any, list[str]]) -> None:
    store, split, _ = made
    run_pipeline(_spec(), store=store)
    report = store.current("benchmark_report", "templates")
    (curve,) = read_learning_curves(split)
    written = json.loads(report.file("report.json").read_text())["tables"]["warmup_curve"]
    assert [(point["rows"], point["right"]) for point in written] == list(zip(curve.rows, curve.right, strict=True))
    assert (
        pq.read_table(store.current("analysis", "templates").file("tables/warmup_curve.parquet")).to_pylist() == written
    )
    assert "How the warm-up rows were chosen" in report.file("report.html").read_text()
    assert report.file("figures/warmup_curve.png").read_bytes().startswith(b"\x89PNG")
    encoder = store.current("warmup_models", "templates").summary["small"]
    assert encoder["rows"] == split.summary["rows"] == curve.elbow + 100
