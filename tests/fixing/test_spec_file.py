"""YAML files of copies say the same as the original's but for the source and columns that were dropped."""

import os
from pathlib import Path

import pytest

from aflite_assets.errors import DataError
from aflite_assets.fixing.spec_file import first_content, fixed_content, fixed_name, write_spec
from aflite_assets.specs.registry import load_spec
from aflite_assets.specs.yaml.reading import read_yaml

TEXT = """\
# comment
title: "$${not a variable} 12:30 007"
source: &files {format: csv, delimiter: ";", splits: {train: "${PLACE:-here}/a.csv", test: b.csv}}
columns: {features: [x, y, z], id: number, attributes: [site], label: label, allow_label_copies: [y]}
irrelevant: [y, site]
planted: {site: a}
challenge_sets:
  other: {source: {format: csv, splits: {test: c.csv}}, columns: {features: [u, v, w]}}
representations: {given: {kind: identity}}
evaluators: {linear: {kind: linear}}
"""


def _file(folder: Path, text: str = TEXT) -> Path:
    path = folder / "cells.yaml"
    path.write_text(text)
    return path


def test_paths_become_absolute_and_variables_and_odd_texts_keep_their_meaning(tmp_path: Path) -> None:
    content = fixed_content(_file(tmp_path), {"splits": {"train": "a.csv", "test": "b.csv"}}, [])
    write_spec(tmp_path / "cells_fixed.yaml", content, ["One line.", "two\nlines"])
    text = (tmp_path / "cells_fixed.yaml").read_text()
    assert text.startswith("# One line.\n# two lines\ntitle:")
    read = read_yaml(tmp_path / "cells_fixed.yaml", environment=os.environ)
    assert isinstance(read, dict)
    assert read["title"] == "${not a variable} 12:30 007"
    assert read["source"] == {"format": "csv", "delimiter": ";", "splits": {"train": "a.csv", "test": "b.csv"}}
    assert read["challenge_sets"]["other"]["source"]["splits"] == {"test": str(tmp_path / "c.csv")}
    spec, original = load_spec(tmp_path / "cells_fixed.yaml"), load_spec(tmp_path / "cells.yaml")
    assert spec.columns == original.columns
    assert spec.planted == original.planted


def test_dropped_columns_go_wherever_they_stand_and_challenge_sets_lose_the_same_features(tmp_path: Path) -> None:
    content = fixed_content(_file(tmp_path), {"splits": {"train": "a.csv", "test": "b.csv"}}, ["y", "site", "number"])
    write_spec(tmp_path / "cells_fixed.yaml", content, [])
    spec = load_spec(tmp_path / "cells_fixed.yaml")
    assert spec.columns.features == ("x", "z")
    assert (spec.columns.id, spec.columns.attributes, spec.columns.allow_label_copies) == (None, (), ())
    assert (spec.irrelevant, spec.planted) == ((), {})
    assert spec.challenge_sets["other"].columns.features == ("u", "w")


def test_a_secret_is_refused_and_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "hf_secret")
    text = TEXT.replace("{format: csv, splits: {test: c.csv}}", '{format: hub, id: a/b, token: "${secret:MY_TOKEN}"}')
    with pytest.raises(DataError, match=r"'cells.yaml' contains a secret, and secrets are not copied") as caught:
        fixed_content(_file(tmp_path, text), {}, [])
    assert "hf_secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "fixed"), [("reviews", "reviews_fixed"), ("My Reviews-2", "my_reviews_2_fixed"), ("é", "data_fixed")]
)
def test_names_are_those_that_a_dataset_may_have(name: str, fixed: str) -> None:
    assert fixed_name(name) == fixed


@pytest.mark.parametrize("kind", ["texts", "features", "images"])
def test_a_first_file_is_one_that_is_understood(kind: str, tmp_path: Path) -> None:
    table = {"format": "csv", "splits": {"train": "a.csv"}}
    content = {
        "texts": first_content(
            "T", table, label="l", texts=("a", "b", "c"), columns=("n",), group="g", has_unlabelled=True
        ),
        "features": first_content("T", table, label="l", features=("x", "y"), columns=("n",)),
        "images": first_content("T", {"format": "image_folder", "splits": {"train": "t"}}, label="l", has_images=True),
    }[kind]
    write_spec(tmp_path / "first.yaml", content, [])
    spec = load_spec(tmp_path / "first.yaml")
    assert spec.holdout == {"test": 0.2}
    if kind == "texts":
        assert (spec.columns.text, spec.columns.text_pair, spec.columns.group) == ("a", "b", "g")
        assert (spec.columns.attributes, spec.unlabelled) == (("n",), (None,))
    if kind == "features":
        assert (spec.columns.features, spec.columns.attributes) == (("x", "y"), ("n",))
