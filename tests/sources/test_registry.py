import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from aflite_assets.errors import SpecError
from aflite_assets.sources.registry import BUNDLED, load_registry, load_spec, spec_folders
from aflite_assets.sources.source_specs import FeatureSource, TableSource

GOOD = """
source: {format: csv, splits: {train: train.csv, test: [parts/a.csv, ../b.csv]}}
representations: {given: {kind: identity}}
evaluators: {linear: {kind: linear}}
"""


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two folders that AFLITE_DATASETS names."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.setenv("AFLITE_DATASETS", os.pathsep.join(map(str, (first, second))))
    return first, second


def _write(path: Path, text: str = GOOD) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_bundled_datasets_load_without_any_setting() -> None:
    registry = load_registry()
    assert spec_folders() == [BUNDLED]
    assert not registry.failures
    assert sorted(registry.specs) == sorted(path.stem for path in BUNDLED.iterdir())


def test_datasets_of_two_folders_and_the_bundled_ones(folders: tuple[Path, Path]) -> None:
    files = {"one": _write(folders[0] / "one.yaml"), "two": _write(folders[1] / "two.yml")}
    registry = load_registry()
    assert not registry.failures
    assert {name: registry.files[name] for name in files} == files
    assert {"one", "two", "digits"} <= set(registry.specs)
    assert registry["one"].name == "one"


def test_clash_of_names_names_both_files_and_keeps_the_first(folders: tuple[Path, Path]) -> None:
    first, second = _write(folders[0] / "same.yaml"), _write(folders[1] / "same.yaml")
    registry = load_registry()
    assert registry.files["same"] == first
    assert registry.failures == {second: f"{second}: the name 'same' is already taken by {first}; rename one"}


def test_bundled_name_taken_by_a_user_is_a_failure_of_the_bundled_file(folders: tuple[Path, Path]) -> None:
    _write(folders[0] / "digits.yaml")
    registry = load_registry()
    assert registry.files["digits"] == folders[0] / "digits.yaml"
    assert list(registry.failures) == [BUNDLED / "digits.yaml"]


def test_folder_named_twice_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "one.yaml")
    monkeypatch.setenv("AFLITE_DATASETS", os.pathsep.join([str(tmp_path), "", f"{tmp_path}/", str(BUNDLED)]))
    assert spec_folders() == [tmp_path, BUNDLED]
    assert not load_registry().failures


@pytest.mark.parametrize("name", ["no_such_folder", "~nobody_of_this_name/specs"])
def test_folder_that_does_not_exist_is_a_failure(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("AFLITE_DATASETS", name)
    registry = load_registry()
    assert "digits" in registry.specs
    assert list(registry.failures.values()) == [
        f"AFLITE_DATASETS names {str(Path.cwd() / name)!r}, which is not a folder; correct or remove it"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "cannot be read as YAML"),
        ("", "a dataset is a mapping of keys, but the file holds NoneType"),
        ("- a", "a dataset is a mapping of keys, but the file holds list"),
        ("name: other" + GOOD, "name is 'other', but the file is 'broken.yaml'; make them the same"),
        ("name: 7" + GOOD, "name is 7, but the file is 'broken.yaml'"),
        ("sorce: 1" + GOOD, "sorce: unknown key; did you mean 'source'?"),
        ("title: !!python/object/apply:os.system ['true']" + GOOD, "could not determine a constructor"),
        ("title: !!python/name:os.system" + GOOD, "could not determine a constructor"),
        ("title: 2020-13-45" + GOOD, "cannot be read as YAML: month must be in 1..12"),
        ("title: " + "[" * 5000, "cannot be read as YAML"),
        ("source: {splits: {train: &loop [*loop]}}", "a path in it cannot be followed"),
        ("seed: 1\nseed: 2" + GOOD, "key 'seed' stands twice"),
        (GOOD + "evaluators: {linear: {kind: linear}}", "key 'evaluators' stands twice"),
        ("? [a, b]\n: 1" + GOOD, "unhashable"),
        ("1: a" + GOOD, "1: Keys should be strings"),
        (
            GOOD.replace("{kind: identity}", "{kind: huggingface_text, checkpoint: " + "x" * 5000 + "}"),
            "a path in it cannot be followed",
        ),
    ],
)  # fmt: skip
def test_broken_file_takes_no_other_down(folders: tuple[Path, Path], text: str, message: str) -> None:
    broken = _write(folders[0] / "broken.yaml", text)
    _write(folders[0] / "good.yaml")
    registry = load_registry()
    assert {"good", "digits"} <= set(registry.specs)
    assert list(registry.failures) == [broken]
    assert registry.failures[broken].startswith(f"{broken}: ")
    assert message in registry.failures[broken]


def test_file_that_is_no_text_or_no_file_is_a_failure(folders: tuple[Path, Path]) -> None:
    (folders[0] / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (folders[0] / "folder.yaml").mkdir()
    (folders[0] / "lost.yaml").symlink_to(folders[0] / "nowhere")
    assert sorted(path.name for path in load_registry().failures) == ["bytes.yaml", "folder.yaml", "lost.yaml"]


def test_file_name_that_is_no_dataset_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"name: use lower-case letters.*received 'My Data'"):
        load_spec(_write(tmp_path / "My Data.yaml"))


def test_unknown_dataset_is_told_the_nearest_and_where_was_searched(folders: tuple[Path, Path]) -> None:
    _write(folders[0] / "snli.yaml")
    message = re.escape("no dataset is named 'snil'; did you mean 'snli'? (known: ['circles_") + ".*'snli'\\]; "
    with pytest.raises(SpecError, match=message + re.escape(f"folders searched: ['{folders[0]}', '{folders[1]}'")):
        _ = load_registry()["snil"]


def test_paths_are_relative_to_the_file_not_the_working_directory(tmp_path: Path) -> None:
    source = load_spec(_write(tmp_path / "tiny.yaml")).source
    assert isinstance(source, TableSource)
    assert source.splits == {
        "train": str(tmp_path / "train.csv"),
        "test": (str(tmp_path / "parts/a.csv"), str(tmp_path / "../b.csv")),
    }


@pytest.fixture
def load(tmp_path: Path, spec_content: dict[str, Any]) -> Callable[..., Any]:
    """The spec of a YAML file with some keys changed."""
    return lambda **changes: load_spec(
        _write(tmp_path / "tiny.yaml", yaml.safe_dump(spec_content | changes, sort_keys=False))
    )


def test_absolute_and_home_paths_stay(
    load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    spec = load(source={"format": "csv", "splits": {"train": "/data/a.csv", "test": "~/b.csv"}})
    assert spec.source.splits == {"train": "/data/a.csv", "test": "/home/someone/b.csv"}


def test_paths_of_features_and_of_challenge_sets_are_relative_to_the_file(
    load: Callable[..., Any], tmp_path: Path
) -> None:
    files = {"features": "x.npy", "labels": "y.npy"}
    source = {"format": "features", "splits": {"train": files, "test": files | {"groups": "g.npy"}}}
    spec = load(source=source, challenge_sets={"hard": {"source": source}})
    for each in (spec.source, spec.challenge_sets["hard"].source):
        assert isinstance(each, FeatureSource)
        assert each.files() == [tmp_path / name for name in ("x.npy", "y.npy", "x.npy", "y.npy", "g.npy")]


@pytest.mark.parametrize(
    ("checkpoint", "found"), [("roberta-base", None), ("./new", "new"), ("model", "model"), ("org/model", None)]
)
def test_checkpoint_is_a_path_only_when_it_is_one(
    load: Callable[..., Any], tmp_path: Path, checkpoint: str, found: str | None
) -> None:
    (tmp_path / "model").mkdir()
    spec = load(representations={"r": {"kind": "huggingface_text", "checkpoint": checkpoint}})
    assert spec.representations["r"].checkpoint == (checkpoint if found is None else str(tmp_path / found))


def test_merged_yaml_keys_may_be_overridden(tmp_path: Path) -> None:
    text = """
representations: {given: {kind: identity}}
source: {format: csv, splits: {train: a.csv, test: b.csv}}
evaluators:
  weak: &base {kind: linear, inverse_regularization: 1.0}
  strong: {<<: *base, inverse_regularization: 9.0}
"""
    evaluators = load_spec(_write(tmp_path / "tiny.yaml", text)).model_dump()["evaluators"]
    assert [each["inverse_regularization"] for each in evaluators.values()] == [1.0, 9.0]
