from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from aflite_assets.specs.yaml.safe_text import received_text, shown_field, shown_key, shown_path


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "received nothing"),
        ("a'b", 'received "a\'b"'),
        ("line\nline\ud800", "received 'line\\nline\\ud800'"),
        (2, "received '2'"),
        (1.5, "received '1.5'"),
        (True, "received 'true'"),
        (float("-inf"), "received a number too large to show"),
        (float("nan"), "received 'nan'"),
        ([], "received an empty list"),
        ([1, "a", None, False, {"token": "planted"}, 6], "received the list [1, 'a', null, false, {…}, …]"),
        (([1], (2,)), "received the list [[…], […]]"),
        ({}, "received an empty mapping"),
        ({"token": "planted", 2: "planted"}, "received a mapping with the keys 'token', 2"),
        (SecretStr("planted"), "received a secret"),
        ([SecretStr("planted")], "received the list [a secret]"),
        ({SecretStr("planted"): 1}, "received a mapping with the keys a secret"),
        (object(), "received object"),
    ],
)
def test_received_values_are_short_and_tell_no_secret(value: Any, shown: str) -> None:
    assert received_text(value) == shown


def test_nothing_below_a_token_is_shown() -> None:
    assert received_text("planted", ("source", "token")) == "received a value that is not shown here"
    assert received_text(["planted"], ("challenge_sets", "token", 0)) == "received a value that is not shown here"
    assert received_text("a", ("tokens", 0)) == "received 'a'"


def test_numbers_that_python_does_not_write_out_are_named() -> None:
    assert received_text(-(10**5000)) == "received a number too large to show"
    assert received_text([10**5000, 1]) == "received the list [a number too large to show, 1]"


def test_long_values_are_cut() -> None:
    assert len(received_text("x" * 10**6)) < 220
    assert len(received_text(["x" * 10**6] * 10)) < 230
    assert len(received_text({"x" * 10**6: 1})) < 240
    assert len(shown_field(["x" * 10**6] * 50)) == 200


def test_keys_are_shown_as_they_are_where_they_can_be_read() -> None:
    assert shown_field(["evaluators", "linear", 0]) == "evaluators.linear.0"
    assert [shown_key(key) for key in ("a b", "", "a\n", True, None, 1.5)] == [
        "a b",
        "''",
        "'a\\n'",
        "true",
        "null",
        "1.5",
    ]


def test_paths_that_hold_no_text_are_escaped() -> None:
    assert shown_path(Path("/a b/é.yaml")) == "/a b/é.yaml"
    assert shown_path(Path("/a\nb\udcff")) == "'/a\\nb\\udcff'"
    assert len(shown_path(Path("x" * 10**5))) == 3000
