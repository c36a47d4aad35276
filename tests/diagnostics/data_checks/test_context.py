import pytest

from aflite_assets.diagnostics.data_checks.context import listed, not_applicable, quoted_text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "'plain'"),
        ("<b>\x00\x1b\n\u202e", r"'<b>\x00\x1b\n\u202e'"),
        ("\ud800", r"'\ud800'"),
        ("x" * 80, f"'{'x' * 80}'"),
        ("x" * 81, f"'{'x' * 79}…'"),
    ],
)
def test_texts_of_the_data_are_short_and_print(text: str, shown: str) -> None:
    assert quoted_text(text) == shown
    assert quoted_text(text).isprintable()


def test_long_lists_are_cut() -> None:
    assert listed([]) == ""
    assert listed([1, 2]) == "1, 2"
    assert listed(range(22)) == ", ".join(map(str, range(20))) + " and 2 more"
    assert listed(["a\n", "b"]) == r"'a\n', 'b'"


def test_what_does_not_apply_passes_and_says_so() -> None:
    outcome = not_applicable("texts only")
    assert (outcome.passed, outcome.numbers) == (True, {"result": "not applicable: texts only"})
