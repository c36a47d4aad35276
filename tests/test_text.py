import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.reports.sentences.wording import stop_text
from aflite_assets.text import listed, one_line, printable, signed_points, value_text

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@given(ANY_TEXT)
def test_printable_text_can_be_encoded_and_hides_nothing(text: str) -> None:
    shown = printable(text)
    shown.encode("utf-8")
    assert not any((c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" for c in shown)
    assert printable(shown) == shown


@given(st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters="\ufdd0")))
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert printable(text) == text


def test_controls_become_visible() -> None:
    assert printable("a\x00b\x1b\r\nc\u202ed\ud800\uffff") == "a\u2400b\u241b\nc\ufffdd\ufffd\ufffd"


@given(ANY_TEXT)
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@pytest.mark.parametrize(
    ("points", "shown"), [(4.44, "4.4"), (-4.46, "\N{MINUS SIGN}4.5"), (-0.04, "0.0"), (0.0, "0.0")]
)
def test_points_have_a_true_minus(points: float, shown: str) -> None:
    assert signed_points(points) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "none"),
        (float("nan"), "none"),
        (True, "yes"),
        (9999, "9999"),
        (12345, "12,345"),
        (0.123456, "0.1235"),
        (-1.5, "\N{MINUS SIGN}1.5"),
        (123456.7, "123,457"),
        ([1], "[1]"),
    ],
)
def test_values_are_readable(value: object, shown: str) -> None:
    assert value_text(value) == shown


def test_lists_end_in_and() -> None:
    assert [listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
    assert listed(["a", "b", "c"], 3) == "a, b and c"
    assert listed(["a", "b", "c"], 2) == "a, b and 1 more"


def test_stop_reasons_are_in_words() -> None:
    assert stop_text("StopReason.TARGET_SIZE") == "the target size was reached"
    assert stop_text("something else") == "something else"
