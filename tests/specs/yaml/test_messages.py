import re
from typing import Any

import pytest

from aflite_assets.errors import SpecError
from aflite_assets.specs.registry import parse_spec

CSV = {"format": "csv", "splits": {"train": "a", "test": "b"}}
FORMATS = (
    "['parquet', 'csv', 'tsv', 'jsonl', 'multiple_choice', 'preference', 'hub', 'image_folder', 'features', "
    "'circles', 'digits', 'template_nli']"
)
ENCODERS = (
    "['huggingface_text', 'small_transformer', 'esim', 'siamese_bag', 'siamese_lstm', 'word_overlap', "
    "'timm_image', 'identity', 'surface']"
)
EVALUATORS = (
    "['linear', 'rbf_svm', 'max_ppmi', 'huggingface_text', 'small_transformer', 'esim', "
    "'siamese_bag', 'siamese_lstm', 'word_overlap', 'timm_image', 'fine_tuned']"
)
BOOLEANS = "yes/no/on/off and true/false are booleans in YAML; put it in quotes"
COUNT = "must be a whole number of rows, or a share of them with a decimal point, over 0 and at most 1.0"
NAME = "use lower-case letters, digits and underscores only, no underscore first, at most 64 characters"
INDENTED = "write them below it as indented lines of `key: value`"


def _message(content: dict[str, Any], **changes: Any) -> str:
    with pytest.raises(SpecError) as caught:
        parse_spec(content | changes)
    return str(caught.value)


def _folders(test: Any) -> dict[str, Any]:
    return {"source": {"format": "image_folder", "splits": {"train": "a", "test": test}}}


def _challenge(**changes: Any) -> dict[str, Any]:
    return {"challenge_sets": {"hard": {"source": CSV} | changes}}


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
        ({"source": CSV | {"delimeter": ";"}}, "source.delimeter: unknown key; did you mean 'delimiter'?"),
        (
            {"source": {"format": "features", "splits": {"train": {"features": "x", "labels": "y", "group": "g"}}}},
            "source.splits.train.group: unknown key; did you mean 'groups'?",
        ),
        (_folders({"folder": "a", "label": "b", "labels": "c"}), "source.splits.test.label: unknown key; did you mean"),
        (_challenge(catgory="a"), "challenge_sets.hard.catgory: unknown key; did you mean 'category'?"),
        ({"threshold": 0.5}, "threshold: unknown key; it is a key of filter"),
        ({"label": "a"}, "label: unknown key; it is a key of columns; did you mean 'labels'?"),
        ({"size": 3}, "size: unknown key; it is a key of warmup"),
        ({"filter": {"seed": 1}}, "filter.seed: unknown key; it belongs at the top level, at the beginning of a line"),
        ({"source": CSV | {"columns": {}}}, "source.columns: unknown key; it belongs at the top level"),
        (
            {"report": {"zzz": 1}},
            "report.zzz: unknown key (known keys: ['scatter_features', 'published', 'primary', 'smallest_effect'])",
        ),
        ({"filter": {"": 1}}, "filter.'': unknown key (known keys: ["),
    ],
)
def test_unknown_key_is_told_the_nearest_known_one_or_where_it_belongs(
    spec_content: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    assert _message(spec_content, **changes).startswith(f"spec: {message}")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"representations": {"r": {"kind": "identiti"}}},
            f"representations.r.kind: is unknown; did you mean 'identity'? (received 'identiti'; known: {ENCODERS})",
        ),
        (
            {"evaluators": {"e": {"kind": "rbfsvm"}}},
            f"evaluators.e.kind: is unknown; did you mean 'rbf_svm'? (received 'rbfsvm'; known: {EVALUATORS})",
        ),
        ({"evaluators": {"e": {}}}, f"evaluators.e.kind is missing; add it, one of {EVALUATORS}"),
        ({"evaluators": {"e": {"kind": None}}}, f"evaluators.e.kind is missing; add it, one of {EVALUATORS}"),
        (
            {"source": {"format": "json", "splits": {}}},
            f"source.format: is unknown; did you mean 'jsonl'? (received 'json'; known: {FORMATS})",
        ),
        (
            _challenge(source={"format": 7}),
            f"challenge_sets.hard.source.format: is unknown (received '7'; known: {FORMATS})",
        ),
        ({"source": {"format": ["csv"]}}, f"source.format: is unknown (received the list ['csv']; known: {FORMATS})"),
        (
            {"annotations": {"format": "xls", "files": "a", "match": {"a": "b"}, "annotators": "c"}},
            "annotations.format: must be one of 'parquet', 'csv', 'tsv', 'jsonl' (received 'xls')",
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
        ({"title": 2020}, "title: must be text; put it in quotes (received '2020')"),
        ({"title": None}, "title: must be text; write it there (received nothing)"),
        ({"title": ["a", 1]}, "title: must be text (received the list ['a', 1])"),
        ({"title": "x" * 201}, "title: must have at most 200 characters (received '" + "x" * 199 + "…')"),
        ({"name": "My Data"}, f"name: {NAME} (received 'My Data')"),
        ({"evaluators": {"../x": {"kind": "linear"}}}, f"evaluators.../x: {NAME} (received '../x')"),
        ({"seed": -1}, "seed: must be at least 0 (received '-1')"),
        ({"seed": "x"}, "seed: must be a whole number (received 'x')"),
        ({"seed": 1.5}, "seed: must be a whole number (received '1.5')"),
        ({"seed": 1e300}, "seed: must be a finite number below 9223372036854775808 (received a number too large"),
        ({"seeds": [0, "x"]}, "seeds.1: must be a whole number (received 'x')"),
        ({"seeds": 3}, "seeds: must be a list of whole numbers; write it as a list, in [ ] (received '3')"),
        ({"seeds": []}, "seeds: must have at least 1 entry (received an empty list)"),
        ({"seeds": [1, 1]}, "`seeds` is [1, 1], which repeats a seed; give every run a different seed"),
        ({"filter": 3}, "filter: must be a mapping with keys among ['target_size', "),
        ({"filter": {"threshold": 2}}, "filter.threshold: must be at most 1 (received '2')"),
        ({"filter": {"threshold": "high"}}, "filter.threshold: must be a number (received 'high')"),
        ({"filter": {"target_size": 1.5}}, f"filter.target_size: {COUNT} (received '1.5')"),
        ({"filter": {"target_size": 0}}, f"filter.target_size: {COUNT} (received '0')"),
        ({"filter": {"train_size": "400"}}, f"filter.train_size: {COUNT}; write it without quotes (received '400')"),
        ({"filter": {"slice_size": "0.5"}}, f"filter.slice_size: {COUNT}; write it without quotes (received '0.5')"),
        ({"warmup": {"size": "large"}}, f"warmup.size: {COUNT}, or one of 'auto' (received 'large')"),
        ({"warmup": {"size": "atuo"}}, f"warmup.size: {COUNT}, or one of 'auto'; did you mean 'auto'? (received"),
        ({"warmup": {"size": 1.5}}, f"warmup.size: {COUNT}, or one of 'auto' (received '1.5')"),
        ({"warmup": {"size": "0.1"}}, f"warmup.size: {COUNT}, or one of 'auto'; write it without quotes (received"),
        (
            {"filter": {"selection": "gredy"}},
            "filter.selection: must be one of 'greedy', 'gumbel', 'gumbel_over_threshold'; did you mean 'greedy'? "
            "(received 'gredy')",
        ),
        (
            {"evaluators": {"e": {"kind": "rbf_svm", "gamma": 0}}},
            "evaluators.e.gamma: must be more than 0 (received '0')",
        ),
        (
            {"evaluators": {"e": {"kind": "rbf_svm", "gamma": "scle"}}},
            "evaluators.e.gamma: must be a number or one of 'scale', 'auto'; did you mean 'scale'? (received 'scle')",
        ),
        (
            {"evaluators": {"e": {"kind": "linear", "inputs": "text"}}},
            "evaluators.e.inputs: must be a list of 'text' and 'text_pair'; write it as a list, in [ ] (",
        ),
        (
            {"filter": {"selection": None}},
            "filter.selection: must be one of 'greedy', 'gumbel', 'gumbel_over_threshold'; w",
        ),
        (
            {"evaluators": {"e": "linear"}},
            f"evaluators.e: must be a mapping with the key 'kind', one of {EVALUATORS}, and ",
        ),
        ({"full_includes_warmup": "maybe"}, "full_includes_warmup: must be true or false (received 'maybe')"),
        ({"limit": {"train": 0}}, "limit.train: must be at least 1 (received '0')"),
        ({"limit": 5}, f"limit: must be a mapping of names to a whole number; {INDENTED} (received '5')"),
        ({"holdout": {"dev": 2.5}}, f"holdout.dev: {COUNT} (received '2.5')"),
        ({"undecodable_images": 1}, "undecodable_images: must be less than 1 (received '1')"),
        ({"report": {"scatter_features": [1]}}, "report.scatter_features.1 is missing; add it"),
        ({"report": {"scatter_features": [1, 2, 3]}}, "report.scatter_features: must have at most 2 entries (received"),
        (
            {"columns": {"text_pair": "b"}},
            "columns: `text_pair` is set, but `text` is not; name the column of the first text in `text`",
        ),
        ({"columns": {"features": [1]}}, "columns.features.0: must be text; put it in quotes (received '1')"),
        ({"columns": None}, "columns: must be a mapping with keys among ['label', "),
        ({"source": "train.csv"}, f"source: must be a mapping with the key 'format', one of {FORMATS}, and the keys"),
        ({"source": CSV | {"delimiter": "||"}}, "source.delimiter: must have at most 1 character (received '||')"),
        ({"source": CSV | {"splits": ["a"]}}, "source.splits: must be a mapping of names to text or a list of texts; "),
        ({"source": CSV | {"splits": {"train": 5}}}, "source.splits.train: must be text or a list of texts; put it in"),
        (
            {"source": {"format": "hub", "id": "snli", "revision": "a", "splits": {"train": "a", "test": "b"}}},
            "source.id: must be owner/name, as on the hub's page (received 'snli')",
        ),
        (
            {"labels": "a"},
            "labels: must be a list of texts or a mapping of names to a whole number or text or a list of ",
        ),
        ({"labels": ["a"]}, "labels: must have at least 2 entries (received the list ['a'])"),
        ({"labels": ["a", 0]}, "labels.1: must be text; put it in quotes (received '0')"),
        (
            {"labels": ["a", ""]},
            "labels.1: '' cannot be shown as a name: it is blank, longer than 200 characters or holds "
            "control characters",
        ),
        ({"labels": ["a", "a"]}, "labels: ['a', 'a'] contains a class name twice; give every class a different name"),
        ({"labels": {"a": 1}}, "labels: must have at least 2 entries (received a mapping with the keys 'a')"),
        ({"labels": {"a": 1, "b": [2, True]}}, f"labels.b.1: {BOOLEANS} (received 'true')"),
        (
            {"labels": {"a": 1, "b": 1.5}},
            "labels.b: must be a whole number or text or a list of whole numbers or texts; ",
        ),
        (
            {"labels": {"a": 1, "b": {"c": 1}}},
            "labels.b: must be a whole number or text or a list of whole numbers or ",
        ),
        ({"labels": {"a": 1, "b": []}}, "labels.b: must have at least 1 entry (received an empty list)"),
        ({"labels": {"a": 1, True: 2}}, f"labels: the key true must be text; {BOOLEANS}"),
        ({"labels": {"a": 1, 0: 2}}, "labels: the key 0 must be text; put it in quotes"),
        ({"labels": {"a": 1, "": 2}}, "labels.'': '' cannot be shown as a name"),
        (
            {"unlabelled": -1},
            "unlabelled: must be a list of whole numbers or texts; write it as a list, in [ ] (received",
        ),
        (
            _folders(5),
            "source.splits.test: must be text or a mapping with keys among ['folder', 'labels', 'encoding']; put it in",
        ),
        (
            _folders(["a"]),
            "source.splits.test: must be text or a mapping with keys among ['folder', 'labels', 'encoding'] (received",
        ),
        (_folders({"folder": "a"}), "source.splits.test.labels is missing; add it"),
        (
            _folders({"folder": "a", "labels": 3}),
            "source.splits.test.labels: must be text; put it in quotes (received '3')",
        ),
        (_challenge(map={"a": 1}), "challenge_sets.hard.map.a: must be text; put it in quotes (received '1')"),
        (
            _challenge(split="dev"),
            "challenge_sets.hard: `split` is 'dev', which is not a split of `source`; name one of ['train', 'test']",
        ),
        (
            {"title": "\ud800"},
            "title: must be text in UTF-8; remove characters that UTF-8 cannot encode (received '\\ud800')",
        ),
    ],
)
def test_refused_value_is_named_once_with_field_value_and_remedy(
    spec_content: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    said = _message(spec_content, **changes)
    assert said.startswith(f"spec: {message}")
    assert "\n" not in said
    assert not re.search(r"Input should|Value error|function-after|\[type=|pydantic|valid ", said)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (1, "the key 1 must be text; put it in quotes"),
        (None, "the key null must be text; put it in quotes"),
        (True, f"the key true must be text; {BOOLEANS}"),
        ((1, 2), "the key […] must be text; put it in quotes"),
    ],
)
def test_keys_that_are_no_text_are_named(spec_content: dict[Any, Any], key: Any, message: str) -> None:
    assert _message(spec_content | {key: 5}) == f"spec: {message}"


@pytest.mark.parametrize("content", [[], None, "text", 5])
def test_what_is_no_mapping_is_refused(content: Any) -> None:
    with pytest.raises(SpecError, match=r"^spec: must be a mapping with keys among \['name', 'title'"):
        parse_spec(content)


def test_missing_field_is_named(spec_content: dict[str, Any]) -> None:
    del spec_content["source"]
    assert _message(spec_content) == "spec: source is missing; add it"


def test_every_mistake_is_told_at_once(spec_content: dict[str, Any]) -> None:
    said = _message(spec_content, sorce=1, seed=-1, filter={"n_partitions": 0}, evaluators={"e": {"kind": "x"}})
    assert len(said.splitlines()) == 4
    assert all(line.startswith("spec: ") for line in said.splitlines())


def test_of_very_many_mistakes_the_first_are_told_and_the_others_counted(spec_content: dict[str, Any]) -> None:
    lines = _message(spec_content | {f"unknown_{number}": 1 for number in range(1000)}).splitlines()
    assert 5 <= len(lines) - 1 <= 100
    assert lines[-1] == f"and {1000 - len(lines) + 1} more"
    assert len("\n".join(lines)) < 5000


def test_long_values_and_keys_are_cut(spec_content: dict[str, Any]) -> None:
    assert len(_message(spec_content, title="x" * 100_000)) < 400
    assert len(_message(spec_content | {"x" * 100_000: 1})) < 700
    assert len(_message(spec_content, labels=["x" * 150] * 1000)) < 700
