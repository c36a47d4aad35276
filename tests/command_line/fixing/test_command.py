"""`aflite fix` as a user meets it: planted cues are gone, everything else is as it was, and refusals leave nothing."""

import json
import pickle
import re
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image
from sklearn.datasets import load_sample_images

from aflite_assets.command_line.scanning import inputs
from aflite_assets.scan.rows import ScanRows
from aflite_assets.scan.scan import ScanResult, ScanSettings, scan_rows
from aflite_assets.specs.registry import load_spec
from benchmarks.detection_kinds import draw_texts
from tests.command_line.fixing.conftest import read_rows, write_rows

Run = Callable[..., tuple[int, str, str]]
Row = dict[str, Any]
COUNT = 900


@pytest.fixture(scope="module", autouse=True)
def scanned_once() -> Iterator[None]:
    """The same rows are scanned once: tests scan what the command scans too, before it and after."""
    made: dict[bytes, ScanResult] = {}

    def scan(rows: ScanRows, *, settings: ScanSettings, seed: int) -> ScanResult:
        key = pickle.dumps((rows, settings, seed))
        if key not in made or rows.images is not None:  # files of images may have changed
            made[key] = scan_rows(rows, settings=settings, seed=seed)
        return made[key]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(inputs, "scan_rows", scan)
        yield


@pytest.fixture
def names(run: Run) -> Callable[..., list[str]]:
    """Scans a file and returns the names of its cues."""

    def scanned(path: Path, *options: str) -> list[str]:
        return [cue["name"] for cue in json.loads(run("scan", path, "--json", *options)[1])["cues"]]

    return scanned


def _rows(seed: int = 0, count: int = COUNT) -> tuple[list[Row], np.ndarray, np.ndarray]:
    """Reviews without a cue, which of them are of class yes, and six in ten of these with one in twenty others."""
    rng = np.random.default_rng(seed)
    of_yes = rng.random(count) < 0.5
    marked = rng.random(count) < np.where(of_yes, 0.6, 0.05)
    numbers = rng.permutation(count)
    rows = [
        {"number": int(number), "stars": int(rng.integers(1, 6)), "review": text, "label": "yes" if yes else "no"}
        for number, text, yes in zip(numbers, draw_texts(rng, count), of_yes, strict=True)
    ]
    return rows, of_yes, marked


def _planted(kind: str, count: int = COUNT) -> list[Row]:
    rows, _, marked = _rows(count=count)
    for row, carries in zip(rows, marked.tolist(), strict=True):
        if kind == "ellipsis" and carries:
            row["review"] = row["review"].rstrip(".!?") + "\u2026"
        elif kind == "blanks" and carries:
            row["review"] = row["review"].replace(" ", "  ", 1)
        elif kind == "identifier":
            row["record_id"] = 10_000 + row["number"] + (0 if carries else 50_000)
        elif kind == "missing":
            row["age"] = "" if carries else str(20 + row["number"] % 60)
        elif kind == "word" and carries:
            row["review"] = "Marlowe " + row["review"]
        elif kind == "length" and carries:
            row["review"] = f"{row['review']} {row['review']}"
    if kind == "order":
        rows.sort(key=lambda row: (row["label"] == "yes") + 1.2 * np.random.default_rng(row["number"]).random())
    return rows


CHANGED: dict[str, tuple[str, str, list[str]]] = {
    "ellipsis": ("ellipsis sign (\u2026) (review)", "review", []),
    "blanks": ("two blanks in a row (review)", "review", []),
    "identifier": ("record_id at most", "record_id", []),
    "missing": ("age is missing", "age", []),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_a_planted_cue_is_gone_and_the_rest_is_as_it_was(
    kind: str, run: Run, names: Callable[..., list[str]], tmp_path: Path
) -> None:
    name, column, expected = CHANGED[kind]
    path = write_rows(tmp_path / "reviews.csv", _planted(kind))
    original = path.read_bytes()
    assert names(path)[0].startswith(name)
    code, out, err = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    assert code == 0
    assert re.fullmatch(rf"Taking cue 1: \u201c{re.escape(name)}[^\n]*, \d\d %\.\n", err), err
    assert out.startswith(f"Cue 1 is gone: \u201c{name}")
    assert path.read_bytes() == original
    before, after = read_rows(path), read_rows(tmp_path / "new" / "reviews.csv")
    kept = [key for key in before[0] if key != column]
    assert [[row[key] for key in kept] for row in after] == [[row[key] for key in kept] for row in before]
    assert (column in after[0]) == (column == "review")
    assert names(tmp_path / "new" / "reviews.csv") == expected


@pytest.mark.parametrize(("kind", "start"), [("word", "the word 'marlowe'"), ("length", ("words of", "characters of"))])
def test_other_cues_are_rebalanced_by_a_subset_of_the_rows(
    kind: str, start: str, run: Run, names: Callable[..., list[str]], tmp_path: Path
) -> None:
    path = write_rows(tmp_path / "reviews.csv", _planted(kind, 1_500))
    found = names(path)
    assert any(name.startswith(start) for name in found)
    code, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    assert (code, out.splitlines()[0][:14]) == (0, "Cue 1 is gone:")
    before, after = read_rows(path), read_rows(tmp_path / "new" / "reviews.csv")
    assert 0.6 * len(before) < len(after) < 0.95 * len(before)
    places = [before.index(row) for row in after]
    assert places == sorted(set(places))
    assert f"{len(after):,} of 1,500 rows are kept, " in out
    assert not set(names(tmp_path / "new" / "reviews.csv")) & set(found)


def test_the_order_is_drawn_anew(run: Run, names: Callable[..., list[str]], tmp_path: Path) -> None:
    path = write_rows(tmp_path / "reviews.csv", _planted("order"))
    assert names(path)[0].startswith("row number in the file (from 1)")
    code, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    assert (code, out.splitlines()[0][:14]) == (0, "Cue 1 is gone:")
    before, after = read_rows(path), read_rows(tmp_path / "new" / "reviews.csv")
    assert after != before
    assert sorted(after, key=lambda row: int(row["number"])) == sorted(before, key=lambda row: int(row["number"]))
    run("fix", path, "--cue", 1, "--to", tmp_path / "same")
    assert read_rows(tmp_path / "same" / "reviews.csv") == after


def test_a_cue_that_is_still_there_is_said_so(run: Run, tmp_path: Path) -> None:
    """A second column holds the same record numbers under a name that is none of an identifier, coarser."""
    rows = _planted("identifier")
    for row in rows:
        row["batch"] = "late" if row["record_id"] > 50_000 else "early"
    path = write_rows(tmp_path / "reviews.csv", rows)
    code, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "new", "--json")
    content = json.loads(out)
    assert (code, content["mended"]) == (1, False)
    assert content["cues"][0]["change"] == "still there"
    assert content["cues"][0]["after"]["name"].startswith("batch")
    assert content["headline"][1] == (
        "Tried: --by drop, which leaves out the column. Next: scan the copy and mend what it names, or begin again "
        "from the original with --by rebalance."
    )
    assert "record_id" not in read_rows(tmp_path / "new" / "reviews.csv")[0]
    code, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "rebalanced", "--by", "rebalance")
    assert (code, out.splitlines()[0][:14]) == (0, "Cue 1 is gone:")


def test_the_json_of_a_scan_fixes_what_its_numbers_mean(run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "reviews.csv", [{**row, "class": row["label"]} for row in _planted("ellipsis")])
    scan = tmp_path / "scan.json"
    scan.write_text(run("scan", path, "--label", "class", "--skip", "label", "--seed", 3, "--json")[1])
    code, out, err = run("fix", path, "--scan", scan, "--cue", 1, "--to", tmp_path / "new", "--json")
    assert (code, err.count("\n"), err.startswith("Taking cue 1: ")) == (0, 1, True)
    content = json.loads(out)
    assert content["headline"][0].startswith("Cue 1 is gone: \u201cellipsis sign")
    assert content["rows"] == {"before": COUNT, "after": COUNT}
    for options, message in (
        (["--label", "class"], "`--scan` already contains the options of the scan, but --label was given too"),
        (["--cue", "9"], "`--cue` is 9, but the scan found 2 cues; give a number printed by `aflite scan`"),
    ):
        code, _, err = run("fix", path, "--scan", scan, "--cue", 1, "--to", tmp_path / "other", *options)
        assert code == 2
        assert message in err
    changed = json.loads(scan.read_text())
    changed["cues"][0]["name"] = "another"
    scan.write_text(json.dumps(changed))
    code, _, err = run("fix", path, "--scan", scan, "--cue", 1, "--to", tmp_path / "other")
    assert (code, ", but was 'another' in the file of `--scan`; scan the file again" in err) == (2, True)
    path.write_text(path.read_text() + "1,1,A day.,no,no\n")
    code, _, err = run("fix", path, "--scan", scan, "--cue", 1, "--to", tmp_path / "other")
    assert (code, "has changed since the scan in `--scan" in err) == (2, True)
    scan.write_text("{}")
    code, _, err = run("fix", path, "--scan", scan, "--cue", 1, "--to", tmp_path / "other")
    assert (code, "is not the output of `aflite scan --json`" in err) == (2, True)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--cue", "7"], "`--cue` is 7, but the scan found 3 cues; give a number printed by `aflite scan`"),
        (["--cue", "0"], "`--cue` is 0"),
        (
            ["--cue", "1", "--by", "shuffle"],
            "cannot be fixed by `--by shuffle`; leave `--by` out, or use `--by normalise",
        ),
        (["--cue", "1", "--by", "drop"], "cannot be fixed by `--by drop`"),
        (["--cue", "1", "--label", "lable"], "did you mean 'label'?"),
    ],
)
def test_refusals_leave_nothing(options: list[str], message: str, run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "data" / "reviews.csv", _planted("ellipsis"))
    code, out, err = run("fix", path, "--to", tmp_path / "data" / "new", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert [found.name for found in (tmp_path / "data").iterdir()] == ["reviews.csv"]


def test_a_folder_that_holds_something_is_refused(run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "reviews.csv", _planted("ellipsis"))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "mine.txt").write_text("mine")
    code, _, err = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    assert (code, "exists and is not an empty folder; name a new folder" in err) == (2, True)
    assert [found.name for found in (tmp_path / "new").iterdir()] == ["mine.txt"]
    (tmp_path / "new" / "mine.txt").unlink()
    assert run("fix", path, "--cue", 1, "--to", tmp_path / "new")[0] == 0


def test_too_few_rows_are_refused_after_the_copy_and_leave_nothing(run: Run, tmp_path: Path) -> None:
    """Of class yes all but a few rows carry the cue, so that the subset has too few of them to test anything."""
    rows, of_yes, _ = _rows()
    for place, row in enumerate(rows):
        if of_yes[place] and place % 20:
            row["review"] = row["review"].rstrip(".!?") + "\u2026"
    path = write_rows(tmp_path / "data" / "reviews.csv", rows)
    code, _, err = run("fix", path, "--cue", 1, "--by", "rebalance", "--to", tmp_path / "data" / "new")
    assert code == 2
    assert "too few per class to test whether the cue is removed" in err
    assert [found.name for found in (tmp_path / "data").iterdir()] == ["reviews.csv"]


def test_nothing_to_mend_is_refused(run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "reviews.csv", _rows()[0])
    code, _, err = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    assert (code, "the scan numbers no cue of this file, so `aflite fix` cannot change anything" in err) == (2, True)


def _dataset(folder: Path, kind: str, **settings: Any) -> Path:
    rows = _planted(kind, 1_500)
    write_rows(folder / "train.csv", rows[:900])
    write_rows(folder / "a" / "test.csv", rows[900:1_200])
    write_rows(folder / "b" / "test.csv", rows[1_200:])
    write_rows(folder / "fresh.csv", rows[1_200:])
    columns = {"text": "review", "attributes": [name for name in rows[0] if name not in ("review", "label")]}
    fresh = {"source": {"format": "csv", "splits": {"test": "fresh.csv"}}, "columns": {"text": "review"}}
    spec = {
        "title": "Costs ${{X}}".replace("{{X}}", "5"),
        "source": {"format": "csv", "splits": {"train": "train.csv", "test": ["a/test.csv", "b/test.csv"]}},
        "columns": columns,
        "challenge_sets": {"fresh": fresh},
        "representations": {"net": {"kind": "small_transformer"}},
        "evaluators": {"linear": {"kind": "linear"}},
        **settings,
    }
    path = folder / "reviews.yaml"
    path.write_text(f"# a comment\n{yaml.safe_dump(spec)}")
    return path


def test_all_splits_of_a_dataset_are_cleaned_and_challenge_sets_are_named(run: Run, tmp_path: Path) -> None:
    path = _dataset(tmp_path, "ellipsis")
    code, out, err = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    assert (code, err.count("\n"), err.startswith("Taking cue 1: ")) == (0, 1, True)
    assert "Challenge sets are left as they are: fresh." in out
    spec = load_spec(tmp_path / "new" / "reviews_fixed.yaml")
    new = tmp_path / "new"
    assert spec.source.splits == {
        "train": str(new / "train.csv"),
        "test": (str(new / "test.csv"), str(new / "test_2_test.csv")),
    }
    assert spec.challenge_sets["fresh"].source.splits == {"test": str(tmp_path / "fresh.csv")}
    assert spec.columns == load_spec(path).columns
    for name, original in (("train.csv", "train.csv"), ("test.csv", "a/test.csv"), ("test_2_test.csv", "b/test.csv")):
        before, after = read_rows(tmp_path / original), read_rows(new / name)
        assert [row["number"] for row in after] == [row["number"] for row in before]
        assert not any("\u2026" in row["review"] for row in after)
        assert any("\u2026" in row["review"] for row in before)
    head = (new / "reviews_fixed.yaml").read_text().splitlines()
    assert head[0].startswith(f"# Written by aflite fix from {path}, content ")
    assert head[1] == "# Cue 1: ellipsis sign (\u2026) (review), class yes."
    assert run("check", "--no-timing", new / "reviews_fixed.yaml")[0] == 0


def test_a_dropped_column_leaves_the_dataset_file_too(run: Run, tmp_path: Path) -> None:
    path = _dataset(tmp_path, "identifier", irrelevant=["record_id", "stars"])
    code, out, _ = run("fix", path, "--cue", 1, "--by", "drop", "--to", tmp_path / "new")
    assert code == 0
    assert "A dropped column is no longer found because it is no longer there" in out
    spec = load_spec(tmp_path / "new" / "reviews_fixed.yaml")
    assert (spec.columns.attributes, spec.irrelevant) == (("number", "stars"), ("stars",))
    assert list(read_rows(tmp_path / "new" / "test.csv")[0]) == ["number", "stars", "review", "label"]


def test_every_split_is_rebalanced_by_its_own_rows(run: Run, tmp_path: Path) -> None:
    path = _dataset(tmp_path, "ellipsis")
    code, out, _ = run("fix", path, "--cue", 1, "--by", "rebalance", "--to", tmp_path / "new")
    assert code == 0
    assert "'train': " in out
    for name in ("train.csv", "test.csv"):
        rows = read_rows(tmp_path / "new" / name)
        marked = np.array(["\u2026" in row["review"] for row in rows])
        of_yes = np.array([row["label"] == "yes" for row in rows])
        assert of_yes[marked].mean() == pytest.approx(of_yes[~marked].mean(), abs=0.5 / marked.sum() + 1e-9)
    path = _dataset(tmp_path, "ellipsis", limit={"train": 800})
    code, _, err = run("fix", path, "--cue", 1, "--by", "rebalance", "--to", tmp_path / "other")
    assert (code, "`limit` in 'reviews.yaml' leaves most rows unread" in err) == (2, True)


def test_rows_that_are_held_out_of_train_are_rebalanced_with_it(run: Run, tmp_path: Path) -> None:
    source = {"format": "csv", "splits": {"train": "train.csv"}}
    path = _dataset(tmp_path, "ellipsis", source=source, holdout={"test": 0.3})
    code, out, _ = run("fix", path, "--cue", 1, "--by", "rebalance", "--to", tmp_path / "new")
    assert code == 0
    before, rows = read_rows(tmp_path / "train.csv"), read_rows(tmp_path / "new" / "train.csv")
    assert f"{len(rows)} of 900 rows are kept" in out
    places = [before.index(row) for row in rows]
    assert places == sorted(places)
    marked = np.array(["\u2026" in row["review"] for row in rows])
    of_yes = np.array([row["label"] == "yes" for row in rows])
    assert of_yes[marked].mean() == pytest.approx(of_yes[~marked].mean(), abs=0.5 / marked.sum() + 1e-9)


def test_sources_that_are_not_written_back_are_refused(run: Run, tmp_path: Path) -> None:
    code, _, err = run("fix", "template_nli", "--cue", 1, "--to", tmp_path / "new")
    assert code == 2
    assert "has a source of format `template_nli`, which `aflite fix` cannot write; save the rows as CSV" in err
    assert not (tmp_path / "new").exists()


def _photos(folder: Path, count: int = 300) -> Path:
    """Pieces of two photographs; six in ten cats are stored in a higher quality, with a camera's name."""
    rng = np.random.default_rng(0)
    pictures = load_sample_images().images
    for number in range(count):
        picture = pictures[rng.integers(2)]
        top, left = (int(rng.integers(size - 64)) for size in picture.shape[:2])
        is_cat = number % 2 == 0
        marked = rng.random() < (0.6 if is_cat else 0.05)
        exif = Image.Exif()
        if marked:
            exif[271] = "Maker"
        place = folder / ("cat" if is_cat else "dog")
        place.mkdir(parents=True, exist_ok=True)
        piece = Image.fromarray(picture[top : top + 64, left : left + 64])
        piece.save(place / f"{rng.integers(10**9):09}.jpg", quality=95 if marked else 80, exif=exif)
    return folder


def test_images_are_stored_alike(run: Run, names: Callable[..., list[str]], tmp_path: Path) -> None:
    folder = _photos(tmp_path / "photos")
    assert any("JPEG quality" in name or "EXIF" in name or "camera" in name for name in names(folder)[:1])
    (folder / "dog" / "broken.jpg").write_bytes(b"no image")
    code, _, err = run("fix", folder, "--cue", 1, "--to", folder / "new")
    assert (code, "lies inside the image folder" in err, (folder / "new").exists()) == (2, True, False)
    code, out, err = run("fix", folder, "--cue", 1, "--to", tmp_path / "new")
    assert (code, err.count("\n"), err.startswith("Taking cue 1: ")) == (0, 1, True), out
    assert "All images are stored as JPEG of quality 80 without metadata, turned upright." in out
    assert "1 image that cannot be decoded left out: 'dog/broken.jpg'." in out
    before = {path.relative_to(folder) for path in folder.rglob("*.jpg")}
    after = {path.relative_to(tmp_path / "new" / "train") for path in (tmp_path / "new" / "train").rglob("*.jpg")}
    assert before - after == {Path("dog/broken.jpg")}
    assert not after - before
    assert load_spec(tmp_path / "new" / "photos_fixed.yaml").source.splits == {"train": str(tmp_path / "new" / "train")}
    left = names(tmp_path / "new" / "train")
    assert not any("JPEG" in name or "EXIF" in name or "camera" in name for name in left)


def test_images_with_a_metadata_file_keep_its_columns(run: Run, tmp_path: Path) -> None:
    folder = _photos(tmp_path / "photos")
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.jpg"))
    rows = [{"file_name": path, "kind": path[:3], "site": "north, 1"} for path in paths]
    write_rows(folder / "metadata.csv", rows)
    code, out, _ = run("fix", folder, "--label", "kind", "--cue", 1, "--to", tmp_path / "new")
    assert code == 0, out
    assert "No YAML file is written: " in out
    assert read_rows(tmp_path / "new" / "images" / "metadata.csv") == rows
    assert all((tmp_path / "new" / "images" / path).is_file() for path in paths)
    table = write_rows(tmp_path / "photos.csv", rows)
    code, _, err = run("fix", table, "--label", "kind", "--cue", 1, "--by", "rebalance", "--to", tmp_path / "other")
    assert code == 2
    assert f"'{table}' names images, which `aflite fix` does not copy; save the table as metadata.csv" in err


def test_hostile_names_are_escaped(run: Run, tmp_path: Path) -> None:
    rows = [
        {f"re\x1bview\n{key}" if key == "review" else key: value for key, value in row.items()}
        for row in _planted("ellipsis")
    ]
    path = write_rows(tmp_path / "re\x1b views.csv", rows)
    code, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "new")
    assert code == 0
    assert "\x1b" not in out
    _, out, _ = run("fix", path, "--cue", 1, "--to", tmp_path / "json", "--json")
    assert out.isascii()
    for written in tmp_path.glob("*/*.yaml"):
        assert "\x1b" not in written.read_text()


def test_the_scan_names_the_command(run: Run, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "my reviews.csv", _planted("ellipsis"))
    _, out, _ = run("scan", path, "--irrelevant", "stars", "--html", tmp_path / "page.html")
    command = f"aflite fix '{path}' --irrelevant stars --cue 1 --to NEW_FOLDER"
    assert f"mend it: {command} (makes it the same in all rows; --by rebalance keeps a subset of the rows)" in out
    assert "--irrelevant stars --cue 1 --to NEW_FOLDER" in (tmp_path / "page.html").read_text()


def test_a_column_of_feature_files_is_dropped_in_every_split(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    splits, arrays = {}, {}
    for split, count in (("train", 800), ("test", 200)):
        labels = rng.integers(0, 2, count)
        features = rng.normal(size=(count, 4)).astype(np.float32)
        features[:, 2] += labels
        arrays[split] = features
        np.save(tmp_path / f"{split}_x.npy", features)
        np.save(tmp_path / f"{split}_y.npy", labels)
        splits[split] = {"features": f"{split}_x.npy", "labels": f"{split}_y.npy"}
    path = tmp_path / "cells.yaml"
    spec = {
        "source": {"format": "features", "splits": splits},
        "representations": {"given": {"kind": "identity"}},
        "evaluators": {"linear": {"kind": "linear"}},
    }
    path.write_text(yaml.safe_dump(spec))
    code, out, err = run("fix", path, "--cue", 1, "--by", "drop", "--to", tmp_path / "new")
    assert (code, err.count("\n"), err.startswith("Taking cue 1: ")) == (0, 1, True)
    assert "The column 'column 2' is left out." in out
    for split, array in arrays.items():
        assert np.array_equal(np.load(tmp_path / "new" / f"{split}_features.npy"), array[:, [0, 1, 3]])
        assert np.array_equal(np.load(tmp_path / "new" / f"{split}_labels.npy"), np.load(tmp_path / f"{split}_y.npy"))
    challenge = {"source": {"format": "features", "splits": {"test": splits["test"]}}}
    path.write_text(yaml.safe_dump({**spec, "challenge_sets": {"fresh": challenge}}))
    code, _, err = run("fix", path, "--cue", 1, "--by", "drop", "--to", tmp_path / "other")
    assert (code, "because the column is a feature of the challenge sets too" in err) == (2, True)
    code, out, _ = run("fix", path, "--cue", 1, "--by", "rebalance", "--to", tmp_path / "other")
    assert (code, out.splitlines()[0][:19]) == (0, "Cue 1 is gone: \u201ccol")
    assert "Challenge sets are left as they are: fresh." in out
    assert 400 < len(np.load(tmp_path / "other" / "train_features.npy")) < 800


def test_size_and_names_of_images_are_made_alike(run: Run, names: Callable[..., list[str]], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    picture = load_sample_images().images[0]
    for number in range(300):
        is_cat = number % 2 == 0
        marked = rng.random() < (0.6 if is_cat else 0.05)
        side, name = (56, f"IMG_{number:04}.png") if marked else (64, f"{rng.integers(10**8):08}.png")
        top, left = (int(rng.integers(size - 64)) for size in picture.shape[:2])
        place = tmp_path / "photos" / ("cat" if is_cat else "dog")
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture[top : top + side, left : left + side]).save(place / name)
    assert names(tmp_path / "photos")[0] == "file name is written like 'IMG_#'"
    code, out, err = run("fix", tmp_path / "photos", "--cue", 1, "--to", tmp_path / "new")
    assert (code, err.count("\n"), err.startswith("Taking cue 1: ")) == (0, 1, True), out
    assert "All images have 56 x 56 pixels: scaled, and cut at the margins." in out
    assert "Image files have new names with numbers in random order." in out
    new = tmp_path / "new" / "train"
    assert {Image.open(BytesIO(path.read_bytes())).size for path in new.rglob("*.png")} == {(56, 56)}
    assert sorted(path.name for path in new.rglob("*.png")) == [f"{number:03}.png" for number in range(300)]
    assert {path.parent.name for path in new.rglob("*.png")} == {"cat", "dog"}
    assert not any("pixels" in name or "file name" in name for name in names(new))


def test_a_file_that_may_not_be_read_is_refused(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "reviews.csv")

    monkeypatch.setattr("aflite_assets.command_line.scanning.inputs.read_input", refuse)
    for command in (("fix", "reviews.csv", "--cue", 1, "--to", tmp_path / "new"), ("scan", "reviews.csv")):
        code, _, err = run(*command)
        assert code == 2
        assert "reviews.csv cannot be used (Permission denied); make it readable, or run as its owner" in err
