"""The stage of `leaning_sets` on small datasets: which properties are candidates, and the rows drawn for each."""

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import SpecError
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.evaluation.analysis.special_sets import read_leanings
from aflite_assets.stages.evaluation.leaning_sets import TRAININGS
from aflite_assets.stages.pipeline import run_stage
from aflite_assets.stages.shared.model_families import leaning_evaluator

BEFORE = ("raw_dataset", "challenge_sets", "cue_scan", "train_sample", "warmup_split")
PAIRS: dict[str, Any] = {
    "name": "pairs",
    "source": {"format": "template_nli", "splits": {"train": 800, "test": 200}, "planted_share": 0.7, "seed": 1},
    "labels": ["entailment", "neutral", "contradiction"],
    "warmup": {"size": 80},
    "representations": {"given": {"kind": "small_transformer", "epochs": 1}},
    "filter": {"n_partitions": 4, "target_size": 0.5, "slice_size": 0.1},
    "evaluators": {"linear": {"kind": "linear"}},
    "challenge_sets": {
        "clean": {
            "source": {"format": "template_nli", "splits": {"test": 100}, "planted_share": 0.0, "seed": 2},
            "labels": ["entailment", "neutral", "contradiction"],
        }
    },
}


def made(content: Mapping[str, Any], store: ResultStore) -> dict[str, PublishedResult]:
    spec = parse_spec(copy.deepcopy(dict(content)))
    return {name: run_stage(name, spec, store=store).result for name in (*BEFORE, "leaning_sets")}


def table(result: PublishedResult, name: str) -> pa.Table:
    return pq.read_table(result.file(f"{name}.parquet"))


def rows_of(sets: pa.Table, candidate: int, name: str, training: int) -> np.ndarray:
    chosen = pc.and_(pc.equal(sets["candidate"], candidate), pc.equal(sets["name"], name))
    return np.asarray(sets.filter(pc.and_(chosen, pc.equal(sets["training"], training)))["row_id"].to_numpy())


def test_candidates_go_with_the_label_declared_ones_first(store: ResultStore) -> None:
    result = made({**PAIRS, "irrelevant": ["cue"]}, store)["leaning_sets"]
    found = table(result, "candidates").to_pylist()
    assert 1 <= len(found) <= 3
    assert (found[0]["kind"], found[0]["name"], found[0]["reason"]) == ("attribute", "cue", "declared")
    assert dict(zip(found[0]["values"], found[0]["points_to"], strict=True)).items() >= {
        ("negation", "contradiction"),
        ("overlap", "entailment"),
    }
    assert all(one["p_value"] <= 0.05 and one["overlap"] <= 0.98 for one in found)
    assert result.summary["evaluator"] == "linear"


def test_the_property_goes_with_no_class_in_one_set_and_keeps_its_tie_in_the_other(store: ResultStore) -> None:
    results = made({**PAIRS, "irrelevant": ["cue"]}, store)
    sets, raw = table(results["leaning_sets"], "train_sets"), load_examples(results["raw_dataset"].path)
    negated = {}
    for name in ("independent", "tied"):
        drawn = [rows_of(sets, 0, name, training) for training in range(TRAININGS)]
        assert len({tuple(rows) for rows in drawn}) == TRAININGS
        rows = raw.select(drawn[0])
        has = np.array([cue == "negation" for cue in rows.table["attribute.cue"].to_pylist()])
        negated[name] = [float(has[rows.labels == label].mean()) for label in range(3)]
        sizes = [np.bincount(raw.select(one).labels).tolist() for one in drawn]
        assert sizes == [sizes[0]] * TRAININGS
    assert np.ptp(negated["independent"]) < 0.03
    assert np.ptp(negated["tied"]) > 0.1
    assert rows_of(sets, 0, "tied", 0).shape == rows_of(sets, 0, "independent", 0).shape
    warm = pq.read_table(results["warmup_split"].file("rows.parquet"))["row_id"].to_numpy()
    assert not np.isin(sets["row_id"].to_numpy(), warm).any()


def test_every_test_row_has_the_class_that_its_value_points_to(store: ResultStore) -> None:
    results = made({**PAIRS, "irrelevant": ["cue"]}, store)
    pointed = table(results["leaning_sets"], "pointed")
    own = pointed.filter(pc.equal(pointed["candidate"], 0))
    assert own.filter(pc.equal(own["test_set"], "test")).num_rows == 200
    assert set(own.filter(pc.equal(own["test_set"], "clean"))["points_to"].to_pylist()) == {-1}


def test_without_a_tie_there_is_no_candidate(store: ResultStore) -> None:
    plain = {**PAIRS, "name": "plain", "source": {**PAIRS["source"], "planted_share": 0.0}}
    result = made(plain, store)["leaning_sets"]
    kinds = [one["kind"] for one in table(result, "candidates").to_pylist()]
    assert "attribute" not in kinds
    assert table(result, "train_sets").num_rows == result.summary["train_rows"]


def test_the_evaluator_is_of_another_make_than_the_filter(circles_content: dict[str, Any]) -> None:
    evaluators = {"linear": {"kind": "linear"}, "rbf_svm": {"kind": "rbf_svm"}}
    spec = parse_spec({**circles_content, "evaluators": evaluators})
    assert leaning_evaluator(spec.representations, spec.evaluators) == "rbf_svm"
    assert leaning_evaluator(spec.representations, {"linear": spec.evaluators["linear"]}) == "linear"
    assert leaning_evaluator(spec.representations, {}) is None


@pytest.mark.parametrize(
    ("name", "said"),
    [("cues", r"`irrelevant` contains 'cues', which is not an attribute or a feature column; name one of \['cue'\] .*"
        r"; did you mean 'cue'\?"),
     ("column x", "`irrelevant` contains 'column x'")],
)  # fmt: skip
def test_a_declared_name_must_be_known(name: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        parse_spec({**PAIRS, "irrelevant": [name]})


def test_candidates_of_texts_are_read_with_the_sources_names_of_columns(store: ResultStore) -> None:
    result = made(PAIRS, store)["leaning_sets"]
    stored = {one["name"] for one in table(result, "candidates").to_pylist() if one["kind"] in ("word", "length")}
    named = {"text": "premise", "text_pair": "claim"}
    read = {one.of.name for one in read_leanings(result, (), (), lambda name: named.get(name, name))}
    assert stored
    assert read >= {one.replace("text_pair", "claim").replace("text", "premise") for one in stored}


def test_values_of_a_standardised_column_are_those_of_the_source(store: ResultStore, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 800).tolist()
    incomes = [
        round(30_000 + 9_000 * label + 8_000 * float(noise))
        for label, noise in zip(labels, rng.normal(size=800), strict=True)
    ]
    lines = [
        f"{income},{size:.3f},{label}"
        for income, size, label in zip(incomes, rng.normal(size=800), labels, strict=True)
    ]
    for name, own in (("train", lines[:600]), ("test", lines[600:])):
        (tmp_path / f"{name}.csv").write_text("\n".join(["income,height,label", *own]), encoding="utf-8")
    content = {
        "name": "incomes",
        "source": {"format": "csv", "splits": {name: str(tmp_path / f"{name}.csv") for name in ("train", "test")}},
        "columns": {"features": ["income", "height"], "label": "label"},
        "labels": ["0", "1"],
        "standardise": True,
        "irrelevant": ["income"],
        "warmup": {"size": 60},
        "representations": {"given": {"kind": "identity"}},
        "filter": {"n_partitions": 4, "target_size": 0.5, "slice_size": 0.1},
        "evaluators": {"linear": {"kind": "linear"}, "curved": {"kind": "rbf_svm"}},
    }
    (found,) = table(made(content, store)["leaning_sets"], "candidates").to_pylist()
    edges = {float(number) for value in found["values"] for number in re.findall(r"[\d.]+(?:e\+\d+)?", value)}
    assert (found["name"], found["reason"]) == ("income", "declared")
    assert len(edges) >= 3
    assert edges <= set(incomes[:600])
