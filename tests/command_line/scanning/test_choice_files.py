"""`aflite scan` on bare files of preferences and questions: what is detected, said, and refused."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from aflite_assets.command_line.main import main
from aflite_assets.command_line.scanning.bare_files import Roles, read_bare
from aflite_assets.scan.rows import ScanRows
from aflite_assets.specs.registry import load_spec

Scan = Callable[..., tuple[int, str, str]]
WORDS = [f"w{number}" for number in range(300)]
HOSTILE = "<script>alert(1)</script>\x1b[31m"


def _pairs(count: int, *, longer: float, seed: int = 0, subset: str = "chat") -> list[dict[str, Any]]:
    """Preferences of random words; of a share the chosen answer is the longer one."""
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        short, long = (" ".join(rng.choice(WORDS, size)) for size in (7, 9))
        chosen, rejected = (long, short) if rng.random() < longer else (short, long)
        rows.append({"prompt": f"prompt {number}", "chosen": chosen, "rejected": rejected, "subset": subset})
    return rows


def _jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def _read(path: Path, **roles: Any) -> tuple[ScanRows, str]:
    read = read_bare(path, Roles(**roles))
    return read.rows, " ".join(read.understood)


def test_a_file_of_preferences_is_scanned_without_any_option(tmp_path: Path, scan: Scan) -> None:
    file = _jsonl(tmp_path / "p.jsonl", _pairs(400, longer=0.75))
    code, out, err = scan(file)
    assert (code, err) == (1, "")  # length may be the task, but no question is needed
    assert out.startswith("Without the question 7")
    assert "of the right answers are found (chance 50 %) by " in out.splitlines()[0]
    assert "Preferences as texts: chosen 'chosen', rejected 'rejected', prompt 'prompt', subset 'subset'." in out
    assert "the longest answer" in out
    assert "aflite fix" not in out  # length is not rewritten
    assert "400 questions read." in out


def test_json_holds_every_rule_with_its_interval(tmp_path: Path, scan: Scan) -> None:
    code, out, _ = scan(_jsonl(tmp_path / "p.jsonl", _pairs(400, longer=0.75)), "--json")
    content = json.loads(out)
    blind = content["blind"]
    assert content["cues"]
    assert not any(cue["remedies"] for cue in content["cues"])
    rule = next(one for one in blind["rules"] if one["name"] == "the longest answer")
    assert (code, blind["questions"], blind["chance"]) == (1, 400, 0.5)
    assert rule["meaning"] == "the answer with the most characters"
    assert len(blind["examples"]) == 5
    assert rule["found"] == pytest.approx(0.75, abs=0.06)
    assert rule["low"] < rule["found"] < rule["high"]
    assert (rule["named"], rule["nature"], rule["decided"]) == (True, "candidate", 1.0)


def test_a_mark_before_right_answers_is_an_artefact_on_the_page_and_in_the_exit_code(
    tmp_path: Path, scan: Scan
) -> None:
    rows = _pairs(400, longer=0.5, subset=HOSTILE) + _pairs(400, longer=0.5, seed=1)
    for row in rows[:300]:
        row["chosen"] = f"**Sure** {row['chosen']}"
    code, out, _ = scan(_jsonl(tmp_path / "p.jsonl", rows), "--html", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert code == 1
    assert "the most markup" in out
    assert "\x1b" not in out + page
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "Right answers found without the question" in page
    assert "Questions answered rightly by the most markup" in page
    assert page.count("<b>picked</b> <span>**Sure**") == 5


def test_a_rule_is_explained_shown_and_followed_by_what_to_do(tmp_path: Path, scan: Scan) -> None:
    rows = _pairs(200, longer=0.95)
    for row in rows:
        row["prompt"] = f"{HOSTILE} {row['prompt']}"
    file, new = _jsonl(tmp_path / "p.jsonl", rows), tmp_path / "with_filter.yaml"
    code, out, err = scan(file, "--filter-file", str(new))
    assert (code, err) == (1, "")
    assert "\x1b" not in out
    assert "  the longest answer: the answer with the most characters\n" in out
    said = out.partition("answered rightly by the longest answer:\n")[2].splitlines()
    assert [line.partition(":")[0].strip() for line in said[:15]] == ["question", "picked", "wrong"] * 5
    assert all(len(picked) > len(wrong) for picked, wrong in zip(said[1:15:3], said[2:15:3], strict=True))
    steps = out.partition("What to do:")[2]
    assert "lengthen wrong answers or shorten right ones" in " ".join(steps.split())
    assert f"\n      aflite scan {file} --filter-file with_filter.yaml\n" in steps
    spec = load_spec(new)
    assert spec.challenge_sets["balanced"].balanced_by[:1] == ("length",)
    assert (spec.filter.evaluation_rows, spec.filter.threshold) == ("kept", 0.8)
    assert f"The dataset's file '{new}' is written." in out
    assert main(["check", str(new), "--no-timing"]) == 0
    _, out, _ = scan(new)
    assert "--filter-file" not in out
    assert "add to the dataset's file a representation of `kind: surface`" in " ".join(out.split())
    rows = [{**row, "author": number // 2} for number, row in enumerate(rows)]
    _, out, _ = scan(_jsonl(file, rows), "--group", "author", "--filter-file", str(tmp_path / "grouped.yaml"))
    assert out.endswith("\nIt cannot name --group, so rows of one group can be in the training and in the test set.\n")
    code, _, err = scan(file, "--group", "prompt")
    assert (code, "'prompt' is a column of questions or answers, which are grouped without" in err) == (2, True)
    code, _, err = scan(file, "--skip", "batsh")
    assert (code, "'p.jsonl' has no column 'batsh'" in err) == (2, True)


def test_values_of_a_column_of_pairs_are_scored_separately_if_it_is_named(
    tmp_path: Path, scan: Scan, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = _pairs(200, longer=0.5, subset="a") + _pairs(200, longer=0.95, seed=1, subset="b")
    rows = [{**{name: row[name] for name in ("prompt", "chosen", "rejected")}, "batch": row["subset"]} for row in rows]
    file = _jsonl(tmp_path / "p.jsonl", rows)
    _, out, _ = scan(file)
    assert "\nNot read: 'batch'; `--subset COLUMN` scores the pairs with each value separately.\n" in out
    _, out, _ = scan(file, "--subset", "batch")
    assert "Not read" not in out
    lines = [line.split() for line in out.splitlines() if line.startswith("the longest answer ")]
    assert [line[3] for line in lines] == ["b", "all"] or [line[3] for line in lines] == ["all", "b"]
    (tmp_path / "scan.json").write_text(scan(file, "--subset", "batch", "--json")[1])
    code = main(
        ["fix", str(file), "--scan", str(tmp_path / "scan.json"), "--cue", "999", "--to", str(tmp_path / "new")]
    )
    assert (code, "unknown scan option" in capsys.readouterr().err) == (2, False)
    code, _, err = scan(file, "--subset", "batsh")
    assert (code, "'p.jsonl' has no column 'batsh'" in err, "did you mean 'batch'?" in err) == (2, True, True)
    table = tmp_path / "t.csv"
    table.write_text("label,text\n" + "a,one two three\nb,four five six\n" * 60)
    code, _, err = scan(table, "--subset", "text")
    assert (code, "`--subset` is 'text', but 't.csv' is not read as preferences or questions" in err) == (2, True)


def test_a_filter_file_balances_by_the_odd_one_out_if_it_is_named(tmp_path: Path, scan: Scan) -> None:
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for number in range(160):
        shared = rng.choice(WORDS, 4)
        wrong = [" ".join([*shared, *rng.choice(WORDS, 3)]) for _ in range(3)]
        choices = [" ".join(rng.choice(WORDS, 7)), *wrong]
        place = int(rng.integers(4))
        choices[0], choices[place] = choices[place], choices[0]
        rows.append({"question": f"q {number}", "choices": choices, "answer": place})
    code, out, _ = scan(_jsonl(tmp_path / "q.jsonl", rows), "--filter-file", str(tmp_path / "quiz.yaml"))
    assert (code, "by picking the odd one out" in out.splitlines()[0]) == (1, True)
    assert "words that the right one lacks" in " ".join(out.split())
    assert load_spec(tmp_path / "quiz.yaml").challenge_sets["balanced"].balanced_by == ("oddness",)


def test_a_filter_file_of_questions_compares_answers_and_is_never_overwritten(tmp_path: Path, scan: Scan) -> None:
    rng = np.random.default_rng(0)
    rows = []
    for number in range(120):
        choices = [" ".join(rng.choice(WORDS, 6)) for _ in range(4)]
        choices[number % 4] += " and so on for ever"
        rows.append({"question": f"q {number}", "choices": choices, "answer": number % 4})
    file, new = _jsonl(tmp_path / "q.jsonl", rows), tmp_path / "quiz.yaml"
    assert scan(file, "--filter-file", str(new))[0] == 1
    spec = load_spec(new)
    assert (spec.answers, spec.filter.threshold, new.read_text().count("train: q.jsonl")) == ("compared", 0.9, 1)
    code, _, err = scan(file, "--filter-file", str(new))
    assert (code, "quiz.yaml', which already exists and is not overwritten; name another file" in err) == (2, True)
    code, _, err = scan(file, "--filter-file", str(tmp_path / "My Quiz.yaml"))
    assert (code, "use lower-case letters, digits and underscores, and the ending .yaml" in err) == (2, True)
    table = tmp_path / "t.csv"
    table.write_text("label,text\n" + "a,one two three\nb,four five six\n" * 60)
    code, _, err = scan(table, "--filter-file", str(tmp_path / "other.yaml"))
    assert (code, "`--filter-file` works only for a table of preferences or questions" in err) == (2, True)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            {"Question": "q", "Best Answer": "a", "Best Incorrect Answer": "b", "Category": "c"},
            "question 'Question', right 'Best Answer', wrong 'Best Incorrect Answer'; parts by 'Category'.",
        ),
        (
            {"question": "q", "choices": ["a", "b"], "answer": 0},
            "question 'question', answers 'choices', right one 'ans",
        ),
        ({"question": "q", "options": ["b", "a"], "label": "B"}, "answers 'options', right one 'label'."),
        ({"question": "q", "A": "a", "B": "b", "key": "A"}, "answers 'A', 'B', right one 'key'."),
        (
            {"stem": "q", "option_1": "a", "option_2": "b", "answer": "option_1"},
            "answers 'option_1', 'option_2', right",
        ),
        (
            {"question": "q", "correct_answer": "a", "distractor1": "b", "distractor2": "c"},
            "right 'correct_answer', wrong 'distractor1', 'distractor2'.",
        ),
        (
            {"question": "q", "correct_answers": ["a", "d"], "incorrect_answers": ["b"]},
            "right 'correct_answers', wrong",
        ),
    ],
)
def test_columns_of_questions_are_found_by_their_names(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    rows, understood = _read(_jsonl(tmp_path / "q.jsonl", [row, {**row, next(iter(row)): "r"}]))
    assert rows.answers
    assert said in understood
    answers = dict(zip([*rows.texts.values()][1], rows.labels, strict=True))
    assert (answers["a"], answers["b"]) == (rows.label_names.index("right"), rows.label_names.index("wrong"))


def test_answers_that_one_text_joins_are_not_taken_for_one_answer(tmp_path: Path, scan: Scan) -> None:
    row = {"question": "q", "correct_answers": "a; b", "incorrect_answers": "c; d"}
    code, _, err = scan(_jsonl(tmp_path / "q.jsonl", [row, row]))
    assert code == 2
    assert "has no column 'label'" in err


def _passages(count: int, *, cut: float) -> list[dict[str, Any]]:
    """Questions with four passages; the right one has the question's words, of the wrong ones a share is cut off."""
    rng, rows = np.random.default_rng(0), []
    for number in range(count):
        passages = [f"{' '.join(rng.choice(WORDS, 7))}. {' '.join(rng.choice(WORDS, 8))}." for _ in range(4)]
        right = number % 4
        shown = [text[:-4] if place != right and rng.random() < cut else text for place, text in enumerate(passages)]
        asked = f"where is {' '.join(passages[right].split()[:4])}"
        rows.append({"question": asked, "passages": shown, "correct": right})
    return rows


def test_columns_of_lists_with_unknown_names_are_guessed_in_a_file_that_can_be_scanned(
    tmp_path: Path, scan: Scan
) -> None:
    file = _jsonl(tmp_path / "passages.jsonl", _passages(200, cut=0))
    code, _, err = scan(file)
    assert code == 2
    assert "The columns 'question', 'passages', 'correct' look like questions with lists of answers." in err
    yaml_lines = err[err.index("source:") : err.index("If these are no questions")]
    (tmp_path / "my_questions.yaml").write_text(yaml_lines)
    code, out, err = scan(tmp_path / "my_questions.yaml")
    assert (code, err) == (0, "")  # overlap may be the task
    assert "Overlap with the question: " in out.splitlines()[0]
    assert "Scanned: train of my_questions, 640 of 800 rows. Compared: test (160)." in out
    assert "By overlap with the question, which may belong to the task:" in out
    assert "Judge whether overlap with the question belongs to the task: it finds " in out


def test_passages_that_are_cut_off_are_shown_and_no_full_stop_hides_it(tmp_path: Path, scan: Scan) -> None:
    rows = [{"question": one["question"], "choices": one["passages"], "answer": one["correct"]} for one in
            _passages(300, cut=0.4)]  # fmt: skip
    file = _jsonl(tmp_path / "p.jsonl", rows)
    code, out, _ = scan(file, "--filter-file", str(tmp_path / "new.yaml"), "--html", str(tmp_path / "p.html"))
    assert code == 1
    assert re.search(r"\d+ texts may be cut off in the middle of a sentence, such as “.* w\d+ \w+”, .*: repair", out)
    assert out.index("Artefacts, which are no part of any task") < out.index("ends with a letter or digit (choices)  ")
    assert "Found 1 artefact that tells the label (“ends with a letter or digit (choices)” for" in out.splitlines()[0]
    assert f"if they are whole: aflite fix {file} --cue 2 --by normalise --to NEW_FOLDER" in out
    assert "may be cut off in the middle" in (tmp_path / "p.html").read_text()
    assert "Right answers found by overlap with the question" in (tmp_path / "p.html").read_text()
    spec = load_spec(tmp_path / "new.yaml")
    assert spec.representations["surface"].inputs == ("text_pair",)  # type: ignore[union-attr]
    assert spec.challenge_sets["balanced"].balanced_by == ("length",)


def test_check_warns_about_few_chosen_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _jsonl(tmp_path / "p.jsonl", _pairs(200, longer=0.8))
    source = {"format": "preference", "table": {"format": "jsonl", "splits": {"train": "p.jsonl"}}}
    own = {**source, "table": {"format": "jsonl", "splits": {"test": "p.jsonl"}}}
    content = {
        "source": source,
        "holdout": {"test": 0.3},
        "representations": {"surface": {"kind": "surface"}},
        "filter": {"evaluation_rows": "kept"},
        "evaluators": {"linear": {"kind": "linear"}},
        "challenge_sets": {"balanced": {"source": own, "balanced_by": ["length"]}},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(content))
    assert main(["check", "--no-timing", str(tmp_path / "mine.yaml")]) == 0
    out = capsys.readouterr().out
    found = re.search(r"challenge set balanced: (\d+) rows, the answers of (\d+) questions", out)
    assert found is not None
    assert int(found[1]) == 2 * int(found[2]) < 120
    assert f"warning: challenge_sets.balanced has only {found[2]} questions, so the 95 % interval of an" in out
    assert " points; provide more questions" in out


def test_options_with_letters_in_a_struct_are_read(tmp_path: Path) -> None:
    choices = {"text": ["a", "b", "c"], "label": ["A", "B", "C"]}
    pq.write_table(
        pa.Table.from_pylist([{"question": "q", "choices": choices, "answerKey": "C"}]), tmp_path / "q.parquet"
    )
    rows, _ = _read(tmp_path / "q.parquet")
    assert [rows.label_names[label] for label in rows.labels] == ["wrong", "wrong", "right"]


def test_a_label_or_text_that_is_named_makes_it_an_ordinary_table(tmp_path: Path) -> None:
    row = {"prompt": "p q r s", "chosen": "a", "rejected": "b", "label": "x"}
    file = _jsonl(tmp_path / "p.jsonl", [row, {**row, "label": "y"}])
    assert _read(file)[0].answers
    assert not _read(file, label="label")[0].answers


def test_a_group_column_joins_the_questions_of_an_author(tmp_path: Path) -> None:
    file = _jsonl(
        tmp_path / "p.jsonl", [{**row, "author": number % 3} for number, row in enumerate(_pairs(9, longer=1))]
    )
    rows, _ = _read(file, group="author")
    assert rows.groups is not None
    assert rows.questions is not None
    assert (len(np.unique(rows.groups)), len(np.unique(rows.questions))) == (3, 9)


def test_ties_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [{**row, "margin": float(number > 2)} for number, row in enumerate(_pairs(40, longer=1))]
    scanned, understood = _read(_jsonl(tmp_path / "p.jsonl", rows))
    assert int((scanned.labels < 0).sum()) == 6
    assert "37 questions read. 6 answers of ties, or equal to a right answer, left out." in understood


def test_a_bad_row_is_refused_with_what_to_do(tmp_path: Path, scan: Scan) -> None:
    rows = _pairs(3, longer=1)
    rows[1]["chosen"] = None
    code, _, err = scan(_jsonl(tmp_path / "p.jsonl", rows))
    assert code == 2
    assert "has no chosen answer in ['chosen']; add the answer or delete the row" in err
    assert "p.jsonl'" in err


def test_compressed_files_are_read_and_their_bad_rows_named(tmp_path: Path, scan: Scan) -> None:
    rows = _pairs(40, longer=1)
    plain = _jsonl(tmp_path / "p.jsonl", rows).read_bytes()
    (tmp_path / "p.jsonl.gz").write_bytes(gzip.compress(plain))
    first, second = (_read(tmp_path / name)[0] for name in ("p.jsonl", "p.jsonl.gz"))
    assert first.texts == second.texts
    table = "prompt;chosen;rejected\n" + "".join(f"p {n};good {n};bad {n}\n" for n in range(3))
    (tmp_path / "p.csv.gz").write_bytes(gzip.compress(table.encode()))
    assert len(_read(tmp_path / "p.csv.gz")[0]) == 6
    (tmp_path / "q.csv.gz").write_bytes(gzip.compress(table.replace("good 1", "").encode()))
    err = scan(tmp_path / "q.csv.gz")[2]
    assert (
        "has no chosen answer in ['chosen']; add the answer or delete the row (rows count from 1: row "
        "2 is line 3 of" in err
    )
    for cut in (plain, gzip.compress(plain)[:40]):
        (tmp_path / "cut.jsonl.gz").write_bytes(cut)
        code, _, err = scan(tmp_path / "cut.jsonl.gz")
        assert code == 2
        assert "cut.jsonl.gz' cannot be read as jsonl: " in err
    (tmp_path / "p.parquet.gz").write_bytes(b"")
    assert (
        "not a supported format; decompress the file first with `gunzip -k p.parquet.gz`"
        in scan(tmp_path / "p.parquet.gz")[2]
    )


def test_compressed_files_are_not_written_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"{'ab'[n % 2]},text {n}{'!' * (n % 2)}\n" for n in range(200))
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(f"label,text\n{rows}".encode()))
    assert main(["fix", str(tmp_path / "t.csv.gz"), "--cue", "1", "--to", str(tmp_path / "new")]) == 2
    said = "'t.csv.gz' is compressed, and `aflite fix` cannot write compressed files; run `gunzip -k t.csv.gz`"
    assert said in capsys.readouterr().err


def test_a_column_of_values_beside_each_answer_is_a_cue_of_ones_own(tmp_path: Path, scan: Scan) -> None:
    rng, rows = np.random.default_rng(0), []
    for number in range(150):
        for place in range(3):
            told = (place == number % 3) == (rng.random() < 0.8)
            text = " ".join(rng.choice(WORDS, 6))
            rows.append({"id": number, "q": f"q {number}", "a": text, "ok": place == number % 3, "tone": "kind" if told
                         else "dry"})  # fmt: skip
    _jsonl(tmp_path / "a.jsonl", rows)
    file = tmp_path / "tones.yaml"
    file.write_text(
        "source:\n  format: multiple_choice\n  table: {format: jsonl, splits: {train: a.jsonl}}\n"
        "  question: q\n  answers: a\n  right: ok\n  id: id\n"
        "columns: {attributes: [tone]}\n"
        "irrelevant: [tone]\n"
        "holdout: {test: 0.2}\nrepresentations: {surface: {kind: surface}}\nevaluators: {linear: {kind: linear}}\n"
    )
    code, out, err = scan(file, "--json")
    assert (code, err) == (1, "")
    cue = json.loads(out)["cues"][0]
    assert cue["name"].startswith("tone = ")
    assert (cue["kind"], cue["reason"], cue["remedies"]) == ("attribute", "declared", [])
    assert cue["balanced"] == pytest.approx(0.8, abs=0.06)


def _real(example_data: Path, name: str) -> Path:
    """A file of the example data; skips where it is absent."""
    file = example_data / name
    if not file.is_file():
        pytest.skip(f"no {name} in the example data")
    return file


def _overall(out: str) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in json.loads(out)["blind"]["rules"] if one["subset"] == ""}


def test_the_published_surface_signal_of_truthful_answers_is_recovered(example_data: Path, scan: Scan) -> None:
    code, out, _ = scan(_real(example_data, "truthfulqa_pairs/truthfulqa_pairs.csv"), "--json")
    rules = _overall(out)
    surface = rules["all surface properties together"]
    assert code == 1
    assert surface["auc"] > 0.716  # Namjoo and Phillips (2026), all pairs
    assert surface["found"] == pytest.approx(0.76, abs=0.02)
    named = {name for name, one in rules.items() if one["named"] and one["nature"] == "candidate"}
    assert named == {"the most negations", "the longest answer"}


def test_the_shorter_answer_of_harmless_transcripts_is_preferred_by_a_little(
    example_data: Path, scan: Scan, tmp_path: Path
) -> None:
    file = tmp_path / "harmless.jsonl"
    file.write_bytes(gzip.decompress(_real(example_data, "preferences/harmless_base_test.jsonl.gz").read_bytes()))
    code, out, _ = scan(file, "--json")
    rules = _overall(out)
    assert code == 1  # by two models
    assert json.loads(out)["blind"]["questions"] == 2_312
    assert rules["the shortest answer"]["found"] == pytest.approx(0.554, abs=0.002)
    assert not rules["the shortest answer"]["named"]
    assert rules["all surface properties together"]["found"] == pytest.approx(0.605, abs=0.02)
