import re
import shutil
import zipfile
from pathlib import Path

import pytest

from aflite_assets.data.formats.image_folders import image_table, named_images
from aflite_assets.data.formats.row_places import BadRowError
from aflite_assets.data.images import read_image
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import LabelledFolder


@pytest.fixture
def flat_folder(image_folder: Path, tmp_path: Path) -> Path:
    """Six images in one folder, named as ImageNet's validation images are."""
    folder = tmp_path / "val"
    folder.mkdir()
    for number, path in enumerate(sorted(image_folder.rglob("*.png")), 1):
        shutil.copy(path, folder / f"ILSVRC2012_val_{number:08d}.png")
    return folder


def _flat(folder: Path, lines: str) -> LabelledFolder:
    labels = folder.parent / "labels.txt"
    labels.write_text(lines)
    return LabelledFolder(folder=str(folder), labels=str(labels))


def test_named_images_are_files_of_the_folder_in_the_order_of_the_names(image_folder: Path) -> None:
    images = named_images("train", "picture", ["dog/4.png", "./cat/0.png", "dog/4.png"], image_folder).to_pylist()
    assert [image["path"] for image in images] == [str(image_folder / one) for one in ("dog/4.png", "cat/0.png")] + [
        str(image_folder / "dog/4.png")
    ]
    assert read_image(images[1]) == (image_folder / "cat" / "0.png").read_bytes()


@pytest.mark.parametrize("name", ["../secret.png", "cat/9.png", "/etc/passwd", None, ""])
def test_a_name_outside_of_the_folder_is_refused(image_folder: Path, name: str | None) -> None:
    (image_folder.parent / "secret.png").write_bytes(b"no image of the folder")
    told = f"names {name!r}, but the folder" if name else "is empty; write the name of an image, or delete the row"
    with pytest.raises(BadRowError, match=f"split 'dev': row 2 of column 'picture' {told}"):
        named_images("dev", "picture", ["cat/0.png", name], image_folder)


def test_image_folder_gives_label_path_and_a_file_checked_by_its_hash(image_folder: Path) -> None:
    (image_folder / "cat" / "notes.txt").write_text("no image")
    (image_folder / "dog" / "more").mkdir()
    (image_folder / "dog" / "3.png").rename(image_folder / "dog" / "more" / "3.PNG")
    table = image_table("train", str(image_folder))
    assert table["label"].to_pylist() == ["cat"] * 3 + ["dog"] * 3
    assert table["path"].to_pylist() == [
        "cat/0.png", "cat/1.png", "cat/2.png", "dog/4.png", "dog/5.png", "dog/more/3.PNG",
    ]  # fmt: skip
    image = table["image"][5].as_py()
    assert read_image(image) == (image_folder / "dog" / "more" / "3.PNG").read_bytes()
    (image_folder / "dog" / "more" / "3.PNG").write_bytes(b"other")
    with pytest.raises(DataError, match="was changed after `raw_dataset` was materialised"):
        read_image(image)


def test_image_folder_of_one_class_has_its_label(image_folder: Path) -> None:
    for path in [*(image_folder / "dog").iterdir()]:
        path.unlink()
    table = image_table("test", str(image_folder))
    assert table["label"].to_pylist() == ["cat"] * 3


def test_archives_in_an_image_folder_are_not_opened(image_folder: Path) -> None:
    with zipfile.ZipFile(image_folder / "cat" / "more.zip", "w") as archive:
        archive.write(image_folder / "cat" / "0.png", "cat/9.png")
    table = image_table("train", str(image_folder))
    assert table.num_rows == 6


def test_images_outside_of_class_folders_are_refused(tmp_path: Path, image_folder: Path) -> None:
    (image_folder / "9.png").write_bytes(b"")
    with pytest.raises(
        DataError,
        match=r"must contain a subfolder per class, but the image '9.png' is outside of the subfolders; move "
        r"the image, or give a label file as `\{folder: ..., labels: ...\}`",
    ):
        image_table("train", str(image_folder))
    (tmp_path / "nothing").mkdir()
    with pytest.raises(DataError, match=r"contains no images \(files that end in \.bmp, \.gif, "):
        image_table("train", str(tmp_path / "nothing"))


def test_hidden_files_and_folders_hold_no_images(image_folder: Path) -> None:
    (image_folder / "cat" / "._0.png").write_bytes(b"resource fork")
    shutil.copytree(image_folder / "dog", image_folder / ".ipynb_checkpoints")
    shutil.copytree(image_folder / "dog", image_folder / "cat" / ".thumbs")
    assert image_table("train", str(image_folder)).num_rows == 6


def test_first_images_of_each_class_are_read_without_their_hashes(image_folder: Path) -> None:
    table = image_table("train", str(image_folder), rows=4)
    assert table["path"].to_pylist() == ["cat/0.png", "cat/1.png", "dog/3.png", "dog/4.png"]
    assert {image["sha256"] for image in table["image"].to_pylist()} == {""}


@pytest.mark.parametrize(
    "line",
    ["{name}.png\t{label}", "{name}.png,{label}", "{name} {label}", "{name},{label} 85 1 499 272 {label} 1 1 2 2"],
)
@pytest.mark.parametrize("header", ["", "ImageId,PredictionString\n"])
def test_label_file_names_images_with_or_without_suffix(flat_folder: Path, line: str, header: str) -> None:
    names = [path.stem for path in sorted(flat_folder.iterdir())]
    labels = ["n01440764", "n01443537", "n01440764", "n02085620", "n02085620", "n01440764"]
    lines = [line.format(name=name, label=label) for name, label in zip(names, labels, strict=True)]
    table = image_table("val", _flat(flat_folder, header + "\n".join(reversed(lines)) + "\n\n"))
    assert table["label"].to_pylist() == labels
    assert table["path"][0].as_py() == "ILSVRC2012_val_00000001.png"


def test_label_file_of_labels_alone_follows_the_order_of_names(flat_folder: Path) -> None:
    assert image_table("val", _flat(flat_folder, "7\n1\n7\n1\n1\n9\n"))["label"].to_pylist() == list("717119")


def test_links_to_folders_are_refused_since_they_would_be_passed_over(image_folder: Path, tmp_path: Path) -> None:
    shutil.move(image_folder / "dog", tmp_path / "elsewhere")
    (image_folder / "dog").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(
        DataError,
        match="dog' is a link to a folder, but links to folders are not followed; copy the folder, or link its files",
    ):
        image_table("train", str(image_folder))


def test_labels_alone_need_a_clear_order_of_names(flat_folder: Path) -> None:
    for number, path in enumerate(sorted(flat_folder.iterdir()), 8):
        path.rename(flat_folder / f"img{number}.png")
    with pytest.raises(
        DataError,
        match=r"has no image names, and the order of the images is ambiguous \(is 'img10.png' or 'img8.png' "
        r"first\?\); add the names to the label file, or pad the numbers in the names with zeros",
    ):
        image_table("val", _flat(flat_folder, "1\n2\n3\n4\n5\n6\n"))


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            "ILSVRC2012_val_00000001 a\nILSVRC2012_val_00000002,golden retriever\n",
            "line 2 of {file} has words or numbers after the label 'golden' that are not bounding boxes; write class "
            "names without spaces",
        ),
        (
            "ILSVRC2012_val_00000001,hot dog\nILSVRC2012_val_00000002,cat\n",
            "line 1 of {file} has words or numbers after",
        ),
        ("ILSVRC2012_val_00000001,a\nILSVRC2012_val_00000002,grade 2\n", "line 2 of {file} has words or numbers after"),
        ("x,y\nILSVRC2012_val_00000002,a 1 2 3 4 b 1 2 3 4\n", "line 2 of {file} has words or numbers after"),
        ("x,y\nILSVRC2012_val_00000002,a 1 2 3 4 5\n", "line 2 of {file} has words or numbers after the label 'a'"),
        (
            "7\n1\n",
            "line 1 of {file} is ['7'], but every line needs an image's name and label; separate "
            "them by a comma, a tab or spaces, or write only labels in all lines, in the order of "
            "the images' names",
        ),
        ("ILSVRC2012_val_00000001 a\nb\n", "line 2 of {file} is ['b']"),
        ("x y\nILSVRC2012_val_00000007 a\n", "line 2 of {file} names 'ILSVRC2012_val_00000007', but the folder has"),
        (
            "ILSVRC2012_val_00000001 a\nILSVRC2012_val_00000001 b\n",
            "gives the image 'ILSVRC2012_val_00000001' two labels, 'a' an",
        ),
        ("ILSVRC2012_val_00000001 a\n", "has no line for 5 of 6 images (first: 'ILSVRC2012_val_00000002.png')"),
        ("", "has no line for 6 of 6 images"),
    ],
)
def test_label_file_that_does_not_fit_the_images_is_refused(flat_folder: Path, lines: str, message: str) -> None:
    place = _flat(flat_folder, lines)
    with pytest.raises(DataError, match=re.escape(message.format(file=repr(place.labels)))):
        image_table("val", place)


def test_label_file_that_is_no_text_is_refused(flat_folder: Path) -> None:
    place = _flat(flat_folder, "")
    Path(place.labels).write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"split 'val': label file '.*labels\.txt' cannot be read as text"):
        image_table("val", place)


def test_label_file_in_another_encoding_is_named_and_read_where_it_is_set(flat_folder: Path) -> None:
    lines = "".join(f"{path.name},caf\u00e9\n" for path in sorted(flat_folder.iterdir()))
    place = _flat(flat_folder, "")
    Path(place.labels).write_bytes(lines.encode("cp1252"))
    message = (
        r"labels\.txt' cannot be read as text: line 1 is not valid UTF-8 .*; the file fits cp1252, .* set `encoding: "
        r"cp1252"
    )
    with pytest.raises(DataError, match=message):
        image_table("val", place)
    table = image_table("val", LabelledFolder(folder=place.folder, labels=place.labels, encoding="cp1252"))
    assert set(table["label"].to_pylist()) == {"caf\u00e9"}
