"""A growing sample: which rows it has, what is found again, what follows from it, and that no test row is asked."""

import json
import os
import signal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.command_line.preview import timing
from aflite_assets.command_line.preview.check import plan_section
from aflite_assets.command_line.preview.data_preview import preview_challenges, preview_data, preview_plan
from aflite_assets.command_line.preview.estimate import estimate_cost
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import DataError, ModelError
from aflite_assets.models import evaluators
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_pipeline, run_stage
from aflite_assets.stages.shared.published import (
    RowSelection,
    read_control_sets,
    read_selection,
    read_warmup_rows,
    selected_rows,
)
from aflite_assets.stages.stage import Progress
from aflite_assets.studies.sample.command_line.preview import SAMPLE_NOTE
from aflite_assets.studies.sample.specs.settings import SampleSettings, SampleSpec
from aflite_assets.studies.sample.stages.train_sample import draw_sample, read_sample_curve
from tests.forked import forking_context
from tests.small_datasets import template_pairs

pytestmark = pytest.mark.usefixtures("undrawn")

LINEAR = {"kind": "linear"}
BAG = {
    "kind": "siamese_bag", "vector_width": 8, "projection": 8, "hidden": 8, "epochs": 2, "learning_rate": 0.02,
}  # fmt: skip
SAMPLE = {"start": 100, "step": 100, "most": 600, "model": LINEAR}
CONTENT = template_pairs(train=2000, test=60, warmup="auto") | {
    "warmup": {"size": 0.2},
    "sample": SAMPLE,
    "train_sets": {"many": 150},
    "train_weighted": True,
}


def _spec(**changes: Any) -> DatasetSpec:
    return parse_spec({**CONTENT, **changes})


def _sampled(spec: DatasetSpec, store: ResultStore) -> tuple[PublishedResult, list[str]]:
    logged: list[str] = []
    run_stage("raw_dataset", spec, store=store)
    obtained = run_stage("train_sample", spec, store=store, progress=Progress(logged.append))
    return obtained.result, logged


def _trainings(logged: list[str]) -> list[str]:
    return [line for line in logged if "training on" in line]


def _points(result: PublishedResult) -> dict[str, str]:
    return dict(result.manifest["provenance"]["learning_curve"])


def _settings(**changes: Any) -> SampleSpec:
    sample = SampleSettings.of(_spec(sample=SAMPLE | changes)).sample
    assert sample is not None
    return sample


def _examples(group_size: int | None, *, rows: int = 4_000, first: int = 0, one_class_each: bool = False) -> Examples:
    """Train rows, in groups of `group_size` whose numbers begin at `first`, or in none."""
    rng = np.random.default_rng(0)
    groups = np.arange(rows) // (group_size or 1)
    labels = groups % 3 if one_class_each else rng.integers(0, 3, rows)
    columns = {"row_id": np.arange(rows), "split": ["train"] * rows, "label": labels, "text": ["a"] * rows}
    grouped = {} if group_size is None else {"group": (first + groups)[::-1] if first else groups}
    return Examples(pa.table({**columns, **grouped}), ("a", "b", "c"))


@pytest.mark.parametrize("group_size", [None, 1, 3, 10])
def test_samples_lie_within_one_another_and_take_whole_groups(group_size: int | None) -> None:
    train = _examples(group_size)
    drawn = draw_sample(_settings(), train, seed=5)
    assert drawn.sizes.held_back == len(drawn.held_back) == pytest.approx(200, abs=(group_size or 1) - 1)
    assert list(drawn.sizes.samples) == pytest.approx([100, 200, 300, 400, 500, 600], abs=(group_size or 1) - 1)
    sets = [set(sample.tolist()) for sample in drawn.samples]
    assert all(smaller < larger for smaller, larger in pairwise(sets))
    assert not sets[-1] & set(drawn.held_back.tolist())
    if train.groups is not None:
        group_of = dict(zip(train.row_ids.tolist(), train.groups.tolist(), strict=True))
        of_held_back = {group_of[row] for row in drawn.held_back.tolist()}
        for rows in sets:
            taken = {group_of[row] for row in rows}
            assert len(rows) == sum(group in taken for group in train.groups.tolist())
            assert not taken & of_held_back


def test_samples_are_stratified() -> None:
    train = _examples(None)
    shares = np.bincount(train.labels) / len(train)
    for sample in draw_sample(_settings(), train, seed=5).samples:
        labels = train.select(sample).labels
        assert np.bincount(labels) / len(labels) == pytest.approx(shares, abs=0.02)


def test_a_larger_most_leaves_the_smaller_samples() -> None:
    train = _examples(3)
    few, many = (draw_sample(_settings(most=most), train, seed=5) for most in (300, 900))
    assert [sample.tolist() for sample in few.samples] == [sample.tolist() for sample in many.samples[:3]]
    assert few.held_back.tolist() == many.held_back.tolist()


def test_numbers_of_groups_change_no_draw() -> None:
    one, other = (draw_sample(_settings(), _examples(4, first=first), seed=1) for first in (0, 0))
    assert [sample.tolist() for sample in one.samples] == [sample.tolist() for sample in other.samples]
    train = _examples(4)
    assert train.groups is not None
    renamed = train.table.set_column(
        train.table.column_names.index("group"), "group", pa.array((train.groups * 7919) % 4001)
    )
    again = draw_sample(_settings(), Examples(renamed, train.label_names), seed=1)
    assert [sample.tolist() for sample in one.samples] == [sample.tolist() for sample in again.samples]


def test_samples_end_where_the_rows_do() -> None:
    assert draw_sample(_settings(most=5_000), _examples(None, rows=2_000), seed=0).sizes.samples[-1] == 1_900


@pytest.mark.parametrize(
    ("train", "changes", "message"),
    [
        (_examples(None, rows=1_900), {}, "`sample` needs at least 2000 train rows, but the dataset has 1900"),
        (
            _examples(None), {"start": 3_750, "step": 100, "most": 9_000},
            r"`sample\.start` is 3750 and `sample\.step` is 100, which needs 3850 train rows, but only 3800 are left",
        ),
        (_examples(1_000), {}, "`sample` has to hold back 200 rows, but only 0 can be held back without"),
        (_examples(150), {"most": 200}, r"`sample` needs at least two different samples with two classes each\. "
        r"The planned sizes are \[100, 200\], but without splitting groups the usable samples have \[100\] rows"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_refused(train: Examples, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        draw_sample(_settings(**changes), train, seed=0)


def test_a_model_that_reads_other_rows_is_refused() -> None:
    image = {"kind": "timm_image", "architecture": "resnet10t"}
    with pytest.raises(ModelError, match=r"`sample\.model` cannot be used: a model of kind 'timm_image'"):
        draw_sample(_settings(model=image), _examples(None), seed=0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[ResultStore, PublishedResult, list[str]]:
    store = ResultStore(tmp_path_factory.mktemp("sample"))
    return store, *_sampled(_spec(), store)


def test_the_sample_is_the_one_that_the_curve_chose(made: tuple[ResultStore, PublishedResult, list[str]]) -> None:
    store, result, logged = made
    curve, sample = read_sample_curve(result), read_selection({"train_sample": result})
    assert curve is not None
    assert sample is not None
    train = load_examples(store.current("raw_dataset", "templates").path).in_split("train")
    drawn = draw_sample(_settings(), train, seed=0)
    assert sample.rows.tolist() == drawn.samples[curve.rows.index(curve.chosen)].tolist()
    assert sample.held_back.tolist() == drawn.held_back.tolist()
    assert list(result.manifest["files"]) == ["rows.parquet"]
    assert (result.summary["rows"], result.summary["held_back_rows"]) == (len(sample.rows), 100)
    assert result.summary["rows"] == sum(result.summary["rows_per_class"].values()) == curve.chosen
    assert len(_trainings(logged)) == len(curve.rows) < 6  # it ended before the most
    assert curve.ended
    assert f"A sample of {curve.chosen} train rows is filtered" in "\n".join(logged)


def test_a_point_is_the_model_on_its_sample(
    made: tuple[ResultStore, PublishedResult, list[str]], tmp_path: Path
) -> None:
    store, result, _ = made
    curve = read_sample_curve(result)
    assert curve is not None
    train = load_examples(store.current("raw_dataset", "templates").path).in_split("train")
    drawn, model, device = draw_sample(_settings(), train, seed=0), _settings().model, DeviceSettings("cpu")
    rows, asked = train.select(drawn.samples[1]), train.select(drawn.held_back)
    done = evaluators.evaluate(
        model, rows, {"asked": asked}, seed=0, device=device, scratch=tmp_path, log=lambda line: None
    )
    assert curve.right[1] == (int((done.predictions["asked"].predicted == asked.labels).sum()),)


def test_without_a_sample_nothing_is_made_and_all_rows_pass(store: ResultStore) -> None:
    content = {name: value for name, value in CONTENT.items() if name != "sample"}
    result, logged = _sampled(parse_spec(content), store)
    assert result.summary == {"nothing_asked": True}
    assert result.manifest["files"] == {}
    assert logged == []
    assert (read_selection({"train_sample": result}), read_sample_curve(result)) == (None, None)
    raw = load_examples(store.current("raw_dataset", "templates").path)
    assert selected_rows(raw, None) is raw


def test_sampled_rows_are_those_of_train_and_all_others() -> None:
    raw = Examples(
        pa.table({"row_id": [0, 1, 2, 3, 4], "split": ["train", "train", "test", "train", "test"]}), ("a", "b")
    )
    assert selected_rows(raw, RowSelection(np.array([1]), np.array([3]))).row_ids.tolist() == [1, 2, 4]


def test_a_stage_that_is_asked_nothing_is_made_on_the_way(store: ResultStore) -> None:
    """As in a store that was made before there was such a stage."""
    content = {name: value for name, value in CONTENT.items() if name != "sample"}
    run_stage("raw_dataset", parse_spec(content), store=store)
    run_stage("warmup_split", parse_spec(content), store=store)
    assert store.current("train_sample", "templates").summary == {"nothing_asked": True}
    run_stage("raw_dataset", _spec(name="asked"), store=store)
    with pytest.raises(Exception, match="train_sample"):
        run_stage("warmup_split", _spec(name="asked"), store=store)


def test_repeats_are_trainings_with_seeds_of_their_own(store: ResultStore) -> None:
    sample = {"start": 100, "step": 100, "most": 200, "model": BAG, "repeats": 2, "stop": "falls"}
    result, logged = _sampled(_spec(sample=sample, seed=3), store)
    curve = read_sample_curve(result)
    assert curve is not None
    assert (len(curve.right[0]), curve.rows, curve.stop) == (2, (100, 200), "falls")
    assert list(_points(result)) == ["sample.100", "sample.100.4", "sample.200", "sample.200.4"]
    assert len(set(_points(result).values())) == len(_trainings(logged)) == 4
    single, logged = _sampled(_spec(sample=sample | {"repeats": 1}, seed=3), store)
    assert _trainings(logged) == []
    assert list(_points(single)) == ["sample.100", "sample.200"]


def test_raising_the_most_trains_the_further_sizes_alone(store: ResultStore) -> None:
    first, logged = _sampled(_spec(sample=SAMPLE | {"most": 200}), store)
    assert len(_trainings(logged)) == 2
    second, logged = _sampled(_spec(sample=SAMPLE | {"most": 300}), store)
    assert _trainings(logged) == ["learning curve of sample: training on 300 of 300 rows"]
    assert _points(first).items() <= _points(second).items()


def _until_killed(root: Path) -> None:
    """Stops itself hard where it would train on 300 rows."""
    trained = evaluators.evaluate

    def train(settings: Any, examples: Examples, *others: Any, **options: Any) -> Any:
        if len(examples) == 300:
            os.kill(os.getpid(), signal.SIGKILL)
        return trained(settings, examples, *others, **options)

    pytest.MonkeyPatch().setattr(evaluators, "evaluate", train)
    _sampled(_spec(), ResultStore(root))


def test_a_killed_run_finds_its_points_again(
    made: tuple[ResultStore, PublishedResult, list[str]], tmp_path: Path
) -> None:
    _, whole, logged = made
    process = forking_context().Process(target=_until_killed, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    resumed, again = _sampled(_spec(), ResultStore(tmp_path))
    assert _trainings(again) == _trainings(logged)[2:]
    assert resumed.data_version == whole.data_version
    assert resumed.summary["sample_curve"] == whole.summary["sample_curve"]


def test_a_training_that_fails_names_its_size(store: ResultStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*arguments: Any, **options: Any) -> Any:
        raise ModelError("the loss became nan; lower learning_rate")

    monkeypatch.setattr(evaluators, "evaluate", diverge)
    with pytest.raises(ModelError, match=r"sample\.model on a sample of 100 rows: the loss became nan"):
        _sampled(_spec(), store)


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, Any]:
    """Groups of two texts of two classes in files of this test's folder."""
    rng = np.random.default_rng(0)
    for split, rows in (("train", 2_400), ("test", 60)):
        labels = rng.integers(0, 2, rows)
        words = np.where(rng.random(rows) < 0.8, labels, 1 - labels)
        columns = {
            "text": [f"word{word} {rng.integers(0, 9)}" for word in words],
            "label": labels,
            "premise": [f"{split} {row // 2}" for row in range(rows)],
        }
        pq.write_table(pa.table(columns), tmp_path / f"{split}.parquet")
    return {
        "name": "tables",
        "source": {"format": "parquet", "splits": {one: str(tmp_path / f"{one}.parquet") for one in ("test", "train")}},
        "columns": {"text": "text", "group": "premise"},
        "sample": SAMPLE | {"most": 400},
        "representations": {"small": CONTENT["representations"]["small"]},
        "evaluators": {"linear": LINEAR},
    }


def _replace(file: Path, **columns: list[Any]) -> None:
    """Write a file anew with other values in some columns."""
    table = pq.read_table(file)
    for name, values in columns.items():
        table = table.set_column(table.column_names.index(name), name, pa.array(values))
    pq.write_table(table, file)


def test_no_point_reads_the_test_split(tables: dict[str, Any], tmp_path: Path, store: ResultStore) -> None:
    """Other test rows, of other groups, are another raw dataset, and the same points and sample."""
    first, logged = _sampled(parse_spec(tables), store)
    before = store.current("raw_dataset", "tables").data_version
    assert _trainings(logged)
    others = [f"other {row}" for row in range(60)]
    _replace(tmp_path / "test.parquet", text=others, label=[row % 2 for row in range(60)], premise=others)
    second, logged = _sampled(parse_spec(tables), store)
    assert store.current("raw_dataset", "tables").data_version != before
    assert _trainings(logged) == []
    assert _points(second) == _points(first)
    assert second.data_version == first.data_version
    assert second.key != first.key


def test_a_point_sees_its_train_rows(tables: dict[str, Any], tmp_path: Path, store: ResultStore) -> None:
    first, _ = _sampled(parse_spec(tables), store)
    texts = pq.read_table(tmp_path / "train.parquet")["text"].to_pylist()
    _replace(tmp_path / "train.parquet", text=[f"{text} more" for text in texts])
    second, logged = _sampled(parse_spec(tables), store)
    assert _trainings(logged)
    assert not set(_points(second).values()) & set(_points(first).values())


@pytest.fixture(scope="module")
def walk(made: tuple[ResultStore, PublishedResult, list[str]]) -> dict[str, PublishedResult]:
    """Every stage's result."""
    return {name: obtained.result for name, obtained in run_pipeline(_spec(), store=made[0]).items()}


def test_what_follows_takes_the_sample(walk: dict[str, PublishedResult]) -> None:
    sample, warmup = read_selection({"train_sample": walk["train_sample"]}), read_warmup_rows(walk["warmup_split"])
    assert sample is not None
    assert set(warmup) < set(sample.rows)
    assert (len(warmup), walk["warmup_split"].summary["share"]) == (round(0.2 * len(sample.rows)), pytest.approx(0.2))
    unspent = np.setdiff1d(sample.rows, warmup)
    rows = pq.read_table(walk["filtered_sets"].part("small").file("rows.parquet"))
    train = rows.filter(pa.compute.equal(rows["split"], "train"))["row_id"].to_numpy()
    assert np.sort(train).tolist() == unspent.tolist()
    assert len(rows) == len(unspent) + 60
    controls = [one for one in read_control_sets(walk["control_sets"]) if one.split == "train"]
    by_name = {one.name: one.row_ids for one in controls}
    assert set(by_name) == {
        "sampled", "random", "random_matched", "single_pass_model", "single_pass_linear", "filtered_many",
        "random_many", "weighted",
    }  # fmt: skip
    assert by_name["sampled"].tolist() == by_name["weighted"].tolist() == unspent.tolist()
    assert all(set(row_ids) <= set(unspent) for row_ids in by_name.values())


def test_full_is_all_train_rows_that_were_not_spent(
    made: tuple[ResultStore, PublishedResult, list[str]], walk: dict[str, PublishedResult]
) -> None:
    sample, warmup = read_selection({"train_sample": walk["train_sample"]}), read_warmup_rows(walk["warmup_split"])
    assert sample is not None
    cells = pq.read_table(walk["evaluator_models"].file("cells.parquet")).to_pylist()
    rows = {cell["train_set"]: cell["train_rows"] for cell in cells}
    assert rows["full"] == 2_000 - len(warmup) - len(sample.held_back)
    assert rows["sampled"] == rows["weighted"] == len(sample.rows) - len(warmup)
    assert {cell["status"] for cell in cells} == {"done"}
    with_warmup = run_pipeline(_spec(full_includes_warmup=True), store=made[0])["evaluator_models"].result
    cells = pq.read_table(with_warmup.file("cells.parquet")).to_pylist()
    rows = {cell["train_set"]: cell["train_rows"] for cell in cells}
    assert (rows["full"], rows["sampled"]) == (2_000 - len(sample.held_back), len(sample.rows))


def test_the_published_folder_says_which_rows_were_not_sampled(walk: dict[str, PublishedResult]) -> None:
    sample = read_selection({"train_sample": walk["train_sample"]})
    assert sample is not None
    folder = walk["published_dataset"].path
    train = pq.read_table(folder / "data" / "full_tagged" / "train.parquet")
    counts = dict(zip(*(one.to_pylist() for one in train["status"].value_counts().flatten()), strict=True))
    assert counts["not sampled"] == 2_000 - len(sample.rows)
    assert counts["warm-up"] == round(0.2 * len(sample.rows))
    assert counts.keys() == {"kept", "removed", "warm-up", "not sampled"}
    card = " ".join((folder / "README.md").read_text(encoding="utf-8").split())
    assert f"A random sample of {len(sample.rows)} train rows was filtered." in card


def test_the_report_shows_the_curve(walk: dict[str, PublishedResult]) -> None:
    curve, report = read_sample_curve(walk["train_sample"]), walk["benchmark_report"]
    assert curve is not None
    written = json.loads(report.file("report.json").read_text())
    points = written["tables"]["sample_curve"]
    assert [(point["rows"], point["right"]) for point in points] == [
        (rows, each[0]) for rows, each in zip(curve.rows, curve.right, strict=True)
    ]
    assert [point["rows"] for point in points if point["chosen"]] == [curve.chosen]
    assert pq.read_table(walk["analysis"].file("tables/sample_curve.parquet")).to_pylist() == points
    assert "How the sample was chosen" in report.file("report.html").read_text()
    assert report.file("figures/sample_curve.png").read_bytes().startswith(b"\x89PNG")
    trained_on = {row["train_set"] for row in written["tables"]["accuracies"]}
    assert {"full", "sampled", "random", "filtered"} <= trained_on
    weighted = {
        row["against"]
        for row in written["tables"]["differences"]
        if (row["comparison"], row["train_set"]) == ("control", "weighted")
    }
    assert weighted == {"sampled", "random_matched"}
    assert written["provenance"]["data version of train_sample"] == walk["train_sample"].data_version


def test_another_sample_makes_what_follows_anew(
    made: tuple[ResultStore, PublishedResult, list[str]], walk: dict[str, PublishedResult]
) -> None:
    store = made[0]
    other = _spec(sample=SAMPLE | {"start": 450, "step": 50})
    run_stage("train_sample", other, store=store)
    keys = {}
    for name in list(STAGES)[3:]:
        if name in ("warmup_split", "warmup_models", "embeddings", "filtered_sets", "control_sets"):
            keys[name] = run_stage(name, other, store=store).result.key
    assert all(keys[name] != walk[name].key for name in keys)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measurements too short to be right, long enough to be made."""
    monkeypatch.setattr(timing, "ENOUGH_SECONDS", 0.001)
    monkeypatch.setattr(timing, "start_seconds", lambda: 2.5)  # `test_timing` starts one


def test_the_estimate_counts_every_size(quick: None) -> None:
    spec = _spec(sample=SAMPLE | {"model": BAG, "repeats": 2}, seeds=[0])
    data = preview_data(spec)
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    estimate = estimate_cost(data.raw.examples, plan, device=DeviceSettings("cpu"), log=lambda line: None)
    (line,) = (line for line in estimate.lines if line.stage == "train_sample")
    steps = sum(-(-rows // 32) for rows in (100, 200, 300, 400, 500, 600))
    assert line.counts == {
        "model": 6 * 2, "step": 2 * 2 * steps, "row": 6 * 2 * 100,
    }  # fmt: skip
    assert (line.what, line.note) == ("siamese_bag", SAMPLE_NOTE)
    assert (plan.warmup_rows, plan.train_pool_rows, plan.embedded_rows) == (120, 480, 540)
    rows = {one.name: one.rows for one in plan.train_sets}
    assert (rows["full"], rows["sampled"], rows["weighted"], rows["filtered"]) == (1_780, 480, 480, 240)
    text = "\n".join(plan_section(data, plan))
    assert (
        "100, 200, 300, 400, 500 and 600 of 2,000 train rows are tried until the accuracy stops rising, with "
        "100 held back" in text
    )
    assert "120 rows (0.2) of 600 sampled rows" in text


def test_fits_of_a_model_without_seeds_are_counted(quick: None) -> None:
    spec = _spec(representations=CONTENT["representations"] | {"other": CONTENT["representations"]["small"]})
    data = preview_data(spec)
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    estimate = estimate_cost(data.raw.examples, plan, device=DeviceSettings("cpu"), log=lambda line: None)
    (line,) = (line for line in estimate.lines if line.stage == "train_sample")
    assert line.counts == {"fit": 6}
    sampled = [one for one in plan.train_sets if one.name == "sampled"]
    assert [(one.representation, one.trained_before) for one in sampled] == [("small", False), ("other", True)]
