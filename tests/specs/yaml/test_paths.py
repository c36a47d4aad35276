from pathlib import Path
from typing import Any

import pytest

from aflite_assets.specs.yaml.paths import absolute_path, absolute_paths

FOLDER = Path("/specs")


def _source(source: Any) -> Any:
    return absolute_paths({"source": source}, FOLDER)["source"]


def test_paths_are_taken_from_the_folder_and_the_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert absolute_path("a/b.csv", FOLDER) == Path("/specs/a/b.csv")
    assert absolute_path("/data/a.csv", FOLDER) == Path("/data/a.csv")
    assert absolute_path("~/b.csv", FOLDER) == Path("/home/someone/b.csv")
    assert absolute_path("~nobody_of_this_name/x", FOLDER) == Path("/specs/~nobody_of_this_name/x")


@pytest.mark.parametrize(
    ("splits", "changed"),
    [
        (
            {"train": "a.csv", "test": ["b.csv", "/c.csv"]},
            {"train": "/specs/a.csv", "test": ["/specs/b.csv", "/c.csv"]},
        ),
        ({"train": ("a.csv",)}, {"train": ["/specs/a.csv"]}),
        (
            {"train": {"folder": "images", "labels": "l.txt", "encoding": "cp1252"}},
            {"train": {"folder": "/specs/images", "labels": "/specs/l.txt", "encoding": "cp1252"}},
        ),
        (
            {"train": {"features": "x.npy", "labels": "y.npy", "groups": None}},
            {"train": {"features": "/specs/x.npy", "labels": "/specs/y.npy", "groups": None}},
        ),
        ({"train": 4000}, {"train": 4000}),
        ({"train": "", "test": " "}, {"train": "", "test": " "}),
        ({"train": "a\0b", "test": "\ud800"}, {"train": "a\0b", "test": "\ud800"}),
        ({"train": "~\0"}, {"train": "~\0"}),
        ("train.csv", "train.csv"),
        (["train.csv"], ["/specs/train.csv"]),
        (None, None),
    ],
)
def test_files_of_sources_are_made_absolute_and_what_cannot_be_a_path_is_left(splits: Any, changed: Any) -> None:
    source = {"splits": splits, "format": "csv"}
    assert _source(source) == {"splits": changed, "format": "csv"}
    sets = {"hard": {"source": source, "limit": 5}, "odd": 3}
    made = absolute_paths({"challenge_sets": sets}, FOLDER)
    assert made == {"challenge_sets": {"hard": {"source": {"splits": changed, "format": "csv"}, "limit": 5}, "odd": 3}}
    assert source["splits"] is splits


def test_splits_of_a_hub_source_are_no_paths() -> None:
    source = {"format": "hub", "id": "a/b", "splits": {"train": "data/*.parquet", "test": ["validation"]}}
    assert _source(source) == source


def test_files_of_annotations_are_made_absolute() -> None:
    content = {"annotations": {"files": ["a.csv", "/b.csv"], "match": {"id": "key"}}}
    made = {"annotations": {"files": ["/specs/a.csv", "/b.csv"], "match": {"id": "key"}}}
    assert absolute_paths(content, FOLDER) == made
    assert absolute_paths({"annotations": {"files": "a.csv"}}, FOLDER) == {"annotations": {"files": "/specs/a.csv"}}


@pytest.mark.parametrize("field", ["representations", "evaluators"])
@pytest.mark.parametrize(
    ("checkpoint", "found"),
    [
        ("roberta-base", None),
        ("org/model", None),
        ("model", "model"),
        ("./new", "new"),
        ("../up", "../up"),
        ("model\0", None),
        ("x" * 300, None),
        ("x" * 10_000, None),
        ("", None),
        ("\ud800", None),
        (None, None),
        (5, None),
    ],
)
def test_checkpoint_is_a_path_only_when_it_is_one(
    tmp_path: Path, field: str, checkpoint: Any, found: str | None
) -> None:
    (tmp_path / "model").mkdir()
    made = absolute_paths({field: {"a": {"checkpoint": checkpoint, "kind": "x"}, "b": 3}}, tmp_path)
    wanted = checkpoint if found is None else str(tmp_path / found)
    assert made == {field: {"a": {"checkpoint": wanted, "kind": "x"}, "b": 3}}


def test_order_and_other_keys_stay() -> None:
    content: dict[Any, Any] = {
        "seed": 1,
        "challenge_sets": {"b": {}, "a": {}},
        "source": {"splits": {"z": "z", "a": "a"}, "x": 1},
        5: 6,
    }
    made: dict[Any, Any] = absolute_paths(content, FOLDER)
    assert list(made) == list(content)
    assert list(made["challenge_sets"]) == ["b", "a"]
    assert list(made["source"]) == ["splits", "x"]
    assert list(made["source"]["splits"]) == ["z", "a"]


def test_missing_checkpoint_beside_others_is_a_folder_and_no_address(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    model = {"kind": "huggingface_text", "checkpoint": "models/bert"}
    made: Any = absolute_paths({"representations": {"small": model}}, tmp_path)
    assert made["representations"]["small"]["checkpoint"] == str(tmp_path / "models" / "bert")
    elsewhere: Any = absolute_paths({"representations": {"small": model | {"checkpoint": "google/bert"}}}, tmp_path)
    assert elsewhere["representations"]["small"]["checkpoint"] == "google/bert"


def test_files_of_a_table_in_a_source_are_made_absolute() -> None:
    table = {"format": "csv", "splits": {"train": "a.csv"}, "images": "pictures"}
    changed = {"format": "csv", "splits": {"train": "/specs/a.csv"}, "images": "/specs/pictures"}
    assert _source(table) == changed
    assert _source({"format": "multiple_choice", "table": table})["table"] == changed


def test_vectors_of_models_are_made_absolute_wherever_a_model_stands() -> None:
    model = {"kind": "siamese_bag", "vectors": "glove.txt"}
    changed = {"kind": "siamese_bag", "vectors": "/specs/glove.txt"}
    content = {
        "representations": {"a": model},
        "evaluators": {"b": model},
        "distance_encoder": model,
        "forgettables": {"bow": {"model": model, "seeds": [0]}, "own": {"evaluator": "b"}, "learnt": {"model": None}},
        "sample": {"most": 9, "model": model},
    }
    assert absolute_paths(content, FOLDER) == {
        "representations": {"a": changed},
        "evaluators": {"b": changed},
        "distance_encoder": changed,
        "forgettables": {"bow": {"model": changed, "seeds": [0]}, "own": {"evaluator": "b"}, "learnt": {"model": None}},
        "sample": {"most": 9, "model": changed},
    }
