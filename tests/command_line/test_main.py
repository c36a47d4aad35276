"""The command as a user meets it: what it prints, where, and with which exit code."""

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from PIL import Image
from pyarrow.csv import read_csv

from aflite_assets.checks import CheckOutcome
from aflite_assets.command_line.main import main
from aflite_assets.command_line.preview import check, data_preview, timing
from aflite_assets.command_line.terminal import write_lines

SPEC: dict[str, Any] = {
    "title": "Pairs",
    "source": {"format": "csv", "splits": {"train": "train.csv", "test": "test.csv"}},
    "columns": {"text": "premise", "text_pair": "hypothesis", "group": "premise", "attributes": ["kind"]},
    "labels": ["yes", "no"],
    "unlabelled": ["-"],
    "warmup": {"size": 10},
    "representations": {"small": {"kind": "small_transformer", "width": 8, "layers": 1, "heads": 1, "epochs": 1}},
    "filter": {"target_size": 0.5, "train_size": 12, "slice_size": 5, "n_partitions": 4},
    "evaluators": {"linear": {"kind": "linear"}, "pair_only": {"kind": "linear", "inputs": ["text_pair"]}},
    "seeds": [0, 1],
}
Make = Callable[..., Path]


def _csv(rows: list[tuple[str, str, str, str]]) -> str:
    lines = ["premise,hypothesis,label,kind"]
    return "\n".join([*lines, *(",".join(f'"{value}"' for value in row) for row in rows)]) + "\n"


def _rows(split: str, count: int) -> list[tuple[str, str, str, str]]:
    return [(f"{split} premise {i // 2}", f"{split} hypothesis {i}", ("no", "yes")[i % 2], "k") for i in range(count)]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes two CSV files and the YAML file that describes them; changes are merged into the description."""

    def write(*, rows: list[tuple[str, str, str, str]] | None = None, name: str = "pairs.yaml", **changes: Any) -> Path:
        (tmp_path / "train.csv").write_text(_csv(_rows("train", 60) if rows is None else rows))
        (tmp_path / "test.csv").write_text(_csv(_rows("test", 20)))
        content = {**SPEC, **changes}
        (tmp_path / name).write_text(yaml.safe_dump(content, sort_keys=False))
        return tmp_path / name

    return write


def _checked(file: Path | str, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    code = main(["check", str(file), *(options or ("--no-timing",))])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_a_check_says_what_was_understood(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = _checked(make(rows=[*_rows("train", 60), ("train p x", "h", "-", "k")]), capsys)
    assert (code, err) == (0, "")
    for line in (
        "pairs: Pairs",
        "train         61           1      60",
        "test          20           0      20",
        "yes       30    10",
        "train.csv, line 2: label no",
        "  text_pair: train hypothesis 0",
        "  attribute.kind: k",
        "challenge sets: none",
    ):
        assert line in out, out
    assert "sentence pairs in 40 groups" in out
    assert "warm-up      10 rows of 60 train rows" in out
    assert "target_size  25 rows (0.5) of train are kept at least" in out
    assert "iterations   8 at most, if test rows are removed at the same rate as train rows" in out
    assert "24 = 2 evaluators x 6 train sets x 2 seeds" in out
    assert "estimated cost" not in out


def test_annotators_whose_file_is_missing_are_named(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    annotations = {
        "format": "csv", "files": "gone.csv", "match": {"kind": "key"}, "annotators": "said", "required": False,
    }  # fmt: skip
    code, out, _ = _checked(make(annotations=annotations), capsys)
    assert code == 0
    assert re.search(
        r"^the labels of single annotators are left out: annotations file '.*gone.csv' does not exist$", out, re.M
    )


def test_a_check_with_timing_ends_with_the_cost(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timing, "ENOUGH_SECONDS", 0.001)
    monkeypatch.setattr(timing, "LIBRARIES", "import sys")  # `test_timing` loads what a stage loads
    code, out, err = _checked(make(), capsys, "--device", "cpu")
    assert code == 0, err
    first = next(line for line in err.splitlines() if line.startswith("measuring"))
    assert first == "measuring the start of a process ..."
    assert "estimated cost on this machine (cpu, " in out
    cost = out[out.index("estimated cost") :]
    for words in ("warmup_models     small", "embeddings        small", "evaluator_models  pair_only", "total"):
        assert words in cost
    assert re.search(r"^  all stages        process and fixed work  +1 start  +[\d.]+ (ms|s)$", cost, re.M)
    assert re.search(r"^  filtered_sets     small  +\d+ iterations  +[\d.]+ (ms|s)$", cost, re.M)


def test_a_bundled_dataset_is_checked_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _checked("circles_1", capsys)
    assert code == 0
    assert "circles_1: Concentric circles, widest separation" in out
    assert "challenge set unbiased: 2,000 rows" in out
    assert "warm-up      none, no encoder is trained" in out
    assert "features: 18 numbers: " in out


def test_images_are_shown_by_their_size(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _checked("digits", capsys)
    assert code == 0
    assert "image: 8 x 8 pixels, PNG" in out


HOSTILE = "\x1b[31mred\x1b[0m <script>alert(1)</script> \x07\u202eevil\x9b"


def test_hostile_texts_are_shown_as_escapes(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(f"{HOSTILE} {i}", f"nul \x00 {i}", label, HOSTILE) for i in range(30) for label in ("yes", "no")]
    code, out, _ = _checked(make(rows=rows, title="\x1b]0;title\x07"), capsys)
    assert code == 0
    assert r"text: \x1b[31mred\x1b[0m <script>alert(1)</script> \x07\u202eevil\x9b 0" in out
    assert r"text_pair: nul \x00 0" in out
    assert all(sign == "\n" or sign.isprintable() for sign in out)


def test_hostile_labels_are_refused_in_safe_words(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(f"p {i}", f"h {i}", label, "k") for i in range(30) for label in ("yes", "\x1b[31mno")]
    code, out, err = _checked(make(rows=rows, labels=None), capsys)
    assert (code, out) == (1, "")
    assert r"\x1b[31mno" in err
    assert all(sign == "\n" or sign.isprintable() for sign in err)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("an unknown key", {"warmpu": {"size": 10}}, "warmup"),
    ("a missing file", {"source": {"format": "csv", "splits": {"train": "no.csv", "test": "test.csv"}}}, "no.csv"),
    ("a missing column", {"columns": {"text": "premis"}}, "premise"),
    (
        "a model for images",
        {"evaluators": {"net": {"kind": "timm_image", "architecture": "resnet10t"}}},
        "needs rows of type image",
    ),
]


@pytest.mark.parametrize(("changes", "named"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_refused_is_named_on_stderr(
    changes: dict[str, Any], named: str, make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = _checked(make(**changes), capsys)
    assert code == 1
    assert named in err
    assert "Traceback" not in err


def test_sizes_that_cannot_be_met_are_refused_after_what_was_understood(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = _checked(make(filter={"target_size": 500}), capsys)
    assert code == 1
    assert "train.csv, line 2: " in out
    assert "`filter.target_size` is 500, but there are only 50 train rows" in err


def test_a_registered_file_that_failed_says_why(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AFLITE_DATASETS", str(make(seeds=[]).parent))
    code, _, err = _checked("pairs", capsys)
    assert code == 1
    assert "seeds" in err
    code, _, err = _checked("paris", capsys)
    assert code == 1
    assert "no dataset is named 'paris'" in err


def test_a_file_that_lies_in_the_folder_of_datasets_is_named(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make()
    monkeypatch.setenv("AFLITE_DATASETS", str(path.parent))
    (elsewhere := tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["check", path.name, "--no-timing"]) == 1
    said = f"there is no file {path.name} in this folder; write {path.stem} without the ending to use"
    assert said in capsys.readouterr().err
    assert main(["check", path.stem, "--no-timing"]) == 0


def test_a_folder_named_like_a_dataset_does_not_hide_it(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AFLITE_DATASETS", str(make().parent))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs").mkdir()
    assert main(["check", "pairs", "--no-timing"]) == 0
    assert main(["scan", "pairs"]) == 2  # too few rows for a cue
    said = capsys.readouterr().out
    assert "Scanned: train of pairs, 60 of 80 rows." in said
    assert "'pairs' is also a path in this folder: write ./pairs to use that path." in said
    for path in ("./pairs", "pairs/"):
        assert main(["scan", path]) == 2
        printed = capsys.readouterr()
        assert (printed.out, "pairs" in printed.err, "image" in printed.err) == ("", True, True), printed


def test_a_folder_named_like_a_bundled_dataset_that_is_not_listed_does_not_hide_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aflite_assets.command_line.scanning.inputs import is_dataset
    from aflite_assets.command_line.specs_by_name import file_of, same_name_note

    monkeypatch.delenv("AFLITE_DATASETS", raising=False)
    monkeypatch.delenv("AFLITE_BUNDLED", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "digits").mkdir()
    (tmp_path / "photos").mkdir()
    assert [is_dataset(name) for name in ("digits", "./digits", "photos")] == [True, False, False]
    assert file_of("digits").name == "digits.yaml"
    assert same_name_note("digits") == "'digits' is also a path in this folder: write ./digits to use that path."
    assert same_name_note("circles_1") == ""


def test_rows_that_repeat_across_splits_are_a_warning(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = _checked(make(rows=[*_rows("train", 60), *_rows("test", 20)]), capsys)
    assert code == 0
    warning = out[out.index("warning: no_repeats_across_splits") :].splitlines()
    assert warning[1] == "  20 rows (100.0 %) outside train, 20 of test: test.csv, lines 2, 3, 4, 5, 6; and 15 more"
    assert warning[2].startswith("  set `between_splits: drop`")


def test_what_is_set_already_is_not_advised(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    """Copies within train part when a split is drawn from it, whatever is dropped between the source's splits."""
    columns = {name: column for name, column in SPEC["columns"].items() if name != "group"}
    given = {"rows": _rows("train", 60) * 2, "columns": columns, "holdout": {"fresh": 30}}
    _, out, _ = _checked(make(**given, between_splits="drop"), capsys)
    warning = out[out.index("warning: no_repeats_across_splits") :].split("warning: ")[1]
    assert "of fresh: train.csv, lines " in warning
    assert "between_splits" not in warning
    words = " ".join(warning.split())
    assert "set `drop_duplicates: true` (`holdout` draws 'fresh' from train, so one of two copies was drawn)" in words
    _, out, _ = _checked(make(**given, drop_duplicates=True), capsys)
    assert "warning: no_repeats_across_splits" not in out


def test_what_blocks_a_run_is_refused(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    blocking = CheckOutcome(
        "data", "labels_known", "", False, "", "name them", blocking=True, numbers={"rows": 3, "share": 0.123456}
    )
    monkeypatch.setattr(check, "data_findings", lambda raw, **_: (blocking,))
    code, out, err = _checked(make(), capsys)
    assert code == 1
    assert "error: labels_known\n  rows 3, share 0.1235\n  name them\n" in out
    assert err == "these failed checks would stop a run: labels_known; correct the data as described under each check\n"


def test_of_many_images_the_first_are_shown_and_all_are_counted(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for split, rows in (("train", 30), ("test", 6)):
        for name in ("cat", "dog"):
            (tmp_path / "pictures" / split / name).mkdir(parents=True)
            for number in range(rows):
                Image.new("RGB", (5, 4), (number, 0, 0)).save(
                    tmp_path / "pictures" / split / name / f"{number:02d}.png"
                )
    folders = {split: f"pictures/{split}" for split in ("train", "test")}
    network = {"kind": "timm_image", "architecture": "test_resnet"}
    file = make(
        source={"format": "image_folder", "splits": folders},
        columns={},
        labels=["cat", "dog"],
        representations={"net": network},
        evaluators={"linear": {"kind": "linear"}},
    )
    monkeypatch.setattr(data_preview, "MOST_IMAGES", 20)
    monkeypatch.setattr(data_preview, "FIRST_ROWS", 8)
    code, out, err = _checked(file, capsys)
    assert code == 0, err
    assert "read: the first 8 rows of each split, or a few of each class" in out
    assert "train          8           0      60" in out
    assert "image: 5 x 4 pixels, PNG RGB, " in out
    assert "plan according to the source" in out
    assert "warm-up      10 rows of 60 train rows" in out


def test_a_device_that_is_not_there_is_refused(
    make: Make, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    code, _, err = _checked(make(), capsys, "--device", "cuda")
    assert code == 1
    assert "`device` is 'cuda', but" in err


def test_help_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in ((["--help"], ("check", "schema")), (["check", "--help"], ("--no-timing", "--device"))):
        with pytest.raises(SystemExit, match="0"):
            main(arguments)
        out = capsys.readouterr().out
        assert all(word in out for word in words)


@pytest.mark.parametrize("arguments", [[], ["check"], ["chekc", "x"], ["check", "x", "--device", "tpu"]])
def test_wrong_usage_is_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert "usage: aflite" in capsys.readouterr().err


def test_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert {"source", "evaluators"} <= set(schema["properties"])


def test_a_terminal_that_lacks_a_sign_gets_an_escape() -> None:
    written = io.BytesIO()
    stream = io.TextIOWrapper(written, encoding="ascii")
    write_lines(stream, ["Größe …"])
    assert written.getvalue() == rb"Gr\xf6\xdfe \u2026" + b"\n"


def test_what_a_verdict_will_lack_is_said_before_the_run(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    _, printed, _ = _checked(make(seeds=[0], planted={"kind": ["k", "no such"]}), capsys)
    assert (
        "warning: `seeds` has one seed, so the variation between training runs is unknown; set seeds: [0, 1, 2]"
        in printed
    )
    assert (
        "warning: every test row enters the filter's pool, so the report cannot decide whether filtering helps"
        in printed
    )
    assert (
        "rows to filter may be too few to distinguish a bias from that of shuffled labels; 1,537 are always enough"
        in printed
    )
    assert "warning: planted names kind no such, which no row has; it has k" in printed
    held_out = {"holdout": {"fresh": 0.2}, "filter": {**SPEC["filter"], "evaluation_rows": {"fresh": "kept"}}}
    _, printed, _ = _checked(make(**held_out), capsys)
    assert "seeds has one seed" not in printed
    assert "every test row enters" not in printed
    assert "planted names" not in printed


def test_first_rows_are_named_by_their_line_where_that_is_known(
    make: Make, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two = {"format": "csv", "splits": {"train": ["train.csv", "test.csv"], "test": "test.csv"}}
    _, printed, _ = _checked(make(source=two), capsys)
    assert "train.csv, line 2: label no" in printed
    with_unlabelled = make(rows=[("lost", "h", "-", "k"), *_rows("train", 60)])
    _, printed, _ = _checked(with_unlabelled, capsys)
    assert "train.csv, line 3: label no" in printed
    make()
    pq.write_table(read_csv(tmp_path / "train.csv"), tmp_path / "train.parquet")
    pq.write_table(read_csv(tmp_path / "test.csv"), tmp_path / "test.parquet")
    files = {"format": "parquet", "splits": {"train": "train.parquet", "test": "test.parquet"}}
    _, printed, _ = _checked(make(source=files), capsys)
    assert "train.parquet (train, source row 0): label no" in printed


@pytest.mark.parametrize(
    ("answers", "threshold", "advised"),
    [(4, 0.75, 0.9), (4, 0.76, None), (4, 0.5, 0.9), (2, 0.5, 0.8), (2, 0.75, None), (5, 0.75, 0.92)],
)
def test_a_threshold_that_guessing_reaches_is_named_with_what_to_set(
    make: Make,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    answers: int,
    threshold: float,
    advised: float | None,
) -> None:
    names = [f"answer{number}" for number in range(answers)]
    lines = [",".join(["question", *names, "right"])]
    for row in range(40):
        said = [f"said {row} {number}" for number in range(answers)]
        lines.append(",".join([f"asked {row}", *said, names[row % answers]]))
    for split in ("train", "test"):
        (tmp_path / f"asked_{split}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = {"format": "csv", "splits": {split: f"asked_{split}.csv" for split in ("train", "test")}}
    source = {"format": "multiple_choice", "table": table, "question": "question", "answers": names, "right": "right"}
    given = {name: value for name, value in SPEC.items() if name not in ("columns", "labels", "unlabelled")}
    file = tmp_path / "asked.yaml"
    file.write_text(yaml.safe_dump({**given, "source": source, "filter": {**SPEC["filter"], "threshold": threshold}}))
    code, out, err = _checked(file, capsys)
    assert (code, err) == (0, "")
    said = [line for line in out.splitlines() if "filter.threshold" in line]
    guessed = f"{100 * (answers - 1) / answers:.1f}" if answers > 2 else "50.0"
    if advised is None:
        assert said == []
    else:
        assert len(said) == 1
        assert said[0].startswith(f"warning: filter.threshold is {threshold:g}, and always predicting ")
        assert f" is right for {guessed} % of the answers, so guessing alone would remove answers" in said[0]
        assert said[0].endswith(f"; set filter: {{threshold: {advised:g}}}")


@pytest.mark.parametrize(
    ("of_no", "threshold", "advised"),
    [(30, 0.5, 0.8), (30, 0.51, None), (45, 0.75, 0.9), (45, 0.76, None), (48, 0.75, 0.92), (57, 0.95, 0.98)],
)
def test_a_threshold_that_the_largest_class_reaches_is_named_for_all_kinds_of_data(
    make: Make, capsys: pytest.CaptureFixture[str], of_no: int, threshold: float, advised: float | None
) -> None:
    rows = [
        (premise, hypothesis, "no" if row < of_no else "yes", kind)
        for row, (premise, hypothesis, _, kind) in enumerate(_rows("train", 60))
    ]
    code, out, err = _checked(make(rows=rows, filter={**SPEC["filter"], "threshold": threshold}), capsys)
    assert (code, err) == (0, "")
    said = [line for line in out.splitlines() if "filter.threshold" in line]
    share = f"{100 * of_no / 60:.1f} %"
    largest = "yes" if of_no == 30 else "no"
    assert said == (
        []
        if advised is None
        else [
            f"warning: filter.threshold is {threshold:g}, and {share} of the train rows are {largest}, so these rows "
            f"count as predictable for a classifier that always predicts {largest}; set filter: "
            f"{{threshold: {advised:g}}}"
        ]
    )
