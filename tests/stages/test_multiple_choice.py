"""Multiple choice from its files to accuracy by question: questions of two to five answers, in both forms of file."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.data.raw_dataset import RawDatasetSettings, read_raw
from aflite_assets.stages.pipeline import run_pipeline
from tests.small_datasets import LINEAR, SMALL_TRANSFORMER

LETTERS = "ABCDE"
NUMBERS = ["two", "three", "four", "five"]


def _questions(count: int, seed: int) -> list[tuple[str, list[str], int]]:
    """A question, its answers and the place of the right one, which names a number; wrong ones name colours."""
    rng = np.random.default_rng(seed)
    colours = ["red", "blue", "green", "black", "white"]
    drawn = []
    for number in range(count):
        size = 2 + number % 4
        answers = [f"it is {colour}" for colour in rng.permutation(colours)[:size]]
        right = int(rng.integers(size))
        answers[right] = f"it is {rng.choice(NUMBERS)}"
        drawn.append((f"question {rng.choice(NUMBERS)} how many", answers, right))
    return drawn


def _write(folder: Path, form: str) -> dict[str, Any]:
    splits = {}
    for split, count, seed in (("train", 120, 0), ("test", 40, 1)):
        splits[split] = str(folder / f"{form}_{split}.csv")
        with open(splits[split], "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            if form == "questions":
                table.writerow(["question", *LETTERS, "key"])
            else:
                table.writerow(["question", "answer", "key", "id"])
            for number, (question, answers, right) in enumerate(_questions(count, seed)):
                if form == "questions":
                    table.writerow([question, *answers, *[""] * (5 - len(answers)), LETTERS[right]])
                else:
                    said = (int(place == right) for place in range(len(answers)))
                    table.writerows(
                        [question, answer, key, number + 1] for answer, key in zip(answers, said, strict=True)
                    )
    named = {"answers": list(LETTERS)} if form == "questions" else {"answers": "answer", "id": "id"}
    table_source = {"format": "csv", "splits": splits}
    return {"format": "multiple_choice", "table": table_source, "question": "question", "right": "key"} | named


def _content(folder: Path, form: str) -> dict[str, Any]:
    return {
        "name": "choices",
        "source": _write(folder, form),
        "warmup": {"size": 40},
        "representations": {"small": SMALL_TRANSFORMER},
        "filter": {"n_partitions": 8, "target_size": 0.5, "slice_size": 0.1},
        "evaluators": LINEAR,
        "seeds": [0],
    }


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredResult]:
    folder = tmp_path_factory.mktemp("choices")
    return run_pipeline(parse_spec(_content(folder, "questions")), store=ResultStore(folder / "results"))


def test_both_forms_of_file_are_the_same_rows(tmp_path: Path) -> None:
    tables = [
        read_raw(RawDatasetSettings.of(parse_spec(_content(tmp_path, form)))).examples.table
        for form in ("questions", "answers")
    ]
    assert tables[0].equals(tables[1])
    assert tables[0].num_rows == 160 / 4 * (2 + 3 + 4 + 5)


def test_questions_leave_the_filter_whole(walk: dict[str, StoredResult]) -> None:
    raw = load_examples(walk["raw_dataset"].result.path)
    rows = pq.read_table(walk["filtered_sets"].result.part("small").file("rows.parquet"))
    assert raw.groups is not None
    groups = dict(zip(raw.row_ids.tolist(), raw.groups.tolist(), strict=True))
    question = np.array([groups[row] for row in rows["row_id"].to_pylist()])
    kept = rows["kept"].to_numpy(zero_copy_only=False)
    assert 0 < kept.sum() < len(kept)
    for number in np.unique(question):
        assert len(set(kept[question == number].tolist())) == 1


def test_report_has_the_accuracy_by_question_of_the_stored_predictions(walk: dict[str, StoredResult]) -> None:
    table = pq.read_table(walk["benchmark_report"].result.file("tables/by_question.parquet"))
    raw = load_examples(walk["raw_dataset"].result.path).in_split("test")
    assert raw.groups is not None
    found = {(row["train_set"], row["part"]): row for row in table.to_pylist() if row["test_set"] == "test"}
    assert {"full", "filtered", "random", "random_matched"} <= {train_set for train_set, _ in found}
    full = found["full", "all"]
    cells = pq.read_table(walk["evaluator_models"].result.file("cells.parquet")).to_pylist()
    name = next(cell["name"] for cell in cells if cell["train_set"] == "full")
    said = pq.read_table(walk["evaluator_models"].result.part(name).file("predictions.parquet")).to_pylist()
    probability = {row["row_id"]: row["probabilities"][0] for row in said if row["test_set"] == "test"}
    own = np.array([probability[row] for row in raw.row_ids.tolist()])
    right = [int(own[raw.groups == group].argmax()) == int((raw.labels[raw.groups == group] == 0).argmax())
             for group in np.unique(raw.groups)]  # fmt: skip
    assert raw.label_names[0] == "right"
    assert (full["questions"], full["accuracy"]) == (40, pytest.approx(np.mean(right)))
    assert full["accuracy"] > 0.9  # numbers are right, colours are wrong
    assert full["low"] < full["accuracy"] <= full["high"]
    assert full["chance"] == pytest.approx(np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5]))
    assert found["full", "small"]["questions"] < 40


def test_the_page_has_the_means_by_question(walk: dict[str, StoredResult]) -> None:
    report = json.loads(walk["benchmark_report"].result.file("report.json").read_text(encoding="utf-8"))
    (shown,) = (table for table in report["evidence"] if table["title"] == "Accuracy by question")
    rows = {(row["train_set"], row["test_set"], row["part"]): row for row in shown["rows"]}
    assert rows["full", "test", "all"]["questions"] == 40
    assert rows["full", "test", "all"]["accuracy"] > 0.9
