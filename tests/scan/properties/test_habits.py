"""Signs beside words, verb forms, and the agreement of two texts."""

import numpy as np
import pytest

from aflite_assets.scan.properties.habits import agreement_flags, habit_flags
from aflite_assets.scan.properties.records import Flags
from aflite_assets.scan.properties.tokens import tokens_of
from aflite_assets.scan.scan import ScanSettings, scan_rows
from benchmarks.detection_kinds import build_rows

TEXTS = [
    "He came, and she left; but nobody cried.",
    "He came and she left.",
    "However, he came \u2014 and left (again).",
    "He came. But she left.",
    None,
]


def _has(flags: Flags, name: str) -> list[int]:
    place = [info.name for info in flags.infos].index(name)
    return np.flatnonzero(flags.present[:, [place]].toarray()[:, 0]).tolist()


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("a comma before 'and' (t)", [0]),
        ("'and' without a sign before it (t)", [1]),
        ("a semicolon before 'but' (t)", [0]),
        ("a dash before 'and' (t)", [2]),
        ("a comma behind 'however' (t)", [2]),
        ("an opening bracket before 'again' (t)", [2]),
        ("a closing bracket behind 'again' (t)", [2]),
        ("a sentence that begins with 'but' (t)", [3]),
        ("word ending in '-ed' (t)", [0]),
    ],
)
def test_signs_beside_words(name: str, rows: list[int]) -> None:
    flags = habit_flags(TEXTS, tokens_of(TEXTS), "t", fewest=1)
    assert _has(flags, name) == rows
    assert next(info for info in flags.infos if info.name == name).reason is None


def test_the_lack_of_a_sign_is_named_without_it() -> None:
    flags = habit_flags(TEXTS, tokens_of(TEXTS), "t", fewest=1)
    absent = {info.name: info.absent for info in flags.infos}
    assert absent["a comma before 'and' (t)"] == "no comma before 'and' (t)"
    assert absent["an opening bracket before 'again' (t)"] == "no opening bracket before 'again' (t)"
    assert absent["a sentence that begins with 'but' (t)"] == "no sentence that begins with 'but' (t)"


def test_a_word_that_lacks_several_signs_is_one_property() -> None:
    flags = habit_flags(TEXTS, tokens_of(TEXTS), "t", fewest=1)  # 'and' has a comma before it once, and a dash once
    assert sum("without" in info.name and "'and'" in info.name for info in flags.infos) == 1


def test_rare_habits_are_left_out() -> None:
    flags = habit_flags(TEXTS, tokens_of(TEXTS), "t", fewest=2)
    assert not any("before" in info.name or "begins" in info.name for info in flags.infos)


def test_verb_forms_by_words_alone() -> None:
    texts = ["A dog is running.", "Dogs are asleep.", "A dog runs.", "Bring the king.", "It was sold badly."]
    flags = habit_flags(texts, tokens_of(texts), "t", fewest=1)
    assert _has(flags, "form of 'to be' (is, are, was \u2026) (t)") == [0, 1, 4]
    assert _has(flags, "word ending in '-ing' (t)") == [0, 3]  # "king" is too short, "bring" is no form but looks it
    assert _has(flags, "word ending in '-ly' (t)") == [4]


def test_agreement_of_two_texts() -> None:
    one = ["It is late.", "It ends late.", "They are here.", "They come."] * 5
    two = ["He is here.", "He is gone.", "He comes.", "He goes."] * 5
    flags = [habit_flags(texts, tokens_of(texts), name, fewest=1) for name, texts in (("a", one), ("b", two))]
    agree = agreement_flags(flags[0], flags[1], ("a", "b"))
    name = "a and b agree in: form of 'to be' (is, are, was \u2026)"
    assert _has(agree, name) == [row for row in range(20) if row % 4 in (0, 3)]
    info = next(info for info in agree.infos if info.name == name)
    assert (info.kind, info.reason, info.source) == ("pair", None, "b")
    assert info.absent == "a and b differ in: form of 'to be' (is, are, was \u2026)"
    seldom = [habit_flags(["It is."] + ["It ends."] * 19, tokens_of(["It is."] + ["It ends."] * 19), "a", fewest=1)]
    assert not agreement_flags(seldom[0], flags[1], ("a", "b")).infos


def test_a_scan_names_pairs_in_two_styles_although_neither_text_tells_the_label() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=1_600)
    nouns = np.array(["dog", "girl", "man", "bird", "child", "team", "crowd", "artist"])
    verbs = np.array(["walk", "jump", "paint", "climb", "laugh", "shout"])
    first = rng.random(len(labels)) < 0.5
    differ = rng.random(len(labels)) < np.where(labels == 1, 0.6, 0.05)

    def text(progressive: bool) -> str:
        noun, verb = rng.choice(nouns), rng.choice(verbs)
        return f"A {noun} is {verb}ing." if progressive else f"A {noun} {verb}s."

    texts = {"caption": [text(one) for one in first], "statement": [text(one) for one in first ^ differ]}
    result = scan_rows(build_rows(labels, texts=texts), settings=ScanSettings(threads=1), seed=0)
    assert "agree in: form of 'to be'" in result.cues[0].name or "agree in: word ending" in result.cues[0].name
    assert result.cues[0].balanced == pytest.approx(0.5 + (0.95 - 0.4) / 2, abs=0.03)
