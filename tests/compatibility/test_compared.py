"""Two collections of numbers: every change is found and counted, and what is meant to change must be listed."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import yaml

from aflite_assets.errors import InvalidInputError
from tests.compatibility.__main__ import main
from tests.compatibility.collected import Collected, read_collected, write_collected
from tests.compatibility.compared import Changes, Comparison, Pattern, compare, difference, read_changes
from tests.compatibility.flat import Leaf, flattened

ROWS = [
    {"evaluator": "linear", "train_set": "full", "accuracy": 0.8125, "seeds": 3, "why": None},
    {"evaluator": "linear", "train_set": "filtered", "accuracy": 0.5, "seeds": 3, "why": "too few rows: 12"},
    {"evaluator": "svm", "train_set": "full", "accuracy": -0.25, "seeds": 3, "why": None},
]
REPORT: dict[str, Any] = {"tables": {"main": ROWS}, "verdict": {"sentence": "Better by +3.1 points [0.0, 6.2]."}}
ADDRESS = "tables.main[evaluator=linear, train_set=full]"


def collected(document: Any) -> Collected:
    return Collected("abc", {"small": flattened(document)})


def compared(after: Any, changes: Changes | None = None, **options: Any) -> Comparison:
    return compare(collected(REPORT), collected(after), changes or Changes(), **options)


def changed(row: int = 0, **fields: Any) -> dict[str, Any]:
    rows = [one | fields if number == row else one for number, one in enumerate(ROWS)]
    return REPORT | {"tables": {"main": rows}}


def failures(outcome: Comparison) -> list[str]:
    return outcome.failures(words=False, numerals=False)


def test_the_same_report_is_equal() -> None:
    outcome = compared(REPORT)
    assert (outcome.compared, outcome.equal, failures(outcome)) == (10, 10, [])


def test_a_reordered_table_is_equal() -> None:
    outcome = compared(REPORT | {"tables": {"main": ROWS[::-1]}})
    assert (outcome.compared, outcome.equal, failures(outcome)) == (10, 10, [])


@pytest.mark.parametrize(
    ("row", "fields", "line"),
    [
        (0, {"accuracy": math.nextafter(0.8125, 1)}, ".accuracy: 0.8125 became 0.8125000000000001"),
        (0, {"accuracy": -0.8125}, ".accuracy: 0.8125 became -0.8125"),
        (0, {"accuracy": "0.8125"}, ".accuracy: 0.8125 became '0.8125'"),
        (0, {"accuracy": None}, ".accuracy: 0.8125 became None"),
        (0, {"seeds": 4}, ".seeds: 3 became 4"),
        (0, {"seeds": 3.5}, ".seeds: 3 became 3.5"),
        (0, {"seeds": True}, ".seeds: 3 became True"),
        (0, {"why": 1}, ".why: None became 1"),
    ],
)
def test_a_changed_number_is_found(row: int, fields: dict[str, Any], line: str) -> None:
    outcome = compared(changed(row, **fields))
    assert outcome.different == (f"small: {ADDRESS}{line}",) == tuple(failures(outcome))
    assert (outcome.compared, outcome.equal) == (10, 9)


@pytest.mark.parametrize(
    ("before", "after", "tolerance", "found"),
    [
        (float("nan"), float("nan"), 0.0, None),
        (float("nan"), None, 0.0, None),
        (None, 0.0, 1.0, "different"),
        (0.0, -0.0, 0.0, "different"),
        (1.0, 1.0 + 1e-10, 0.0, "different"),
        (1.0, 1.0 + 1e-10, 1e-9, None),
        (1e6, 1e6 + 1e-4, 1e-9, None),
        (1.0, 1.0 + 1e-8, 1e-9, "different"),
        (0.0, 1e-17, 1e-9, None),
        (0.0, 1e-11, 1e-9, "different"),
        (1, 2, 0.0, "different"),
        (1, 1.0, 0.0, None),
        (1, 1.5, 0.0, "different"),
        (True, 1, 1.0, "different"),
        ("1 row", "1 row", 0.0, None),
        ("1 row of 20", "of 20 rows 1", 0.0, "words"),
        ("1 row of 20", "1 row of 21", 0.0, "numerals"),
    ],
)
def test_when_values_are_equal(before: Leaf, after: Leaf, tolerance: float, found: str | None) -> None:
    assert difference(before, after, tolerance) == found


def test_a_row_that_disappears_is_found() -> None:
    outcome = compared(REPORT | {"tables": {"main": ROWS[:2]}})
    gone = "small: tables.main[evaluator=svm, train_set=full]"
    assert outcome.lost == (
        f"{gone}.accuracy is gone; it was -0.25", f"{gone}.seeds is gone; it was 3", f"{gone}.why is gone; it was None",
    )  # fmt: skip
    assert (outcome.compared, outcome.equal, len(failures(outcome))) == (7, 7, 3)


def test_a_row_that_comes_is_found() -> None:
    after = REPORT | {"tables": {"main": [*ROWS, {"evaluator": "svm", "train_set": "random", "accuracy": 0.5}]}}
    (line,) = failures(compared(after))
    assert line == "small: tables.main[evaluator=svm, train_set=random].accuracy is new: 0.5"


RENAMED = {"analysis": {"scores": ROWS}, "verdict": REPORT["verdict"]}
ENTRY = ((Pattern("tables.main[{*}].{field}"), Pattern("analysis.scores[{*}].{field}")),)


def test_a_renamed_path_needs_an_entry() -> None:
    without, listed = compared(RENAMED), compared(RENAMED, Changes(ENTRY))
    assert (len(without.lost), len(without.unlisted), len(failures(without))) == (9, 9, 18)
    assert (listed.compared, listed.equal, listed.renamed, failures(listed)) == (10, 10, 9, [])


def test_a_number_that_changes_while_it_is_renamed_is_found() -> None:
    rows = [ROWS[0] | {"accuracy": 0.75}, *ROWS[1:]]
    outcome = compared(RENAMED | {"analysis": {"scores": rows}}, Changes(ENTRY))
    path = "analysis.scores[evaluator=linear, train_set=full].accuracy"
    assert failures(outcome) == [f"small: {path}: 0.8125 became 0.75"]


def test_placeholders_with_names_may_change_places() -> None:
    pattern = Pattern("tables.{table}[evaluator={evaluator}, train_set={set}].{*}")
    found = pattern.expression.fullmatch("tables.main[evaluator=linear, train_set=full].accuracy")
    assert found is not None
    assert Pattern("{table}[train={set}, by={evaluator}].{*}").filled(found) == "main[train=full, by=linear].accuracy"
    assert pattern.expression.fullmatch("tables.main[evaluator=linear, label=a, train_set=full].accuracy") is None


def test_listed_paths_may_go_and_come_and_entries_that_fit_nothing_are_stale() -> None:
    changes = Changes(
        ((Pattern("nowhere.{*}"), Pattern("there.{*}")),),
        {Pattern("verdict.{*}"): "said by the page alone", Pattern("tables.old{*}"): "was never there"},
        {Pattern("headline"): "said first", Pattern("tail"): "was never there"},
    )
    outcome = compared({"tables": REPORT["tables"], "headline": "Better."}, changes)
    assert (outcome.gone, outcome.new, outcome.compared) == (1, 1, 9)
    assert failures(outcome) == [
        "no path is 'renamed from nowhere.{*}'; delete the entry",
        "no path is 'gone: tables.old{*}'; delete the entry",
        "no path is 'new: tail'; delete the entry",
    ]


def test_texts_are_told_apart_and_fail_if_asked_for() -> None:
    reworded = {"sentence": "Better, +3.1 points, interval [0.0, 6.2]."}
    renumbered = {"sentence": "Better by +3.1 points [0.1, 6.2]."}
    words, numerals = (compared(REPORT | {"verdict": one}) for one in (reworded, renumbered))
    assert failures(words) == failures(numerals) == []
    assert (len(words.words), len(words.numerals), words.equal) == (1, 0, 9)
    assert (len(numerals.words), len(numerals.numerals)) == (0, 1)
    assert words.failures(words=False, numerals=True) == []
    assert numerals.failures(words=False, numerals=True) == list(numerals.numerals)
    assert words.failures(words=True, numerals=False) == list(words.words)
    assert "0  different\n        0  texts with other numbers\n        1  texts with other words" in words.text(
        words=False, numerals=False
    )


def test_two_paths_with_one_name_are_refused() -> None:
    both = Changes(((Pattern("tables.main[evaluator={one}, train_set={set}].{*}"), Pattern("main[{set}].{*}")),))
    with pytest.raises(InvalidInputError, match=r"small: two paths have the name 'main\[full\]\.accuracy' now"):
        compared(REPORT, both)


def test_placeholders_that_the_first_pattern_lacks_are_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"'main\.\{other\}' has \{other\}, which the pattern .* lacks"):
        compared(REPORT, Changes(((Pattern("tables.main{*}"), Pattern("main.{other}")),)))
    with pytest.raises(InvalidInputError, match=r"'a\.\{one\}\.\{one\}' names a placeholder twice"):
        _ = Pattern("a.{one}.{one}").expression


def test_a_dataset_of_one_side_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"only one side has \['other'\]; collect the same datasets"):
        compare(collected(REPORT), Collected("abc", {"small": {}, "other": {}}), Changes())


@pytest.mark.parametrize(
    "content",
    [{"moved": []}, [], {"renamed": [{"from": "a"}]}, {"gone": {"a": None}}, {"gone": {"a": ""}}, {"new": ["a"]}],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, content: object) -> None:
    path = tmp_path / "changes.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    if content == []:
        assert read_changes(path) == Changes()
        return
    with pytest.raises(InvalidInputError, match=r"changes\.yaml: write renamed as a list of from and to, .* received"):
        read_changes(path)


def written(folder: Path, document: Any) -> Path:
    write_collected(collected(document), folder / "small.json.xz")
    return folder


@pytest.mark.parametrize(
    ("after", "options", "code"),
    [
        (REPORT, [], 0),
        (changed(accuracy=0.8125000001), [], 1),
        (changed(accuracy=0.8125000001), ["--tolerance", "1e-9"], 0),
        (changed(1, why="too few rows, 12"), [], 0),
        (changed(1, why="too few rows, 12"), ["--words"], 1),
        (changed(1, why="too few rows, 12"), ["--numerals"], 0),
        (changed(1, why="too few rows: 13"), ["--numerals"], 1),
    ],
)
def test_the_command_says_the_counts_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], after: Any, options: list[str], code: int
) -> None:
    sides = [str(written(tmp_path / name, one)) for name, one in (("before", REPORT), ("after", after))]
    (tmp_path / "none.yaml").write_text("renamed: []\n", encoding="utf-8")
    assert main(["compare", *sides, "--changes", str(tmp_path / "none.yaml"), *options]) == code
    said = capsys.readouterr().out
    assert said.startswith("before: commit abc; after: commit abc\n       10  paths compared\n")
    assert ("failures:\n" in said) == bool(code)


def test_the_first_fifty_failures_are_shown() -> None:
    numbers = {f"n{number:03}": number for number in range(70)}
    outcome = compare(collected(numbers), collected(dict.fromkeys(numbers, -1)), Changes())
    lines = outcome.text(words=False, numerals=False).splitlines()
    assert lines[-52:-49] == ["failures:", "small: n000: 0 became -1", "small: n001: 1 became -1"]
    assert lines[-1] == "and 20 more"


def test_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    leaves: dict[str, Leaf] = {"b": 0.1, "a": float("nan"), "c": "“é”", "d": None, "e": True, "f": 10**17}
    write_collected(Collected("abc", {"small": leaves}), tmp_path / "one.json.xz")
    write_collected(Collected("abc", {"other": {}}), tmp_path / "two.json.xz")
    found = read_collected(tmp_path)
    assert (found.commit, found.datasets["other"]) == ("abc", {})
    assert json.dumps(found.datasets["small"]) == json.dumps(dict(sorted(leaves.items())))
    write_collected(Collected("abc", {"other": {}}), tmp_path / "three.json.xz")
    with pytest.raises(InvalidInputError, match=r"two\.json\.xz holds \['other'\], which another file of"):
        read_collected(tmp_path)


def test_files_that_hold_something_else_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.json.xz").write_bytes(b"no archive")
    with pytest.raises(InvalidInputError, match=r"one\.json\.xz cannot be read \(LZMAError.*collect it again"):
        read_collected(tmp_path)
    assert main(["compare", str(tmp_path / "nowhere.json.xz"), str(tmp_path)]) == 2
    assert "nowhere.json.xz cannot be read (FileNotFoundError" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match=r"empty holds no file \*\.json\.xz; collect one there first"):
        read_collected(tmp_path / "empty")
