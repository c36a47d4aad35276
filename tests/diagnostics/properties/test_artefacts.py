"""One list says what is an artefact by nature; the verdict and the scan both read it."""

import numpy as np
import pytest

from aflite_assets.diagnostics.properties.artefacts import (
    ARTEFACTS,
    BLANKS,
    TYPOGRAPHY,
    is_identifier,
    reason_of,
)


def test_reasons() -> None:
    assert [reason_of(kind) for kind in ("typography", "order", "words", "length")] == [
        "artefact",
        "artefact",
        None,
        None,
    ]
    assert reason_of("words", declared=True) == reason_of("order", declared=True) == "declared"
    assert {"typography", "blanks", "order", "identifier", "file format", "missing values", "position"} <= ARTEFACTS


def test_no_name_is_of_a_sign_and_of_a_blank() -> None:
    assert not TYPOGRAPHY.keys() & BLANKS.keys()


@pytest.mark.parametrize(
    ("name", "text", "other"),
    [
        ("ends without a full stop", "no stop", "A stop. "),
        ("two blanks in a row", "a  b", "a b"),
        ("blank at the beginning or end", " a", "a"),
        ("begins with a small letter", "(a b", "A b"),
        ("begins with a small letter", "über uns", "Über uns"),
        ("no small letter", "OH NO!", "Oh NO"),
        ("no small letter", "ÄRGER", "ÄRGER ä"),
        ("line break", "a\nb", "a b\n"),
        ("markup", "a <br/> b", "a < b > c"),
        ("exclamation mark", "Oh!", "Oh"),
    ],
)
def test_typography_of_a_text(name: str, text: str, other: str) -> None:
    assert [TYPOGRAPHY[name](one) for one in (text, other)] == [True, False]


@pytest.mark.parametrize("text", ["", " ", "1 . ,", "\t\n"])
def test_a_text_without_letters_or_words_has_no_typography_of_either(text: str) -> None:
    names = ("begins with a small letter", "no small letter", "line break", "two blanks in a row")
    assert not any(TYPOGRAPHY[name](text) for name in names)


def test_the_time_for_typography_grows_with_the_text() -> None:
    """Patterns that backtrack cost the square of the length: three minutes for the line breaks, as long for the A's."""
    texts = [" a" + "\n" * 200_000, "A" * 200_000 + "a", "<a" * 200_000]
    found = {name: [has(text) for text in texts] for name, has in {**TYPOGRAPHY, **BLANKS}.items()}
    assert found["blank at the beginning or end"] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "values", "identifier"),
    [
        ("record_no", np.arange(100.0), True),
        ("id", np.arange(100.0), True),
        ("width", np.arange(100.0), False),
        ("record_no", np.arange(100.0) / 2, False),
        ("record_no", np.arange(100.0) % 10, False),
        ("record_no", np.full(100, np.nan), False),
    ],
)
def test_identifiers(name: str, values: np.ndarray, identifier: bool) -> None:
    assert is_identifier(name, values) is identifier
