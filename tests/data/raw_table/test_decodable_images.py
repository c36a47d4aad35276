from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.raw_table.decodable_images import DecodableExamples, UndecodableImages, drop_undecodable
from aflite_assets.errors import DataError

Make = Callable[..., Examples]


@pytest.fixture
def make(image_folder: Path) -> Make:
    """Rows with ids 100, 101, ... whose image is sound, or text where `broken` names the position."""
    sound = (image_folder / "cat" / "0.png").read_bytes()

    def examples(splits: list[str], labels: list[int], *, broken: set[int]) -> Examples:
        images = [
            {"bytes": b"<html>" if row in broken else sound, "path": None, "sha256": None} for row in range(len(splits))
        ]
        columns = {
            "row_id": np.arange(100, 100 + len(splits)),
            "source_id": [f"s{row}" for row in range(len(splits))],
            "split": splits,
            "label": np.array(labels),
            "image": pa.array(images, IMAGE_TYPE),
        }
        return Examples(pa.table(columns), ("cat", "dog"))

    return examples


def test_broken_rows_are_dropped_counted_and_named_by_split(make: Make) -> None:
    examples = make(["train"] * 10 + ["test"] * 4 + ["dev"] * 2, [0, 1] * 8, broken={3, 8, 11})
    found = drop_undecodable(examples, largest_share=0.25)
    assert found.examples.row_ids.tolist() == [100, 101, 102, 104, 105, 106, 107, 109, 110, 112, 113, 114, 115]
    assert found.examples.label_names == ("cat", "dog")
    assert found.dropped == {
        "train": UndecodableImages(2, 0.2, (103, 108), ("s3", "s8")),
        "test": UndecodableImages(1, 0.25, (111,), ("s11",)),
    }


def test_twenty_are_named(make: Make) -> None:
    found = drop_undecodable(make(["train"] * 60, [0, 1] * 30, broken=set(range(30))), largest_share=0.5)
    assert found.dropped["train"].rows == 30
    assert found.dropped["train"].row_ids == tuple(range(100, 120))


def test_more_than_the_share_is_refused(make: Make) -> None:
    examples = make(["test"] * 3 + ["train"] * 9, [0, 1] * 6, broken={0, 3, 4, 5, 6, 7, 8})
    with pytest.raises(
        DataError,
        match=r"split 'test': 1 of 3 images \(33.33%\) cannot be decoded, but `undecodable_images` allows "
        r"only 1.00% \(first: 's0'\); repair these images or remove them from the source, or raise "
        r"`undecodable_images` to drop their rows",
    ):
        drop_undecodable(examples, largest_share=0.01)
    with pytest.raises(
        DataError, match=r"6 of 9 images \(66\.67%\) .* \(first: 's3', 's4', 's5', 's6', 's7'\); repair"
    ):
        drop_undecodable(examples, largest_share=0.5)


def test_of_first_rows_nothing_is_refused(make: Make) -> None:
    examples = make(["train"] * 3, [0, 0, 1], broken={1, 2})
    found = drop_undecodable(examples, largest_share=0.0, complete=False)
    assert (found.examples.row_ids.tolist(), found.dropped["train"].rows) == ([100], 2)


def test_train_left_with_one_class_is_refused(make: Make) -> None:
    examples = make(["train"] * 4 + ["test"], [0, 0, 0, 1, 1], broken={3})
    with pytest.raises(DataError, match=r"without the 1 images .*'s3'\), split 'train' has only the class '\w+' in"):
        drop_undecodable(examples, largest_share=0.5)
    assert len(drop_undecodable(make(["test"] * 2, [0, 1], broken={1}), largest_share=0.5).examples) == 1


def test_sound_images_and_other_inputs_are_the_same_rows(make: Make) -> None:
    sound = make(["train"] * 2, [0, 1], broken=set())
    texts = Examples(pa.table({"row_id": [0], "text": ["a"]}), ("no", "yes"))
    for examples in (sound, texts):
        assert drop_undecodable(examples, largest_share=0.0) == DecodableExamples(examples, {})
