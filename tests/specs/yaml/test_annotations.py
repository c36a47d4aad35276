"""tests/specs/yaml/test_annotations.py"""

from typing import Any

import pytest

from aflite_assets.specs.columns import ColumnsSpec
from aflite_assets.specs.core import ClassNames, ClassValues
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.filter import Count, FilterSpec
from aflite_assets.specs.models.settings import LinearModelSpec, RbfSvmSpec
from aflite_assets.specs.sources import HubSource, LabelledFolder, TableSource
from aflite_assets.specs.yaml.annotations import (
    entry_type,
    is_model,
    members,
    tag_key,
    tags,
    typed_values,
    yaml_location,
)

LIST = "function-after[_distinct(), tuple[function-after[_printable(), constrained-str], ...]]"


MAPPING = (
    "dict[function-after[_printable(), constrained-str],nullable[union[int,str,tuple[nullable[union[int,str]], ...]]]]"
)


@pytest.mark.parametrize(
    ("location", "shown", "types"),
    [
        ((), (), [DatasetSpec]),
        (("filter", "threshold"), ("filter", "threshold"), [float]),
        (("filter", "target_size", "constrained-int"), ("filter", "target_size"), [int, float]),
        (("filter", "treshold"), ("filter", "treshold"), [FilterSpec]),
        (("1",), ("1",), [DatasetSpec]),
        (("source", "csv", "splits", "train", "str"), ("source", "splits", "train"), [str, tuple]),
        (("source", "hub", "nonsense"), ("source", "nonsense"), [HubSource]),
        (("source", "hub", "splits", "hub", "tuple[str, ...]", 3), ("source", "splits", "hub", 3), [str]),
        (
            ("source", "image_folder", "splits", "train", "LabelledFolder", "labels"),
            ("source", "splits", "train", "labels"),
            [str],
        ),
        (
            ("source", "image_folder", "splits", "train", "LabelledFolder", "z"),
            ("source", "splits", "train", "z"),
            [LabelledFolder],
        ),
        (("source", "csv", "splits", "../a", "[key]"), ("source", "splits", "../a"), [str, tuple]),
        (("labels", LIST, 0), ("labels", 0), [str]),
        (("labels", MAPPING, "dict", "str"), ("labels", "dict"), [int, str, tuple]),
        (("evaluators", "linear", "linear", "linear"), ("evaluators", "linear", "linear"), [LinearModelSpec]),
        (("evaluators", "r", "rbf_svm", "gamma", "literal['a']"), ("evaluators", "r", "gamma"), [float, "literal"]),
        (("challenge_sets", "h", "limit"), ("challenge_sets", "h", "limit"), [int]),
    ],
)
def test_locations_are_the_keys_of_the_yaml_alone(location: Any, shown: Any, types: list[Any]) -> None:
    found, place = yaml_location(DatasetSpec, location)
    assert found == shown
    kinds = [member if isinstance(member, type) else getattr(member, "__origin__", member) for member in members(place)]
    assert len(kinds) == len(types)
    assert all(kind is wanted for kind, wanted in zip(kinds, types, strict=True) if wanted != "literal")


def test_members_are_the_alternatives_without_none() -> None:
    assert members(Count | None) == [int, float]
    assert members(ColumnsSpec) == [ColumnsSpec]
    assert [is_model(member) for member in members(ColumnsSpec | None)] == [True]


def test_entries_of_lists_and_mappings() -> None:
    labels = ClassNames | ClassValues | None
    assert members(entry_type(labels, tuple)) == [str]
    assert members(entry_type(labels, dict))[:2] == [int, str]
    assert entry_type(int | None, tuple) is None


def test_models_of_a_union_are_told_apart_by_the_key_that_all_have_choices_for() -> None:
    assert tag_key([LinearModelSpec, RbfSvmSpec]) == "kind"
    assert tags([LinearModelSpec, RbfSvmSpec], "kind") == ["linear", "rbf_svm"]
    assert tags([TableSource, HubSource], tag_key([TableSource, HubSource])) == [
        "parquet",
        "csv",
        "tsv",
        "jsonl",
        "hub",
    ]


def test_values_are_visited_with_their_types_and_unknown_places_are_not() -> None:
    content = {
        "source": {"format": "hub", "id": "a/b", "unknown": [1], "splits": {"train": ["x", "y"]}},
        "labels": {"a": [1]},
        "report": [1, 2],
        "seeds": (3,),
        4: 5,
        "evaluators": {"a": {"kind": "nothing", "gamma": 1}, "b": {"kind": ["linear"]}},
    }
    visited = {location: members(place) for location, value, place in typed_values(DatasetSpec, content) if location}
    assert visited[("source", "id")] == [str]
    assert visited[("source", "splits", "train", 1)] == [str]
    assert visited[("labels", "a", 0)] == [int, str]
    assert visited[("seeds", 0)] == [int]
    assert not {
        ("source", "unknown"),
        ("report", 0),
        (4,),
        ("evaluators", "a", "gamma"),
        ("evaluators", "b", "kind"),
    } & set(visited)
