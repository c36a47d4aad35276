"""Random files and broken copies of valid ones: each gives a spec, or a `SpecError` that names file and field."""

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aflite_assets.errors import SpecError
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import load_spec, parse_spec
from aflite_assets.specs.yaml.schema import dataset_schema

Place = tuple[int | str, ...]

EXAMPLES = 200
VALIDATOR = jsonschema.Draft202012Validator(dataset_schema())
CHOICES = {
    "format", "kind", "selection", "classifier", "remove", "evaluation_rows", "augmentation", "collapse", "cues",
    "interpolation",
}  # fmt: skip

EVERYTHING = """
title: Everything
description: every field of every kind but those of the other example
source:
  {format: hub, id: owner/name, revision: abc, newest: false, config: sub, splits: {train: train, test: [a, b]}}
columns: {label: l, text: a, text_pair: b, id: i, group: g, annotators: [x, y], attributes: [c]}
labels: {entail: 0, other: [1, two, null]}
unlabelled: [-1, "?", null]
undecodable_images: 0.1
holdout: {dev: 0.1}
limit: {train: 100, test: 10}
seed: 3
warmup: {size: 0.2}
representations:
  given: {kind: identity}
  text:
    {kind: huggingface_text, checkpoint: org/model, revision: abc, max_length: 64, inputs: [text], epochs: 2,
     batch_size: 8, learning_rate: 0.001, weight_decay: 0.1, warmup_share: 0.1}
  small: {kind: small_transformer, vocabulary: 200, width: 64, layers: 1, heads: 4, inputs: [text, text_pair]}
  image: {kind: timm_image, architecture: resnet, checkpoint: w.safetensors, image_size: 8, augmentation: flip_crop}
  parts:
    {kind: timm_image, architecture: resnet, augmentation: resized_crop, interpolation: bicubic, crop_area: 0.1,
     centre_share: 0.9, randaugment: {operations: 2, magnitude: 9}, dropout: 0.1, drop_path: 0.1, label_smoothing: 0.1}
filter:
  {target_size: 0.5, train_size: 100, slice_size: 0.1, n_partitions: 8, threshold: 0.7, selection: gumbel,
   classifier: both, inverse_regularization: 2.0, remove: groups, evaluation_rows: kept}
evaluators:
  linear: {kind: linear, inverse_regularization: 1.0, inputs: [text]}
  svm: {kind: rbf_svm, gamma: scale}
  net: {kind: small_transformer}
  net_tables:
    {kind: fine_tuned, start: net, stages: [{rows: tables, epochs: 2, batch_size: 8, learning_rate: 0.001}]}
seeds: [0, 1]
full_includes_warmup: true
challenge_sets:
  images:
    source: {format: image_folder, splits: {test: {folder: f, labels: l}, other: folder}}
    labels: [a, b]
    unlabelled: [x]
    category: c
    limit: 5
    map: {entail: a, other: null}
    collapse: probability
    required: false
  tables:
    source: {format: csv, delimiter: ";", quoted: true, splits: {dev: [a.csv, b.csv], more: c.csv}}
    split: dev
    fine_tune: more
    columns: {features: [a, b]}
  feats: {source: {format: features, splits: {test: {features: x, labels: y, groups: g}}}}
  nli: {source: {format: template_nli, splits: {test: 10}, planted_share: 0.5, cues: reversed, seed: 1}}
  digits: {source: {format: digits, test_share: 0.2, seed: 1}}
  circles:
    source:
      {format: circles, splits: {test: 10}, inner_radius: 1.0, outer_radius: 2.0, radius_deviation: 0.1,
       biased_share: 0.5, bias_width: 2, bias_mean: 1.0, bias_deviation: 0.1, noise_deviation: 0.1,
       flipped_share: 0.1, seed: 1}
report: {scatter_features: [0, 1]}
"""
ANNOTATED = """
source: {format: image_folder, splits: {train: {folder: a, labels: b}, test: c}}
annotations: {format: tsv, delimiter: ";", quoted: false, files: [x, y], match: {id: key}, annotators: [p, q]}
labels: [a, b]
representations: {given: {kind: identity}}
evaluators: {linear: {kind: linear}}
holdout: {dev: 5}
"""
BASES: list[dict[str, Any]] = [yaml.safe_load(EVERYTHING), yaml.safe_load(ANNOTATED)]

_SLOW_OR_SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
fuzz = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=_SLOW_OR_SHARED)
coarse = settings(max_examples=EXAMPLES // 2, deadline=None, suppress_health_check=_SLOW_OR_SHARED)
"""For what is refused at the first look, whatever it is."""
FRAGMENTS = st.sampled_from(
    [
        "a: ", "- ", "? ", ": ", "{", "}", "[", "]", ", ", "&a ", "*a", "<<: ", "!!int ", "|\n", ">\n", " ", "  ", "\n",
        "'", '"', "#", "---\n",
        "...\n", "%YAML 1.1\n", "${A}", "${secret:HOME}", "$$", "${HOME:-x}", "\\u0000", "\\ud800",
        "yes", "1", "1.5", ".nan", "\t", "\ufeff", "\x85", "x", "source: ", "name: tiny\n", "splits: ",
        "source: {format: csv, splits: {train: a, test: b}}\n", "representations: {g: {kind: identity}}\n",
        "evaluators: {l: {kind: linear}}\n",
    ]
)  # fmt: skip
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=12)
    | st.sampled_from(
        ["", "~", "\0", "a\0b", "nan", "inf", "1e999", "9" * 30, "9" * 5000, "x" * 5000, "${HOME}", "$${X}"]
    )
    | st.sampled_from(["csv", "digits", "hub", "linear", "train", "../x", -1, 0, 1, 0.5, 1.0, 2**63])
)
NAMES = st.text(max_size=8) | st.sampled_from(
    ["name", "source", "format", "splits", "train", "test", "kind", "labels", "token", "folder", "a", "filter"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(NAMES, inner, max_size=4)
        | st.dictionaries(SCALARS, inner, max_size=2)
    ),
    max_leaves=10,
)
PLAIN_VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4), max_leaves=10
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("specs") / "tiny.yaml"


def _message(path: Path, content: bytes) -> str | None:
    """What is said about a file with this content, checked for what holds of every message; None for a valid file."""
    path.write_bytes(content)
    try:
        spec = load_spec(path)
    except SpecError as error:
        said = str(error)
        assert said.startswith(f"{path}: ")
        assert len(f"{path}: ") + 5 < len(said) < 5000
        assert said.encode()
        return said.removeprefix(f"{path}: ")
    assert isinstance(spec, DatasetSpec)
    assert json.dumps(spec.model_dump(mode="json"), allow_nan=False)
    return None


def _as_yaml(content: Any) -> bytes:
    return str(yaml.safe_dump(content, allow_unicode=True, sort_keys=False)).encode("utf-8", "surrogatepass")


def _places(value: Any, place: Place = ()) -> Iterator[Place]:
    if place:
        yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _places(each, (*place, key))


def _mutated(base: dict[str, Any], place: Place, how: str, *, value: Any, key: Any) -> dict[str, Any]:
    """A copy of `base` with one change at `place`: another value, or that key gone, renamed, or joined by another."""
    content = copy.deepcopy(base)
    owner = _at(content, place[:-1])
    if how == "replace":
        owner[place[-1]] = value
    elif how == "drop":
        del owner[place[-1]]
    elif isinstance(owner, list):
        owner.append(value)
    else:
        owner[key] = owner.pop(place[-1]) if how == "rename" else value
    return content


CHANGES = st.sampled_from(["replace", "replace", "drop", "rename", "add"])
STARTS = st.sampled_from([(base, place) for base in BASES for place in _places(base)])


@coarse
@given(st.binary(max_size=300))
def test_random_bytes_are_refused_with_the_files_name(path: Path, content: bytes) -> None:
    assert _message(path, content) is not None


@coarse
@given(st.text(max_size=200))
def test_random_text_is_refused_with_the_files_name(path: Path, content: str) -> None:
    assert _message(path, content.encode("utf-8", "surrogatepass")) is not None


@fuzz
@given(st.lists(FRAGMENTS, max_size=30))
def test_yaml_in_pieces_is_a_spec_or_refused(path: Path, pieces: list[str]) -> None:
    _message(path, "".join(pieces).encode())


@coarse
@given(st.dictionaries(NAMES | st.sampled_from(list(DatasetSpec.model_fields)), VALUES, max_size=6))
def test_random_documents_are_refused_with_the_files_name(path: Path, content: Any) -> None:
    assert _message(path, _as_yaml(content)) is not None


@fuzz
@given(STARTS, CHANGES, VALUES, SCALARS | NAMES)
def test_one_mistake_in_a_valid_file_is_told_with_its_field(
    path: Path, start: tuple[dict[str, Any], Place], how: str, value: Any, key: Any
) -> None:
    base, place = start
    said = _message(path, _as_yaml(_mutated(base, place, how, value=value, key=key)))
    names = [str(part) for part in place if isinstance(part, str)]
    # A new key may take the place of one that was there.
    about_a_key = how in ("rename", "add") and said is not None and ("key" in said or str(key) in said)
    assert said is None or about_a_key or names[0] in said or names[-1] in said


@pytest.mark.parametrize("base", BASES, ids=["everything", "annotated"])
def test_the_examples_themselves_are_valid(path: Path, base: dict[str, Any]) -> None:
    assert _message(path, _as_yaml(base)) is None


@pytest.mark.parametrize("base", BASES, ids=["everything", "annotated"])
def test_unknown_keys_are_refused_by_the_schema_and_the_models_wherever_keys_are_known(base: dict[str, Any]) -> None:
    named = {"splits", "limit", "holdout", "representations", "evaluators", "challenge_sets", "labels", "map", "match"}
    mappings = [(), *(place for place in _places(base) if isinstance(_at(base, place), dict))]
    known = [place for place in mappings if not place or place[-1] not in named]
    assert len(known) > 5
    for place in known:
        _refused_by_both(base, (*place, "unknown"), 1, "unknown: unknown key")


@pytest.mark.parametrize("base", BASES, ids=["everything", "annotated"])
def test_wrong_types_and_choices_are_refused_by_the_schema_and_the_models(base: dict[str, Any]) -> None:
    leaves = [place for place in _places(base) if not isinstance(_at(base, place), dict | list)]
    for place in leaves:
        _refused_by_both(base, place, {"wrong": [1]}, re.escape(".".join(map(str, place))))
        if place[-1] in CHOICES:
            _refused_by_both(base, place, "nonsense", rf"{place[-1]}: .*received 'nonsense'")


def _refused_by_both(base: dict[str, Any], place: Place, value: Any, message: str) -> None:
    content = _mutated(base, place, "replace", value=value, key=None) | {"name": "tiny"}
    with pytest.raises(SpecError, match=message):
        parse_spec(content)
    assert not VALIDATOR.is_valid(content)


def _at(content: Any, place: Place) -> Any:
    for part in place:
        content = content[part]
    return content


@fuzz
@given(STARTS, CHANGES, PLAIN_VALUES, NAMES)
def test_schema_takes_whatever_the_models_take(
    start: tuple[dict[str, Any], Place], how: str, value: Any, key: str
) -> None:
    base, place = start
    content = {"name": "tiny"} | _mutated(base, place, how, value=value, key=key)
    try:
        parse_spec(content)
    except SpecError:
        return
    assert [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(content)] == []
