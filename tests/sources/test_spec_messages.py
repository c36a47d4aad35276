import re
from typing import Any

import pytest

from aflite_assets.errors import SpecError
from aflite_assets.sources.registry import parse_spec

CIRCLES_KEYS = "known keys: \\['format', 'test_share', 'seed'\\]"


def _message(content: dict[str, Any], **changes: Any) -> str:
    with pytest.raises(SpecError) as caught:
        parse_spec(content | changes)
    return str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sorce": 1}, "sorce: unknown key; did you mean 'source'?"),
        ({"filter": {"treshold": 1}}, "filter.treshold: unknown key; did you mean 'threshold'?"),
        ({"columns": {"text_2": "a"}}, "columns.text_2: unknown key; did you mean 'text'?"),
        (
            {"evaluators": {"svm": {"kind": "rbf_svm", "gama": 1}}},
            "evaluators.svm.gama: unknown key; did you mean 'gamma'?",
        ),
        (
            {"source": {"format": "csv", "splits": {"train": "a", "test": "b"}, "delimeter": ";"}},
            "source.delimeter: unknown key; did you mean 'delimiter'?",
        ),
        (
            {"source": {"format": "features", "splits": {"train": {"features": "x", "labels": "y", "group": "g"}}}},
            "source.splits.train.group: unknown key; did you mean 'groups'?",
        ),
        (
            {"challenge_sets": {"hard": {"source": {"format": "digits"}, "catgory": "a"}}},
            "challenge_sets.hard.catgory: unknown key; did you mean 'category'?",
        ),
    ],
)
def test_unknown_key_is_told_the_nearest_known_one(
    spec_content: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    assert _message(spec_content, **changes) == f"spec: {message}"


def test_unknown_key_near_none_is_told_the_known_ones(spec_content: dict[str, Any]) -> None:
    said = _message(spec_content, source={"format": "digits", "zzz": 1})
    assert re.search(rf"source\.zzz: unknown key \({CIRCLES_KEYS}\)", said)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"representations": {"r": {"kind": "identiti"}}},
            "representations.r.kind: 'identiti' is unknown; did you mean 'identity'? "
            "(known: ['huggingface_text', 'timm_image', 'identity'])",
        ),
        (
            {"evaluators": {"e": {"kind": "rbfsvm"}}},
            "evaluators.e.kind: 'rbfsvm' is unknown; did you mean 'rbf_svm'? "
            "(known: ['linear', 'rbf_svm', 'huggingface_text', 'timm_image'])",
        ),
        (
            {"evaluators": {"e": {}}},
            "evaluators.e.kind is missing; add it, one of ['linear', 'rbf_svm', 'huggingface_text', 'timm_image']",
        ),
        (
            {"source": {"format": "json", "splits": {}}},
            "source.format: 'json' is unknown; did you mean 'jsonl'? "
            "(known: ['parquet', 'csv', 'jsonl', 'image_folder', 'features', 'circles', 'digits'])",
        ),
        (
            {"challenge_sets": {"hard": {"source": {"format": 7}}}},
            "challenge_sets.hard.source.format: '7' is unknown "
            "(known: ['parquet', 'csv', 'jsonl', 'image_folder', 'features', 'circles', 'digits'])",
        ),
    ],
)
def test_unknown_kind_is_told_the_known_ones_and_the_nearest(
    spec_content: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    assert _message(spec_content, **changes) == f"spec: {message}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": [0, "b"]}, "labels.0: must be text; put it in quotes (received '0')"),
        ({"title": 2020}, "title: must be text; put it in quotes (received '2020')"),
        (
            {"filter": {"target_size": 1.5}},
            "filter.target_size: Input should be a valid integer, or Input should be less than or equal to 1 "
            "(received '1.5')",
        ),
        (
            {"name": "My Data"},
            "name: use lower-case letters, digits and underscores only, no underscore first (received 'My Data')",
        ),
        (
            {"evaluators": {"../x": {"kind": "linear"}}},
            "evaluators.../x: use lower-case letters, digits and underscores only, no underscore first "
            "(received '../x')",
        ),
        ({"seed": -1}, "seed: Input should be greater than or equal to 0 (received '-1')"),
        ({"seeds": [0, "x"]}, "seeds.1: Input should be a valid integer, unable to parse string as an integer"),
        ({"columns": {"text_pair": "b"}}, "columns: text_pair is the second of two texts; name the first as text"),
        ({"seeds": [1, 1]}, "seeds [1, 1] repeat a value; each seed is one run"),
        ({"filter": 3}, "filter: Input should be a valid dictionary"),
    ],
)
def test_refused_value_is_named_with_field_and_remedy(
    spec_content: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    assert _message(spec_content, **changes).startswith(f"spec: {message}")


def test_missing_field_is_named(spec_content: dict[str, Any]) -> None:
    del spec_content["source"]
    assert _message(spec_content) == "spec: source is missing; add it"


def test_every_mistake_is_told_at_once(spec_content: dict[str, Any]) -> None:
    said = _message(spec_content, sorce=1, seed=-1, filter={"n_partitions": 0}, evaluators={"e": {"kind": "x"}})
    assert len(said.splitlines()) == 4
    assert all(line.startswith("spec: ") for line in said.splitlines())


def test_long_values_are_cut(spec_content: dict[str, Any]) -> None:
    assert len(_message(spec_content, title="x" * 100_000)) < 400
