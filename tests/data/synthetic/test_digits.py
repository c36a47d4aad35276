"""scikit-learn's digits: split, degradation and planted marks, counted in the pixels."""

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.synthetic.digits import MARKS, digits
from aflite_assets.specs.sources import MARK_SIZE, DigitsSource

DEGRADED = {"blur": 0.5, "occlusion": 2, "noise": 75}
PATTERNS = np.array([[sign == "#" for sign in mark.replace("\n", "")] for mark in MARKS])


def _digits(**settings: Any) -> dict[str, pa.Table]:
    return digits(DigitsSource(format="digits", **{"test_share": 0.3, **settings}))


def _marked(share: float = 0.7, wrong_share: float = 0.06, **settings: Any) -> dict[str, pa.Table]:
    return _digits(**{"canvas": 12, "marks": {"share": share, "wrong_share": wrong_share}, **settings})


def _pixels(table: pa.Table) -> np.ndarray:
    from PIL import Image

    return np.stack([np.asarray(Image.open(io.BytesIO(image["bytes"]))) for image in table["image"].to_pylist()])


def _corners(table: pa.Table) -> np.ndarray:
    """The mark's place of every image, rows x 9."""
    return _pixels(table)[:, :MARK_SIZE, :MARK_SIZE].reshape(table.num_rows, -1)


def _named(table: pa.Table) -> np.ndarray:
    """The class whose mark stands in the corner, -1 for none; a corner is a mark where it has no other values."""
    corners = _corners(table)
    same = (corners[:, None, :] == PATTERNS[None] * 255).all(axis=2)
    assert same.sum(axis=1).max() <= 1
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)


def _marks(table: pa.Table) -> np.ndarray:
    return np.array(table["mark"].to_pylist())


def test_digits_are_scikit_learns_images_once_each() -> None:
    from sklearn.datasets import load_digits

    data = load_digits()
    tables = _digits(seed=5)
    assert {split: table.num_rows for split, table in tables.items()} == {"train": 1258, "test": 539}
    assert tables["test"].column_names == ["image", "label", "id"]
    ids = np.concatenate([table["id"].to_numpy() for table in tables.values()])
    assert sorted(ids.tolist()) == list(range(1797))
    row = tables["test"].slice(17, 1)
    (number,) = row["id"].to_pylist()
    np.testing.assert_array_equal(_pixels(row)[0], np.round(data.images[number] * 255 / 16))
    assert row["label"].to_pylist() == [data.target[number]]


def test_digits_split_is_stratified_and_seeded() -> None:
    first, again, other = (_digits(test_share=0.25, seed=seed)["test"] for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first["id"].equals(other["id"])
    counts = np.bincount(first["label"].to_numpy())
    everything = counts + np.bincount(_digits(test_share=0.25, seed=1)["train"]["label"].to_numpy())
    assert np.abs(counts - everything * (counts.sum() / 1797)).max() < 1


def test_marks_are_equally_bright_and_far_apart() -> None:
    assert PATTERNS.shape == (10, MARK_SIZE**2)
    assert set(PATTERNS.sum(axis=1)) == {4}
    different = (PATTERNS[:, None] != PATTERNS[None]).sum(axis=2)
    assert different[~np.eye(10, dtype=bool)].min() == 4


@pytest.mark.parametrize("split", ["train", "test"])
def test_shares_of_marks_are_exact_and_the_column_says_what_the_pixels_show(split: str) -> None:
    table = _marked()[split]
    labels, marks, named = table["label"].to_numpy(), _marks(table), _named(table)
    np.testing.assert_array_equal(marks == "none", named < 0)
    np.testing.assert_array_equal(marks == "right", named == labels)
    np.testing.assert_array_equal(marks == "wrong", (named >= 0) & (named != labels))
    rows, marked = np.bincount(labels), np.bincount(labels[named >= 0])
    assert marked.tolist() == [round(0.7 * count) for count in rows.tolist()]
    assert (marks == "wrong").sum() == round(0.06 * marked.sum())
    assert _corners(table)[named < 0].max() == 0


def test_train_has_the_counts_that_its_shares_make() -> None:
    marks = _marks(_marked()["train"]).tolist()
    assert [marks.count(value) for value in ("right", "wrong", "none")] == [829, 53, 376]


def test_reversed_marks_stand_on_every_row_and_name_other_classes() -> None:
    table = _marked(1.0, 1.0)["test"]
    labels, named = table["label"].to_numpy(), _named(table)
    assert (named >= 0).all()
    assert not (named == labels).any()
    assert set(_marks(table)) == {"wrong"}
    assert np.bincount((named - labels) % 10, minlength=10)[1:].min() > 30  # of 539, 60 expected


def test_without_marks_every_corner_is_black() -> None:
    table = _marked(0.0, 0.0)["test"]
    assert set(_marks(table)) == {"none"}
    assert _corners(table).max() == 0


def test_sources_that_differ_in_their_marks_differ_in_the_corners_alone() -> None:
    some, none, all_wrong = (
        _marked(share, wrong, degraded=DEGRADED) for share, wrong in ((0.7, 0.06), (0.0, 0.0), (1.0, 1.0))
    )
    for split in ("train", "test"):
        assert some[split]["id"].equals(none[split]["id"])
        plain = _pixels(none[split])
        for other in (some, all_wrong):
            changed = _pixels(other[split]) != plain
            assert changed[:, :MARK_SIZE, :MARK_SIZE].any()
            changed[:, :MARK_SIZE, :MARK_SIZE] = False
            assert not changed.any()
    unmarked = _marks(some["test"]) == "none"
    np.testing.assert_array_equal(_pixels(some["test"])[unmarked], _pixels(none["test"])[unmarked])


def test_no_image_stands_in_train_and_in_a_test_set() -> None:
    train = set(_marked(degraded=DEGRADED)["train"]["id"].to_pylist())
    for share, wrong in ((0.7, 0.06), (0.0, 0.0), (1.0, 1.0)):
        assert not train & set(_marked(share, wrong, degraded=DEGRADED)["test"]["id"].to_pylist())


def test_same_seed_same_images_and_another_seed_others() -> None:
    first, again, other = (_marked(degraded=DEGRADED, seed=seed)["train"] for seed in (0, 0, 1))
    assert first.equals(again)
    assert not first["mark"].equals(other["mark"])
    assert not np.array_equal(_pixels(first)[:100], _pixels(other)[:100])


def test_the_digit_stands_in_the_lower_right_corner() -> None:
    small, large = _pixels(_digits()["test"]), _pixels(_digits(canvas=13)["test"])
    np.testing.assert_array_equal(large[:, 5:, 5:], small)
    assert large[:, :5].max() == large[:, :, :5].max() == 0


def test_shifted_digits_stand_at_every_place_and_never_under_a_mark() -> None:
    plain = _pixels(_digits()["train"])
    moved = _pixels(_marked(0.0, 0.0, canvas=14, degraded={"shift": 3})["train"])
    places = []
    for digit, image in zip(plain, moved, strict=True):
        found = [
            (top, left)
            for top in range(7)
            for left in range(7)
            if np.array_equal(image[top : top + 8, left : left + 8], digit) and image.sum() == digit.sum(dtype=int)
        ]
        assert len(found) == 1
        places += found
    counted = {place: places.count(place) for place in set(places)}
    assert set(counted) == {(top, left) for top in range(3, 7) for left in range(3, 7)}
    assert min(counted.values()) > 50  # of 1,258 images, 79 expected


def test_occlusion_blackens_a_square_of_the_digit() -> None:
    plain, covered = (
        _pixels(_digits(canvas=12)["train"]),
        _pixels(_digits(canvas=12, degraded={"occlusion": 3})["train"]),
    )
    changed = plain != covered
    assert covered[changed].max() == 0
    rows, columns = changed.any(axis=2), changed.any(axis=1)
    for touched in (rows, columns):
        first, last = touched.argmax(axis=1), touched.shape[1] - 1 - touched[:, ::-1].argmax(axis=1)
        assert (last - first)[touched.any(axis=1)].max() == 2
        assert touched[:, :4].sum() == 0
    # Places are drawn evenly: of the six starts every one occurs, and a whole square has nine pixels.
    assert changed.sum(axis=(1, 2)).max() == 9


def test_noise_has_the_deviation_asked_for_and_blur_keeps_the_light() -> None:
    plain = _pixels(_digits(canvas=20)["train"]).astype(float)
    noisy = _pixels(_digits(canvas=20, degraded={"noise": 20})["train"]).astype(float)
    inside = (plain > 100) & (plain < 155)  # far from where values are clipped
    assert (noisy - plain)[inside].std() == pytest.approx(20, rel=0.03)
    assert abs((noisy - plain)[inside].mean()) < 0.5
    blurred = _pixels(_digits(canvas=20, degraded={"blur": 0.5})["train"]).astype(float)
    assert blurred.std() < 0.9 * plain.std()
    assert blurred.mean() == pytest.approx(plain.mean(), rel=0.02)
