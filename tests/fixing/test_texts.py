"""Steps make texts alike: after the change no text has the property, and other signs stay as they are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aflite_assets.diagnostics.properties.artefacts import BLANKS, TYPOGRAPHY
from aflite_assets.fixing.texts import STEP_OF, STEPS, text_change

EXAMPLES = {
    "ends without a full stop": "A long day",
    "two blanks in a row": "A  long day.",
    "blank at the beginning or end": " A long day. ",
    "begins with a small letter": "a long day.",
    "no small letter": "A LONG DAY.",
    "line break": "A long\nday.",
    "markup": "A <b>long</b> day.",
    "exclamation mark": "A long day! Yes.",
    "ends with a letter or digit": "A long day",
    "ends with a quotation mark": "He said “no”",
    "every word begins with a capital": "A Long Day Of Rain.",
    "straight double quote": 'A "long" day.',
    "curly double quote": "A “long” day.",
    "straight apostrophe": "It's a day.",
    "curly apostrophe": "It\u2019s a day.",
    "guillemets": "A «long» day.",
    "long dash (—)": "A day — a night.",
    "half dash (\u2013)": "A day \u2013 a night.",
    "hyphen between blanks": "A day - a night.",
    "two hyphens": "A day--a night.",
    "ellipsis sign (…)": "A day… a night.",
    "three full stops": "A day... a night.",
    "repeated punctuation": "A day,, a night.",
    "encoding damage": "A cafÃ© by day.",
    "asterisk": "A *long* day.",
    "hash sign": "A long day #7.",
    "underscore": "A long_day.",
    "vertical bar": "A long | day.",
    "backslash": "A long \\ day.",
    "square bracket": "A long day [1].",
    "back quote": "A `long` day.",
    "bullet": "A day:\n- long\n- dark.",
    "blank at the beginning": " A long day.",
    "blank at the end": "A long day. ",
    "blank before a punctuation sign": "A day , a night.",
    "no blank after a punctuation sign": "A day,a night.",
    "tab": "A\tlong day.",
    "empty line": "A long\n\nday.",
    "carriage return": "A long\r\nday.",
    "non-breaking blank": "A long\u00a0day.",
    "invisible character": "A long\u200bday.",
}
HAS = {**TYPOGRAPHY, **BLANKS}
TEXTS = st.text(st.sampled_from("aA bB.…!?'\u2019\"“”«—\u2013-*#_|[]\\`<>/&;,\n\t\r\u00a0\u200b•é\ufffd"), max_size=40)


def _change(name: str, texts: list[str], labels: list[int]) -> list[str]:
    change = text_change([name], texts, np.array(labels), classes=2)
    return [change(text) for text in texts]


def test_every_property_of_texts_has_a_step_and_an_example() -> None:
    assert STEP_OF.keys() == HAS.keys() == EXAMPLES.keys()
    assert set(STEP_OF.values()) == STEPS.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_property_that_tells_the_label_is_taken_away(name: str) -> None:
    assert HAS[name](EXAMPLES[name])
    texts = [EXAMPLES[name], "An even night."] * 50
    changed = _change(name, texts, [1, 0] * 50)
    assert {HAS[name](text) for text in changed} == {False}
    assert changed[1] == "An even night."


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("curly apostrophe", "It\u2019s \u2018fine\u2019.", "It's 'fine'."),
        ("curly double quote", "A “long” «day».", 'A "long" "day".'),
        ("long dash (—)", "A day — a\u2013b -- c.", "A day - a - b - c."),
        ("ellipsis sign (…)", "Well… no.", "Well... no."),
        ("encoding damage", "cafÃ© itâ€™s na\ufffdve Ã", "café it's nave Ã"),
        ("ends without a full stop", "He said “no”!?", "He said “no."),
        ("markup", "<p>Fish &amp; chips</p>", "Fish & chips"),
        ("no small letter", "A DAY. NIGHT", "A day. night"),
        ("line break", " A\n\nday ,b.Next ", "A day, b. Next"),
    ],
)
def test_a_sign_that_both_classes_use_is_written_in_one_way(name: str, before: str, after: str) -> None:
    """Each class has as many of the texts, so the family of signs tells nothing and is not deleted."""
    change = text_change([name], [before, before, "Plain.", "Plain."], np.array([0, 1, 0, 1]), classes=2)
    assert change(before) == after


def test_a_family_is_deleted_only_if_it_tells_the_label_when_unified() -> None:
    texts = ["It\u2019s here.", "It's there.", "It is."] * 40
    even, told = np.array([1, 0, 1, 0, 1, 0] * 20), np.array([1, 1, 0] * 40)
    unified = text_change(["curly apostrophe"], texts, even, classes=2)
    assert (unified(texts[0]), unified.phrases) == ("It's here.", ("all apostrophes written as '",))
    deleted = text_change(["curly apostrophe"], texts, told, classes=2)
    assert (deleted(texts[0]), deleted.phrases) == ("Its here.", ("apostrophes left out",))


def test_rows_without_a_class_and_missing_texts_decide_nothing() -> None:
    texts = ["It's here.", None, "", "It's.", "Plain."]
    change = text_change(["curly apostrophe"], texts, np.array([-1, 1, 0, -1, 0]), classes=2)
    assert change("It\u2019s") == "It's"


@given(text=TEXTS, name=st.sampled_from(sorted(STEP_OF)))
def test_a_change_is_complete_after_one_application(text: str, name: str) -> None:
    labels = np.array([1, 0] * 3)
    change = text_change([name], [EXAMPLES[name], "An even night."] * 3, labels, classes=2)
    once = change(text)
    assert change(once) == once
    if text.isspace() or not text:
        assert once == text


@pytest.mark.parametrize("name", ["markup", "line break", "encoding damage", "bullet"])
def test_long_hostile_texts_take_no_time(name: str) -> None:
    change = text_change([name], [EXAMPLES[name], "An even night."] * 3, np.array([1, 0] * 3), classes=2)
    for sign in ("<a", "\n", " \n", "Ã", "&a", "\n- ", "a ,"):
        assert len(change(sign * 50_000)) <= 200_000
