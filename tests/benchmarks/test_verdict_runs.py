"""Kinds of made data as files and settings of a whole run; the run itself takes seconds per kind and is no test."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from aflite_assets.specs.dataset import DatasetSpec


@pytest.fixture
def runs() -> Any:
    import benchmarks.verdict_runs as runs

    return runs


def spec_of(runs: Any, name: str, folder: Path) -> tuple[DatasetSpec, Any]:
    (kind,) = runs.chosen_kinds([name])
    draw = kind.draw(np.random.default_rng(0))
    return DatasetSpec.model_validate(runs.dataset_of(kind, draw, runs.write_files(draw, folder))), draw


def test_the_kinds_that_run_by_default_exist(runs: Any) -> None:
    assert {kind.name for kind in runs.chosen_kinds(None)} == set(runs.DEFAULT_KINDS)


def test_a_whole_name_is_one_kind_and_a_beginning_is_many(runs: Any) -> None:
    assert [kind.name for kind in runs.chosen_kinds(["clean task"])] == ["clean task"]
    assert len(runs.chosen_kinds(["clean task,"])) > 1
    assert runs.chosen_kinds(["clean task, random rows kept"]) == []


def test_a_file_declares_what_the_author_of_a_draw_does_and_artefacts_too(runs: Any, tmp_path: Path) -> None:
    spec, draw = spec_of(runs, "place goes with the class, declared", tmp_path)
    assert spec.irrelevant == ("hour", "place", "double_blank", "record_number")
    assert set(spec.irrelevant) <= set(spec.attributes)
    train = pq.read_table(tmp_path / "train.parquet")
    assert (np.array(train["features"].to_pylist(), dtype=np.float32) == draw.train.features).all()
    assert train["place"].to_pylist() == draw.train.values("place").tolist()


def test_a_challenge_set_is_declared_as_it_was_collected(runs: Any, tmp_path: Path) -> None:
    spec, _ = spec_of(runs, "place goes with the class, reversed", tmp_path)
    assert {name: one.collected for name, one in spec.challenge_sets.items()} == {"reversed": "constructed"}
    other, _ = spec_of(runs, "collected against the full model, not declared", tmp_path)
    assert [one.collected for one in other.challenge_sets.values()] == [None]


def test_groups_of_two_splits_are_never_one(runs: Any, tmp_path: Path) -> None:
    spec, _ = spec_of(runs, "clean task, groups of four", tmp_path)
    assert spec.columns.group == "row_group"
    groups = [set(pq.read_table(tmp_path / f"{split}.parquet")["row_group"].to_pylist()) for split in ("train", "test")]
    assert groups[0] & groups[1] == set()
    assert len(groups[0]) == 500
