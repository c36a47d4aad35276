import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import BUNDLED, parse_spec
from aflite_assets.specs.yaml.schema import dataset_schema, schema_text

MODELS = """
representations: {given: {kind: identity}}
evaluators: {linear: {kind: linear}}
"""
TABLES = "source: {format: csv, splits: {train: train.csv, test: [a.csv, b.csv]}}" + MODELS

VALID = {
    "tables": TABLES,
    "hub": """
name: anything
source:
  format: hub
  id: ${OWNER}/name
  revision: ${REVISION:-main}
  splits: {train: train, test: test}
  token: ${secret:HF_TOKEN}
"""
    + MODELS,
    "images": """
source:
  format: image_folder
  splits:
    train: {folder: images, labels: labels.csv}
    test: ${DATA}/test
limit:
  train: ${ROWS:-400}
seed: ${SEED}
filter:
  target_size: ${TARGET}
  threshold: ${THRESHOLD:-0.5}
  selection: ${SELECTION}
full_includes_warmup: ${ALL:-no}
"""
    + MODELS,
    "mapping of labels": "labels: {a: 0, b: [1, two, null], c: null}\nunlabelled: [-1, '?', null]\n" + TABLES,
    "list of labels": "labels: [a, b]\nholdout: {dev: 0.1, more: 100}\n" + TABLES,
    "annotations": "annotations: {format: tsv, files: a.tsv, match: {id: key}, annotators: [x, y]}\n" + TABLES,
    "numbers in quotes": "seed: '5'\nfilter: {threshold: ' 0.5', n_partitions: '1_0'}\n" + TABLES,
    "booleans as pydantic has them": "full_includes_warmup: 'oN'\n" + TABLES.replace("csv,", "csv, quoted: 0,", 1),
    "gamma": TABLES.replace("{kind: linear}", "{kind: rbf_svm, gamma: scale, inputs: [text]}"),
    "challenge sets": TABLES
    + """
challenge_sets:
  drawn:
    source: {format: template_nli, splits: {test: 100}, planted_share: 0.5, cues: reversed}
    map: {a: b, c: null}
    required: false
""",
}
STRICTER = {"hub", "images"}
"""Examples with variables, which the models see filled in."""


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(json.loads(schema_text()))


def _errors(validator: jsonschema.Draft202012Validator, content: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(content)]


def test_schema_is_a_schema_of_the_draft_it_names() -> None:
    schema = dataset_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == "aflite dataset"
    assert schema["required"] == ["source", "representations", "evaluators"]
    assert list(schema["properties"]) == list(DatasetSpec.model_fields)


def test_every_mapping_with_known_keys_is_closed_and_described() -> None:
    schema = dataset_schema()
    models = [schema, *schema["$defs"].values()]
    assert len(models) >= 20
    assert all(model["additionalProperties"] is False for model in models)
    assert all(model["description"] for model in models)
    target = schema["properties"]["unlabelled"]
    assert target["description"] == "label values of unlabelled rows, which are dropped"


@pytest.mark.parametrize("path", sorted(BUNDLED.glob("*.yaml")), ids=lambda path: path.stem)
def test_bundled_datasets_are_valid(validator: jsonschema.Draft202012Validator, path: Path) -> None:
    assert _errors(validator, yaml.safe_load(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("name", VALID)
def test_examples_are_valid(validator: jsonschema.Draft202012Validator, name: str) -> None:
    content = yaml.safe_load(VALID[name])
    assert _errors(validator, content) == []
    if name not in STRICTER:
        assert parse_spec({"name": "tiny"} | content)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"sorce": 1}, "$: Additional properties are not allowed ('sorce' was unexpected)"),
        ({"filter": {"treshold": 1}}, "$.filter: Additional properties are not allowed ('treshold' was unexpected)"),
        ({"columns": {"text_2": "a"}}, "$.columns: "),
        ({"report": {"a": 1}}, "$.report: "),
        ({"name": "My Data"}, "$.name: "),
        ({"labels": ["a"]}, "$.labels: "),
        ({"labels": {"a": True, "b": 1}}, "$.labels: "),
        ({"labels": [True, False]}, "$.labels: "),
        ({"seed": "five"}, "$.seed: "),
        ({"seed": True}, "$.seed: "),
        ({"seed": -1}, "$.seed: "),
        ({"filter": {"target_size": "400"}}, "$.filter.target_size: "),
        ({"filter": {"threshold": 2}}, "$.filter.threshold: "),
        ({"filter": {"selection": "gredy"}}, "$.filter.selection: "),
        ({"full_includes_warmup": "maybe"}, "$.full_includes_warmup: "),
        ({"limit": {"A b": 5}}, "$.limit: "),
        ({"evaluators": {}}, "$.evaluators: "),
        ({"evaluators": {"../x": {"kind": "linear"}}}, "$.evaluators: "),
        ({"evaluators": {"a": {"kind": "rbfsvm"}}}, "$.evaluators.a: "),
        ({"evaluators": {"a": {"kind": "linear", "gamma": 1}}}, "$.evaluators.a: "),
        ({"source": {"format": "csv"}}, "$.source: "),
        ({"source": {"format": "hub", "id": "a/b", "splits": {"train": "a"}, "token": "hf_planted"}}, "$.source: "),
    ],
)
def test_schema_refuses_what_an_editor_should_mark(
    validator: jsonschema.Draft202012Validator, changes: dict[str, Any], place: str
) -> None:
    errors = _errors(validator, yaml.safe_load(TABLES) | changes)
    assert len(errors) == 1
    assert errors[0].startswith(place)


def test_the_token_alone_is_a_secret() -> None:
    token = dataset_schema()["$defs"]["HubSource"]["properties"]["token"]["anyOf"]
    assert token == [{"type": "string", "pattern": r"^\$\{secret:[A-Za-z_][A-Za-z0-9_]*\}$"}, {"type": "null"}]
    assert "password" not in schema_text()
    assert schema_text().count("secret:[A-Za-z_]") == 1
