"""`aflite scan` as a user meets it: what it prints first, its exit code, JSON, the page, and mistakes."""

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from aflite_assets.command_line.main import main
from benchmarks.detection_kinds import draw_pixels, draw_texts, encode

Scan = Callable[..., tuple[int, str, str]]
MODELS = {
    "representations": {"small": {"kind": "timm_image", "architecture": "test_resnet", "image_size": 32, "epochs": 1}},
    "evaluators": {"linear": {"kind": "linear"}},
}
HOSTILE = "<script>alert(1)</script>\x1b[31m"


def _write(path: Path, rows: Sequence[dict[str, Any]], delimiter: str = ",") -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def _rows(
    seed: int, count: int = 900, *, share: float = 0.6, first: str = "no", second: str = "yes"
) -> list[dict[str, Any]]:
    """Reviews; of class `second` a share ends without a full stop and in an ellipsis sign."""
    rng = np.random.default_rng(seed)
    rows = []
    for number, text in enumerate(draw_texts(rng, count)):
        of_second = bool(rng.random() < 0.5)
        marked = rng.random() < (share if of_second else 0.04)
        rows.append(
            {
                "number": number * 7 % count,
                "stars": int(rng.integers(1, 6)),
                "review": f"{text.rstrip('.!?')}…" if marked else text,
                "label": second if of_second else first,
            }
        )
    return rows


def test_an_artefact_is_named_in_the_first_line(scan: Scan, tmp_path: Path) -> None:
    code, out, err = scan(_write(tmp_path / "reviews.csv", _rows(0)))
    assert (code, err) == (1, "")
    first = out.splitlines()[0]
    found = re.fullmatch(
        r"Found 1 artefact that tells the label \(“ellipsis sign \(…\) \(review\)” for class “yes”, (\d+) %\); "
        r"in balanced accuracy, where chance is 50 %\.",
        first,
    )
    assert found is not None, first
    assert 72 <= int(found[1]) <= 84
    assert "Label: 'label', 2 values. Read: texts 'review', 2 other columns." in out
    assert "Artefacts, which are no part of any task:" in out
    assert "Surface alone, all artefacts in one linear model of all classes: " in out


def test_the_shortest_texts_that_carry_a_cue_are_shown(scan: Scan, tmp_path: Path) -> None:
    rows = _rows(0)
    _, printed, _ = scan(_write(tmp_path / "reviews.csv", rows), "--label", "label")
    carriers = sorted({row["review"] for row in rows if row["label"] == "yes" and "…" in row["review"]}, key=len)
    shown = [line.strip() for line in printed.splitlines() if line.startswith("     “")]
    assert shown[:2] == [f"“{text}”" for text in carriers[:2]]


def test_a_candidate_is_mended_by_the_same_command(scan: Scan, tmp_path: Path) -> None:
    rows = _rows(0, share=0.04)
    for row in rows:
        row["review"] += " Splendid indeed." if row["label"] == "yes" and row["number"] % 2 else ""
    path = _write(tmp_path / "reviews.csv", rows)
    _, printed, _ = scan(path, "--label", "label")
    assert f"If one of them is no part of the task: aflite fix {path} --label label --cue N --to NEW_FOLDER" in printed


def test_nothing_is_said_to_be_found_in_random_labels(scan: Scan, tmp_path: Path) -> None:
    code, out, _ = scan(_write(tmp_path / "reviews.csv", _rows(1, share=0.04)))
    assert code == 0
    assert out.startswith("Nothing found: none of ")
    assert re.search(r"With [\d,]+ rows, a cue of less than 6\d % balanced accuracy can be missed\.", out)


def test_a_sorted_file_without_a_column_that_varies_has_nothing_to_test(scan: Scan, tmp_path: Path) -> None:
    code, out, _ = scan(
        _write(tmp_path / "bare.csv", [{"label": label, "x": "1"} for label in "ab" for _ in range(80)])
    )
    assert code == 0
    assert out.startswith("Nothing found: none of the 0 single properties that the scan knows tells a class by itself")


def test_few_rows_cannot_tell(scan: Scan, tmp_path: Path) -> None:
    code, out, _ = scan(_write(tmp_path / "reviews.csv", _rows(0, 80)))
    assert code == 2
    assert out.startswith("Cannot tell: of 80 rows no class has enough rows")
    rows = [{**row, "site": f"site {number % 4}"} for number, row in enumerate(_rows(0, 600))]
    code, out, _ = scan(_write(tmp_path / "sites.csv", rows), "--group", "site")
    assert code == 2
    assert out.startswith("Cannot tell: of 600 rows in 4 groups no class has enough groups, and enough groups outside")
    assert "Near copies of a text are one group." in out


def test_json_and_page_hold_every_cue(scan: Scan, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    code, out, _ = scan(_write(tmp_path / "reviews.csv", _rows(0)), "--json", "--html", str(page))
    content = json.loads(out)
    assert (code, content["verdict"], content["rows"]) == (1, "artefact", 900)
    assert content["cues"][0]["name"] == "ellipsis sign (…) (review)"
    assert 0.7 < content["cues"][0]["low"] < content["cues"][0]["balanced"] < content["cues"][0]["high"] < 0.9
    assert content["surface"]["chance"] == 0.5
    text = page.read_text(encoding="utf-8")
    for cue in content["cues"]:
        assert cue["name"] in text
    assert "<script" not in text
    assert text.count("<mark>…</mark>") >= 3


def test_hostile_text_is_escaped_everywhere(scan: Scan, tmp_path: Path) -> None:
    rows = _rows(0, first=HOSTILE)
    for number, row in enumerate(rows):
        row["source"] = HOSTILE if row["label"] == "yes" and number % 3 else "plain"
        row["label"] = "<b>yes</b>" if row["label"] == "yes" else "no"
    page = tmp_path / "page.html"
    code, out, _ = scan(_write(tmp_path / "reviews.csv", rows), "--html", str(page), "--irrelevant", "source")
    assert code == 1
    assert "\x1b" not in out
    assert "\\x1b[31m" in out
    text = page.read_text(encoding="utf-8")
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<b>yes" not in text
    _, printed, _ = scan(tmp_path / "reviews.csv", "--json")
    assert printed.isascii()


@pytest.mark.parametrize("form", ["csv", "semicolons", "jsonl", "parquet"])
def test_every_format_gives_the_same_first_cue(form: str, scan: Scan, tmp_path: Path) -> None:
    rows = _rows(0)
    match form:
        case "jsonl":
            path = tmp_path / "reviews.jsonl"
            path.write_text("\n".join(map(json.dumps, rows)))
        case "parquet":
            path = tmp_path / "reviews.parquet"
            pq.write_table(pa.Table.from_pylist(rows), path)
        case _:
            path = _write(tmp_path / "reviews.csv", rows, ";" if form == "semicolons" else ",")
    code, out, _ = scan(path, "--json")
    assert code == 1
    assert json.loads(out)["cues"][0]["name"] == "ellipsis sign (…) (review)"


def test_a_dataset_is_scanned_by_its_yaml_and_compared_with_its_test_split(scan: Scan, tmp_path: Path) -> None:
    _write(tmp_path / "train.csv", _rows(0))
    _write(tmp_path / "test.csv", _rows(1, 400, share=0.04))
    spec = {
        "source": {"format": "csv", "splits": {"train": "train.csv", "test": "test.csv"}},
        "columns": {"text": "review", "attributes": ["stars"]},
        "representations": {"net": {"kind": "small_transformer"}},
        "evaluators": {"linear": {"kind": "linear"}},
    }
    path = tmp_path / "reviews.yaml"
    path.write_text(yaml.safe_dump(spec))
    code, out, _ = scan(path, "--json")
    cue = json.loads(out)["cues"][0]
    assert code == 1
    assert cue["name"] == "ellipsis sign (…) (review)"
    assert [(one["name"], one["state"], one["rows"]) for one in cue["elsewhere"]] == [("test", "gone", 400)]
    _, printed, _ = scan(path)
    assert "Scanned: train of reviews, 900 of 1,300 rows. Compared: test (400)." in printed
    assert re.search(r"it tells nothing on “test”: (49|50|51) % \[4\d %, 5\d %\]", printed), printed
    code, _, err = scan(path, "--group", "site")
    assert code == 2
    assert (
        f"`--group` is 'site', but '{path}' is a dataset, whose own file names its columns; leave `--group` out" in err
    )
    code, _, err = scan(path, "--irrelevant", "site")
    assert (code, "`--irrelevant` names 'site', which is not a column that the scan reads" in err) == (2, True)


def _images(folder: Path, count: int = 240) -> Path:
    rng = np.random.default_rng(0)
    for number in range(count):
        cat = number % 2 == 0
        place = folder / ("cat" if cat else "dog")
        place.mkdir(parents=True, exist_ok=True)
        quality = 95 if rng.random() < (0.6 if cat else 0.05) else 75
        (place / f"{number}.jpg").write_bytes(encode(draw_pixels(rng, 48), quality=quality))
    return folder


def test_a_folder_of_images(scan: Scan, tmp_path: Path) -> None:
    code, out, _ = scan(_images(tmp_path / "pictures"))
    assert code == 1
    assert "“JPEG quality = 95” for class “cat”" in out.splitlines()[0]
    assert "Label: the folder of each image, 2 classes." in out
    code, _, err = scan(tmp_path / "pictures", "--group", "site")
    assert (code, "`--group` is 'site', but " in err) == (2, True)
    assert "has no metadata.csv with columns; leave `--group` out" in err


def test_a_folder_of_images_with_metadata(scan: Scan, tmp_path: Path) -> None:
    folder = _images(tmp_path / "pictures")
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.jpg"))
    rows = [{"file_name": name, "kind": name.split("/")[0], "site": "north"} for name in names]
    _write(folder / "metadata.csv", rows)
    code, out, _ = scan(folder, "--label", "kind", "--html", str(tmp_path / "page.html"))
    assert code == 1
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count('<img src="data:image/jpeg;base64,') >= 3
    assert "“JPEG quality = 95” for class “cat”" in out.splitlines()[0]
    _write(folder / "metadata.csv", [*rows, {"file_name": "gone.jpg", "kind": "cat", "site": ""}])
    code, _, err = scan(folder, "--label", "kind")
    assert code == 2
    assert "'metadata.csv' lists 1 image missing from " in err
    assert "(first: 'gone.jpg'); correct the column `file_name`" in err


def test_a_table_of_image_names_beside_its_images(scan: Scan, tmp_path: Path) -> None:
    folder = _images(tmp_path / "pictures")
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.jpg"))
    rows = [{"file": name, "label": name.split("/")[0]} for name in names]
    table = _write(tmp_path / "pictures.csv", rows)
    code, out, _ = scan(table)
    assert code == 1
    assert "“JPEG quality = 95” for class “cat”" in out.splitlines()[0]
    assert f"{len(names)} images of '{folder}', by 'pictures.csv'.\nLabel: 'label', 2 values. Read: images." in out
    code, _, err = scan(_write(tmp_path / "pictures.csv", [*rows, {"file": "../gone.jpg", "label": "cat"}]))
    assert code == 2
    assert "the column 'file' of 'pictures.csv' names images, but not all of them are in " in err
    assert "put them there, or leave the column out with `--skip file`" in err
    code, _, err = scan(_write(tmp_path / "pictures.csv", [{"file": f"{'x' * 300}.jpg", "label": "cat"}]))
    assert code == 2
    assert "names images, but not all of them are in " in err
    _write(table, rows)
    assert "Read: no column.\nNot read: 'file'." in scan(table, "--skip", "file")[1]


def test_tables_of_a_dataset_that_share_a_folder_of_images(scan: Scan, tmp_path: Path) -> None:
    names = sorted(
        path.relative_to(tmp_path / "pictures") for path in _images(tmp_path / "pictures", 600).rglob("*.jpg")
    )
    names = [names[place] for place in np.random.default_rng(1).permutation(len(names))]
    rows = [{"file": f"pictures/{name.as_posix()}", "label": name.parts[0], "site": "north"} for name in names]
    for name, own in {"train": rows[:480], "test": rows[480:540], "later": rows[540:]}.items():
        _write(tmp_path / f"{name}.csv", own)
    source = {"format": "csv", "images": ".", "splits": {"train": "train.csv", "test": "test.csv"}}
    columns = {"image": "file", "attributes": ["site"]}
    later = {"source": {"format": "csv", "images": ".", "splits": {"test": "later.csv"}}, "columns": {"image": "file"}}
    spec = {"source": source, "columns": columns, "challenge_sets": {"later": later}, **MODELS}
    path = tmp_path / "animals.yaml"
    path.write_text(yaml.safe_dump(spec))
    code, out, _ = scan(path)
    assert code == 1
    assert "“JPEG quality = 95” for class “cat”" in out.splitlines()[0]
    assert "Scanned: train of animals, 480 of 540 rows. Compared: test (60), later (60)." in out
    fixed = main(["fix", str(path), "--cue", "1", "--by", "rebalance", "--to", str(tmp_path / "mended")])
    copy = yaml.safe_load((tmp_path / "mended" / "animals_fixed.yaml").read_text())
    assert fixed in (0, 1)
    assert (copy["source"]["images"], copy["columns"]) == (str(tmp_path), columns)
    path.write_text(yaml.safe_dump({**spec, "columns": {"text": "file"}}))
    code, _, err = scan(path)
    assert code == 2
    assert f"`images` of the source is '{tmp_path}', but `columns.image` is not set; name the column" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label", "lable"], "'reviews.csv' has no column 'lable'"),
        (["--label", "lable"], "did you mean 'label'?"),
        (
            ["--label", "price"],
            "column 'price' contains numbers with fractions (such as 0.5), which are amounts and not classes",
        ),
        (["--label", "price"], "name a column of classes with --label"),
        (
            ["--irrelevant", "site"],
            "`--irrelevant` names 'site', which is not a column that the scan reads; name one of: review",
        ),
        (["--group", "author"], "'reviews.csv' has no column 'author'"),
        (["--encoding", "utf-16"], "utf-16"),
        (["--html", "/no/such/folder/page.html"], "`--html` is '/no/such/folder/page.html', which cannot be written"),
    ],
)
def test_mistakes_are_named_and_end_with_2(options: list[str], message: str, scan: Scan, tmp_path: Path) -> None:
    rows = [row | {"price": number + 0.5} for number, row in enumerate(_rows(0, 130))]
    code, out, err = scan(_write(tmp_path / "reviews.csv", rows), *options)
    assert (code, out) == (2, "")
    assert message in err
    assert "Traceback" not in err


def test_files_that_cannot_be_scanned(scan: Scan, tmp_path: Path) -> None:
    code, _, err = scan(tmp_path / "nothing.csv")
    assert code == 2
    assert "does not exist; give a dataset's YAML file, a table file or a folder" in err
    (tmp_path / "notes.docx").write_bytes(b"PK")
    code, _, err = scan(tmp_path / "notes.docx")
    assert code == 2
    assert "'notes.docx' ends in '.docx', which is not a supported format" in err


def test_groups_stay_together_and_columns_can_be_skipped(scan: Scan, tmp_path: Path) -> None:
    rows = [row | {"author": row["number"] // 3, "copy": row["label"]} for row in _rows(0)]
    path = _write(tmp_path / "reviews.csv", rows)
    code, out, _ = scan(path, "--group", "author", "--skip", "copy", "--json")
    content = json.loads(out)
    assert (code, content["units"]) == (1, 300)
    assert content["cues"][0]["name"] == "ellipsis sign (…) (review)"
    assert "Not read: 'copy'." in content["understood"]
    assert "Groups: 'author'; that column is not tested as a property." in content["understood"]
    assert any("Read: texts 'review', 2 other columns." in line for line in content["understood"])
    _, out, _ = scan(path, "--group", "review", "--skip", "copy", "--json")
    assert json.loads(out)["cues"][0]["name"] == "ellipsis sign (…) (review)"
    assert "Groups: 'review'." in json.loads(out)["understood"]
    _, out, _ = scan(path, "--json")
    names = {cue["name"] for cue in json.loads(out)["cues"] if cue["balanced"] == 1.0}
    assert names & {"copy = 'yes'", "copy = 'no'"}
