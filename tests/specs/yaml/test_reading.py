import math
import os
import re
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from aflite_assets.errors import SpecError
from aflite_assets.specs.registry import BUNDLED
from aflite_assets.specs.yaml import reading as yaml_files
from aflite_assets.specs.yaml.reading import fill_in, read_yaml

ENVIRONMENT = {"N": "400", "T": "true", "SPACED": " 7\n", "EMPTY": "", "KEY": "hf_planted", "BYTES": "\udcff"}
BOOLEANS = "yes/no/on/off and true/false are booleans in YAML; put it in quotes"

VARIABLES = {"N": "400", "DATA": "/data", "EMPTY": "", "NESTED": "${N}", "_x9": "low", "KEY": "hf_planted"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tiny.yaml"


def _read(path: Path, text: str | bytes) -> Any:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return read_yaml(path, environment=ENVIRONMENT)


def _refusal(path: Path, text: str | bytes) -> str:
    with pytest.raises(SpecError, match=f"^{re.escape(str(path))}: ") as caught:
        _read(path, text)
    assert len(str(caught.value)) < 5000
    return str(caught.value).removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# a comment alone", None),
        ("a: {b: [1, x, 'y', \"z\"]}", {"a": {"b": [1, "x", "y", "z"]}}),
        ("--- \na: 1\n...\n", {"a": 1}),
        ("\ufeffa: 1", {"a": 1}),
        ("a:\r\n  b: 1\r\n", {"a": {"b": 1}}),
        ("a: |\n  one\n  two\nb: >-\n  one\n  two", {"a": "one\ntwo\n", "b": "one two"}),
        ("a: <<\n'<<': 1", {"a": "<<", "<<": 1}),
    ],
)
def test_yaml_becomes_plain_values(path: Path, text: str, value: Any) -> None:
    assert _read(path, text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None), ("~", None), ("null", None), ("NULL", None), ("nUll", "nUll"), ("'~'", "~"),
        ("yes", True), ("On", True), ("TRUE", True), ("no", False), ("off", False), ("False", False), ("'no'", "no"),
        ("y", "y"), ("n", "n"), ("tRue", "tRue"),
        ("0", 0), ("-7", -7), ("+7", 7), ("1_000", 1000), ("'7'", "7"), ("9" * 18, 10**18 - 1),
        ("010", "010"), ("0x1F", "0x1F"), ("0b11", "0b11"), ("0o7", "0o7"), ("1:30", "1:30"), ("1__0", "1__0"),
        ("9" * 19, "9" * 19), ("9" * 5000, "9" * 5000),
        ("1.5", 1.5), (".5", 0.5), ("1.", 1.0), ("1e-3", 0.001), ("1.0e5", 1e5), ("-2.5E+3", -2500.0),
        (".inf", math.inf), ("-.INF", -math.inf), ("1e5", "1e5"), ("12e4567", "12e4567"), (".", "."),
        ("2020-01-31", "2020-01-31"), ("2020-13-45", "2020-13-45"), ("2001-12-14 21:59:43", "2001-12-14 21:59:43"),
        ("=", "="), ("a#b", "a#b"), ("1.2.3", "1.2.3"),
    ],
)  # fmt: skip
def test_values_without_quotes_that_yaml_1_1_would_change_stay_text(path: Path, text: str, value: Any) -> None:
    read = _read(path, f"a: {text}")["a"]
    assert (read, type(read)) == (value, type(value))


def test_not_a_number_is_read_for_the_models_to_refuse(path: Path) -> None:
    assert math.isnan(_read(path, "a: .nan")["a"])


def test_variables_without_quotes_are_read_as_yaml_and_others_as_text(path: Path) -> None:
    text = """
plain: ${N}
quoted: "${N}"
single: '${N}'
block: |
  ${N}
inside: x${N}y
boolean: ${T}
default: ${UNSET:-1.5}
nothing: ${UNSET:-}
empty: ${EMPTY}
no_text: '${EMPTY}'
spaces: ${SPACED}
list:
  - ${N}
literal: $${N}
"""
    assert _read(path, text) == {
        "plain": 400,
        "quoted": "400",
        "single": "400",
        "block": "400\n",
        "inside": "x400y",
        "boolean": True,
        "default": 1.5,
        "nothing": None,
        "empty": None,
        "no_text": "",
        "spaces": 7,
        "list": [400],
        "literal": "${N}",
    }


@pytest.mark.parametrize(
    "value", ["[1, 2]", "{a: 1}", "x\nb: 2", "*alias", "&a x", "!!python/name:os.system", "- a", "# x"]
)
def test_value_of_a_variable_is_never_structure(path: Path, value: str) -> None:
    path.write_text("a: ${V}\nc: 3", encoding="utf-8")
    assert read_yaml(path, environment={"V": value}) == {"a": value, "c": 3}


@pytest.mark.parametrize("text", ["a: ${secret:KEY}", "a: '${secret:KEY}'", 'a: "${secret:KEY}"'])
def test_secrets_are_hidden(path: Path, text: str) -> None:
    read = _read(path, text)
    assert isinstance(read["a"], SecretStr)
    assert read["a"].get_secret_value() == "hf_planted"
    assert "hf_planted" not in str(read)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n  b:\n  - c: ${UNSET}", "line 3: a.b.0.c: the environment variable `UNSET` is not set; set it before"),
        ("\n${N}: 1", "line 2: the key '${N}': variables are allowed in values, but not in keys"),
        ("a: {x: ${N}}", "line 1: while parsing a flow mapping expected ',' or '}', but got '{'; close the bracket; "
         "put text with a comma, a bracket or ${ in quotes"),
        ("a: ${BYTES}", "line 1: a: contains an invalid character; write or set it as text in UTF-8"),
        ("a: ${secret:UNSET}", "line 1: a: the environment variable `UNSET` is not set or empty"),
        ("a: x ${secret:KEY}", "line 1: a: ${secret:...} must be the whole value"),
    ],
)  # fmt: skip
def test_variables_that_cannot_be_filled_in_are_named_with_line_and_field(path: Path, text: str, message: str) -> None:
    said = _refusal(path, text)
    assert said.startswith(message)
    assert "hf_planted" not in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: !!python/object/apply:os.system ['true']", "line 2: the tag !!python/object/apply:os.system is not "
         "allowed; remove it, and put text in quotes"),
        ("a: !!python/name:os.system", "line 1: the tag !!python/name:os.system is not allowed"),
        ("a: !foo x", "line 1: the tag !foo is not allowed"),
        ("a: [!<tag:example.org,2000:x> 1]", "line 1: the tag tag:example.org,2000:x is not allowed"),
        ("a: !!set {x, y}", "line 1: the tag !!set is not allowed"),
        ("a: !!binary aGk=", "line 1: the tag !!binary is not allowed"),
        ("a: ! 12", "line 1: the tag ! is not allowed"),
        ("!!map a: 1", "line 1: the tag !!map is not allowed"),
        ("a: 1\n---\nb: 2", "line 2: expected a single document in the stream but found another document (in "
         "the part that begins at line 1); a file describes one dataset; remove the line --- and what follows"),
        ("a: 1\nb: 2\na: 3", "line 3: key 'a' occurs twice; remove one"),
        ("x: {a: 1, 'a': 3}", "line 1: x: key 'a' occurs twice"),
        ("x: {<<: {a: 1}, <<: {b: 1}}", "line 1: x: key '<<' occurs twice"),
        ("yes: 1", f"line 1: the key yes must be text; {BOOLEANS}"),
        ("labels: {no: 1}", f"line 1: labels: the key no must be text; {BOOLEANS}"),
        ("1: x", "line 1: the key 1 must be text; put it in quotes"),
        ("a: {null: x}", "line 1: a: the key null must be text; put it in quotes"),
        ("? \n: x", "line 1: an empty key must be text; put it in quotes"),
        ("? [a]\n: x", "line 1: a key is a mapping or a list, but it must be text; write a name"),
        ("{a: b}: x", "line 1: a key is a mapping or a list, but it must be text"),
        ("<<: 5", "line 1: << needs a mapping or a list of mappings, such as <<: *name"),
        ("a: {<<: [{b: 1}, 5]}", "line 1: a: << needs a mapping or a list of mappings"),
        ('a: "\\ud800"', "line 1: a: contains an invalid character"),
        ('"\\ud800": a', "line 1: contains an invalid character"),
    ],
)  # fmt: skip
def test_yaml_that_a_dataset_has_no_use_for_is_refused(path: Path, text: str, message: str) -> None:
    assert _refusal(path, text).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: b: c", "line 1: mapping values are not allowed here; put text that contains ': ' in quotes, and check"),
        ("a:\n\t- b", "line 2: while scanning for the next token found character '\\t' that cannot start any token; "
         "indent with spaces, not with tabs"),
        ("a: @b", "line 1: while scanning for the next token found character '@' that cannot start any token; put text "
         "that begins with this character in quotes"),
        ("a: *b", "line 1: found undefined alias 'b'; put text that begins with * in quotes, or define the name"),
        ("a: [", "line 1: while parsing a flow node expected the node content, but found '<stream end>'; write a"),
        ("a: 'x\n\n\n", "line 4: while scanning a quoted scalar found unexpected end of stream (in the part that "
         "begins at line 1); close the quotes"),
        ("a: 'it's'", "line 1: while parsing a block mapping expected <block end>, but found '<scalar>'; indent the "
         "keys of one mapping alike, and put text with quotes in it in quotes"),
        ('a: "\\q"', "line 1: while scanning a double-quoted scalar found unknown escape character 'q'; write the text "
         "in single quotes, or double the backslash"),
        ('b: 1\na: "\\Uffffffff"', "line 2: cannot be read as YAML: "),
        ('a: "\\U00110000"', "line 1: cannot be read as YAML: "),
        ("%YAML 1." + "9" * 5000 + "\n---\na: 1", "line 1: cannot be read as YAML: "),
        ("%YAML 2.0\n---\na: 1", "line 1: found incompatible YAML document"),
    ],
)  # fmt: skip
def test_mistakes_of_syntax_are_told_with_the_line_and_the_remedy(path: Path, text: str, message: str) -> None:
    assert _refusal(path, text).startswith(message)


def test_mistakes_of_syntax_do_not_repeat_the_line_which_may_hold_a_secret(path: Path) -> None:
    assert "planted" not in _refusal(path, "source:\n  token: hf_planted: x")
    assert "planted" not in _refusal(path, "source: {token: 'hf_planted")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\nb: \xff", "line 2: byte 0xff is not UTF-8 (the file fits cp1252); save the file as text in UTF-8"),
        ("a: é".encode("latin-1"), "line 1: byte 0xe9 is not UTF-8 (the file fits cp1252)"),
        ("a: 1".encode("utf-16"), "line 1: is not UTF-8 (the file fits utf-16); save the file as text in UTF-8"),
        (b"a: \xed\xa0\x80", "line 1: byte 0xed is not UTF-8"),
        ("a: 1".encode("utf-16-le"), "line 1: is not UTF-8 (the file fits utf-16-le); save the file as text in UTF-8"),
        ("a: 1\nb: 2\n".encode("utf-16-be"), "line 1: is not UTF-8 (the file fits utf-16-be)"),
        (b"a: 1\nb: \x00", "line 2: contains the character U+0000"),
        (b"a: \x1b[0m", "line 1: contains the character U+001B"),
        (
            b"a: " + b"x" * 2**20,
            "the file is larger than 1 MiB, but a dataset's YAML file has a few kilobytes; name another file",
        ),
    ],
)
def test_files_that_are_no_text_in_utf_8_are_refused(path: Path, content: bytes, message: str) -> None:
    assert _refusal(path, content).startswith(message)


def test_file_of_exactly_one_mebibyte_is_read(path: Path) -> None:
    assert len(_read(path, b"a: " + b"x" * (2**20 - 3))["a"]) == 2**20 - 3


def test_places_that_are_no_files_are_refused_and_never_waited_for(tmp_path: Path) -> None:
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "lost.yaml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop.yaml").symlink_to(tmp_path / "loop.yaml")
    os.mkfifo(tmp_path / "pipe.yaml")
    wanted = {
        "folder.yaml": "is a folder; a dataset is described in a text file",
        "lost.yaml": "there is no such file; correct the name or the link",
        "missing.yaml": "there is no such file",
        "loop.yaml": "cannot be read: Too many levels of symbolic links",
        "pipe.yaml": "is not a regular file",
        "a" * 300 + ".yaml": "cannot be read: File name too long",
    }
    for name, message in wanted.items():
        with pytest.raises(SpecError, match=re.escape(f"{tmp_path / name}: {message}")):
            read_yaml(tmp_path / name, environment={})
    with pytest.raises(SpecError, match=r"'a\\x00\.yaml': cannot be read: .*embedded null (byte|character)"):
        read_yaml(Path("a\0.yaml"), environment={})


def test_file_without_the_right_to_read_it_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: Any, **options: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(self))

    path.write_text("a: 1", encoding="utf-8")
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(
        SpecError, match=r"tiny\.yaml: cannot be read: Permission denied; correct the name or the permissions"
    ):
        read_yaml(path, environment={})


def test_aliases_and_merges_work_as_yaml_says(path: Path) -> None:
    text = """
base: &base {p: 1, q: {r: 2}}
other: &other {p: 3, s: 4}
same: *base
over: {<<: *base, p: 5}
both: {<<: [*base, *other], t: 6}
list: [*base, *other]
"""
    read = _read(path, text)
    assert read == yaml.safe_load(text)
    assert [list(read[name]) for name in ("over", "both")] == [list(yaml.safe_load(text)[n]) for n in ("over", "both")]
    read["same"]["q"]["r"] = 7
    assert read["base"] == {"p": 1, "q": {"r": 2}}


def test_merge_from_a_mapping_that_itself_overrides_is_no_repeated_key(path: Path) -> None:
    text = "x: {y: {z: &inner {<<: {p: 1}, p: 2}}}\nafter: {<<: *inner}"
    assert _read(path, text) == {"x": {"y": {"z": {"p": 2}}}, "after": {"p": 2}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
         + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)),
         "line 5: expands to over 100000 values; no dataset needs that"),
        ("a0: &a0 {x: 1}\n"
         + "".join(f"a{i}: &a{i} {{<<: [{','.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, 10)),
         "line 6: expands to over 100000 values"),
        ("a0: &a0 {x: 1}\n"
         + "".join(f"a{i}: &a{i} {{k: *a{i - 1}, l: *a{i - 1}}}\n" for i in range(1, 30)),
         "line 16: expands to over 100000 values"),
        ("a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 2000)),
         "line 50: is nested more than 50 deep by aliases"),
        ("a: &a [*a]", "line 1: a value contains itself; remove the alias"),
        ("a: &a {b: {c: *a}}", "line 1: a value contains itself"),
        ("a: &a {<<: *a}", "line 1: a value contains itself"),
        ("? &k [*k]\n: 1", "line 1: a value contains itself"),
        ("a: " + "[" * 5000, "line 1: is nested more than 50 deep; no dataset needs that"),
        ("{a: " * 5000, "line 1: is nested more than 50 deep"),
        ("- " * 5000, "line 1: is nested more than 50 deep"),
        ("? " * 5000, "line 1: is nested more than 50 deep"),
        ("".join(" " * i + "a:\n" for i in range(1000)), "line 50: is nested more than 50 deep"),
    ],
    ids=["lists", "merges", "mappings", "chain", "itself", "inside itself", "merge of itself", "key of itself",
         "brackets", "braces", "dashes", "questions", "indentation"],
)  # fmt: skip
def test_small_files_that_are_large_when_read_are_refused(path: Path, text: str, message: str) -> None:
    assert _refusal(path, text).startswith(message)


LONG = "x" * 700_000
ALIASES = ",".join(["*a"] * 5_000)


@pytest.mark.parametrize(
    "text",
    [
        f"a: &a '$${LONG}'\nb: [{ALIASES}]",
        f"a: &a {LONG}\nb: [{ALIASES}]",
        f"a: &a {{k: '$${LONG[:300_000]}', ? '{LONG[:300_000]}' : 1}}\nb: [{ALIASES}]",
        f"a: &a {{? '{LONG}' : 1}}\nb: [{','.join(['{<<: *a}'] * 1000)}]",
        "a: &a '${LARGE}'\nb: [" + ALIASES + "]",
        "a: [" + ",".join(["'${LARGE}'"] * 5_000) + "]",
        "a: [" + ",".join(["'${secret:LARGE}'"] * 5_000) + "]",
        "a: '" + "${LARGE}" * 5_000 + "'",
    ],
    ids=[
        "escaped",
        "plain",
        "values and keys",
        "merged keys",
        "aliases of a variable",
        "variables",
        "secrets",
        "one value",
    ],
)
def test_long_texts_are_not_repeated_until_memory_runs_out(path: Path, text: str) -> None:
    path.write_text(text)
    tracemalloc.start()
    began = time.process_time()
    try:
        with pytest.raises(
            SpecError, match=r"tiny\.yaml: line [12]: .*have more than 4194304 characters; no dataset needs"
        ):
            read_yaml(path, environment={"LARGE": LONG})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100_000_000
    assert time.process_time() - began < 5  # repeated without end it takes minutes


def test_a_file_without_repeats_is_never_too_long(path: Path) -> None:
    text = "é" * 2**18
    assert _read(path, f"a: &a {text}\nb: [{','.join(['*a'] * 14)}]")["b"] == [text] * 14


def test_files_of_many_values_are_refused_while_they_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_files, "_MOST_VALUES", 100)
    assert _read(path, "[" + "a," * 99 + "]") == ["a"] * 99
    assert _refusal(path, "[" + "a,\n" * 100 + "]") == "line 100: is over 100 values; no dataset needs that"


def _outcome(path: Path) -> Any:
    try:
        return read_yaml(path, environment={"SNLI_FOLDER": "there"})
    except SpecError as error:
        return str(error)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
def test_libyaml_reads_and_refuses_as_pyyaml_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = {
        "block": "a: |\n  x\n   y\n\nb: >-\n  x\n  y\n",
        "quotes": "a: 'it''s'\nb: \"\\u00e9\\n\"\nc: plain text,\n  on two lines\n",
        "flow": "{a: [1, 0x1f, 1e3, 1_000], 'b': {c: ~, d: }}\n",
        "alias": "a: &x {b: 1}\nc: *x\nd: {<<: *x, e: 2}\n",
        "tabs": "a:\n\t- 1\n",
        "open": "a: [1, 2\nb: 3\n",
        "tag": "a: !!python/object:x {}\n",
        "two": "a: 1\n---\nb: 2\n",
        "deep": "a: " + "[" * 60 + "]" * 60,
        "deeper": "a: " + "[" * 5000 + "]" * 5000,
        "lost": "a: *x\n",
        "windows": "a: 1\r\nb: x\r\n",
    }
    for name, text in odd.items():
        (tmp_path / f"{name}.yaml").write_bytes(text.encode())
    paths = [*sorted(tmp_path.glob("*.yaml")), *sorted(BUNDLED.glob("*.yaml"))]
    quick = {path: _outcome(path) for path in paths}
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    assert {path: _outcome(path) for path in paths} == quick
    assert {path.stem for path, value in quick.items() if isinstance(value, str)} == {
        "tabs", "open", "tag", "two", "deep", "deeper", "lost",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("", ""), ("plain $ text, $5 and $x", "plain $ text, $5 and $x"), ("${N}", "400"), ("${N}${N}", "400400"),
        ("${DATA}/a/${N}.csv", "/data/a/400.csv"), ("${_x9}", "low"), ("${EMPTY}|", "|"), ("${N:-5}", "400"),
        ("${EMPTY:-5}", "5"), ("${UNSET:-5}", "5"), ("${UNSET:-}", ""), ("$$", "$"), ("$$${N}", "$400"),
        ("${UNSET:-a b: c, $d -:-}", "a b: c, $d -:-"), ("${UNSET:-two\nlines}", "two\nlines"), ("$${N}", "${N}"),
        ("$${secret:KEY}", "${secret:KEY}"), ("$$$${N}", "$${N}"), ("$$$$", "$$"), ("${NESTED}", "${N}"),
    ],
)  # fmt: skip
def test_variables_are_filled_in_once(text: str, filled: str) -> None:
    assert fill_in(text, environment=VARIABLES) == filled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a ${UNSET} b", "the environment variable `UNSET` is not set; set it before starting, or write ${UNSET:-def"),
        ("${secret:UNSET}", "the environment variable `UNSET` is not set or empty; set it to the secret before start"),
        ("${secret:EMPTY}", "the environment variable `EMPTY` is not set or empty"),
        ("x${secret:KEY}", "${secret:...} must be the whole value, with nothing before or after it"),
        ("${secret:KEY}x", "${secret:...} must be the whole value"),
        ("${secret:KEY}${N}", "${secret:...} must be the whole value"),
        ("${secret:KEY:-x}", "${secret:...} must contain the name of one variable and no default; write ${secret:NA"),
        ("${secret:}", "${secret:...} must contain the name of one variable"),
        ("${secret:1A}", "${secret:...} must contain the name of one variable"),
        ("${", "'${' is not a valid variable; write ${NAME}, ${NAME:-default} or ${secret:NAME}, or $${ for a literal"),
        ("a ${}", "'${}' is not a valid variable"),
        ("${1A}", "'${1A}' is not a valid variable"),
        ("${A-B}", "'${A-B}' is not a valid variable"),
        ("${N:?stop}", "'${N:?stop}' is not a valid variable"),
        ("${ N }", "'${ N }' is not a valid variable"),
        ("${é}", "'${é}' is not a valid variable"),
        ("${N", "'${N' is not a valid variable"),
        ("${UNSET:-${N}}", "'${UNSET:-${N}}' is not a valid variable"),
        ("${UNSET:-$${N}}", "'${UNSET:-$${N}}' is not a valid variable"),
        ("${" + "x" * 1000, "'${" + "x" * 37 + "…' is not a valid variable"),
    ],
)
def test_what_is_not_set_or_no_variable_is_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)) as caught:
        fill_in(text, environment=VARIABLES)
    assert "hf_planted" not in str(caught.value)


def test_secret_is_the_whole_text_and_never_shown() -> None:
    secret = fill_in("${secret:KEY}", environment=VARIABLES)
    assert isinstance(secret, SecretStr)
    assert secret.get_secret_value() == "hf_planted"
    assert "hf_planted" not in f"{secret} {secret!r}"
