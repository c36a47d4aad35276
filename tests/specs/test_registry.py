import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from aflite_assets.errors import InvalidInputError, SpecError
from aflite_assets.specs import registry as registry_module
from aflite_assets.specs.registry import BUNDLED, bundled_registry, load_registry, load_spec, spec_folders
from aflite_assets.specs.sources import FeatureSource, TableSource

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


BUNDLED_NAMES = sorted(path.stem for path in BUNDLED.iterdir())


def test_bundled_datasets_are_found_by_name_and_listed_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = load_registry()
    assert (spec_folders(), registry.specs, registry.failures) == ([], {}, {})
    assert registry["digits"].name == "digits"
    assert sorted(bundled_registry().specs) == BUNDLED_NAMES
    monkeypatch.setenv("AFLITE_BUNDLED", "1")
    assert spec_folders() == [BUNDLED]
    assert sorted(load_registry().specs) == BUNDLED_NAMES
    monkeypatch.setenv("AFLITE_BUNDLED", "0")
    assert load_registry().specs == {}


def test_a_bundled_dataset_with_results_is_listed(folders: tuple[Path, Path]) -> None:
    own = _write(folders[0] / "qnli.yaml")
    registry = load_registry(made=["digits", "qnli", "deleted"])
    assert registry.files == {"digits": BUNDLED / "digits.yaml", "qnli": own}
    assert not registry.failures


def test_a_setting_that_is_neither_0_nor_1_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_BUNDLED", "yes")
    with pytest.raises(
        InvalidInputError,
        match="`AFLITE_BUNDLED` is 'yes', but only 0 and 1 are allowed; set it to 1 to list the bundled datasets",
    ):
        load_registry()


def test_datasets_of_two_folders(folders: tuple[Path, Path]) -> None:
    files = {"one": _write(folders[0] / "one.yaml"), "two": _write(folders[1] / "two.yml")}
    registry = load_registry()
    assert not registry.failures
    assert registry.files == files
    assert registry["one"].name == "one"


def test_a_refused_file_is_not_replaced_by_a_bundled_one_of_its_name(folders: tuple[Path, Path]) -> None:
    _write(folders[0] / "digits.yaml", "a: [")
    with pytest.raises(SpecError, match=r"digits\.yaml: line 1: while parsing a flow node"):
        _ = load_registry()["digits"]


@pytest.mark.parametrize("second_place", [(1, "same.yaml"), (0, "same.yml")], ids=["two folders", "two endings"])
def test_a_name_of_two_files_is_a_failure_of_the_second(
    second_place: tuple[int, str], folders: tuple[Path, Path]
) -> None:
    folder, name = second_place
    first, second = _write(folders[0] / "same.yaml"), _write(folders[folder] / name)
    registry = load_registry()
    assert registry.files["same"] == first
    assert registry.failures == {
        second: f"{second}: the name 'same' already belongs to {first}; rename one of the two files"
    }


def test_bundled_name_taken_by_a_user_is_a_failure_of_the_bundled_file(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(folders[0] / "digits.yaml")
    assert not load_registry().failures
    monkeypatch.setenv("AFLITE_BUNDLED", "1")
    registry = load_registry()
    assert registry.files["digits"] == folders[0] / "digits.yaml"
    assert list(registry.failures) == [BUNDLED / "digits.yaml"]


def test_datasets_without_a_file(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    _write(folders[0] / "one.yaml")
    _write(folders[1] / "broken.yaml", "a: [")
    names = ["two", "one", "broken", "digits", "deleted"]
    assert load_registry(made=names).without_file(names) == ["deleted", "two"]
    folders[1].rename(folders[1].parent / "away")  # as when a disk is not there
    assert load_registry(made=names).without_file(names) == []
    monkeypatch.delenv("AFLITE_DATASETS")
    assert load_registry(made=names).without_file(names) == []


def test_folder_named_twice_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path / "one.yaml")
    monkeypatch.setenv("AFLITE_DATASETS", os.pathsep.join([str(tmp_path), "", f"{tmp_path}/", str(BUNDLED)]))
    monkeypatch.setenv("AFLITE_BUNDLED", "1")
    assert spec_folders() == [tmp_path, BUNDLED]
    assert not load_registry().failures


@pytest.mark.parametrize("name", ["no_such_folder", "~nobody_of_this_name/specs"])
def test_folder_that_does_not_exist_is_a_failure(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("AFLITE_DATASETS", name)
    registry = load_registry()
    assert list(registry.failures.values()) == [
        f"`AFLITE_DATASETS` contains {str(Path.cwd() / name)!r}, which is not a folder; correct or remove it"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "line 1: while parsing a flow node"),
        ("", "the file must contain a mapping of keys and values, but it is empty"),
        ("name: other" + GOOD,
            "`name` must be the file's name without its ending, 'broken' (received 'other'); rename "
            "the file, or remove `name`"),
        ("sorce: 1" + GOOD, "sorce: unknown key; did you mean 'source'?"),
        ("title: !!python/object/apply:os.system ['true']" + GOOD, "line 1: the tag !!python/object/apply:os.system"),
        ("seed: ${UNSET_VARIABLE}" + GOOD, "line 1: seed: the environment variable `UNSET_VARIABLE` is not set"),
        (GOOD.replace("train.csv", '"a\\0b"'), "source.splits.train: contains a NUL character"),
        (GOOD.replace("{kind: identity}", "{kind: huggingface_text, checkpoint: " + "x" * 5000 + "}"),
         "representations.given.checkpoint: is 5000 characters long, and a path has at most 4096"),
    ],
)  # fmt: skip
def test_broken_file_takes_no_other_down(folders: tuple[Path, Path], text: str, message: str) -> None:
    broken = _write(folders[0] / "broken.yaml", text)
    _write(folders[0] / "good.yaml")
    registry = load_registry()
    assert set(registry.specs) == {"good"}
    assert list(registry.failures) == [broken]
    assert registry.failures[broken].startswith(f"{broken}: {message}")


@pytest.mark.parametrize(
    "error",
    [
        RecursionError("maximum recursion depth exceeded"), MemoryError(), OverflowError("int too large"),
        UnicodeEncodeError("utf-8", "\udcff", 0, 1, "surrogates"), ValueError("Exceeds the limit (4300 digits) hf_x"),
        KeyError("hf_x"), AttributeError("x"), OSError(5, "Input/output error"), AssertionError("hf_x"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
@pytest.mark.parametrize("place", ["read_yaml", "absolute_paths", "check_values", "explain"])
def test_any_error_of_one_file_is_that_files_alone(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, place: str, error: Exception
) -> None:
    broken, good = _write(folders[0] / "broken.yaml", GOOD + "sorce: 1"), _write(folders[1] / "good.yaml")
    step = getattr(registry_module, place)

    def fail(*arguments: Any, **options: Any) -> Any:
        if "broken" in str(arguments[0]) or place == "explain":
            raise error
        return step(*arguments, **options)

    monkeypatch.setattr(registry_module, place, fail)
    registry = load_registry()
    assert set(registry.specs) == {"good"}
    assert registry.files["good"] == good
    said = registry.failures[broken]
    assert said == (
        f"{broken}: the file cannot be read because of a {type(error).__name__}, which no valid file "
        f"causes; simplify the file (less nesting, shorter texts and numbers, no aliases)"
    )


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interruption_ends_the_loading(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]
) -> None:
    def interrupt(path: Path, *, environment: object) -> object:
        raise interruption

    _write(folders[0] / "one.yaml")
    monkeypatch.setattr(registry_module, "read_yaml", interrupt)
    with pytest.raises(interruption):
        load_registry()


def test_folder_without_the_right_to_read_it_is_a_failure(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(folders[1] / "good.yaml")
    listing = Path.iterdir

    def refuse(folder: Path) -> Any:
        if folder == folders[0]:
            raise PermissionError(13, "Permission denied", str(folder))
        return listing(folder)

    monkeypatch.setattr(Path, "iterdir", refuse)
    registry = load_registry()
    assert "good" in registry.specs
    said = (
        f"`AFLITE_DATASETS` contains {str(folders[0])!r}, which cannot be read (Permission denied); "
        "correct or remove it"
    )
    assert registry.failures == {folders[0]: said}


@pytest.mark.parametrize("name", ["My Data", "_a", "a-b", "a.b", "..", "..a", "é", "a\nb", "A", "a" * 65, "\udcff"])
def test_file_name_that_is_no_dataset_name_is_refused(folders: tuple[Path, Path], name: str) -> None:
    path = _write(folders[0] / f"{name}.yaml")
    registry = load_registry()
    assert list(registry.failures) == [path]
    said = registry.failures[path]
    assert re.search(
        r"yaml'?: the file's name is not a valid .*; rename the file \(use lower-case letters, .*\)$", said
    )
    assert said.isprintable()


def test_endings_count_in_any_case_and_others_do_not(folders: tuple[Path, Path]) -> None:
    for name in ("one.YAML", "two.Yml", "three.json", "four.yaml~", "five", ".yaml"):
        _write(folders[0] / name)
    registry = load_registry()
    assert {"one", "two"} <= set(registry.specs)
    assert not {"three", "four", "five"} & set(registry.specs)
    assert not registry.failures


def test_unknown_dataset_is_told_the_nearest_and_where_was_searched(folders: tuple[Path, Path]) -> None:
    _write(folders[0] / "our_snli.yaml")
    message = re.escape("no dataset is named 'our_snil'; did you mean 'our_snli'? (known: [") + ".*'our_snli'.*\\]; "
    with pytest.raises(SpecError, match=message + re.escape(f"folders searched: ['{folders[0]}', '{folders[1]}'")):
        _ = load_registry()["our_snil"]


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


def test_variables_are_those_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, load: Callable[..., Any]
) -> None:
    monkeypatch.setenv("PLANTED_DATA", "/data")
    monkeypatch.setenv("PLANTED_ROWS", "7")
    spec = load(
        source={"format": "csv", "splits": {"train": "${PLANTED_DATA}/x.csv", "test": "${PLANTED_LOCAL:-sub}/y.csv"}},
        limit={"train": "${PLANTED_ROWS}", "test": "${PLANTED_TEST_ROWS:-400}"},
        title="costs $$5 and $${PLANTED_ROWS}",
    )
    assert spec.source.splits == {"train": "/data/x.csv", "test": str(tmp_path / "sub/y.csv")}
    assert spec.limit == {"train": 7, "test": 400}
    assert spec.title == "costs $5 and ${PLANTED_ROWS}"


def test_file_that_is_no_text_or_no_file_is_a_failure(folders: tuple[Path, Path]) -> None:
    (folders[0] / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (folders[0] / "folder.yaml").mkdir()
    (folders[0] / "lost.yml").symlink_to(folders[0] / "nowhere")
    os.mkfifo(folders[0] / "pipe.yaml")
    _write(folders[1] / "good.yaml")
    registry = load_registry()
    failures = {path.name: message.removeprefix(f"{path}: ") for path, message in registry.failures.items()}
    assert failures == {
        "bytes.yaml": "line 1: is not UTF-8 (the file fits utf-16); save the file as text in UTF-8",
        "folder.yaml": "is a folder; a dataset is described in a text file",
        "lost.yml": "there is no such file; correct the name or the link",
        "pipe.yaml": "is not a regular file; a dataset is described in a text file",
    }
    assert "good" in registry.specs


@pytest.mark.parametrize("name", ["../x", "/etc", "a/b", "..", ".", "", "A", "a-b", "a\\0b", "\\udc80", "x" * 65])
@pytest.mark.parametrize("place", ["representations", "evaluators", "challenge_sets", "splits"])
def test_names_that_would_leave_their_folder_are_refused(tmp_path: Path, place: str, name: str) -> None:
    entry = {
        "representations": "{kind: identity}",
        "evaluators": "{kind: linear}",
        "challenge_sets": "{source: {format: digits}}",
        "splits": "train.csv",
    }[place]
    text = (GOOD + "challenge_sets: {}").replace(f"{place}: {{", f'{place}: {{"{name}": {entry}, ')
    with pytest.raises(SpecError, match=rf"{place}.*(use lower-case letters|at most 64|an invalid character)"):
        load_spec(_write(tmp_path / "tiny.yaml", text))


def test_absolute_and_home_paths_stay(
    load: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    spec = load(source={"format": "csv", "splits": {"train": "/data/a.csv", "test": "~/b.csv"}})
    assert spec.source.splits == {"train": "/data/a.csv", "test": "/home/someone/b.csv"}


def test_paths_of_features_and_of_challenge_sets_are_relative_to_the_file(
    load: Callable[..., Any], tmp_path: Path
) -> None:
    files = {"features": "x.npy", "labels": "y.npy", "groups": "g.npy"}
    source = {"format": "features", "splits": {"train": files, "test": files}}
    spec = load(source=source, challenge_sets={"hard": {"source": source}})
    for each in (spec.source, spec.challenge_sets["hard"].source):
        assert isinstance(each, FeatureSource)
        assert each.files() == [tmp_path / name for name in ("x.npy", "y.npy", "g.npy") * 2]


def test_label_files_annotations_and_checkpoints_are_relative_to_the_file_and_hub_splits_are_not(
    load: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "model").mkdir()
    hub = {"format": "hub", "id": "a/b", "revision": "main", "splits": {"test": "data/*.parquet"}}
    spec = load(
        source={"format": "image_folder", "splits": {"train": {"folder": "f", "labels": "l.csv"}, "test": "t"}},
        annotations={"format": "csv", "files": ["a.csv"], "match": {"id": "key"}, "annotators": "label"},
        challenge_sets={"hard": {"source": hub}},
        representations={"r": {"kind": "huggingface_text", "checkpoint": "model"}},
        evaluators={"e": {"kind": "huggingface_text", "checkpoint": "org/model"}},
    )
    folder = spec.source.splits["train"]
    assert (folder.folder, folder.labels) == (str(tmp_path / "f"), str(tmp_path / "l.csv"))
    assert spec.source.splits["test"] == str(tmp_path / "t")
    assert spec.annotations.paths() == [tmp_path / "a.csv"]
    assert spec.challenge_sets["hard"].source.splits == {"test": "data/*.parquet"}
    assert spec.representations["r"].checkpoint == str(tmp_path / "model")
    assert spec.evaluators["e"].checkpoint == "org/model"


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
