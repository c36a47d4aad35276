"""Rows that forgettable ones are compared with: random ones, and those of another model cut to as many."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import STAGES, run_stage
from aflite_assets.stages.shared.evaluator_roles import second_phases
from aflite_assets.stages.shared.published import read_row_sets
from aflite_assets.studies.forgettables.specs.settings import ForgettablesSettings, ForgettablesSpec
from aflite_assets.studies.forgettables.stages.forgettable_sets import cut_rows, random_rows

BAG = {"kind": "siamese_bag"}


@pytest.mark.parametrize(("rows", "alike"), [("by_class", 20), ("any_class", 0)])
def test_classes_of_the_random_rows(rows: Any, alike: int) -> None:
    labels = np.repeat([0, 1], [900, 100])
    full = Examples(pa.table({"row_id": np.arange(1000), "label": labels}), ("a", "b"))
    taken = np.concatenate([np.arange(40), np.arange(900, 940)])
    entry = ForgettablesSpec.model_validate({"model": BAG, "random_rows": rows})
    draws = [random_rows(taken, entry, full, [0, seed]) for seed in range(20)]
    assert {len(set(draw.tolist())) for draw in draws} == {80}
    of_class = [int((labels[draw] == 1).sum()) for draw in draws]
    assert sum(number == 40 for number in of_class) == alike
    assert rows == "by_class" or abs(np.mean(of_class) - 8) < 2


def test_nothing_taken_draws_nothing() -> None:
    full = Examples(pa.table({"row_id": np.arange(10), "label": np.arange(10) % 2}), ("a", "b"))
    entry = ForgettablesSpec.model_validate({"model": BAG})
    assert random_rows(np.empty(0, np.int64), entry, full, [0]).tolist() == []


def test_the_papers_preset_draws_them_of_any_class() -> None:
    content = {
        "name": "pairs",
        "source": {"format": "csv", "splits": {"train": "train.csv", "test": "test.csv"}},
        "columns": {"text": "a", "text_pair": "b"},
        "representations": {"net": {"kind": "small_transformer"}},
        "evaluators": {"linear": {"kind": "linear"}},
        "forgettables": {"bow": {"model": BAG}, "own": {"model": BAG, "random_rows": "by_class"}},
    }
    specs = (parse_spec(content | {"filter": settings}) for settings in ({}, {"preset": "paper"}))
    ours, paper = (ForgettablesSettings.of(spec).forgettables for spec in specs)
    assert [one.random_rows for one in ours.values()] == ["by_class", "by_class"]
    assert [one.random_rows for one in paper.values()] == ["any_class", "by_class"]


def _three_classes(rows: int) -> Examples:
    return Examples(pa.table({"row_id": np.arange(rows), "label": np.arange(rows) % 3}), ("a", "b", "c"))


def test_rows_are_cut_to_the_papers_number() -> None:
    """EACL 2021, footnote 2: as many of the 63,390 rows of F(BoW) as F(BERT) has, 17,748."""
    full, rng = _three_classes(392_703), np.random.default_rng(0)
    bow, bert = (
        np.sort(
            np.concatenate([rng.choice(np.arange(label, len(full), 3), rows // 3, replace=False) for label in range(3)])
        )
        for rows in (63_390, 17_748)
    )
    draws = [cut_rows(bow, bert, full, [0, seed]) for seed in (0, 1)]
    for drawn in draws:
        assert np.bincount(full.labels[drawn]).tolist() == [5_916] * 3
        assert np.isin(drawn, bow).all()
        assert (np.diff(drawn) > 0).all()
    shared = len(np.intersect1d(draws[0], draws[1])) / 17_748
    assert shared == pytest.approx(17_748 / 63_390, abs=0.02)
    assert cut_rows(bert, bow, full, [0, 0]).tolist() == bert.tolist()  # there are no more of them


def test_a_second_phase_trains_on_rows_cut_to_another_models_number(tmp_path: Path) -> None:
    net = {"kind": "small_transformer", "vocabulary": 200, "width": 16, "layers": 1, "heads": 2, "epochs": 2}
    bag = {"kind": "siamese_bag", "vector_width": 16, "projection": 16, "hidden": 16, "epochs": 3}
    stages = {"bow": {"forgettables": "bow"}, "cut": {"forgettables": "bow", "as_many_as": "strong"},
              "strong": {"forgettables": "strong"}}  # fmt: skip
    content = {
        "name": "pairs",
        "source": {"format": "template_nli", "splits": {"train": 300, "test": 60}, "planted_share": 0.6, "seed": 0},
        "labels": ["entailment", "neutral", "contradiction"],
        "warmup": {"size": 60},
        "representations": {"net": net},
        "filter": {"target_size": 0.5, "slice_size": 0.5, "n_partitions": 4, "threshold": 0.0},
        "evaluators": {"net": net} | {
            name: {"kind": "fine_tuned", "start": "net", "stages": [stage | {"epochs": 1}]}
            for name, stage in stages.items()
        },
        "forgettables": {
            "bow": {"model": bag}, "strong": {"model": bag | {"epochs": 12, "batch_size": 8}},
            "hans": {"model": {"kind": "word_overlap"}},
        },
        "seeds": [0, 1],
    }  # fmt: skip
    spec, store = parse_spec(content), ResultStore(tmp_path)
    needed = [
        name for name in STAGES if name not in ("published_dataset", "bias_evidence", "analysis", "benchmark_report")
    ]
    results = {name: run_stage(name, spec, store=store).result for name in needed}
    sets = {(one.weak_model, one.name, one.seed): one.row_ids for one in read_row_sets(results["forgettable_sets"])}
    strong, bow = (set(sets[name, "forgettable", None].tolist()) for name in ("strong", "bow"))
    cut = [set(sets["bow", "forgettable_as_many_as_strong", seed].tolist()) for seed in (0, 1)]
    assert 0 < len(strong) < len(bow)
    assert all(len(one) == len(strong) and one < bow for one in cut)
    assert cut[0] != cut[1]
    assert results["forgettable_sets"].summary["failed"] == {}
    assert 0 < results["forgettable_sets"].summary["models"]["hans"]["forgettable"] < 240
    cells = pq.read_table(results["evaluator_models"].file("cells.parquet")).to_pylist()
    assert {one["status"] for one in cells if one["evaluator"] == "cut"} == {"done"}
    phase = second_phases(spec.evaluators)["cut"]
    assert (phase.rows, phase.sized_by) == (("forgettable rows of bow, as many as of strong",), "strong")
