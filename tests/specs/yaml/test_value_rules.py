import math
from typing import Any

import pytest
from pydantic import SecretStr

from aflite_assets.errors import SpecError
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import parse_spec
from aflite_assets.specs.yaml.value_rules import check_values

HUB = {"format": "hub", "id": "owner/name", "revision": "main", "splits": {"train": "train", "test": "test"}}
BOOLEANS = "yes/no/on/off and true/false are booleans in YAML"
TOKEN = "a token in a file is not secret; write ${secret:HF_TOKEN} and set the environment variable HF_TOKEN to it"
SECRET = "a secret is allowed only in source.token; write ${NAME} for a variable that may be shown (received a secret)"
NUL = "contains a NUL character, which is not allowed in names; remove it"


def _problems(**content: Any) -> dict[str, str]:
    problems = check_values(content, DatasetSpec)
    return {".".join(map(str, location)): message for location, message in problems.items()}


def test_a_spec_without_mistakes_has_no_problems(spec_content: dict[str, Any]) -> None:
    assert check_values(spec_content, DatasetSpec) == {}
    assert _problems(source=HUB | {"token": SecretStr("planted"), "newest": True}, full_includes_warmup=False) == {}
    assert _problems(source=HUB | {"token": None}, title="a\0b", description="\0", labels={"a": "\n", "b": 1}) == {}


@pytest.mark.parametrize(
    ("content", "field", "message"),
    [
        ({"labels": ["a", True]}, "labels.1", f"{BOOLEANS}; put it in quotes (received 'true')"),
        ({"labels": {"a": False, "b": 1}}, "labels.a", f"{BOOLEANS}; put it in quotes (received 'false')"),
        ({"unlabelled": [True]}, "unlabelled.0", f"{BOOLEANS}; put it in quotes (received 'true')"),
        ({"columns": {"text": True}}, "columns.text", f"{BOOLEANS}; put it in quotes (received 'true')"),
        ({"seed": True}, "seed", f"must be a number; {BOOLEANS} (received 'true')"),
        ({"seeds": [0, False]}, "seeds.1", f"must be a number; {BOOLEANS} (received 'false')"),
        ({"limit": {"train": True}}, "limit.train", f"must be a number; {BOOLEANS} (received 'true')"),
        ({"filter": {"threshold": True}}, "filter.threshold", f"must be a number; {BOOLEANS} (received 'true')"),
        ({"warmup": {"size": True}}, "warmup.size", f"must be a number; {BOOLEANS} (received 'true')"),
    ],
)
def test_booleans_count_neither_as_numbers_nor_as_text(content: dict[str, Any], field: str, message: str) -> None:
    assert _problems(**content) == {field: f"{field}: {message}"}


@pytest.mark.parametrize(
    "value", [math.inf, -math.inf, math.nan, 2**63, -(2**63), "inf", " -Infinity ", "nan", "1e999"]
)
@pytest.mark.parametrize("field", ["inverse_regularization", "threshold", "n_partitions"])
def test_numbers_must_be_finite_and_of_64_bits(field: str, value: Any) -> None:
    said = _problems(filter={field: value})[f"filter.{field}"]
    assert said.startswith(f"filter.{field}: must be a finite number below 9223372036854775808 (received ")


def test_whole_numbers_of_thousands_of_digits_are_refused(spec_content: dict[str, Any]) -> None:
    for number in (10**5000, "9" * 5000):
        with pytest.raises(SpecError, match="seed: must be a finite number below 9223372036854775808"):
            parse_spec(spec_content | {"seed": number})


@pytest.mark.parametrize("value", ["5", " 7 ", "1_000", "x", "", 2**63 - 1, 2.0])
def test_other_numbers_and_texts_are_left_to_the_models(value: Any) -> None:
    assert _problems(seed=value, filter={"threshold": value, "selection": "nan"}) == {}


def test_label_values_with_a_decimal_point_are_ambiguous() -> None:
    said = {"labels.b": "labels.b: must be a whole number or text; write it without a fraction (received '1.0')"}
    assert _problems(labels={"a": 0, "b": 1.0}) == said


@pytest.mark.parametrize(
    "token", ["hf_planted", "${secret:HF_TOKEN}", "", 5, True, ["hf_planted"], {"a": "hf_planted"}]
)
def test_token_in_the_open_is_refused_and_not_repeated(spec_content: dict[str, Any], token: Any) -> None:
    source = HUB | {"token": token}
    assert _problems(source=source) == {
        "source.token": f"source.token: {TOKEN} (received a value that is not shown here)"
    }
    where = "challenge_sets.hard.source.token"
    with pytest.raises(SpecError) as caught:
        parse_spec(spec_content | {"challenge_sets": {"hard": {"source": source}}})
    assert str(caught.value) == f"spec: {where}: {TOKEN} (received a value that is not shown here)"


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"title": SecretStr("planted")}, "title"),
        ({"seed": SecretStr("planted")}, "seed"),
        ({"labels": ["a", SecretStr("planted")]}, "labels.1"),
        ({"source": HUB | {"id": SecretStr("planted")}}, "source.id"),
        ({"source": HUB | {"revision": SecretStr("planted")}}, "source.revision"),
        ({"source": HUB | {"splits": {"train": SecretStr("planted")}}}, "source.splits.train"),
        ({"source": SecretStr("planted")}, "source"),
        ({"filter": SecretStr("planted")}, "filter"),
        ({"representations": {"a": SecretStr("planted")}}, "representations.a"),
    ],
)
def test_secret_anywhere_else_is_refused(content: dict[str, Any], field: str) -> None:
    assert _problems(**content) == {field: f"{field}: {SECRET}"}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({"source": {"format": "csv", "splits": {"train": "a\0.csv"}}}, "source.splits.train"),
        ({"source": {"format": "csv", "splits": {"train": ["a", "b\0"]}}}, "source.splits.train.1"),
        (
            {"source": {"format": "image_folder", "splits": {"t": {"folder": "\0", "labels": "l"}}}},
            "source.splits.t.folder",
        ),
        ({"source": {"format": "features", "splits": {"t": {"groups": "g\0"}}}}, "source.splits.t.groups"),
        ({"annotations": {"files": "a\0"}}, "annotations.files"),
        ({"representations": {"r": {"kind": "timm_image", "checkpoint": "w\0"}}}, "representations.r.checkpoint"),
        ({"columns": {"text": "a\0"}}, "columns.text"),
    ],
)
def test_nul_in_a_name_of_something_is_refused(content: dict[str, Any], field: str) -> None:
    said = _problems(**content)
    assert list(said) == [field]
    assert said[field].startswith(f"{field}: {NUL} (received '")


@pytest.mark.parametrize("name", ["", "   "])
def test_paths_must_name_something(name: str) -> None:
    splits = {"train": name, "test": ["a", name]}
    said = "is empty; write a path, or remove the key"
    assert _problems(source={"format": "csv", "splits": splits}, annotations={"files": [name]}) == {
        field: f"{field}: {said} (received {name!r})"
        for field in ("source.splits.train", "source.splits.test.1", "annotations.files.0")
    }


def test_paths_have_an_end() -> None:
    said = _problems(source={"format": "csv", "splits": {"train": "x" * 5000}})["source.splits.train"]
    assert said.startswith("source.splits.train: is 5000 characters long, and a path has at most 4096 (received 'xxx")
    assert len(said) < 320


def test_problems_of_values_and_of_types_are_told_together_and_once(spec_content: dict[str, Any]) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(spec_content | {"title": True, "seed": -1, "seeds": [True, "x"]})
    assert str(caught.value).splitlines() == [
        f"spec: title: {BOOLEANS}; put it in quotes (received 'true')",
        f"spec: seeds.0: must be a number; {BOOLEANS} (received 'true')",
        "spec: seed: must be at least 0 (received '-1')",
        "spec: seeds.1: must be a whole number (received 'x')",
    ]
