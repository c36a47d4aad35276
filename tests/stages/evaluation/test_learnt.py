"""Evaluators that learnt something and such that did not, from walks on features with true and with random labels."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation.learnt import learnt_on_full
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.report.checks import evaluator_outcomes


def spec_of(folder: Path, *, clear: bool) -> Any:
    """Two classes, 60 and 40 %, told by the first feature or by nothing."""
    rng = np.random.default_rng(3)
    for name, rows in (("train", 300), ("test", 150)):
        labels = (rng.random(rows) < 0.4).astype(int)
        features = rng.normal(size=(rows, 3))
        features[:, 0] += 2.0 * labels * clear
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
        }
    )


@pytest.mark.parametrize("clear", [True, False])
def test_evaluators_are_held_against_the_largest_class(tmp_path: Path, store: ResultStore, clear: bool) -> None:
    spec = spec_of(tmp_path, clear=clear)
    for name in list(STAGES)[: list(STAGES).index("evaluator_models") + 1]:
        run_stage(name, spec, store=store)
    models, raw = (store.current(name, spec.name) for name in ("evaluator_models", "raw_dataset"))
    found = learnt_on_full(models, raw, spec.evaluators)
    assert list(found) == ["linear", "svm"]
    assert {one.beaten for one in found.values()} == {clear}
    assert {one.test_set for one in found.values()} == {"test"}
    labels = pq.read_table(tmp_path / "test.parquet")["label"].to_numpy()
    assert found["svm"].largest == pytest.approx(1 - labels.mean())


def test_the_check_says_by_how_much(planted_cells: Any) -> None:
    cells, test_set = planted_cells
    passed, failed = ({one.name: one for one in evaluator_outcomes(some, [test_set])} for some in (cells, cells[2:]))
    good = passed["better_than_largest_class (good)"]
    assert good.passed
    assert good.said.startswith("80.0 % of test; the largest class gets 60.0 %, difference 95 % [")
    flat = failed["better_than_largest_class (flat)"]
    assert not flat.passed
    assert flat.said.endswith("Do not judge by it: train it longer, on more seeds or on more rows")
    assert "better_than_largest_class (good)" not in failed
    left = {one.name for one in evaluator_outcomes(cells, [test_set], left_out=["flat"])}
    assert left == {"all_cells_done", "better_than_largest_class (good)", "more_than_one_answer"}


@pytest.fixture
def planted_cells() -> Any:
    """`good` is right on four in five of 400 rows with two seeds; `flat` gives the largest class, 60 % of them."""
    from aflite_assets.reports.inputs.records import Cell, TestSet

    labels = (np.arange(400) % 5 < 2).astype(np.int64)
    test_set = TestSet("test", False, np.arange(400), labels, ("no", "yes"), {})

    def cell(name: str, seed: int, predicted: np.ndarray) -> Cell:
        said = pa.table({"test_set": ["test"] * 400, "row_id": np.arange(400), "predicted": predicted})
        return Cell(name, "full", None, seed, 100, "done", None, said)

    wrong = np.arange(400) // 5 % 5 == 0
    good = [cell("good", seed, np.where(wrong, 1 - labels, labels)) for seed in range(2)]
    return [*good, cell("flat", 0, np.zeros(400, np.int64))], test_set
