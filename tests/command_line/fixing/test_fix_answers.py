"""`aflite fix` on preferences and questions: markup and blanks are taken from all answers; the rest is refused."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.command_line.main import main
from aflite_assets.specs.registry import load_spec

WORDS = [f"w{number}" for number in range(300)]


def _texts(rng: np.random.Generator, count: int) -> list[str]:
    return [" ".join(rng.choice(WORDS, 7)) for _ in range(count)]


def _pairs(count: int = 300) -> list[dict[str, Any]]:
    """Pairs in which the first word is bold in 60 % of the chosen answers and in 5 % of the others."""
    rng, rows = np.random.default_rng(0), []
    for number in range(count):
        chosen, rejected = _texts(rng, 2)
        chosen = chosen.replace(" ", "** ", 1).join(("**", "")) if rng.random() < 0.6 else chosen
        rejected = rejected.replace(" ", "** ", 1).join(("**", "")) if rng.random() < 0.05 else rejected
        rows.append({"prompt": f"*prompt* {number}", "chosen": chosen, "rejected": rejected})
    return rows


def _questions(count: int = 300) -> list[dict[str, Any]]:
    """Questions with four answers, the right one given by its text, which ends in a blank in 70 %."""
    rng, rows = np.random.default_rng(1), []
    for number in range(count):
        choices = _texts(rng, 4)
        choices[number % 4] += " " if rng.random() < 0.7 else ""
        rows.append({"question": f"q {number}", "choices": choices, "answer": choices[number % 4]})
    return rows


def _jsonl(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_markup_of_chosen_answers_is_taken_from_all_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = _jsonl(tmp_path / "p.jsonl", _pairs())
    assert main(["scan", str(file)]) == 1
    advised = f"mend it: aflite fix {file} --cue 1 --to NEW_FOLDER (makes it the same in all rows)"
    assert advised in capsys.readouterr().out
    assert main(["fix", str(file), "--cue", "1", "--to", str(tmp_path / "new")]) == 0
    out = capsys.readouterr().out
    assert "Answers in 'chosen', 'rejected': asterisks left out" in out
    for before, after in zip(_pairs(), _read(tmp_path / "new" / "p.jsonl"), strict=True):
        assert after == {name: before[name].replace("*", "") for name in ("chosen", "rejected")} | {
            "prompt": before["prompt"]
        }


def test_blanks_are_taken_from_lists_and_from_the_text_of_the_right_answer(tmp_path: Path) -> None:
    file = _jsonl(tmp_path / "q.jsonl", _questions())
    assert main(["fix", str(file), "--cue", "1", "--to", str(tmp_path / "new")]) == 0
    for before, after in zip(_questions(), _read(tmp_path / "new" / "q.jsonl"), strict=True):
        assert after["choices"] == [text.strip() for text in before["choices"]]
        assert (after["answer"], after["question"]) == (before["answer"].strip(), before["question"])


def test_a_dataset_gets_a_copy_that_its_new_file_names(tmp_path: Path) -> None:
    _jsonl(tmp_path / "p.jsonl", _pairs())
    _jsonl(tmp_path / "t.jsonl", _pairs(60))
    spec = tmp_path / "pairs.yaml"
    spec.write_text(
        "source: {format: preference, table: {format: jsonl, splits: {train: p.jsonl, test: t.jsonl}}}\n"
        "representations: {surface: {kind: surface}}\n"
        "evaluators: {linear: {kind: linear, inputs: [text_pair]}}\n"
    )
    assert main(["fix", str(spec), "--cue", "1", "--to", str(tmp_path / "new")]) == 0
    made = load_spec(tmp_path / "new" / "pairs_fixed.yaml")
    assert made.source.splits == {
        "train": str(tmp_path / "new" / "p.jsonl"),
        "test": str(tmp_path / "new" / "t.jsonl"),
    }
    assert not any("*" in row["chosen"] for row in _read(tmp_path / "new" / "t.jsonl"))


def _longer(count: int = 300) -> list[dict[str, Any]]:
    return [{**row, "chosen": f"{row['chosen'].replace('*', '')} and more of it"} for row in _pairs(count)]


def test_what_is_no_typography_is_refused_with_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, new = _jsonl(tmp_path / "p.jsonl", _longer()), tmp_path / "new"
    assert main(["fix", str(file), "--cue", "1", "--to", str(new)]) == 2
    err = capsys.readouterr().err
    assert "in answers `aflite fix` can only normalise typography and blanks" in err
    assert "or run `aflite scan FILE --filter-file NEW.yaml` to filter out whole questions" in err
    marked = _jsonl(tmp_path / "m.jsonl", _pairs())
    for by in ("rebalance", "weights"):
        assert main(["fix", str(marked), "--cue", "1", "--by", by, "--to", str(new)]) == 2
        assert "can only normalise typography and blanks" in capsys.readouterr().err
    assert not new.exists()


def test_conversations_are_refused_by_their_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {name: f"\n\nHuman: {row['prompt']}\n\nAssistant: {row[name]}" for name in ("chosen", "rejected")}
        for row in _pairs(60)
    ]
    file = _jsonl(tmp_path / "p.jsonl", rows)
    assert main(["fix", str(file), "--cue", "1", "--to", str(tmp_path / "new")]) == 2
    err = capsys.readouterr().err
    assert (
        "the answers are stored as transcripts, but `aflite fix` rewrites only plain texts; save the prompt and the"
        in err
    )
