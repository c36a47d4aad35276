from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.diagnostics.evidence.unseen_adversary import (
    PIXELS,
    UnseenAdversary,
    _folds,
    _grey_pixels,
    unseen_adversary,
)
from aflite_assets.errors import DataError, InvalidInputError

Make = Callable[..., Examples]
NOUNS = ("tree", "house", "river", "road", "cloud", "stone")


def planted_texts(make_examples: Make, rows: int = 500) -> tuple[Examples, np.ndarray]:
    """Random words, and on the first 60 % of the rows a word that names the label; the ids of the others."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, rows)
    planted = np.arange(rows) < 0.6 * rows
    cues = np.where(planted, np.where(labels == 1, "surely", "hardly"), "")
    texts = [f"{' '.join(rng.choice(NOUNS, 4))} {cue}" for cue in cues]
    examples = make_examples(["train"] * rows, labels.tolist(), text=texts)
    return examples, examples.row_ids[~planted]


def test_a_planted_word_goes_with_its_rows_and_not_with_random_ones(make_examples: Make) -> None:
    examples, unplanted = planted_texts(make_examples)
    found = unseen_adversary(examples, {"encoder": unplanted}, seed=0)
    assert found.name == "logistic regression on the TF-IDF weights of words and word pairs"
    full, random, filtered = found.accuracies.to_pylist()
    assert [(row["set"], row["representation"], row["rows"], row["used_rows"]) for row in (full, random, filtered)] == [
        ("full", None, 500, 500),
        ("random", "encoder", 200, 200),
        ("filtered", "encoder", 200, 200),
    ]
    assert full["accuracy"] > 0.72
    assert random["accuracy"] > 0.7
    assert filtered["accuracy"] < 0.6
    assert filtered["majority_share"] == np.bincount(examples.labels[300:]).max() / 200
    assert found.of("filtered", "encoder") == filtered


def test_the_second_text_counts_too(make_examples: Make) -> None:
    labels = [row % 2 for row in range(60)]
    pair = [f"word{row} {('no', 'yes')[label]}" for row, label in enumerate(labels)]
    examples = make_examples(["train"] * 60, labels, text=["the same"] * 60, text_pair=pair)
    assert accuracy(unseen_adversary(examples, {}, seed=0)) == 1.0


def accuracy(found: UnseenAdversary) -> Any:
    return found.of("full")["accuracy"]


def test_rows_of_a_group_are_held_out_together(make_examples: Make) -> None:
    # Each text stands three times with one label, which says nothing about other texts.
    rng = np.random.default_rng(1)
    labels = np.repeat(rng.integers(0, 2, 100), 3)
    texts = [f"only{row // 3}" for row in range(300)]
    alone = make_examples(["train"] * 300, labels.tolist(), text=texts)
    grouped = make_examples(
        ["train"] * 300, labels.tolist(), text=texts, group=pa.array([row // 3 for row in range(300)], pa.int64())
    )
    assert accuracy(unseen_adversary(alone, {}, seed=0)) > 0.95
    assert accuracy(unseen_adversary(grouped, {}, seed=0)) < 0.65
    assert grouped.groups is not None
    folds = _folds(grouped.labels, grouped.groups, 0)
    assert folds is not None
    assert all(len(set(folds[grouped.groups == group])) == 1 for group in range(100))


def test_features_are_standardised_and_a_circle_is_seen(make_examples: Make) -> None:
    rng = np.random.default_rng(2)
    labels = np.arange(400) % 2
    angle = rng.uniform(0, 2 * np.pi, 400)
    circle = (1 + 2 * labels)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    features = np.column_stack([circle, 1e6 + 1e-9 * labels, np.full(400, 7.0)]) * [1, 1000, 1, 1]
    found = unseen_adversary(make_examples(["train"] * 400, labels.tolist(), features=features), {}, seed=0)
    assert found.name == "the 15 nearest neighbours by standardised features"
    assert accuracy(found) > 0.99


def png(shade: np.ndarray) -> bytes:
    from PIL import Image

    out = BytesIO()
    Image.fromarray(shade.astype(np.uint8)).save(out, "PNG")
    return out.getvalue()


def images(make_examples: Make, contents: list[bytes], labels: list[int]) -> Examples:
    column = pa.array([{"bytes": content, "path": None, "sha256": None} for content in contents], IMAGE_TYPE)
    return make_examples(["train"] * len(labels), labels, image=column)


def test_images_are_compared_by_brightness(make_examples: Make) -> None:
    rng = np.random.default_rng(3)
    labels = [row % 2 for row in range(80)]
    shades = [rng.integers(0, 200, (24, 30, 3)) for _ in labels]
    for shade, label in zip(shades, labels, strict=True):
        shade[:12] += 50 * label
    examples = images(make_examples, [png(shade) for shade in shades], labels)
    kept = examples.row_ids[:40]
    found = unseen_adversary(examples, {"net": kept}, seed=0, most_rows=60)
    assert found.name == f"logistic regression on {PIXELS} x {PIXELS} grey pixels"
    assert found.accuracies["used_rows"].to_pylist() == [60, 40, 40]
    assert found.accuracies["rows"].to_pylist() == [80, 40, 40]
    assert accuracy(found) > 0.95


def test_pixels_are_means_over_a_grid(make_examples: Make) -> None:
    shade = np.zeros((32, 32))
    shade[:2, :2] = [[255, 0], [0, 255]]
    (pixels,) = _grey_pixels(images(make_examples, [png(shade)], [0]), np.array([0]))
    assert pixels[0] == pytest.approx(0.5, abs=0.003)
    assert pixels[1:].max() == 0


def test_an_image_that_does_not_decode_is_named(make_examples: Make) -> None:
    examples = images(make_examples, [b"no image"] * 10, [0, 1] * 5)
    with pytest.raises(DataError, match=r"image of row 100 cannot be decoded .*repair or remove it in the source"):
        unseen_adversary(examples, {}, seed=0)


def test_samples_sets_and_folds_follow_the_seed(make_examples: Make) -> None:
    examples, unplanted = planted_texts(make_examples, 200)
    first, again, other = (
        unseen_adversary(examples, {"a": unplanted, "b": unplanted}, seed=seed, most_rows=90).accuracies
        for seed in (2**63, 2**63, 1)
    )
    assert first.equals(again)
    assert not first.equals(other)
    assert first["used_rows"].to_pylist() == [90, 80, 80, 80, 80]


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        ([0, 0, 1, 1], {"text": ["a", "b"] * 2}),
        ([0, 1] * 10, {"text": ["", None] * 10}),
        ([0, 1] * 10, {"text": ["a", "b"] * 10, "group": pa.array([0, 1, 2, 3] * 5, pa.int64())}),
    ],
    ids=["few rows", "no words", "few groups"],
)
def test_too_little_to_hold_out_says_nothing(make_examples: Make, labels: list[int], columns: dict[str, Any]) -> None:
    found = unseen_adversary(make_examples(["train"] * len(labels), labels, **columns), {}, seed=0)
    assert (accuracy(found), found.of("full")["deviation"]) == (None, None)
    assert found.of("full")["majority_share"] == 0.5


def test_one_class_rare_classes_and_nothing_kept(make_examples: Make) -> None:
    examples = make_examples(["train"] * 30, [1] * 28 + [0, 0], text=[f"word{row % 7}" for row in range(30)])
    found = unseen_adversary(examples, {"one": examples.row_ids[:28], "none": np.empty(0, np.int64)}, seed=0)
    assert found.of("filtered", "one")["accuracy"] == found.of("filtered", "one")["majority_share"] == 1.0
    assert accuracy(found) == pytest.approx(28 / 30, abs=0.05)
    empty = found.of("filtered", "none")
    assert (empty["rows"], empty["accuracy"], empty["majority_share"]) == (0, None, None)


def test_rows_from_elsewhere_are_refused(make_examples: Make) -> None:
    examples, _ = planted_texts(make_examples, 50)
    with pytest.raises(InvalidInputError, match=r"'a' kept 2 rows, but only 1 of these are among the 50 train rows"):
        unseen_adversary(examples, {"a": np.array([100, 999])}, seed=0)
