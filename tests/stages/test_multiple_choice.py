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
from aflite_assets.stages.data.raw_dataset import read_raw
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
        "filter": {"n_partitions": 8, "target_size": 0.5, "slice_size": 0.1, "stop_at_chance": False},
        "evaluators": LINEAR,
        "seeds": [0],
    }


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, StoredResult]:
    folder = tmp_path_factory.mktemp("choices")
    return run_pipeline(parse_spec(_content(folder, "questions")), store=ResultStore(folder / "results"))


def test_both_forms_of_file_are_the_same_rows(tmp_path: Path) -> None:
    tables = [read_raw(parse_spec(_content(tmp_path, form))).examples.table for form in ("questions", "answers")]
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


def _right_by_question(walk: dict[str, StoredResult], train_set: str) -> dict[int, bool]:
    """By question of the test split whether the stored probabilities are highest for its right answer."""
    raw = load_examples(walk["raw_dataset"].result.path).in_split("test")
    cells = pq.read_table(walk["evaluator_models"].result.file("cells.parquet")).to_pylist()
    name = next(cell["name"] for cell in cells if cell["train_set"] == train_set)
    said = pq.read_table(walk["evaluator_models"].result.part(name).file("predictions.parquet")).to_pylist()
    probability = {row["row_id"]: row["probabilities"][0] for row in said if row["test_set"] == "test"}
    assert raw.label_names[0] == "right"
    groups = raw.groups
    assert groups is not None
    own = np.array([probability[row] for row in raw.row_ids.tolist()])
    return {
        int(group): int(own[groups == group].argmax()) == int((raw.labels[groups == group] == 0).argmax())
        for group in np.unique(groups)
    }


def test_report_has_the_accuracy_by_question_of_the_stored_predictions(walk: dict[str, StoredResult]) -> None:
    rows = pq.read_table(walk["analysis"].result.file("tables/accuracies.parquet")).to_pylist()
    found = {(row["train_set"], row["tested_on"]): row for row in rows if row["test_set"] == "test"}
    assert {"full", "filtered", "random", "random_matched"} <= {train_set for train_set, _ in found}
    full, right = found["full", "full"], _right_by_question(walk, "full")
    assert (full["test_rows"], full["effective_rows"]) == (40, 40)
    assert full["accuracy"] == pytest.approx(np.mean(list(right.values())))
    assert full["accuracy"] > 0.9  # numbers are right, colours are wrong
    assert full["interval_low"] < full["accuracy"] <= full["interval_high"]


def test_filtered_test_questions_are_those_kept_whole(walk: dict[str, StoredResult]) -> None:
    raw = load_examples(walk["raw_dataset"].result.path).in_split("test")
    rows = pq.read_table(walk["filtered_sets"].result.part("small").file("rows.parquet"))
    kept = np.isin(raw.row_ids, rows.filter(rows["kept"])["row_id"].to_numpy())
    assert raw.groups is not None
    whole = [group for group in np.unique(raw.groups) if kept[raw.groups == group].all()]
    assert len(whole) == len(np.unique(raw.groups[kept]))  # no question was cut
    scores = pq.read_table(walk["analysis"].result.file("tables/accuracies.parquet")).to_pylist()
    row = next(
        one for one in scores if (one["train_set"], one["test_set"], one["tested_on"]) == ("full", "test", "filtered")
    )
    right = _right_by_question(walk, "full")
    assert 0 < row["test_rows"] == len(whole) < 40
    assert row["accuracy"] == pytest.approx(np.mean([right[int(group)] for group in whole]))


def test_differences_count_questions(walk: dict[str, StoredResult]) -> None:
    rows = pq.read_table(walk["analysis"].result.file("tables/differences.parquet")).to_pylist()
    wanted = ("test", "full", "filtered", "random_matched")
    one = next(row for row in rows if (row["test_set"], row["tested_on"], row["train_set"], row["against"]) == wanted)
    filtered, control = (_right_by_question(walk, name) for name in ("filtered", "random_matched"))
    expected = 100 * (np.mean(list(filtered.values())) - np.mean(list(control.values())))
    assert (one["test_rows"], one["groups"]) == (40, 40)
    assert one["difference"] == pytest.approx(expected)


def test_the_page_says_once_what_is_counted_and_what_guessing_gives(walk: dict[str, StoredResult]) -> None:
    result = walk["benchmark_report"].result
    chance = np.mean([1 / 2, 1 / 3, 1 / 4, 1 / 5])
    page = result.file("report.html").read_text(encoding="utf-8")
    assert page.count("Accuracy is by question: the share of questions for which a model gives") == 1
    assert f"one over the number of answers: {100 * chance:.1f} % on test (40 questions)" in page
    assert "the curve is about answers, not questions" in page
    pictures = json.loads(result.file("figures.json").read_text(encoding="utf-8"))
    assert f"chance, one over the number of answers: {100 * chance:.1f} % on test" in pictures["overview.small"]
    report = json.loads(result.file("report.json").read_text(encoding="utf-8"))
    (test_set,) = report["dataset"]["test_sets"]
    assert (test_set["unit"], test_set["rows"], test_set["chance"]) == ("question", 40, pytest.approx(chance))


def test_accuracy_by_answer_is_a_further_table(walk: dict[str, StoredResult]) -> None:
    report = json.loads(walk["benchmark_report"].result.file("report.json").read_text(encoding="utf-8"))
    (shown,) = (table for table in report["evidence"] if table["title"] == "Accuracy by answer")
    row = next(one for one in shown["rows"] if one["train_set"] == "full")
    raw = load_examples(walk["raw_dataset"].result.path).in_split("test")
    assert (row["answers"], row["seeds"]) == (140, 1)
    assert row["most_frequent_class"] == pytest.approx(np.mean(raw.labels == 1))
    assert row["accuracy"] > row["most_frequent_class"]


def test_the_browser_of_rows_has_questions_lines_and_who_picked_which_answer(
    walk: dict[str, StoredResult],
) -> None:
    page = walk["benchmark_report"].result.file("report.html").read_text(encoding="utf-8")
    found = json.loads(page.split('id="rows-data">')[1].split("</script>")[0])
    assert found["columns"] == ["question", "answer"]
    rows = {row["id"]: row for row in found["rows"]}
    raw = load_examples(walk["raw_dataset"].result.path)
    lines = dict(zip(raw.row_ids.tolist(), _lines(raw.groups), strict=True))
    answers = dict(zip(raw.row_ids.tolist(), raw.table["source_id"].to_pylist(), strict=True))
    for row_id, row in rows.items():
        question, answer = answers[row_id].split("/")
        line = f"questions_{row['split']}.csv, line {lines[row_id]}, answer {answer}"
        assert row["place"] == f"{line} ({row['split']}, question {question})", row_id
    right = _right_by_question(walk, "full")
    groups = dict(zip(raw.row_ids.tolist(), np.asarray(raw.groups).tolist(), strict=True))
    picked = [
        (groups[answer["id"]], answer["right"])
        for question in found["questions"]
        for answer in question
        if answer["by"]
    ]
    assert len(picked) == 40  # of every test question one
    assert dict(picked) == right
    assert all(sum(answer["right"] for answer in question) == 1 for question in found["questions"])
    fact = found["filterings"][0]["rows"][0]
    assert len(fact["picked"]) == len(found["questions"][fact["question"]])


def _lines(groups: np.ndarray | None) -> list[int]:
    """The line of each answer's question: groups are numbered by split, after a heading each."""
    assert groups is not None
    return [int(group) + 2 if group < 120 else int(group) - 118 for group in groups]
