from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.inputs.cues import RemovedCue, read_cues
from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.evidence.cues import removal_cues
from aflite_assets.diagnostics.evidence.lengths import length_cues
from aflite_assets.reports.sentences.filtering import cue_name, cue_text

MakeExamples = Callable[..., Examples]


def lengths_of(examples: Examples) -> dict[tuple[str, str], list[bool]]:
    names, present = length_cues(examples)
    return dict(zip(names, present.T.tolist(), strict=True))


def test_the_shorter_and_the_longer_rows_have_cues(make_examples: MakeExamples) -> None:
    examples = make_examples(["train"] * 8, [0] * 8, text=["w " * words for words in (1, 2, 3, 4, 5, 6, 7, 8)])
    cues = lengths_of(examples)
    words = [(value, [n + 1 for n, has in enumerate(rows) if has]) for (name, value), rows in cues.items()
             if name == "number of words of text"]  # fmt: skip
    assert words == [
        ("at most 2", [1, 2]),
        ("at most 4", [1, 2, 3, 4]),
        ("5 or more", [5, 6, 7, 8]),
        ("7 or more", [7, 8]),
    ]
    assert ("number of characters of text", "at most 4") in cues


def test_lengths_that_rows_share_give_fewer_cues(make_examples: MakeExamples) -> None:
    rows = make_examples(["train"] * 4, [0] * 4, text=["a b", "c d", "e f", "g h i"], text_pair=["x", None, "y", "z"])
    assert lengths_of(rows) == {
        ("number of words of text", "at most 2"): [True, True, True, False],
        ("number of words of text", "3 or more"): [False, False, False, True],
        ("number of characters of text", "at most 3"): [True, True, True, False],
        ("number of characters of text", "5 or more"): [False, False, False, True],
        ("difference in words, text_pair less text", "at most -2"): [False, False, False, True],
        ("difference in characters, text_pair less text", "at most -4"): [False, False, False, True],
    }


def test_an_answer_is_ranked_within_its_question(make_examples: MakeExamples) -> None:
    answers = ["long one", "no", "yes", "tie", "tie", "a"]
    rows = make_examples(
        ["train"] * 6,
        [1, 0, 0, 1, 0, 0],
        ("wrong", "right"),
        text=["?"] * 6,
        text_pair=answers,
        group=[5, 5, 5, 7, 7, 7],
    )
    cues = lengths_of(rows)
    assert cues["length of text_pair", "longest of its question"] == [True, False, False, False, False, False]
    assert cues["length of text_pair", "shortest of its question"] == [False, True, False, False, False, True]
    other = make_examples(
        ["train"] * 6, [1, 0, 0, 1, 0, 0], text=["?"] * 6, text_pair=answers, group=[5, 5, 5, 7, 7, 7]
    )
    assert not any(name == "length of text_pair" for name, _ in lengths_of(other))


def cues_of(examples: Examples, removed: np.ndarray) -> list[RemovedCue]:
    train = pa.table({"row_id": examples.row_ids, "split": ["train"] * len(removed), "kept": ~removed})
    table = removal_cues(train, examples, planted={}, seed=0)
    return [cue for cue in read_cues(table) if cue.shown and cue.kind == "length"]


def pairs_of(make_examples: MakeExamples, labels: np.ndarray, written: list[str]) -> Examples:
    """The texts as the second of pairs whose first says nothing."""
    rows = len(labels)
    return make_examples(["train"] * rows, labels.tolist(), text=["why"] * rows, text_pair=written)


def texts(seed: int, *, planted: bool) -> tuple[np.random.Generator, np.ndarray, np.ndarray, list[str]]:
    """800 texts of 3 to 14 words; planted, those of one class are mostly long and the others mostly short."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, 800)
    long = np.where(rng.random(800) < 0.6, labels == 1, rng.random(800) < 0.5) if planted else rng.random(800) < 0.5
    sizes = np.where(long, rng.integers(9, 15, 800), rng.integers(3, 9, 800))
    return rng, labels, long, [" ".join(rng.choice(list("abcdefgh"), size)) for size in sizes]


def test_a_planted_length_is_found_though_either_class_has_one(make_examples: MakeExamples) -> None:
    rng, labels, long, written = texts(0, planted=True)
    removed = rng.random(800) < np.where(long == (labels == 1), 0.7, 0.1)
    found = cues_of(pairs_of(make_examples, labels, written), removed)
    assert cues_of(make_examples(["train"] * 800, labels.tolist(), text=written), removed)
    assert {(cue.name, cue.label_name) for cue in found} >= {
        (f"number of {unit} of text_pair", name) for unit in ("words", "characters") for name in ("no", "yes")
    }
    longest = next(cue for cue in found if (cue.name, cue.value) == ("number of words of text_pair", "10 or more"))
    assert longest.label_name == "yes"
    assert longest.class_share == pytest.approx(0.8, abs=0.05)
    assert longest.class_share is not None
    assert longest.class_shares == pytest.approx((1 - longest.class_share, longest.class_share))
    assert longest.share_kept == pytest.approx(0.42, abs=0.08)
    assert cue_text(longest).startswith(f"the number of words of text_pair ({longest.value}), with yes in ")
    assert "% have it and a class that it goes with, against " in cue_text(longest)


def test_lengths_that_say_nothing_about_the_class_are_rarely_shown(make_examples: MakeExamples) -> None:
    """Long texts go, as longer texts tell a clean task better; length still gives no class away."""
    shown = []
    for seed in range(40):
        rng, labels, long, written = texts(seed, planted=False)
        removed = rng.random(800) < np.where(long, 0.6, 0.3)
        shown.append(bool(cues_of(make_examples(["train"] * 800, labels.tolist(), text=written), removed)))
    assert np.mean(shown) <= 0.05


def quiz(make_examples: MakeExamples, *, planted: bool) -> tuple[Examples, np.ndarray]:
    """300 questions of four answers that leave in whole; planted, three in four right answers are the longest."""
    rng = np.random.default_rng(4)
    sizes = np.stack([rng.permutation(np.arange(4, 12))[:4] for _ in range(300)])
    right = rng.integers(0, 4, 300)
    if planted:
        told = rng.random(300) < 0.75
        right = np.where(told, sizes.argmax(axis=1), right)
    easy = sizes.argmax(axis=1) == right
    removed = rng.random(300) < (np.where(easy, 0.7, 0.15) if planted else 0.5)
    labels = (np.arange(4) == right[:, None]).astype(int).ravel()
    answers = ["".join(rng.choice(list("abcdefgh"), size)) for size in sizes.ravel()]
    examples = make_examples(
        ["train"] * 1_200,
        labels.tolist(),
        ("wrong", "right"),
        text=[f"what is {number % 7}" for number in range(300) for _ in range(4)],
        text_pair=answers,
        group=np.repeat(np.arange(300), 4).tolist(),
    )
    return examples, np.repeat(removed, 4)


def test_the_longest_answer_of_questions_that_leave_whole_is_found(make_examples: MakeExamples) -> None:
    found = cues_of(*quiz(make_examples, planted=True))
    longest = next(cue for cue in found if cue.value == "longest of its question")
    assert (longest.kind, longest.label_name, longest.rows) == ("length", "right", 300)
    assert longest.class_share == pytest.approx(0.8, abs=0.06)
    assert cue_name(longest) == "the length of text_pair (longest of its question)"
    assert cues_of(*quiz(make_examples, planted=False)) == []
