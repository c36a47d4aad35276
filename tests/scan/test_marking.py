"""Which part of a text is marked as what carries a cue, and that dataset text is escaped beside the mark."""

import pytest

from aflite_assets.scan.cues import Cue, CueProperty
from aflite_assets.scan.marking import carrying_parts, marked_text
from aflite_assets.text import MAX_SHOWN_CHARACTERS
from tests.planted_cues import cue_of


def cue(name: str, kind: str = "typography") -> Cue:
    return cue_of(CueProperty(kind, f"{name} (review)", "review"))


@pytest.mark.parametrize(
    ("name", "text", "parts"),
    [
        ("ellipsis sign (…)", "a… b… c", ["…", "…"]),
        ("hyphen between blanks", "a - b-c", [" - "]),
        ("curly apostrophe", "it's it\u2019s", ["\u2019"]),
        ("three full stops", "well... no.", ["..."]),
        ("two blanks in a row", "a  b c", ["a  b"]),
        ("ends without a full stop", "no stop here ", ["here"]),
        ("ends with a question mark", "why? really? ", ["?"]),
        ("begins with a small letter", " lower", ["l"]),
        ("blank at the beginning", "  x y", ["  "]),
        ("blank at the beginning or end", " x ", [" ", " "]),
        ("non-breaking blank", "10\u00a0kg", ["\u00a0"]),
        ("digit", "room 7", ["7"]),
        ("every word begins with a capital", "All Of It", []),
        ("no small letter", "LOUD " * 10, []),
        ("the word 'not'", "Not knotted, not", ["Not", "not"]),
        ("the words 'did not'", "He did,  not go", ["did,  not"]),
        ("begins with 'I am'", "I am here, I am", ["I am"]),
        ("ends with 'bye'", "bye and bye ", ["bye"]),
        ("negation such as 'no', 'not'", "no one knows nothing", ["no", "nothing"]),
        ("letters per word", "abc", []),
        ("ellipsis sign (…)", "none", []),
        ("ends with a question mark", "", []),
    ],
)
def test_the_part_that_carries_the_cue_is_found(name: str, text: str, parts: list[str]) -> None:
    found = carrying_parts(text, cue(name).properties, "review")
    assert [text[low:high] for low, high in found] == parts


def test_a_text_of_another_column_has_no_part() -> None:
    assert carrying_parts("a…", cue("ellipsis sign (…)").properties, "title") == []


def test_the_text_beside_the_mark_is_escaped() -> None:
    shown = marked_text("<script>\x1b…\u202e</mark>", cue("ellipsis sign (…)"), "review")
    assert shown == "&lt;script&gt;␛<mark>…</mark>\N{REPLACEMENT CHARACTER}&lt;/mark&gt;"
    assert marked_text("<b>", cue("HTML", "signs"), "review") == "<mark>&lt;b&gt;</mark>"


def test_a_long_text_is_cut_around_its_first_mark() -> None:
    early = marked_text("…" + "a" * 400, cue("ellipsis sign (…)"), "review")
    assert early == f"<mark>…</mark>{'a' * (MAX_SHOWN_CHARACTERS - 1)}…"
    late = marked_text("a" * 400 + "…" + "b" * 10, cue("ellipsis sign (…)"), "review")
    assert late == f"…{'a' * 80}<mark>…</mark>{'b' * 10}"
    assert marked_text("a" * 400, cue("ellipsis sign (…)"), "review") == f"{'a' * MAX_SHOWN_CHARACTERS}…"
