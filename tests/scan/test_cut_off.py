"""Texts that end in the middle of a sentence, and texts whose writers leave out the last full stop."""

from aflite_assets.scan.cut_off import cut_off, ends

WHOLE = "The bridge is old. It was built in 1790."
CUT = "The bridge is old. It was built by the sa"
LONG = "a " * 30 + "word"


def test_texts_with_an_unfinished_last_sentence_or_many_words_may_be_cut_off() -> None:
    assert cut_off([WHOLE, CUT, None, "", LONG, "What a day! “Yes.” He went to the"]) == [
        CUT,
        LONG,
        "What a day! “Yes.” He went to the",
    ]


def test_short_texts_without_a_full_stop_are_a_habit() -> None:
    assert cut_off(["A man sleeps", "two dogs", "Paris", WHOLE]) == []
    assert cut_off(["A man sleeps", "two dogs", CUT]) == []


def test_three_ends_of_sixty_characters_are_shown() -> None:
    texts = [f"{'x' * 80} {number}" for number in range(9)]
    assert ends(texts) == [f"“…{'x' * 58} {number}”" for number in (0, 3, 6)]
    assert ends(["short\n text"]) == ["“short text”"]
