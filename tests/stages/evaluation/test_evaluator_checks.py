"""Evaluators that learnt something and such that did not, from walks on features with true and with random labels."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.analysis.inputs.records import Cell, TestSet
from aflite_assets.checks import CheckOutcome
from aflite_assets.results import ResultStore
from aflite_assets.specs.models.fine_tuning import FineTunedSpec
from aflite_assets.specs.models.kinds import EvaluatorSpec
from aflite_assets.specs.models.settings import SmallTransformerSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation.analysis.stage import ANALYSIS, benchmark_data
from aflite_assets.stages.evaluation.evaluator_checks import (
    check_all_done,
    check_answers,
    check_evaluators,
    check_learning,
)
from aflite_assets.stages.evaluation.margins import margins_of_training
from aflite_assets.stages.pipeline import STAGES, run_stage


def spec_of(folder: Path, *, clear: bool) -> Any:
    """Two classes, 60 and 40 %, told by the first feature or by nothing."""
    rng = np.random.default_rng(3)
    for name, rows in (("train", 300), ("test", 150), ("coin", 200), ("turned", 200)):
        labels = (rng.random(rows) < 0.4).astype(int)
        features = rng.normal(size=(rows, 3))
        features[:, 0] += 2.0 * {"coin": 0 * labels, "turned": 1 - labels}.get(name, labels) * clear
        columns = {f"x{place}": features[:, place] for place in range(3)}
        pq.write_table(pa.table({**columns, "label": labels}), folder / f"{name}.parquet")
    return parse_spec(
        {
            "name": "clear" if clear else "random",
            "source": {
                "format": "parquet",
                "splits": {name: str(folder / f"{name}.parquet") for name in ("train", "test")},
            },
            "columns": {"features": ["x0", "x1", "x2"]},
            "labels": ["no", "yes"],
            "representations": {"given": {"kind": "identity"}},
            "filter": {"target_size": 100, "train_size": 50, "n_partitions": 8},
            "evaluators": {"linear": {"kind": "linear"}, "svm": {"kind": "rbf_svm"}},
            "seeds": [0, 1],
            "challenge_sets": {
                name: {
                    "source": {"format": "parquet", "splits": {"test": str(folder / f"{name}.parquet")}},
                    "columns": {"features": ["x0", "x1", "x2"]},
                    "labels": ["no", "yes"],
                }
                for name in ("coin", "turned")
            },
        }
    )


@pytest.mark.parametrize("clear", [True, False])
def test_evaluators_are_held_against_the_largest_class(tmp_path: Path, store: ResultStore, clear: bool) -> None:
    spec = spec_of(tmp_path, clear=clear)
    found = walked(spec, store, through="evaluator_models")
    assert list(found) == [
        "all_cells_done", "better_than_largest_class (linear)", "better_than_largest_class (svm)",
        "not_at_chance (coin)", "not_at_chance (turned)", "more_than_one_answer",
    ]  # fmt: skip
    assert (found["all_cells_done"].outcome, found["all_cells_done"].found) == ("passed", "")
    assert all(one.numbers == {} for one in found.values())
    for name in ("linear", "svm"):
        one = found[f"better_than_largest_class ({name})"]
        assert one.passed == clear
        assert f" % of test; the largest class gets {largest(tmp_path, 'test')} %, difference " in one.found
    coin, turned = found["not_at_chance (coin)"], found["not_at_chance (turned)"]
    assert f"the largest class gets {largest(tmp_path, 'coin')} %" in coin.found
    assert "Better" not in coin.found + turned.found
    if not clear:  # noise: they learnt nothing on natural rows either
        assert "is a finding" not in coin.found
        assert coin.found.endswith(
            "see its accuracy on coin by gold label, and draw conclusions from another evaluator or test set"
        )
    if clear:  # where the feature goes with the other class, they are not at chance but misled
        assert coin.found.count("so its fall to chance on coin is a finding: look at what coin changes") == 2
        assert "another evaluator" not in coin.found
        assert turned.passed
        assert turned.found.count("Worse than the largest class: ") == 2
    for stage in ({"rows": "coin"}, {"forgettables": "bow"}):  # what went on after full need not beat it
        tuned = FineTunedSpec.model_validate({"kind": "fine_tuned", "start": "net", "stages": [stage]})
        net = SmallTransformerSpec(kind="small_transformer")
        others = outcomes_by({**spec.evaluators, "net": net, "svm": tuned}, spec, store)
        assert "better_than_largest_class (svm)" not in others
        assert "svm" not in others["not_at_chance (turned)"].found
        assert others["not_at_chance (turned)"].numbers == {}


def largest(folder: Path, name: str) -> str:
    """The share of `no`, the largest class of a file, in per cent."""
    return f"{100 * (1 - pq.read_table(folder / f'{name}.parquet')['label'].to_numpy().mean()):.1f}"


def walked(spec: Any, store: ResultStore, *, through: str) -> dict[str, CheckOutcome]:
    """The outcomes by title, once every stage up to this one was made."""
    for name in list(STAGES)[: list(STAGES).index(through) + 1]:
        run_stage(name, spec, store=store)
    return outcomes_by(spec.evaluators, spec, store)


def outcomes_by(evaluators: Mapping[str, EvaluatorSpec], spec: Any, store: ResultStore) -> dict[str, CheckOutcome]:
    settings = spec.model_copy(update={"evaluators": dict(evaluators)})
    inputs = {name: store.current(name, spec.name) for name in ("raw_dataset", "challenge_sets", "control_sets")}
    found = check_evaluators(store.current("evaluator_models", spec.name), inputs, settings)
    return {one.title: one for one in found}


def noise(folder: Path, classes: Mapping[str, np.ndarray], **settings: Any) -> Any:
    """Features that tell nothing, in a file per name, four rows a group; train and test are the dataset's splits."""
    rng = np.random.default_rng(8)
    for name, each in classes.items():
        columns = {f"x{place}": rng.normal(size=len(each)) for place in range(3)}
        table = pa.table({**columns, "label": each, "question": np.arange(len(each)) // 4})
        pq.write_table(table, folder / f"{name}.parquet")
    return parse_spec(
        {
            "name": "noise",
            "source": source_of(folder, train="train", test="test"),
            "representations": {"given": {"kind": "identity"}},
            "filter": {"target_size": 100, "train_size": 60, "n_partitions": 8},
            "evaluators": {"linear": {"kind": "linear"}, "svm": {"kind": "rbf_svm"}},
            "seeds": [0, 1],
            **settings,
        }
    )


def source_of(folder: Path, **splits: str) -> dict[str, Any]:
    return {"format": "parquet", "splits": {split: str(folder / f"{name}.parquet") for split, name in splits.items()}}


FEATURES = {"features": ["x0", "x1", "x2"]}


def assert_reported(found: Mapping[str, CheckOutcome], spec: Any, store: ResultStore) -> None:
    """That the report has these outcomes, and that its own cells and test sets give the same."""
    results = {name: store.current(name, spec.name) for name in ANALYSIS.input_names}
    data = benchmark_data(spec, ANALYSIS.inputs_of(results), spec.name)
    assert {one.title: one for one in data.checks if one.about == "evaluators"} == found
    again = [
        check_all_done(data.cells),
        *check_learning(data.cells, data.test_sets),
        check_answers(data.cells, data.test_sets),
    ]
    assert {one.title: one for one in again} == found


def test_sums_of_probabilities_are_asked_about_as_the_report_does(tmp_path: Path, store: ResultStore) -> None:
    """`two` counts b and c as no; an SVM gives no probabilities to add up, so of it nothing can be asked there."""
    labels = {name: np.arange(rows) % 3 for name, rows in (("train", 300), ("test", 150), ("two", 300))}
    labels["two"] = labels["two"].clip(max=1)
    two = {"labels": ["yes", "no"], "map": {"a": "yes", "b": "no", "c": "no"}, "collapse": "probability"}
    challenges = {"two": {"source": source_of(tmp_path, test="two"), "columns": FEATURES, **two}}
    spec = noise(tmp_path, labels, columns=FEATURES, labels=["a", "b", "c"], challenge_sets=challenges)
    found = walked(spec, store, through="bias_evidence")
    odd = found["not_at_chance (two)"]
    assert "svm" not in odd.found
    assert "; the largest class gets 66.7 %" in odd.found
    said = pq.read_table(
        store.current("evaluator_models", spec.name).part("linear.full.0").file("predictions.parquet"),
        filters=[("test_set", "=", "two")],
    )
    probabilities = np.array(said["probabilities"].to_pylist())
    right = (probabilities[:, 0] >= probabilities[:, 1:].sum(axis=1)) == (labels["two"] == 0)
    pair = [right, right]  # of both seeds, since a linear model has none
    assert f"linear ({100 * np.mean(pair):.1f} %" in odd.found
    assert odd.numbers == {"cannot_be_asked_of": "svm on two"}
    assert found["better_than_largest_class (linear)"].numbers == {}
    assert_reported(found, spec, store)


def test_multiple_choice_is_asked_about_by_question_as_in_the_report(tmp_path: Path, store: ResultStore) -> None:
    """Always answering wrong is right of three rows in four, and answers one question in four by guessing."""
    labels = {name: (np.arange(rows) % 4 == 0).astype(int) for name, rows in (("train", 400), ("test", 400))}
    columns = {**FEATURES, "group": "question"}
    spec = noise(tmp_path, labels, columns=columns, labels=["wrong", "right"])
    found = walked(spec, store, through="bias_evidence")
    assert list(found) == ["all_cells_done", "better_than_largest_class (linear)", "more_than_one_answer"]
    linear = found["better_than_largest_class (linear)"]
    assert not linear.passed
    assert "; guessing an answer gets 25.0 %" in linear.found
    assert linear.numbers == {"cannot_be_asked_of": "svm"}
    assert_reported(found, spec, store)


def test_a_model_at_chance_on_a_challenge_set_is_said_to_be_so(planted_cells: Any) -> None:
    """Though it is better than the largest class of the natural test set."""
    cells, natural = planted_cells
    name = "not_at_chance (odd)"

    def outcome(right: float, n_rows: int = 1_000) -> CheckOutcome:
        rows = np.arange(n_rows)
        odd = TestSet("odd", True, rows, rows % 2, ("no", "yes"), {})
        said = np.where(rows < n_rows * right, rows % 2, 1 - rows % 2)
        tested = pa.table({"test_set": ["odd"] * n_rows, "row_id": rows, "predicted": said})
        both = [replace(cell, predictions=pa.concat_tables([cell.predictions, tested])) for cell in cells[:2]]
        outcomes = {one.title: one for one in check_learning(both, [natural, odd])}
        assert outcomes["better_than_largest_class (good)"].passed
        assert list(check_learning(both, [natural, odd], left_out=["good"])) == []
        return outcomes[name]

    few_over = outcome(0.52)
    assert not few_over.passed
    assert few_over.said.startswith("At chance: good (52.0 %; the largest class gets 50.0 %, difference 95 % [\u2212")
    assert few_over.said.endswith(
        ". On test, good beats the largest class (80.0 %), so its fall to chance on odd is a finding: look at what odd "
        "changes"
    )
    assert "another evaluator" not in few_over.said
    few = outcome(2 / 3, n_rows=24)
    assert few.outcome == "skipped"
    assert few.said.startswith("Cannot be distinguished from the largest class (too few rows): good (66.7 %; the")
    assert "by gold label" not in few.said
    over, under = outcome(0.6), outcome(0.1)
    assert over.passed
    assert over.said.startswith("Better: good (60.0 %; the largest class gets 50.0 %, difference 95 % [5.")
    assert under.passed
    assert under.said.startswith(
        "Worse than the largest class: good (10.0 %; the largest class gets 50.0 %, difference 95 % [\u2212"
    )


def test_margins_of_one_training_are_by_split(planted_cells: Any) -> None:
    cells, natural = planted_cells
    margins = margins_of_training("bow", cells[0].predictions, [natural])
    assert margins["test"]["largest_class"] == pytest.approx(0.6)
    assert 10 < margins["test"]["low"] < 20 < margins["test"]["high"] < 30
    assert margins_of_training("bow", cells[2].predictions, [natural]) == {
        # it gives every row the largest class: the rule of three for 400 rows
        "test": {"largest_class": pytest.approx(0.6), "low": pytest.approx(-0.9222, abs=1e-4),
                 "high": pytest.approx(0.9222, abs=1e-4)}
    }  # fmt: skip


def test_the_check_says_by_how_much(planted_cells: Any) -> None:
    cells, test_set = planted_cells
    passed, failed = ({one.title: one for one in check_learning(some, [test_set])} for some in (cells, cells[2:]))
    good = passed["better_than_largest_class (good)"]
    assert good.passed
    assert good.said.startswith("80.0 % of test; the largest class gets 60.0 %, difference 95 % [")
    flat = failed["better_than_largest_class (flat)"]
    assert not flat.passed
    assert flat.said.endswith("Draw no conclusion from this evaluator: train it longer, on more seeds or more rows")
    assert "better_than_largest_class (good)" not in failed
    left = [one.title for one in check_learning(cells, [test_set], left_out=["flat"])]
    assert left == ["better_than_largest_class (good)"]


def test_evaluators_that_cannot_be_asked_are_named_beside_the_others(planted_cells: Any) -> None:
    """Of the challenge set `none` no evaluator has predictions."""
    cells, natural = planted_cells
    rows = np.arange(400)
    odd, none = (TestSet(name, True, rows, rows % 2, ("no", "yes"), {}) for name in ("odd", "none"))
    tested = pa.table({"test_set": ["odd"] * 400, "row_id": rows, "predicted": rows % 2})
    with_odd = replace(cells[0], predictions=pa.concat_tables([cells[0].predictions, tested]))
    svm = replace(cells[0], evaluator="svm", predictions=cells[0].predictions.slice(0, 0))
    found = {one.title: one for one in check_learning([with_odd, svm], [natural, odd, none])}
    assert list(found) == ["better_than_largest_class (good)", "not_at_chance (odd)"]
    assert found["better_than_largest_class (good)"].numbers == {"cannot_be_asked_of": "svm"}
    unasked = "svm on odd, good on none, svm on none"
    assert found["not_at_chance (odd)"].numbers == {"cannot_be_asked_of": unasked}


def test_cells_that_were_not_trained_are_named_with_the_reason(planted_cells: Any) -> None:
    cells, test_set = planted_cells
    failed = replace(cells[0], status="failed", reason="ModelError: no", predictions=None)
    left = replace(cells[1], train_set="random", representation="a", status="not run", predictions=None)
    found = check_all_done([failed, left, cells[2]])
    assert (found.outcome, found.found) == (
        "failed",
        "good on full, seed 0: ModelError: no; good on random, seed 1: not run",
    )
    assert check_all_done([]).outcome == "skipped"
    assert check_answers([failed, left], [test_set]).outcome == "skipped"
    one_class = check_answers(cells[2:], [test_set])
    assert not one_class.passed
    assert one_class.found == "these models learnt little, so conclude nothing from them: flat trained on full"


@pytest.fixture
def planted_cells() -> Any:
    """`good` is right on four in five of 400 rows with two seeds; `flat` gives the largest class, 60 % of them."""
    labels = (np.arange(400) % 5 < 2).astype(np.int64)
    test_set = TestSet("test", False, np.arange(400), labels, ("no", "yes"), {})

    def cell(name: str, seed: int, predicted: np.ndarray) -> Cell:
        said = pa.table({"test_set": ["test"] * 400, "row_id": np.arange(400), "predicted": predicted})
        return Cell(name, "full", None, seed, 100, "done", None, said)

    wrong = np.arange(400) // 5 % 5 == 0
    good = [cell("good", seed, np.where(wrong, 1 - labels, labels)) for seed in range(2)]
    return [*good, cell("flat", 0, np.zeros(400, np.int64))], test_set
