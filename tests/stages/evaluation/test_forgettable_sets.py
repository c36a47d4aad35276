"""Forgettable rows from a YAML file to second phases: what is counted, taken, drawn, trained once, and refused."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import torch
from torch import nn

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import DataError
from aflite_assets.models import evaluators
from aflite_assets.models.classifiers import NeuralClassifier
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.models.global_state import isolated_random_state
from aflite_assets.models.training.train import train_classifier
from aflite_assets.results import Draft, PublishedResult, ResultKey, ResultStore
from aflite_assets.specs.models.settings import SiameseBagSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation.analysis.studied import StudyContext
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.shared.published import RowSet, read_row_sets
from aflite_assets.stages.stage import ALL_CELLS, CellFilter, Progress
from aflite_assets.studies.forgettables.specs.settings import MinoritiesSpec
from aflite_assets.studies.forgettables.stages import forgettable_sets as stage
from aflite_assets.studies.forgettables.stages.analysis import read_forgettables

CPU = DeviceSettings(device="cpu")
BAG = SiameseBagSpec(kind="siamese_bag", epochs=5, batch_size=4)
SCRIPT = np.array(
    [
        # one row per column
        [1, 0, 1, 0, 1, 0, 1, 1, 0],
        [1, 0, 0, 1, 1, 0, 1, 1, 0],
        [1, 0, 1, 1, 1, 0, 1, 0, 0],
        [1, 0, 1, 1, 1, 0, 0, 1, 1],
        [1, 0, 1, 1, 1, 1, 1, 0, 1],
    ],
    dtype=bool,
)
FORGOTTEN, NEVER = [2, 6, 7], [1]


class _Scripted(nn.Module):
    """Is right about a row whenever the script says so of the row's next presentation."""

    def __init__(self, labels: np.ndarray) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.labels = torch.from_numpy(labels.copy())
        self.seen: torch.Tensor
        self.register_buffer("seen", torch.zeros(len(labels), dtype=torch.int64))

    def forward(self, rows: torch.Tensor) -> Any:
        right = torch.from_numpy(SCRIPT)[self.seen[rows], rows]
        self.seen[rows] += 1
        answer = torch.where(right, self.labels[rows], 1 - self.labels[rows])
        logits = nn.functional.one_hot(answer, 2) + self.weight
        return type("Output", (), {"logits": logits})


class _Inputs:
    def __init__(self, rows: int) -> None:
        self.lengths = 1 + np.arange(rows) % 3

    def __len__(self) -> int:
        return len(self.lengths)

    def batch(self, positions: Any) -> dict[str, torch.Tensor]:
        return {"rows": torch.as_tensor(np.asarray(positions))}


class _ScriptedClassifier(NeuralClassifier):
    def inputs(self, examples: Examples, *, augmentation_seed: Any = None) -> Any:
        return _Inputs(len(examples))


def _examples(labels: list[int]) -> Examples:
    rows = len(labels)
    return Examples(
        pa.table(
            {
                "row_id": pa.array(range(10, 10 + rows), pa.int64()),
                "source_id": [str(row) for row in range(rows)],
                "split": ["train"] * rows,
                "label": pa.array(labels, pa.int64()),
                "text": ["a"] * rows,
            }
        ),
        ("no", "yes"),
    )


LABELS = [0, 1, 0, 1, 0, 1, 1, 0, 1]


@pytest.mark.parametrize("bucketed", [True, False])
@pytest.mark.parametrize("killed", [True, False])
def test_the_trainer_records_what_a_model_was_scripted_to_forget(tmp_path: Path, bucketed: bool, killed: bool) -> None:
    full = _examples(LABELS)
    settings = BAG.model_copy(update={"length_bucketing": bucketed})

    def train(log: Callable[[str], None]) -> pa.Table:
        classifier = _ScriptedClassifier(_Scripted(full.labels), settings, 2)
        with isolated_random_state(0):
            return train_classifier(classifier, full, seed=0, device=CPU, scratch=tmp_path, log=log).dynamics

    def stop_in_the_fourth(line: str) -> None:
        if line.startswith("epoch 4"):
            raise KeyboardInterrupt

    if killed:
        with pytest.raises(KeyboardInterrupt):
            train(stop_in_the_fourth)
    counted = _counted(tmp_path / "part", train(lambda line: None), full)
    assert np.flatnonzero(counted.forgetting.events).tolist() == FORGOTTEN
    assert np.flatnonzero(counted.forgetting.never_learnt).tolist() == NEVER
    assert (counted.row_ids - 10)[counted.forgetting.forgettable].tolist() == [1, 2, 6, 7]


def _counted(folder: Path, dynamics: pa.Table, full: Examples, *, balance: bool = False) -> stage.CountedRows:
    def write(draft: Draft) -> Mapping[str, Any]:
        pq.write_table(dynamics, draft.path / "dynamics.parquet")
        return {}

    key = ResultKey("1", {"balance": balance}, {})
    part = ResultStore(folder).get_or_create_part("forgettable_sets", "tiny", key, write).result
    return stage.count_rows(stage.WeakTraining("bow", None, BAG, 0), part, full, balance=balance, seed=3)


def _dynamics(row_ids: np.ndarray) -> pa.Table:
    """Of the script; a row's probability is its number over 10 in each epoch, a tenth more in the last."""
    epochs, rows = SCRIPT.shape
    probability = np.tile(np.arange(rows, dtype=np.float32) / 10, (epochs, 1))
    probability[-1] += 0.1
    return pa.table(
        {
            "row_id": np.tile(row_ids, epochs),
            "epoch": np.repeat(np.arange(epochs), rows),
            "label_probability": probability.ravel(),
            "correct": SCRIPT.ravel(),
        }
    )


def test_rows_say_what_became_of_each(tmp_path: Path) -> None:
    full = _examples(LABELS)
    table = _counted(tmp_path, _dynamics(full.row_ids), full).table().to_pylist()
    assert table[5] == {
        "weak_model": "bow", "seed": 0, "row_id": 15, "label": 1, "presentations": 5, "right": 1,
        "forgetting_events": 0, "never_learnt": False, "first_learnt": 4,
        "last_label_probability": pytest.approx(0.6), "mean_label_probability": pytest.approx(0.52),
        "label_probability_deviation": pytest.approx(0.04), "forgettable": False, "taken": False,
    }  # fmt: skip
    assert table[1]["first_learnt"] is None
    assert [row["row_id"] for row in table if row["taken"]] == [11, 12, 16, 17]


def test_balancing_cuts_every_class_to_the_smallest(tmp_path: Path) -> None:
    full = _examples([0, 0, 0, 1, 0, 1, 1, 0, 1])  # forgettable: three rows of class 0, one of class 1
    one, other = (_counted(tmp_path, _dynamics(full.row_ids), full, balance=True) for _ in range(2))
    assert Counter(full.labels[one.taken - 10].tolist()) == {0: 1, 1: 1}
    assert one.taken.tolist() == other.taken.tolist()
    alone = _examples([0, 0, 0, 1, 0, 1, 0, 0, 1])  # class 1 has no forgettable row
    assert len(_counted(tmp_path, _dynamics(alone.row_ids), alone, balance=True).taken) == 0


def test_rows_held_back_are_no_candidates(tmp_path: Path) -> None:
    full = _examples([*LABELS, 0, 1])
    counted = _counted(tmp_path, _dynamics(full.row_ids[:9]), full)
    assert counted.row_ids.tolist() == list(range(10, 19))


BOW: dict[str, Any] = {
    "model": {"kind": "siamese_bag", "vector_width": 16, "projection": 16, "hidden": 16, "epochs": 3},
    "alone": True,
    "highest_loss": [0.1],
    "balance": False,
}
SMALL: dict[str, Any] = {
    "name": "pairs",
    "source": {"format": "template_nli", "splits": {"train": 300, "test": 120}, "planted_share": 0.6, "seed": 0},
    "labels": ["entailment", "neutral", "contradiction"],
    "warmup": {"size": 60},
    "representations": {
        "net": {"kind": "small_transformer", "vocabulary": 200, "width": 16, "layers": 1, "heads": 2, "epochs": 2}
    },
    "filter": {"target_size": 0.5, "slice_size": 0.2, "n_partitions": 8},
    "evaluators": {
        "net": {"kind": "small_transformer", "vocabulary": 200, "width": 16, "layers": 1, "heads": 2, "epochs": 2},
        "linear": {"kind": "linear"},
        "net_bow": {"kind": "fine_tuned", "start": "net", "stages": [{"forgettables": "bow", "epochs": 1}]},
        "net_random": {
            "kind": "fine_tuned", "start": "net", "stages": [{"forgettables": "bow", "take": "random", "epochs": 1}],
        },
    },
    "forgettables": {"bow": BOW, "own": {"evaluator": "net"}},
    "minorities": {"positive": "entailment", "negative": "contradiction"},
    "seeds": [0, 1],
}  # fmt: skip


def _run(
    content: dict[str, Any], store: ResultStore, *, until: str, cells: CellFilter = ALL_CELLS
) -> tuple[dict[str, PublishedResult], list[str]]:
    """The stages up to one that evaluators need, and what they logged."""
    lines: list[str] = []
    progress = Progress(lines.append)
    results = {}
    for name in STAGES:
        if name not in ("published_dataset", "bias_evidence", "benchmark_report"):
            results[name] = run_stage(name, parse_spec(content), store=store, progress=progress, cells=cells).result
        if name == until:
            break
    return results, lines


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[ResultStore, dict[str, PublishedResult], list[str]]:
    """The small pairs up to their evaluators."""
    store = ResultStore(tmp_path_factory.mktemp("forgettables"))
    return (store, *_run(SMALL, store, until="evaluator_models"))


Made = tuple[ResultStore, dict[str, PublishedResult], list[str]]


def _set(result: PublishedResult, weak_model: str, name: str, seed: int | None = None) -> RowSet:
    (chosen,) = (
        each for each in read_row_sets(result) if (each.weak_model, each.name, each.seed) == (weak_model, name, seed)
    )
    return chosen


def test_sets_have_the_sizes_that_the_settings_ask_for(made: Made) -> None:
    _, results, _ = made
    result = results["forgettable_sets"]
    rows = pq.read_table(result.file("rows.parquet"))
    full = set(load_examples(results["raw_dataset"].path).in_split("train").row_ids.tolist())
    full -= set(pq.read_table(results["warmup_split"].file("rows.parquet"))["row_id"].to_pylist())
    bow = [row for row in rows.to_pylist() if row["weak_model"] == "bow"]
    assert {row["row_id"] for row in bow} == full
    taken = _set(result, "bow", "forgettable").row_ids.tolist()
    assert taken == [row["row_id"] for row in bow if row["forgettable"]]
    facts = result.summary["models"]["bow"]
    assert (facts["rows"], facts["forgettable"], facts["taken"]) == (240, len(taken), len(taken))
    assert sum(facts["events"].values()) == 240
    margin = facts["margins"]["test"]
    assert margin["largest_class"] == pytest.approx(1 / 3)
    assert margin["low"] < 100 * (facts["accuracy"]["test"] - margin["largest_class"]) < margin["high"]
    assert result.summary["models"]["own"]["margins"] == {}
    random = [_set(result, "bow", "random", seed).row_ids.tolist() for seed in (0, 1)]
    assert [len(set(each)) for each in random] == [len(taken)] * 2
    assert random[0] != random[1]
    assert all(set(each) <= full for each in random)
    assert len(_set(result, "bow", "highest_loss").row_ids) == len(taken)
    tenth = _set(result, "bow", "highest_loss_10").row_ids
    by_loss = sorted(bow, key=lambda row: row["last_label_probability"])[:24]
    assert sorted(row["row_id"] for row in by_loss) == tenth.tolist()


def test_the_report_reads_how_each_row_was_learnt(made: Made) -> None:
    _, results, _ = made
    result, raw = results["forgettable_sets"], load_examples(results["raw_dataset"].path)
    settings = parse_spec({**SMALL, "minorities": None})
    found = read_forgettables(result, StudyContext(settings, results["evaluator_models"], (), {}, (), raw))
    assert [(one.weak_model, one.seed) for one in found.learnt] == [("bow", 0), ("own", 0)]
    ids = raw.in_split("train").row_ids
    for one in found.learnt:
        table = pq.read_table(result.file("rows.parquet")).filter(pc.field("weak_model") == one.weak_model)
        lines = {line["row_id"]: line for line in table.to_pylist()}
        counted = {row["row_id"]: row for row in one.counts.to_pylist()}
        assert set(counted) == set(lines) <= set(ids.tolist())
        assert one.sets is not None
        assert "random" not in one.sets
        for row_id, line in lines.items():
            for name in ("forgetting_events", "right", "presentations"):
                assert counted[row_id][name] == line[name]
            assert (row_id in one.sets["forgettable"]) == line["taken"]
    assert "highest_loss_10" in (found.learnt[0].sets or {})
    (agreement,) = found.agreement
    forgettable: list[set[int]] = [set(), set()]
    for line in pq.read_table(result.file("rows.parquet")).filter(pc.field("forgettable")).to_pylist():
        forgettable[line["weak_model"] == "own"].add(line["row_id"])
    assert (agreement.first, agreement.second) == ("bow, seed 0", "own, seed 0")
    assert (agreement.first_rows, agreement.second_rows) == tuple(map(len, forgettable))
    assert agreement.shared == len(forgettable[0] & forgettable[1])


def test_minorities_are_measured_in_every_set(made: Made) -> None:
    _, results, _ = made
    lines = pq.read_table(results["forgettable_sets"].file("minorities.parquet")).to_pylist()
    found = {(line["weak_model"], line["name"], line["seed"], line["measure"], line["group"]): line for line in lines}
    raw = load_examples(results["raw_dataset"].path)
    taken = _set(results["forgettable_sets"], "bow", "forgettable").row_ids
    cues = raw.select(taken).table["attribute.cue"].to_pylist()
    line = found["bow", "forgettable", None, "cue = none", "all rows"]
    assert (line["rows"], line["mean"]) == (len(taken), pytest.approx(cues.count("none") / len(taken)))
    assert found[None, None, None, "cue = none", "all rows"]["mean"] == pytest.approx(0.4, abs=0.05)
    overlap = found[None, None, None, "overlap", "positive"]
    assert (overlap["rows"], overlap["mean"] > found[None, None, None, "overlap", "others"]["mean"]) == (80, True)
    assert ("own", "random", 1, "negation", "negative") in found


def test_a_class_that_the_dataset_lacks_is_refused(made: Made) -> None:
    full = load_examples(made[1]["raw_dataset"].path)
    with pytest.raises(
        DataError, match=r"`minorities.positive` is 'yes', which is not a class of the dataset; name one of \["
    ):
        stage.minorities_table(full, [], MinoritiesSpec(positive="yes", negative="contradiction"))


def test_balanced_sets_have_as_many_rows_of_each_class(made: Made) -> None:
    _, results, _ = made
    result, raw = results["forgettable_sets"], load_examples(results["raw_dataset"].path)
    sizes = {
        name: sorted(Counter(raw.select(_set(result, "own", name, seed).row_ids).labels.tolist()).items())
        for name, seed in (("forgettable", None), ("random", 0), ("random", 1), ("highest_loss", None))
    }
    (first, *others) = sizes.values()
    assert len({count for _, count in first}) == 1
    assert all(other == first for other in others)


def test_an_evaluators_own_training_is_trained_once(made: Made) -> None:
    _, results, lines = made
    weights = [line for line in lines if "weights:net.full.0" in line and line.startswith("training")]
    assert weights == ["training weights:net.full.0"]
    own = results["forgettable_sets"].parts["weights:net.full.0"]
    cell = results["evaluator_models"].parts["net.full.0"]
    assert pq.read_table(own.file("dynamics.parquet")).equals(pq.read_table(cell.file("dynamics.parquet")))


def test_second_phases_start_from_full_alone_and_from_one_training(made: Made) -> None:
    _, results, lines = made
    cells = pq.read_table(results["evaluator_models"].file("cells.parquet")).to_pylist()
    of = {name: {cell["train_set"] for cell in cells if cell["evaluator"] == name} for name in SMALL["evaluators"]}
    assert of["net_bow"] == of["net_random"] == {"full"}
    alone = {"forgettable_bow", "random_forgettable_bow"}
    assert alone < of["net"] == {name for name in of["linear"] if "_property_" not in name}
    assert not {name for name in of["net"] if name.endswith("_own")}
    assert {cell["status"] for cell in cells} == {"done"}
    rows = len(_set(results["forgettable_sets"], "bow", "forgettable").row_ids)
    assert sum(f"{rows} rows of forgettable rows of bow" in line for line in lines) == 2
    assert {cell["train_rows"] for cell in cells if cell["train_set"] in alone} == {rows}
    assert sum("training the base model weights:net.full" in line for line in lines) == 1  # seed 1; 0 is own


def test_another_weak_model_with_the_same_rows_trains_nothing_anew(made: Made) -> None:
    store, _, _ = made
    renamed = {
        **SMALL,
        "forgettables": {**SMALL["forgettables"], "more": {"model": {**BOW["model"], "epochs": 1}}},
    }
    _, lines = _run(renamed, store, until="evaluator_models")
    assert [line for line in lines if line.startswith("training")] == ["training more.0"]
    cells = [line for line in lines if line.startswith("cell ")]
    assert all(line.endswith(": found") for line in cells)


def test_a_weak_model_that_fails_fails_its_second_phases_alone(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    store, _, _ = made
    bow = {"model": {**BOW["model"], "learning_rate": 9.0, "epochs": 8}, "balance": False}

    def diverge(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("it diverged")

    monkeypatch.setattr(evaluators, "evaluate", diverge)
    content = {**SMALL, "forgettables": {"bow": bow, "own": {"evaluator": "net"}}}
    results, _ = _run(content, store, until="evaluator_models")
    assert results["forgettable_sets"].summary["failed"] == {"bow": "RuntimeError: it diverged"}
    cells = pq.read_table(results["evaluator_models"].file("cells.parquet")).to_pylist()
    failed = {cell["name"]: cell["reason"] for cell in cells if cell["status"] == "failed"}
    assert set(failed) == {f"{name}.full.{seed}" for name in ("net_bow", "net_random") for seed in (0, 1)}
    assert set(failed.values()) == {"`forgettables.bow` failed: RuntimeError: it diverged"}


def test_without_forgettables_the_result_is_empty(tmp_path: Path) -> None:
    content = {**SMALL, "evaluators": {"linear": {"kind": "linear"}}, "forgettables": {}, "minorities": None}
    _run(content, ResultStore(tmp_path), until="warmup_split")
    result = run_stage("forgettable_sets", parse_spec(content), store=ResultStore(tmp_path)).result
    assert result.summary == {"nothing_asked": True}
    assert read_row_sets(result) == []


def _planted(share: float = 0.6) -> dict[str, Any]:
    """The bundled pairs' rows with the small transformer of the pilot: eight epochs, then eight more."""
    net = {
        "kind": "small_transformer", "vocabulary": 500, "width": 32, "layers": 2, "heads": 4, "max_length": 32,
        "epochs": 8, "batch_size": 32, "learning_rate": 0.002,
    }  # fmt: skip
    source = {"format": "template_nli", "splits": {"train": 6000, "test": 1500}, "planted_share": share, "seed": 0}
    return {
        **SMALL,
        "source": source,
        "representations": {"net": net},
        "evaluators": {
            "net": net,
            **{
                f"net_{name}": {"kind": "fine_tuned", "start": "net", "stages": [stage]}
                for name, stage in {
                    "bow": {"forgettables": "bow"},
                    "random": {"forgettables": "bow", "take": "random"},
                    "own": {"forgettables": "own"},
                }.items()
            },
        },
        "forgettables": {
            "bow": {"model": {"kind": "siamese_bag", "batch_size": 256}, "balance": False},
            "own": {"evaluator": "net", "balance": False},
        },
        "full_includes_warmup": True,
        "seeds": [0, 1, 2],
        "challenge_sets": {
            name: {
                "source": {**source, "splits": {"test": 1500}, "planted_share": planted, "seed": seed, **more},
                "labels": SMALL["labels"],
            }
            for name, planted, seed, more in (("clean", 0.0, 5, {}), ("reversed", 1.0, 6, {"cues": "reversed"}))
        },
    }


def _cues(results: dict[str, PublishedResult], weak_model: str) -> tuple[Counter[str], Counter[str]]:
    """Rows by the cue that they carry: all that the model was trained on, and those that it forgot."""
    raw = load_examples(results["raw_dataset"].path)
    cue = dict(zip(raw.row_ids.tolist(), raw.table["attribute.cue"].to_pylist(), strict=True))
    rows = pq.read_table(results["forgettable_sets"].file("rows.parquet")).to_pylist()
    own = [row for row in rows if row["weak_model"] == weak_model]
    return Counter(cue[row["row_id"]] for row in own), Counter(cue[row["row_id"]] for row in own if row["forgettable"])


def test_a_bag_of_words_forgets_the_rows_without_a_cue(tmp_path: Path) -> None:
    planted = _planted()
    content = {**planted, "evaluators": {"linear": {"kind": "linear"}}, "challenge_sets": {}}
    content["source"] = {**planted["source"], "splits": {"train": 3000, "test": 750}}
    bow = planted["forgettables"]["bow"]  # as many steps as with all 6,000 rows
    content["forgettables"] = {"bow": {**bow, "model": {**bow["model"], "batch_size": 128}}}
    store = ResultStore(tmp_path)
    _run(content, store, until="warmup_split")
    names = ("raw_dataset", "forgettable_sets")
    results = {name: run_stage(name, parse_spec(content), store=store).result for name in names}
    all_rows, forgotten = _cues(results, "bow")
    total = sum(forgotten.values())
    assert all_rows == {"none": 1200, "hypothesis_word": 1200, "overlap": 300, "negation": 300}
    assert (total - forgotten["none"]) / total <= 0.2
    assert forgotten["negation"] + forgotten["hypothesis_word"] <= 0.01 * 1500


@pytest.mark.slow  # five epochs over 6,000 rows: a quarter of a minute
def test_without_cues_forgettable_rows_are_much_like_random_ones(tmp_path: Path) -> None:
    planted = _planted(0.0)
    content = {**planted, "evaluators": {"linear": {"kind": "linear"}}, "challenge_sets": {}}
    content["forgettables"] = {"bow": planted["forgettables"]["bow"]}
    store = ResultStore(tmp_path)
    _run(content, store, until="warmup_split")
    result = run_stage("forgettable_sets", parse_spec(content), store=store).result
    means = {
        (line["name"], line["measure"], line["group"]): line["mean"]
        for line in pq.read_table(result.file("minorities.parquet")).to_pylist()
        if line["seed"] in (None, 0)
    }
    for group in ("positive", "others"):
        # With cues planted the rows that are forgotten overlap by 0.08 less and 0.05 more than random ones.
        assert means["forgettable", "overlap", group] == pytest.approx(means["random", "overlap", group], abs=0.025)
        assert means["forgettable", "negation", "others"] == means["random", "negation", "others"] == 0


@pytest.mark.slow  # 9 trainings of 8 epochs and 3 second phases each: two minutes
def test_a_second_phase_on_forgettable_rows_makes_a_model_robust(tmp_path: Path) -> None:
    results, _ = _run(
        _planted(), ResultStore(tmp_path), until="evaluator_models", cells=CellFilter(train_sets=("full",))
    )
    parts = results["evaluator_models"].parts
    accuracy = {
        (name, seed, tested): 100 * parts[f"net{name}.full.{seed}"].summary[f"accuracy.{tested}"]
        for name in ("", "_bow", "_random", "_own")
        for seed in (0, 1, 2)
        for tested in ("test", "clean", "reversed")
    }
    gains = {
        (tested, name): [accuracy[name, seed, tested] - accuracy["_random", seed, tested] for seed in (0, 1, 2)]
        for tested in ("test", "clean", "reversed")
        for name in ("_bow", "_own")
    }
    assert min(gains["reversed", "_bow"]) >= 5  # 6.5 to 12 by seed and machine
    assert min(gains["clean", "_bow"]) >= 2
    assert min(gains["test", "_bow"]) >= -9
    assert np.mean(gains["reversed", "_own"]) < np.mean(gains["reversed", "_bow"])
    assert math.isclose(accuracy["", 0, "test"], 80.3, abs_tol=8)
