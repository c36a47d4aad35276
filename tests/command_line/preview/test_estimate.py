"""The counts of an estimate are those of the run that follows; its times are only seen to add up."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from aflite_assets.command_line.preview import estimate as cost_estimate
from aflite_assets.command_line.preview import timing
from aflite_assets.command_line.preview.check import estimate_section
from aflite_assets.command_line.preview.data_preview import (
    preview_challenges,
    preview_data,
    preview_plan,
    reused_results,
)
from aflite_assets.command_line.preview.estimate import LAST_RUN, CostEstimate, CostLine, estimate_cost, last_seconds
from aflite_assets.command_line.preview.run_plan import RunPlan
from aflite_assets.command_line.preview.timing import ClassicalSpeed, Speeds
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.settings import ImageModelSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_pipeline

pytestmark = pytest.mark.usefixtures("undrawn")

NETWORK: dict[str, Any] = {
    "kind": "timm_image",
    "architecture": "test_resnet",
    "image_size": 16,
    "epochs": 2,
    "batch_size": 16,
}
DIGITS: dict[str, Any] = {
    "name": "few_digits",
    "source": {"format": "digits"},
    "limit": {"train": 150, "test": 40},
    "warmup": {"size": 50},
    "representations": {"net": NETWORK},
    "filter": {"target_size": 50, "train_size": 40, "slice_size": 25, "n_partitions": 4, "threshold": 0.0},
    "evaluators": {"linear": {"kind": "linear"}, "net": {**NETWORK, "epochs": 1}},
    "seeds": [3],
    "challenge_sets": {"others": {"source": {"format": "digits", "seed": 1}, "limit": 30}},
}


@pytest.fixture(autouse=True, scope="module")
def quick() -> Iterator[None]:
    """Measurements too short to be right, long enough to be made."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "ENOUGH_SECONDS", 0.001)
        patch.setattr(timing, "start_seconds", lambda: 2.8)
        yield


@dataclass(frozen=True)
class Foreseen:
    """A dataset's plan and estimate, and what was measured for it."""

    spec: DatasetSpec
    plan: RunPlan
    estimate: CostEstimate
    measured: list[str]


def _foreseen(spec: DatasetSpec) -> Foreseen:
    data = preview_data(spec)
    plan = preview_plan(spec, data, preview_challenges(spec, data))
    logged: list[str] = []
    estimate = estimate_cost(data.raw.examples, plan, device=DeviceSettings("cpu"), log=logged.append)
    return Foreseen(spec, plan, estimate, logged)


@pytest.fixture(scope="module")
def digits() -> Foreseen:
    return _foreseen(parse_spec(DIGITS))


@pytest.fixture(scope="module")
def digits_store(tmp_path_factory: pytest.TempPathFactory) -> ResultStore:
    return ResultStore(tmp_path_factory.mktemp("digits"))


@pytest.fixture(scope="module")
def digits_run(digits: Foreseen, digits_store: ResultStore) -> dict[str, StoredResult]:
    return run_pipeline(digits.spec, store=digits_store)


def _cells(results: dict[str, StoredResult]) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = pq.read_table(results["evaluator_models"].result.file("cells.parquet")).to_pylist()
    return cells


def _work(estimate: CostEstimate, stage: str, what: str) -> dict[str, int]:
    (line,) = (line for line in estimate.lines if (line.stage, line.what) == (stage, what))
    return dict(line.counts)


def test_one_network_is_measured_once(digits: Foreseen) -> None:
    # It stands as encoder and, with other epochs, as evaluator.
    assert digits.measured == [
        "measuring the start of a process",
        "measuring the scan for cues",
        "measuring the filter's classifiers",
        "measuring training and prediction of timm_image",
        "measuring fits of linear",
    ]
    assert digits.estimate.not_measured == ()
    assert digits.estimate.device == "cpu"
    assert digits.estimate.measuring_seconds > 0
    assert all((line.seconds or 0) > 0 for line in digits.estimate.lines)
    assert digits.estimate.seconds == pytest.approx(sum(line.seconds or 0 for line in digits.estimate.lines))


def test_a_model_for_distances_is_trained_once_on_all_train_rows(digits: Foreseen) -> None:
    net = digits.spec.representations["net"]
    assert isinstance(net, ImageModelSpec)
    foreseen = _foreseen(digits.spec.model_copy(update={"distance_encoder": net}))
    rows = foreseen.plan.rows
    assert _work(foreseen.estimate, "bias_evidence", "distance_encoder") == {
        "model": 1,
        "step": net.epochs * -(-rows["train"] // net.batch_size),
        "row": sum(rows.values()),
    }
    assert sorted(foreseen.measured) == sorted(digits.measured)


def test_a_run_has_the_sizes_foreseen(digits: Foreseen, digits_run: dict[str, StoredResult]) -> None:
    plan = digits.plan
    summary = {name: obtained.result.summary for name, obtained in digits_run.items()}
    assert summary["raw_dataset"]["rows"] == plan.rows
    assert summary["warmup_split"]["rows"] == plan.warmup_rows
    assert summary["embeddings"]["net"]["rows"] == plan.embedded_rows
    used = json.loads(digits_run["filtered_sets"].result.part("net").file("filter.json").read_text())["settings"]
    assert {name: used[name] for name in plan.settings.as_dict()} == plan.settings.as_dict()
    assert summary["filtered_sets"]["net"]["iterations"] == plan.most_iterations


def test_a_run_has_the_cells_foreseen(digits: Foreseen, digits_run: dict[str, StoredResult]) -> None:
    plan, cells = digits.plan, _cells(digits_run)
    assert len(cells) == plan.cells
    assert {cell["train_set"]: cell["train_rows"] for cell in cells} == {
        train_set.name: train_set.rows for train_set in plan.train_sets
    }
    predictions = digits_run["evaluator_models"].result.part("linear.full.3").file("predictions.parquet")
    counts = pq.read_table(predictions)["test_set"].value_counts().to_pylist()
    assert {entry["values"]: entry["counts"] for entry in counts} == plan.test_rows


def test_the_work_is_what_the_models_report(digits: Foreseen, digits_run: dict[str, StoredResult]) -> None:
    estimate, cells = digits.estimate, _cells(digits_run)
    grid = digits_run["evaluator_models"].result
    assert len(cells) == digits.plan.cells
    networks = [grid.part(cell["name"]).summary for cell in cells if cell["evaluator"] == "net"]
    assert _work(estimate, "evaluator_models", "net") == {
        "model": len(networks),
        "step": sum(summary["steps"] for summary in networks),
        "row": len(networks) * (40 + 30),
    }
    fitted = _work(estimate, "evaluator_models", "linear")["fit"]
    assert grid.summary["fitted"] == fitted + len(networks)
    trained = digits_run["warmup_models"].result.summary["net"]["steps"]
    assert _work(estimate, "warmup_models", "net") == {"model": 1, "step": trained}
    assert _work(estimate, "embeddings", "net") == {"model": 1, "row": 100 + 40}


def test_the_filter_iterates_as_was_foreseen(digits: Foreseen, digits_run: dict[str, StoredResult]) -> None:
    filtering = _work(digits.estimate, "filtered_sets", "net")
    file = digits_run["filtered_sets"].result.part("net").file("iterations.parquet")
    iterations = pq.read_table(file).to_pylist()
    assert filtering == {"iteration": len(iterations)}


def test_given_features_are_filtered_as_they_are(circles_spec: DatasetSpec, store: ResultStore) -> None:
    foreseen = _foreseen(circles_spec)
    plan = foreseen.plan
    assert [line.stage for line in foreseen.estimate.lines] == [
        "all stages", "cue_scan", "filtered_sets", *["evaluator_models"] * 3,
    ]  # fmt: skip
    results = run_pipeline(circles_spec, store=store)
    assert results["warmup_split"].result.summary["rows"] == plan.warmup_rows == 0
    assert results["filtered_sets"].result.summary["given"]["iterations"] <= plan.most_iterations
    cells = _cells(results)
    made = {cell["train_set"] for cell in cells}
    assert len(cells) == len(made) * len(circles_spec.evaluators) * len(plan.spec.seeds)
    assert len(cells) == plan.cells
    # Of each model, the sets that are drawn anew for each of two seeds, and the others.
    drawn = [train_set.drawn_per_seed for train_set in plan.train_sets if train_set.name in made]
    assert results["evaluator_models"].result.summary["fitted"] == 2 * (2 * sum(drawn) + drawn.count(False))


def test_a_model_that_is_not_here_is_counted_and_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"word{i} {i % 2},{i % 2}\n" for i in range(60)))
    model = {"kind": "huggingface_text", "checkpoint": "nobody/nothing", "epochs": 2, "batch_size": 4}
    content: dict[str, Any] = {
        "name": "far",
        "source": {"format": "csv", "splits": {"train": str(tmp_path / "a.csv"), "test": str(tmp_path / "a.csv")}},
        "columns": {"text": "text"},
        "warmup": {"size": 10},
        "representations": {"far": model},
        "filter": {"train_size": 10, "n_partitions": 3},
        "evaluators": {"far": model, "linear": {"kind": "linear"}},
        "seeds": [0],
    }
    # The check itself would ask the hub for the configuration.
    monkeypatch.setattr("aflite_assets.stages.warmup.warmup_split.check_model", lambda settings, examples: None)
    estimate = _foreseen(parse_spec(content)).estimate
    assert [(line.stage, line.what) for line in estimate.not_measured] == [
        ("warmup_models", "far"),
        ("embeddings", "far"),
        ("evaluator_models", "far"),
    ]
    assert _work(estimate, "warmup_models", "far") == {"model": 1, "step": 2 * 3}
    (filtering,) = (line for line in estimate.lines if line.stage == "filtered_sets")
    assert filtering.note == "assuming features of width 768"
    assert (filtering.seconds or 0) > 0


def test_a_run_starts_one_process(digits: Foreseen) -> None:
    first = digits.estimate.lines[0]
    assert (first.stage, first.what, first.counts) == ("all stages", "process and fixed work", {"start": 1})
    assert first.seconds == pytest.approx(2.8 * (1 + cost_estimate.ANY_DATA))


def test_small_evaluators_share_the_cores_where_there_is_enough_to_do(
    digits: Foreseen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost_estimate, "processes_at_once", lambda: 8)
    monkeypatch.setattr(cost_estimate, "workers_with_memory", lambda most: min(most, 3))
    monkeypatch.setattr(Speeds, "_time_classical", lambda speeds, settings: ClassicalSpeed(1000, 30.0, 0.0, 0.0, False))
    shared = _foreseen(digits.spec)
    cells = {line.what: line for line in shared.estimate.lines if line.stage == "evaluator_models"}
    assert shared.estimate.at_once == 3
    assert cells["linear"].seconds == pytest.approx(30.0 * cells["linear"].counts["fit"] / 3)
    monkeypatch.setattr(cost_estimate, "WORTH", 1e6)
    alone = _foreseen(digits.spec)
    cells = {line.what: line for line in alone.estimate.lines if line.stage == "evaluator_models"}
    assert alone.estimate.at_once == 1
    assert cells["linear"].seconds == pytest.approx(30.0 * cells["linear"].counts["fit"])


def test_the_sum_is_of_what_could_be_measured() -> None:
    whole, part = CostLine("a", "b", {"step": 3}, 2.0), CostLine("a", "b", {"step": 3}, None)
    estimate = CostEstimate((whole, part), "cpu", 1.0)
    assert estimate.seconds == 2.0
    assert estimate.not_measured == (part,)


def test_stages_that_a_run_would_find_have_their_last_seconds(
    digits: Foreseen, digits_store: ResultStore, digits_run: object
) -> None:
    last = last_seconds(reused_results(digits.spec, digits_store))
    made = {name: digits_store.current(name, "few_digits").manifest["provenance"]["seconds"] for name in STAGES}
    assert last == made
    data = preview_data(digits.spec)
    logged: list[str] = []
    on_cpu = DeviceSettings("cpu")
    reused = reused_results(digits.spec, digits_store)
    plan = replace(digits.plan, reused=reused)
    estimate = estimate_cost(data.raw.examples, plan, device=on_cpu, log=logged.append)
    assert logged == ["measuring the start of a process"]
    assert estimate.seconds == pytest.approx(2.8 + sum(made.values()))
    assert [line.stage for line in estimate.lines if line.what == LAST_RUN] == list(STAGES)
    assert "the time is how long the stage took for its current result" in " ".join(
        "\n".join(estimate_section(estimate)).split()
    )
    # Another seed: the stages before the controls have theirs, the evaluators and what follows are measured.
    other = parse_spec({**DIGITS, "seeds": [3, 4]})
    known = last_seconds(reused_results(other, digits_store))
    assert {"warmup_models", "embeddings", "filtered_sets"} <= set(known)
    assert not {"evaluator_models", "analysis", "benchmark_report"} & set(known)
    plan = replace(digits.plan, reused=reused_results(other, digits_store))
    estimate = estimate_cost(data.raw.examples, plan, device=on_cpu, log=logged.append)
    stages = [line.stage for line in estimate.lines if line.what != LAST_RUN]
    assert stages == ["all stages"] + ["evaluator_models"] * 3
    assert logged[1:] == [
        "measuring the start of a process", "measuring fits of linear",
        "measuring training and prediction of timm_image",
    ]  # fmt: skip


def test_a_grid_of_which_cells_were_found_has_no_last_seconds(digits_store: ResultStore, digits_run: object) -> None:
    more = parse_spec({**DIGITS, "seeds": [3, 4]})
    grid = run_pipeline(more, store=digits_store)["evaluator_models"].result
    assert 0 < grid.summary["fitted"] < len({part.key for part in grid.parts.values()})
    assert set(STAGES) - set(last_seconds(reused_results(more, digits_store))) == {"evaluator_models"}


def test_later_stages_are_counted_apart_from_the_training_that_they_share() -> None:
    recipe = {"kind": "fine_tuned", "start": "net", "stages": [{"rows": "others", "epochs": 3}, {"rows": "others"}]}
    others = {**DIGITS["challenge_sets"]["others"], "fine_tune": "train"}
    evaluators = {**DIGITS["evaluators"], "net_others": recipe}
    foreseen = _foreseen(parse_spec({**DIGITS, "evaluators": evaluators, "challenge_sets": {"others": others}}))
    rows = foreseen.plan.fine_tune_rows["others"]
    assert rows == 1348
    (line,) = (line for line in foreseen.estimate.lines if line.what == "net_others")
    models = len(foreseen.plan.train_sets)
    assert line.counts == {
        "model": models, "step": models * (3 + 1) * -(-rows // 16), "row": models * (40 + 30),
    }  # fmt: skip
    assert foreseen.measured.count("measuring training and prediction of timm_image") == 1


def test_the_scan_is_counted_with_the_rows_of_every_set(digits: Foreseen) -> None:
    assert _work(digits.estimate, "cue_scan", "all properties") == {"row": 150 + 40 + 30}
    scan = next(line for line in digits.estimate.lines if line.stage == "cue_scan")
    assert scan.seconds is not None
    assert 0 < scan.seconds < 60
