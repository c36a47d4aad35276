"""Evaluators of several stages: fine-tuning that works, weights trained once, killed and failed cells, what is kept."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import DataError
from aflite_assets.models import evaluators
from aflite_assets.models.training import fine_tuning
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_pipeline, run_stage
from aflite_assets.stages.shared import training_workers
from aflite_assets.stages.shared.published import FineTuneFacts, fine_tune_examples, read_challenge_sets
from aflite_assets.stages.stage import CellFilter, Progress

pytestmark = pytest.mark.usefixtures("undrawn")

NET = {
    "kind": "small_transformer", "vocabulary": 200, "width": 16, "layers": 1, "heads": 2, "max_length": 16,
    "epochs": 6, "batch_size": 10, "learning_rate": 0.02,
}  # fmt: skip
NEAR, FAR = ("bad", "good"), ("down", "up")
STAGE = {"rows": "far", "epochs": 5}


def _lines(rows: int, *, seed: int, told_by: tuple[str, str], beside: tuple[str, str]) -> list[str]:
    """Lines of text and label: a word of `told_by` names the class, one of `beside` says nothing of it."""
    rng = np.random.default_rng(seed)
    noise = rng.integers(0, 2, rows)
    return [f"{told_by[row % 2]} {beside[noise[row]]} {seed}{row}\t{row % 2}" for row in range(rows)]


def _write(folder: Path, name: str, lines: list[str]) -> str:
    (folder / f"{name}.tsv").write_text("\n".join(["text\tlabel", *lines]) + "\n", encoding="utf-8")
    return str(folder / f"{name}.tsv")


def _content(folder: Path) -> dict[str, Any]:
    """Classes told by one pair of words in train and test, by another in `far`, whose rows have both pairs."""
    near: Any = {"told_by": NEAR, "beside": FAR}
    far: Any = {"told_by": FAR, "beside": NEAR}
    test = _lines(60, seed=3, **far)
    more = _lines(80, seed=4, **far)
    source = {"format": "tsv", "splits": {}}
    challenge = {
        "source": {
            "format": "tsv",
            "splits": {"test": _write(folder, "far_test", test), "more": _write(folder, "far", more + test[:7])},
        },
        "columns": {"text": "text"},
        "labels": {"bad": 0, "good": 1},
        "fine_tune": "more",
    }
    return {
        "name": "texts",
        "source": {
            **source,
            "splits": {
                "train": _write(folder, "train", _lines(100, seed=1, **near)),
                "test": _write(folder, "test", _lines(20, seed=2, **near)),
            },
        },
        "columns": {"text": "text"},
        "labels": {"bad": 0, "good": 1},
        "warmup": {"size": 20},
        "representations": {"net": {**NET, "epochs": 2}},
        "filter": {"target_size": 40, "train_size": 10, "slice_size": 20, "n_partitions": 8, "threshold": 0.5},
        "evaluators": {"net": NET, "linear": {"kind": "linear"}},
        "seeds": [0],
        "challenge_sets": {"far": challenge},
    }


def _with(content: dict[str, Any], **stages: list[dict[str, Any]]) -> DatasetSpec:
    recipes = {name: {"kind": "fine_tuned", "start": "net", "stages": one} for name, one in stages.items()}
    return parse_spec({**content, "evaluators": {**content["evaluators"], **recipes}})


@dataclass
class Spy:
    """How many trainings were asked for: of starts and plain cells (`first`), and of later stages (`later`)."""

    counts: Counter[str] = field(default_factory=Counter)


@pytest.fixture
def spy(monkeypatch: pytest.MonkeyPatch) -> Spy:
    return _spied(monkeypatch)


def _spied(patch: pytest.MonkeyPatch) -> Spy:
    found = Spy()
    for module, function, name in ((evaluators, "_trained", "first"), (fine_tuning, "train_classifier", "later")):
        real = getattr(module, function)

        def counting(*args: Any, _real: Any = real, _name: str = name, **kwargs: Any) -> Any:
            found.counts[_name] += 1
            return _real(*args, **kwargs)

        patch.setattr(module, function, counting)
    return found


@dataclass(frozen=True)
class Walk:
    """A walk without recipes, then one with them in the same store, and what was trained in the second."""

    content: dict[str, Any]
    store: ResultStore
    plain: PublishedResult
    grid: PublishedResult
    report: PublishedResult
    spy: Spy


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    folder = tmp_path_factory.mktemp("transfer")
    content, store = _content(folder), ResultStore(folder / "results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AFLITE_HOME", str(folder / "home"))
        for name in list(STAGES)[: list(STAGES).index("evaluator_models") + 1]:
            run_stage(name, parse_spec(content), store=store)
        plain = store.current("evaluator_models", "texts")
        spy = _spied(patch)
        results = run_pipeline(_with(content, net_far=[STAGE]), store=store)
        yield Walk(content, store, plain, results["evaluator_models"].result, results["benchmark_report"].result, spy)


def _predictions(part: PublishedResult) -> dict[str, np.ndarray]:
    table = pq.read_table(part.file("predictions.parquet"))
    sets = table["test_set"].to_numpy(zero_copy_only=False)
    return {name: table["predicted"].to_numpy()[sets == name] for name in np.unique(sets)}


def test_fine_tuning_takes_accuracy_on_the_challenge_set_from_chance_to_nearly_all(walk: Walk) -> None:
    gold = np.arange(60) % 2
    before, after = (_predictions(walk.grid.part(f"{name}.full.0"))["far"] for name in ("net", "net_far"))
    assert 0.25 < (before == gold).mean() < 0.75
    assert (after == gold).mean() > 0.95
    assert (_predictions(walk.grid.part("net.full.0"))["test"] == np.arange(20) % 2).mean() > 0.95
    summary = walk.grid.part("net_far.full.0").summary
    assert summary["accuracy.far"] == (after == gold).mean()
    assert (summary["rows"], summary["stage_1.rows"], summary["stage_1.steps"]) == (80, 80, 40)


def test_what_was_found_is_not_trained_again_and_starts_are_trained_once(walk: Walk) -> None:
    sets = {cell["train_set"] for cell in pq.read_table(walk.grid.file("cells.parquet")).to_pylist()}
    recipes = {name: part for name, part in walk.grid.parts.items() if name.startswith("net_far.")}
    assert len({part.key for part in recipes.values()}) == walk.spy.counts["later"] == walk.grid.summary["fitted"]
    starts = {part.key for name, part in walk.grid.parts.items() if name.startswith("weights:net.")}
    assert len(starts) == walk.spy.counts["first"]
    assert {"full", "random", "filtered"} <= sets
    for name in walk.plain.parts:
        assert walk.grid.part(name).key == walk.plain.part(name).key


def test_the_start_has_the_same_bits_when_it_is_asked_with_shared_weights(
    walk: Walk, store: ResultStore, spy: Spy
) -> None:
    spec = _with(walk.content, net_far=[STAGE], net_longer=[{**STAGE, "epochs": 1}, {**STAGE, "epochs": 1}])
    for name in list(STAGES)[: list(STAGES).index("evaluator_models")]:
        run_stage(name, spec, store=store)
    only = CellFilter(evaluators=("net_far", "net_longer"), train_sets=("full",))
    run_stage("evaluator_models", spec, store=store, cells=only)
    assert spy.counts == {"first": 1, "later": 3}
    only = CellFilter(evaluators=("net",), train_sets=("full",))
    grid = run_stage("evaluator_models", spec, store=store, cells=only).result
    assert spy.counts["first"] == 1
    ours, plain = grid.part("net.full.0"), walk.plain.part("net.full.0")
    assert ours.key == plain.key
    assert ours.manifest["files"] == plain.manifest["files"]
    assert ours.data_version == plain.data_version
    assert {**ours.summary, "seconds": 0, "prediction_seconds": 0} == {
        **plain.summary, "seconds": 0, "prediction_seconds": 0,
    }  # fmt: skip
    assert grid.part("net_far.full.0").data_version == walk.grid.part("net_far.full.0").data_version
    weights = {path.name for path in (grid.part("weights:net.full.0").path / "model").iterdir()}
    assert "model.safetensors" in weights


def test_a_kill_between_stages_loses_the_stage_that_it_was_in_alone(walk: Walk, spy: Spy) -> None:
    spec = _with(walk.content, net_twice=[{**STAGE, "epochs": 1}, {**STAGE, "epochs": 3}])
    only = CellFilter(evaluators=("net_twice",), train_sets=("full",))

    def kill(line: str) -> None:
        if line.startswith("epoch 2 of 3"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_stage("evaluator_models", spec, store=walk.store, cells=only, progress=_progress(kill))
    assert spy.counts == {"later": 2}
    lines: list[str] = []
    again = run_stage("evaluator_models", spec, store=walk.store, cells=only, progress=_progress(lines.append))
    assert spy.counts == {"later": 3}
    stages = [line for line in lines if line.startswith(("stage", "found finished", "epoch"))]
    assert stages[:4] == [
        "stage 1 of 2: 80 rows of far", "stage far was finished by an earlier run", "stage 2 of 2: 80 rows of "
        "far", stages[3],
    ]  # fmt: skip
    assert stages[3].startswith("epoch 2 of 3")
    part = again.result.part("net_twice.full.0")
    assert part.summary["stage_1.rows"] == 80
    whole = ResultStore(walk.store.root.parent / "whole")
    for name in list(STAGES)[: list(STAGES).index("evaluator_models")]:
        run_stage(name, spec, store=whole)
    straight = run_stage("evaluator_models", spec, store=whole, cells=only).result.part("net_twice.full.0")
    assert part.data_version == straight.data_version


def _progress(log: Any) -> Progress:
    return Progress(log)


def test_test_rows_are_dropped_from_the_rows_to_train_on(walk: Walk) -> None:
    challenges = walk.store.current("challenge_sets", "texts")
    facts = read_challenge_sets(challenges).sets["far"]
    assert facts.fine_tune == FineTuneFacts(
        split="more", rows=80, source_rows=87, unlabelled_rows=0, undecodable_images=0, repeats_dropped=7
    )
    rows = fine_tune_examples(challenges, "far")
    assert rows.label_names == ("bad", "good")
    assert rows.labels.tolist() == [0, 1] * 40
    tests = load_examples(challenges.path / "far")
    assert not set(rows.texts()) & set(tests.texts())
    assert len(tests) == 60


@pytest.mark.usefixtures("forked_workers")
def test_two_workers_train_each_start_once_with_the_same_bits(
    walk: Walk, store: ResultStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = _with(walk.content, net_far=[STAGE], net_near=[{**STAGE, "epochs": 1}])
    for name in list(STAGES)[: list(STAGES).index("evaluator_models")]:
        run_stage(name, spec, store=store)
    monkeypatch.setattr(training_workers, "visible_gpus", lambda device: ["0", "1"])
    lines: list[str] = []
    only = CellFilter(evaluators=("net", "net_far", "net_near"), train_sets=("full",))
    grid = run_stage("evaluator_models", spec, store=store, cells=only, progress=_progress(lines.append)).result
    assert [line for line in lines if "base model" in line] == ["training the base model weights:net.full.0"]
    for name in ("net.full.0", "net_far.full.0"):
        assert grid.part(name).data_version == walk.grid.part(name).data_version


def test_a_failed_start_is_every_cells_reason(walk: Walk) -> None:
    hot = {**walk.content["evaluators"], "net": {**NET, "learning_rate": 9.0, "weight_decay": 0.99, "epochs": 30}}
    spec = _with({**walk.content, "evaluators": hot}, net_far=[STAGE])
    lines: list[str] = []
    only = CellFilter(train_sets=("full",))
    grid = run_stage("evaluator_models", spec, store=walk.store, cells=only, progress=_progress(lines.append)).result
    cells = {cell["name"]: cell for cell in pq.read_table(grid.file("cells.parquet")).to_pylist()}
    reasons = {cells[f"{name}.full.0"]["reason"] for name in ("net", "net_far")}
    assert len(reasons) == 1
    assert reasons.pop().startswith("ModelError: training diverged")
    assert cells["linear.full.0"]["status"] == "done"


def test_recipes_on_a_set_that_is_not_there_fail_with_its_reason(
    walk: Walk, store: ResultStore, tmp_path: Path
) -> None:
    gone = {"source": {"format": "tsv", "splits": {"test": str(tmp_path / "no.tsv"), "more": str(tmp_path / "no.tsv")}}}
    far = walk.content["challenge_sets"]["far"]
    sets = {"far": far, "gone": {**far, **gone, "required": False}}
    stages: list[dict[str, Any]] = [{**STAGE, "epochs": 1}, {"rows": "gone"}]
    spec = _with({**walk.content, "challenge_sets": sets}, net_gone=stages)
    for name in list(STAGES)[: list(STAGES).index("evaluator_models")]:
        run_stage(name, spec, store=store)
    only = CellFilter(evaluators=("net_gone",), train_sets=("full",))
    grid = run_stage("evaluator_models", spec, store=store, cells=only).result
    (cell,) = (one for one in pq.read_table(grid.file("cells.parquet")).to_pylist() if one["name"] == "net_gone.full.0")
    assert cell["status"] == "failed"
    assert cell["reason"].startswith("there are no rows to fine-tune on: challenge set 'gone': the file ")
    assert not [name for name in grid.parts if name.startswith("weights:")]


def test_the_report_has_the_transfer_table(walk: Walk) -> None:
    report = json.loads(walk.report.file("report.json").read_text())
    rows = [row for row in report["tables"]["accuracies"] if row["test_set"] == "far" and row["label"] is None]
    scores = {(row["train_set"], row["evaluator"]): row["accuracy"] for row in rows}
    gold = np.arange(60) % 2
    for evaluator in ("net_far", "net"):
        predicted = _predictions(walk.grid.part(f"{evaluator}.full.0"))["far"]
        assert scores["full", evaluator] == (predicted == gold).mean()
    markdown = json.loads(walk.report.file("tables.json").read_text())
    assert r"far, fine-tuned \(net\_far, after far, n = 60\)" in markdown["transfer_net"]
    assert r"**net\_far**" not in markdown["zero_shot_net"]
    assert report["fine_tuned"] == {"net_far": {"start": "net", "sets": ["far"]}}
    assert report["families"]["evaluators.net_far"] == report["families"]["evaluators.net"] == "small_transformer"
    (far,) = (one for one in report["dataset"]["test_sets"] if one["name"] == "far")
    assert far["notes"] == ["Not zero-shot for evaluators fine-tuned on other rows of this set: net_far."]
    page = walk.report.file("report.html").read_text()
    assert "net, trained on the train set first and then fine-tuned on far" in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"map": {"bad": "no", "good": "no"}, "labels": {"no": 0, "yes": 1}, "unlabelled": []}, "'yes'"),
        (
            {"labels": {"no": [0, 1], "yes": 2}, "map": {"bad": "no", "good": "no"}},
            "the labels 'bad' and 'good' of the dataset are mapped to it",
        ),
    ],
)
def test_rows_whose_class_is_not_known_are_refused(
    walk: Walk, store: ResultStore, changes: dict[str, Any], message: str
) -> None:
    far = {**walk.content["challenge_sets"]["far"], **changes}
    spec = parse_spec({**walk.content, "challenge_sets": {"far": far}})
    run_stage("raw_dataset", spec, store=store)
    with pytest.raises(DataError, match=message):
        run_stage("challenge_sets", spec, store=store)
