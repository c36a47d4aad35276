import pytest

from aflite_assets.wording import counted, did_you_mean, is_printable_name, truncate


@pytest.mark.parametrize(
    ("name", "said"),
    [("labl", "; did you mean 'label'?"), ("label", "; did you mean 'label'?"), ("xyz", ""), (7, ""), ("", "")],
)
def test_the_nearest_known_name_is_offered_and_nothing_when_none_is_near(name: object, said: str) -> None:
    assert did_you_mean(name, ["split", "label", "text"]) == said


@pytest.mark.parametrize(
    "name", ["a b", "<b>", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "a\u00a0b", "x" * 200]
)
def test_names_of_any_script_are_printable(name: str) -> None:
    assert is_printable_name(name)


@pytest.mark.parametrize(
    "name", ["", " ", "\u00a0", "a\x00", "a\x1b[2J", "a\nb", "a\u2028b", "\u202eabc", "\ud800", "x" * 201]
)
def test_blank_long_and_controlling_names_are_not(name: str) -> None:
    assert not is_printable_name(name)


def test_a_long_text_is_truncated_to_the_length() -> None:
    assert truncate("x" * 300, 300) == "x" * 300
    assert truncate("x" * 301, 300) == "x" * 299 + "…"


def test_counts_take_a_plural() -> None:
    assert [counted(n, "seed") for n in (0, 1, 1200)] == ["0 seeds", "1 seed", "1,200 seeds"]
    assert (counted(1), counted(2_000)) == ("1 row", "2,000 rows")
