"""Weak models in a plan and an estimate: what is assumed before a run, and that a run has what was counted."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.command_line.preview import timing
from aflite_assets.command_line.preview.data_preview import (
    DataPreview,
    preview_challenges,
    preview_data,
    preview_plan,
    reused_results,
)
from aflite_assets.command_line.preview.estimate import CostEstimate, estimate_cost
from aflite_assets.command_line.preview.run_plan import RunPlan
from aflite_assets.command_line.preview.timing import NeuralSpeed, Speeds
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.shared.published import ROW_SETS_FILE
from aflite_assets.studies.forgettables.command_line.preview import PART

CPU = DeviceSettings("cpu")
BAG = {"kind": "siamese_bag", "vector_width": 8, "projection": 8, "hidden": 8, "epochs": 2}
NET = {"kind": "small_transformer", "vocabulary": 100, "width": 8, "layers": 1, "heads": 2, "epochs": 2}
PAIRS: dict[str, Any] = {
    "name": "forgetful_pairs",
    "source": {"format": "template_nli", "splits": {"train": 150, "test": 60}, "planted_share": 0.6, "seed": 0},
    "labels": ["entailment", "neutral", "contradiction"],
    "warmup": {"size": 30},
    "representations": {"net": NET},
    "filter": {"target_size": 0.5, "slice_size": 0.3, "n_partitions": 4, "threshold": 0.0, "stop_at_chance": False},
    "forgettables": {
        "bow": {"model": BAG, "seeds": [0, 1], "balance": False, "alone": True},
        "own": {"evaluator": "net", "balance": False},
    },
    "evaluators": {
        "net": NET,
        "net_bow": {"kind": "fine_tuned", "start": "net", "stages": [{"forgettables": "bow", "epochs": 1}]},
        "net_random": {
            "kind": "fine_tuned", "start": "net", "stages": [{"forgettables": "bow", "take": "random", "epochs": 3}],
        },
    },
    "seeds": [0, 1],
}  # fmt: skip


SPEC = parse_spec(PAIRS)
Run = tuple[ResultStore, dict[str, StoredResult]]


def _plan(spec: DatasetSpec, data: DataPreview, store: ResultStore | None = None) -> RunPlan:
    reused = {} if store is None else reused_results(spec, store)
    return preview_plan(spec, data, preview_challenges(spec, data), reused=reused)


@pytest.fixture(scope="module")
def data() -> DataPreview:
    return preview_data(SPEC)


@pytest.fixture(scope="module")
def plan(data: DataPreview) -> RunPlan:
    return _plan(SPEC, data)


@pytest.fixture(scope="module")
def measured() -> list[str]:
    """What the estimate logs."""
    return []


@pytest.fixture(scope="module")
def estimate(data: DataPreview, plan: RunPlan, measured: list[str]) -> Iterator[CostEstimate]:
    """From measurements too short to be right."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timing, "ENOUGH_SECONDS", 0.001)
        patch.setattr(timing, "start_seconds", lambda: 2.5)
        yield estimate_cost(data.raw.examples, plan, device=CPU, log=measured.append)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The stages that evaluators need."""
    store = ResultStore(tmp_path_factory.mktemp("pairs"))
    needed = [
        name for name in STAGES if name not in ("published_dataset", "bias_evidence", "analysis", "benchmark_report")
    ]
    return store, {name: run_stage(name, SPEC, store=store) for name in needed}


def _work(estimate: CostEstimate, stage: str, what: str) -> dict[str, int]:
    (line,) = (line for line in estimate.lines if (line.stage, line.what) == (stage, what))
    return dict(line.counts)


def _cells(results: dict[str, StoredResult]) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = pq.read_table(results["evaluator_models"].result.file("cells.parquet")).to_pylist()
    return cells


def test_weak_trainings_and_second_phases_are_counted_with_what_was_assumed(
    estimate: CostEstimate, measured: list[str]
) -> None:
    # Of 120 rows of full 24 are taken to be forgotten; batches of 32.
    assert _work(estimate, "forgettable_sets", "bow") == {"model": 2, "step": 2 * 2 * 4, "row": 2 * 60}
    assert _work(estimate, "evaluator_models", "net_bow") == {"model": 2, "step": 2 * 1, "row": 2 * 60}
    assert _work(estimate, "evaluator_models", "net_random") == {"model": 2, "step": 2 * 3, "row": 2 * 60}
    notes = {line.what: line.note for line in estimate.lines if line.note}
    assert notes["net_bow"] == notes["net_random"]
    assert notes["net_bow"].startswith("assuming that 20 % of `full` are forgettable; after a run")
    assert measured.count("measuring training and prediction of siamese_bag") == 1


def test_sets_of_an_earlier_run_are_planned_with_their_rows(tmp_path: Path) -> None:
    sizes = [("bow", "forgettable", None, 40), ("bow", "random", 0, 40), ("bow", "random", 1, 40)]
    sizes += [("bow", "forgettable_as_many_as_own", seed, 5) for seed in (0, 1)]
    lines = [
        {"weak_model": model, "name": name, "seed": seed, "row_id": row}
        for model, name, seed, rows in sizes
        for row in range(rows)
    ]
    pq.write_table(pa.Table.from_pylist(lines), tmp_path / ROW_SETS_FILE)
    # With rows held back for early stopping, `rows` is less than `full`; balancing left no row that was never learnt.
    models = {"bow": {"taken": 40, "never_learnt": 27, "rows": 84}}
    result = SimpleNamespace(summary={"models": models}, path=tmp_path, file=tmp_path.joinpath)
    known: Any = {"forgettable_sets": result}
    stages = [{"forgettables": "bow", "as_many_as": "own"}]
    cut = {"kind": "fine_tuned", "start": "net", "stages": stages}
    planned = PART.draw(parse_spec(PAIRS | {"evaluators": {"net": NET, "cut": cut}}), 120, known)
    assert planned["bow"].set_rows == {
        "forgettable": 40, "random": 40, "never_learnt": 0, "highest_loss": 0, "forgettable_as_many_as_own": 5,
    }  # fmt: skip
    assert (planned["bow"].taken, planned["bow"].assumption) == (40, "")
    assert planned["own"].set_rows["forgettable"] == 24
    assert "forgettable_as_many_as_own" not in PART.draw(SPEC, 120, known)["bow"].set_rows


def test_an_evaluators_own_training_is_not_counted_twice(plan: RunPlan, estimate: CostEstimate) -> None:
    (own,) = (line for line in estimate.lines if (line.stage, line.what) == ("forgettable_sets", "own"))
    assert (own.counts, own.seconds) == ({}, 0.0)
    assert own.note == "the first training of net, which is counted with evaluator_models"
    rows = {train_set.name: train_set.rows for train_set in plan.train_sets}
    assert _work(estimate, "evaluator_models", "net") == {
        "model": 2 * len(rows),
        "step": 2 * 2 * sum(-(-count // 32) for count in rows.values()),
        "row": 2 * len(rows) * 60,
    }


def test_weak_models_cost_what_was_foreseen(plan: RunPlan, estimate: CostEstimate, made: Run) -> None:
    _, results = made
    found = results["forgettable_sets"].result
    trained = [found.part(f"bow.{seed}").summary["steps"] for seed in (0, 1)]
    assert sum(trained) == _work(estimate, "forgettable_sets", "bow")["step"]
    assert len(_cells(results)) == plan.cells
    # Trained for its forgetting, and found by its own cell and by what goes on from it.
    assert "weights:net.full.0" in found.parts


def test_a_later_check_has_the_number_of_forgettable_rows(data: DataPreview, made: Run) -> None:
    store, results = made
    plan = _plan(SPEC, data, store)
    for name, weak_model in plan.weak_models.items():
        facts = results["forgettable_sets"].result.summary["models"][name]
        assert not weak_model.assumption
        assert weak_model.taken == facts["taken"] > 0
        assert weak_model.set_rows["never_learnt"] == facts["never_learnt"]
    assert {cell["train_set"]: cell["train_rows"] for cell in _cells(results)} == {
        train_set.name: train_set.rows for train_set in plan.train_sets
    }
    empty = _plan(SPEC, data, ResultStore(store.root / "none"))
    assert all(weak_model.assumption for weak_model in empty.weak_models.values())


def test_a_batch_that_depends_on_the_rows_is_that_of_the_whole_train_split(
    data: DataPreview, plan: RunPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []

    def noted(speeds: Speeds, settings: Any) -> NeuralSpeed:
        batches.append(settings.batch_size)
        return NeuralSpeed(1.0, 1.0, 1.0)

    monkeypatch.setattr(Speeds, "_time_neural", noted)
    larger = replace(plan, rows={**plan.rows, "train": 60_000})
    Speeds(data.raw.examples, larger, CPU, lambda line: None).neural(plan.weak_models["bow"].settings)
    assert batches == [256]
