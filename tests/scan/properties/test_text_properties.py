"""Typography, blanks, signs, words and endings of texts, pairs of texts, and answers."""

import numpy as np
import pytest

from aflite_assets.scan.properties.records import MISSING_BIN, Flags, Number
from aflite_assets.scan.properties.texts import answer_numbers, has_parts, pair_numbers, text_flags, text_numbers
from aflite_assets.scan.properties.tokens import common_words, tokens_of
from aflite_assets.scan.properties.words import broken_word_flag, ending_flags, group_flags, word_flags


def _has(flags: Flags, name: str) -> list[int]:
    place = [info.name for info in flags.infos].index(name)
    return np.flatnonzero(flags.present[:, [place]].toarray()[:, 0]).tolist()


def _values(numbers: list[Number], name: str) -> list[float]:
    number = next(number for number in numbers if number.info.name == name)
    return [float("nan") if code < 0 else float(number.lows[code]) for code in number.codes]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("curly double quote", "He said \u201cso\u201d."),
        ("curly apostrophe", "It\u2019s."),
        ("straight apostrophe", "It's."),
        ("long dash (\u2014)", "So \u2014 no."),
        ("half dash (\u2013)", "1\u20132."),
        ("ellipsis sign (\u2026)", "So \u2026."),
        ("three full stops", "So ...."),
        ("ends without a full stop", "So it is"),
        ("ends with a letter or digit", "So it is 5"),
        ("blank at the beginning", " So."),
        ("blank at the end", "So. "),
        ("two blanks in a row", "So  it."),
        ("blank before a punctuation sign", "So , it."),
        ("no blank after a punctuation sign", "So,it."),
        ("tab", "So\tit."),
        ("carriage return", "So\r\nit."),
        ("empty line", "So\n\nit."),
        ("non-breaking blank", "So\u00a0it."),
        ("invisible character", "So\u200b it."),
        ("markup", "So <br> it."),
        ("encoding damage", "So it\u00e2\u20ac\u2122s."),
        ("no small letter", "SO IT."),
    ],
)
def test_typography_and_blanks_are_artefacts(name: str, text: str) -> None:
    flags = text_flags(["A plain sentence.", text], "review")
    assert 1 in _has(flags, f"{name} (review)")
    assert 0 not in _has(flags, f"{name} (review)")
    info = next(info for info in flags.infos if info.name == f"{name} (review)")
    assert (info.reason, info.source) == ("artefact", "review")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("question mark", "Is it?"),
        ("digit", "It is 5."),
        ("link", "See https://example.org/a."),
        ("emoji", "So \U0001f600."),
        ("smiley of signs", "So :-)."),
        ("letter three times in a row", "Sooo."),
        ("word in capitals", "It is BAD."),
        ("beginning that occurs again", "The old mill: the old\nmill burnt."),
        ("letter beyond ASCII", "Caf\u00e9."),
        ("letters of the script cyrillic", "\u0434\u0430."),
        ("mail address", "Ask me@example.org."),
    ],
)
def test_signs_that_may_mean_something_are_candidates(name: str, text: str) -> None:
    flags = text_flags(["A plain sentence.", text], "review")
    assert _has(flags, f"{name} (review)") == [1]
    assert next(info for info in flags.infos if info.name == f"{name} (review)").reason is None


def test_a_missing_text_has_no_property_and_no_length() -> None:
    texts = [None, "Two words.", "Now three words.", ""]
    assert _has(text_flags([*texts, "so"], "t"), "ends with a letter or digit (t)") == [4]
    numbers = text_numbers(texts, tokens_of(texts), "t")
    assert _values(numbers, "words of t")[1:] == [2, 3, 0]
    assert np.isnan(_values(numbers, "words of t")[0])
    assert _values(numbers, "characters of t")[1:] == [10, 16, 0]


def test_words_and_pairs_stand_in_enough_texts() -> None:
    texts = ["A red car.", "the Red car", "no car", "red", "xz-17 car"]
    flags = word_flags(tokens_of(texts), "t", fewest=2)
    assert {info.name for info in flags.infos} == {
        "the word 'red' (t)",
        "the word 'car' (t)",
        "the words 'red car' (t)",
    }
    assert _has(flags, "the word 'red' (t)") == [0, 1, 3]
    assert _has(flags, "the words 'red car' (t)") == [0, 1]


def test_a_pair_never_spans_two_texts() -> None:
    flags = word_flags(tokens_of(["one two", "three one", "two", "one two"]), "t", fewest=2)
    assert _has(flags, "the words 'one two' (t)") == [0, 3]


def test_endings() -> None:
    flags = ending_flags(["So it goes.", "So it ends.", "Not so.", "", None], "t", fewest=2)
    names = {info.name for info in flags.infos}
    assert {"begins with 'So' (t)", "begins with 'So it' (t)", "begins with 'So ' (t)"} <= names
    assert _has(flags, "begins with 'So it' (t)") == [0, 1]
    assert not any("'' " in name for name in names)


def test_negation_counts_as_one_property() -> None:
    flags = group_flags(tokens_of(["It is not so.", "No.", "It isn't.", "It is nothing.", "It is."]), "t")
    assert _has(flags, "negation such as 'no', 'not' (t)") == [0, 1, 2, 3]


def test_hostile_text_is_read_in_time() -> None:
    """Patterns that backtrack would take minutes."""
    texts = ["\n" * 200_000, "a" * 200_000, "<a" * 50_000, "! " * 100_000, "&" * 100_000]
    assert len(text_flags(texts, "t").infos) > 5
    text_numbers(texts, tokens_of(texts), "t")


def test_pairs_compare_words_and_lengths() -> None:
    known: dict[str, int] = {}
    first = tokens_of(["a red car", "the house is big", "x"], known)
    second = tokens_of(["a car", "a boat", "y z"], known)
    assert common_words(first, second).tolist() == [2, 0, 0]
    numbers = pair_numbers(first, second, ("premise", "hypothesis"))
    assert _values(numbers, "share of the words of hypothesis that stand in premise") == [1, 0, 0]
    assert _values(numbers, "words of hypothesis that premise lacks") == [0, 2, 2]
    assert _values(numbers, "words of hypothesis less those of premise") == [-1, -2, 1]


def test_answers_are_ranked_in_their_question() -> None:
    questions, order = np.array([3, 3, 3, 1, 1]), np.array([0.0, 1, 2, 3, 4])
    numbers = answer_numbers(np.array([5.0, 9, 5, 2, 8]), np.array([0.0, 0, 4, 1, 0]), questions, order)
    assert _values(numbers, "place among the answers of the question") == [1, 2, 3, 1, 2]
    assert _values(numbers, "rank of the answer by length, longest first") == [2, 1, 2, 2, 1]
    kinds = {number.info.name: number.info.reason for number in numbers}
    assert kinds["place among the answers of the question"] == "artefact"
    assert kinds["rank of the answer by length, longest first"] is None


def test_words_that_a_blank_breaks_are_seen_by_the_words_of_all_texts() -> None:
    texts = ["The children play.", "All children sing.", "Children and in dustrial sites", "An industrial town"]
    texts += ["Two chil dren run.", "An industrial plant", "industrial works", "any one may be here", ""]
    flags = broken_word_flag(tokens_of(texts), "text")
    assert [info.name for info in flags.infos] == ["word broken in two (text)"]
    assert np.flatnonzero(flags.present.toarray()[:, 0]).tolist() == [2, 4]
    assert flags.infos[0].reason == "artefact"


def test_two_frequent_words_are_no_broken_one() -> None:
    texts = ["any one", "anyone", "any", "one"] * 5
    assert broken_word_flag(tokens_of(texts), "text").present.nnz == 0


def test_the_first_sentence_is_compared_with_the_last() -> None:
    texts = [
        "One two three. Four.",
        "One! Two three four five? Six seven.",
        "One sentence only",
        None,
        "A b.  C d e f.",
    ]
    known: dict[str, int] = {}
    numbers = text_numbers(texts, tokens_of(texts, known), "review")
    found = {one.info.name: one for one in numbers if one.info.kind == "sentence order"}
    apart, relative = found.values()
    assert list(found) == [
        "words of the first sentence of review less those of the last",
        "relative length of the first and the last sentence of review",
    ]
    assert apart.info.reason is None
    assert apart.lows.tolist() == [-2, -1, 2]
    assert apart.codes.tolist() == [2, 1, MISSING_BIN, MISSING_BIN, 0]
    assert relative.lows.tolist() == pytest.approx([-1 / 3, 2 / 4])


def test_texts_of_two_to_four_sentences_may_hold_parts() -> None:
    assert has_parts(["One. Two.", "One. Two. Three. Four.", "One", None])
    assert not has_parts(["One. Two.", "One", None])
    assert not has_parts([" ".join(["One."] * 5)] * 3)
    assert not has_parts([])
