"""Copies of image folders keep classes, label files and columns; names are new only if they are asked for."""

from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from aflite_assets.data.formats.image_folders import image_table
from aflite_assets.fixing.folders import MetadataFolder, copy_folder, copy_metadata_folder
from aflite_assets.fixing.images import ImageChanges
from aflite_assets.fixing.tables import TableChange
from aflite_assets.specs.sources import LabelledFolder, TableFormat

PNG = ImageChanges(extension=".png")


def _image(level: int, form: str = "PNG") -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (4, 4), (level, level, level)).save(buffer, form)
    return buffer.getvalue()


def _folder(root: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


def _levels(folder: Path) -> dict[str, int]:
    """The grey level of every image below a folder by its path."""
    paths = [path for path in folder.rglob("*") if path.suffix in (".png", ".bmp")]
    return {path.relative_to(folder).as_posix(): int(np.asarray(Image.open(path).convert("L"))[0, 0]) for path in paths}


def test_a_folder_per_class_keeps_its_paths_with_new_endings_that_differ(tmp_path: Path) -> None:
    files = {"a/x/1.bmp": _image(10, "BMP"), "a/x/1.png": _image(20), "b/2.png": _image(30), "b/bad.png": b"no image"}
    folder = _folder(tmp_path / "old", files)
    rng = np.random.default_rng(0)
    done = copy_folder("train", str(folder), tmp_path / "new", PNG, rows=None, rng=rng)
    assert (done.written, done.undecodable) == (3, ("b/bad.png",))
    assert _levels(tmp_path / "new") == {"a/x/1.png": 10, "a/x/1_png.png": 20, "b/2.png": 30}
    copy_folder("train", str(folder), tmp_path / "some", PNG, rows=np.array([0, 2]), rng=rng)
    assert _levels(tmp_path / "some") == {"a/x/1.png": 10, "b/2.png": 30}


def test_new_names_are_numbers_in_the_folder_of_the_class(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "old", {f"{'ab'[n % 2]}/site/IMG_{n}.png": _image(n) for n in range(20)})
    changes = ImageChanges(is_renamed=True)
    copy_folder("train", str(folder), tmp_path / "new", changes, rows=None, rng=np.random.default_rng(0))
    levels = _levels(tmp_path / "new")
    assert sorted(path[2:] for path in levels) == [f"{n:02}.png" for n in range(20)]
    assert {(path[0], level % 2) for path, level in levels.items()} == {("a", 0), ("b", 1)}
    assert [levels[path] for path in sorted(levels)] != sorted(levels.values())


def test_a_flat_folder_gets_a_label_file_of_the_images_that_are_left(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "old", {f"{n}.png": _image(n) for n in range(4)} | {"bad.png": b"no image"})
    (tmp_path / "labels.csv").write_text("".join(f"{n}.png,{'xy'[n % 2]}\n" for n in range(4)) + "bad.png,x\n")
    place = LabelledFolder(folder=str(folder), labels=str(tmp_path / "labels.csv"))
    changes = ImageChanges(extension=".png", is_renamed=True)
    new = tmp_path / "new"
    done = copy_folder("train", place, new, changes, rows=np.array([0, 1, 3, 4]), rng=np.random.default_rng(0))
    assert (done.written, done.undecodable) == (3, ("bad.png",))
    table = image_table("train", LabelledFolder(folder=str(new), labels=str(new / "labels.txt")))
    levels = _levels(new)
    labels = dict(zip(table["path"].to_pylist(), table["label"].to_pylist(), strict=True))
    assert {levels[path]: label for path, label in labels.items()} == {0: "x", 1: "y", 3: "y"}


def test_a_metadata_file_follows_its_images(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "old", {f"in/{n}.bmp": _image(n, "BMP") for n in range(3)} | {"other.png": _image(9)})
    (folder / "metadata.csv").write_text("file_name,label,site\nin/2.bmp,x,a\nin/0.bmp,y,b\nin/1.bmp,x,a\n")
    place = MetadataFolder(folder, folder / "metadata.csv", TableFormat(format="csv"))
    change = TableChange(dropped=frozenset({"site"}), rows=np.array([1, 0]))
    done = copy_metadata_folder(place, tmp_path / "new", PNG, change, rng=np.random.default_rng(0))
    assert done.written == 2
    assert (tmp_path / "new" / "metadata.csv").read_text() == "file_name,label\nin/0.png,y\nin/2.png,x\n"
    assert _levels(tmp_path / "new") == {"in/0.png": 0, "in/2.png": 2}


def test_no_image_takes_the_new_name_of_another(tmp_path: Path) -> None:
    names = ["1_png.bmp", "1.bmp", "1.png"]
    folder = _folder(tmp_path / "old", {name: _image(n, name[-3:].upper()) for n, name in enumerate(names)})
    (folder / "metadata.csv").write_text("file_name,label\n" + "".join(f"{name},x\n" for name in names))
    place = MetadataFolder(folder, folder / "metadata.csv", TableFormat(format="csv"))
    copy_metadata_folder(place, tmp_path / "new", PNG, TableChange(), rng=np.random.default_rng(0))
    assert _levels(tmp_path / "new") == {"1_png.png": 0, "1.png": 1, "1_png_png.png": 2}
