"""What is printed is what it says: no sign of a dataset reaches the terminal as a command."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.command_line.terminal import duration, escaped, escaped_lines, table, truncate_escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, ünicode, 犬", "plain, ünicode, 犬"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("nul\x00", r"nul\x00"),
        ("\u202edesrever", r"\u202edesrever"),
        ("\x9b2J", r"\x9b2J"),
        ("half \ud83d", r"half \ud83d"),
        ("<script>", "<script>"),
    ],
)
def test_controls_are_written_as_escapes(text: str, shown: str) -> None:
    assert escaped(text) == shown


@given(st.text(st.characters()))
def test_what_is_shown_is_always_printable(text: str) -> None:
    shown = escaped(text)
    assert shown.isprintable()
    shown.encode("utf-8")
    assert escaped_lines(text).count("\n") == text.count("\n")


@given(st.text(st.characters()), st.integers(2, 50))
def test_shortened_is_never_longer(text: str, length: int) -> None:
    shown = truncate_escaped(text, length)
    assert len(shown) <= length
    assert shown == escaped(text) or shown.endswith("…")


def test_table_aligns_text_left_and_numbers_right() -> None:
    assert table([("split", "rows"), ("train", "1,000"), ("x", "7")], numbers=[1]) == [
        "split   rows",
        "train  1,000",
        "x          7",
    ]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0.0 µs"),
        (1.7e-6, "1.7 µs"),
        (0.0123, "12 ms"),
        (9.96, "10 s"),
        (89, "89 s"),
        (240, "4.0 min"),
        (7_200, "2.0 h"),
        (259_200, "3.0 days"),
    ],
)
def test_durations_have_two_digits_and_a_unit(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
    assert re.fullmatch(r"[\d.,]+ (µs|ms|s|min|h|days)", duration(seconds))
