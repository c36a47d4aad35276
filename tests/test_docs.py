"""What the documents show works: every example file, every piece of YAML and every link in them."""

import contextlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from aflite_assets.command_line.main import main
from aflite_assets.data.loading import load_source
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.specs.registry import load_spec, parse_spec

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.yaml"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCS = ROOT / "docs"
GUIDE = DOCS / "your_own_dataset.md"
MODELS = {"representations": {"given": {"kind": "identity"}}, "evaluators": {"linear": {"kind": "linear"}}}


def _yaml_blocks(document: Path) -> list[str]:
    return re.findall(r"```yaml\n(.*?)```", document.read_text(), re.DOTALL)


def _bert(folder: Path) -> str:
    """A checkpoint too small to be of use, for the checks that read its configuration and its tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

    words = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "the", "a", "is"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(folder)
    config = BertConfig(vocab_size=7, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_short_and_valid(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 25
    assert load_spec(path).title


def test_the_measured_specs_can_be_read() -> None:
    assert load_spec(ROOT / "docs" / "measured" / "snli_features.yaml").limit == {
        "train": 3000,
        "test": 1500,
        "fresh": 1500,
    }


def _anchors(document: Path) -> set[str]:
    """What links may name after `#`, as GitHub makes it of headings."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not re.match(r"https?:", link)]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (document.parent / path).resolve() if path else document
        assert target.exists(), link
        if anchor:
            assert anchor in _anchors(target), link
        if target.suffix == ".png":
            assert target.read_bytes().startswith(b"\x89PNG"), link


def test_the_contents_name_every_page() -> None:
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"^\| \[.*?\]\((\w+\.md)\)", text, re.MULTILINE))
    assert sorted(linked) == sorted({path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_sentences_are_short(document: Path) -> None:
    long = [sentence for sentence in _sentences(document) if len(sentence.split()) > 30]
    assert long == []


def _sentences(document: Path) -> list[str]:
    """Running text without code, tables, headings, measured blocks and the addresses of links.

    What ends with a colon or a semicolon counts as a sentence.
    """
    text = document.read_text(encoding="utf-8")
    for left_out in (r"```.*?```", r"<!-- (?:measured|output).*?<!-- end -->", r"^[ ]*\|.*?$", r"^#.*?$"):
        text = re.sub(left_out, "\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    paragraphs = re.split(r"\n\s*\n|^\s*(?:[-*]|\d+\.) ", text, flags=re.MULTILINE)
    return [one for paragraph in paragraphs for one in re.split(r"(?<=[.?!:;])\**\)?\s+", " ".join(paragraph.split()))]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_understood_on_real_data(
    path: Path, example_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if path.stem in WITHOUT_DOWNLOAD:
        pytest.skip("its data are written by a test below")
    monkeypatch.setenv("DATA", str(example_data))
    monkeypatch.setenv("ENCODER", _bert(tmp_path / "bert"))
    assert main(["check", "--no-timing", str(path)]) == 0
    written = capsys.readouterr().out
    rows = {
        "cifar10": (4000, 1000), "fever_symmetric": (708, 712), "hans": (2400, 600), "my_multi_nli": (15718, 3929),
        "my_qnli": (4586, 1146), "snli_original": (1273, 1254),
    }[path.stem]  # fmt: skip
    for split, count in zip(("train", "test"), rows, strict=True):
        assert re.search(rf"^{split} .* {count:,}$", written, re.MULTILINE), written


def test_the_table_of_features_is_planned_as_the_guide_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_cells(tmp_path)
    monkeypatch.setenv("DATA", str(tmp_path))
    assert main(["check", "--no-timing", str(ROOT / "docs" / "examples" / "cells.yaml")]) == 0
    written = capsys.readouterr().out
    assert re.search(r"^train +569 +0 +398$", written, re.MULTILINE), written
    assert re.search(r"^test +from train +171$", written, re.MULTILINE), written
    assert "  iterations   27 at most" in written
    assert "  cells        30 = 2 evaluators x 5 train sets x 3 seeds" in written


def test_the_dataset_of_the_readme_is_understood(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = _yaml_blocks(ROOT / "README.md")
    (tmp_path / "my_pairs.yaml").write_text(block.replace("path/to/model", _bert(tmp_path / "bert")))
    names = ("entailment", "neutral", "contradiction")
    rows = [f"the premise {row // 3},a hypothesis {row},{names[row % 3]}" for row in range(600)]
    (tmp_path / "train.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--no-timing", "my_pairs.yaml"]) == 0
    written = capsys.readouterr().out
    assert "input: sentence pairs in 200 groups" in written
    assert re.search(r"^fresh +from train +60$", written, re.MULTILINE), written
    assert re.search(r"^test +from train +120$", written, re.MULTILINE), written


def _write_messages(folder: Path) -> None:
    lines = [f'{"spam" if row % 4 == 0 else "ham"},"message {row}, the {row % 7}th"' for row in range(200)]
    (folder / "spam.csv").write_text("\n".join([*lines, lines[0], lines[1]]))


def _write_pairs(folder: Path) -> None:
    names = ("entailment", "neutral", "contradiction")
    rows = [f"the premise {row // 3},a hypothesis {row},{names[row % 3]}" for row in range(300)]
    (folder / "pairs.csv").write_text("\n".join(["premise,hypothesis,label", *rows]))


def _write_questions(folder: Path) -> None:
    rows = [f"what is {row}?,{row} a,{row} b,{row} c,{row} d,{'ABCD'[row % 4]}" for row in range(100)]
    (folder / "questions.csv").write_text("\n".join(["question,A,B,C,D,key", *rows]))


def _write_answers(folder: Path) -> None:
    rows = [
        {"question_id": row, "question": f"what is {row}?", "answer": f"{row} {name}", "correct": number == row % 4}
        for row in range(100)
        for number, name in enumerate("abcd")
    ]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)))


def _write_preferences(folder: Path) -> None:
    rows = [{"prompt": f"what is {row}?", "chosen": f"{row} is a", "rejected": f"{row} is b"} for row in range(100)]
    (folder / "preferences.jsonl").write_text("\n".join(map(json.dumps, rows)))


def _write_images(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for name, rows in (("cat", 60), ("dog", 40)):
        place = folder / "pictures" / name
        place.mkdir(parents=True)
        for row in range(rows):
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(place / f"{row}.png")


def _write_cells(folder: Path) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    with contextlib.chdir(folder):
        exec(compile(script, "guide", "exec"), {})


WITHOUT_DOWNLOAD: dict[str, tuple[Callable[[Path], None], dict[str, int], str]] = {
    "my_spam": (_write_messages, {"train": 130, "test": 40, "fresh": 30}, "input: texts"),
    "my_pairs": (_write_pairs, {"train": 195, "test": 60, "fresh": 45}, "input: sentence pairs in 100 groups"),
    "my_questions": (
        _write_questions,
        {"train": 260, "test": 80, "fresh": 60},
        "input: sentence pairs, the answers of 100 questions",
    ),
    "my_answers": (
        _write_answers,
        {"train": 260, "test": 80, "fresh": 60},
        "input: sentence pairs, the answers of 100 questions",
    ),
    "my_preferences": (
        _write_preferences,
        {"train": 130, "test": 40, "fresh": 30},
        "input: sentence pairs, the answers of 100 questions in 100 groups",
    ),
    "my_images": (_write_images, {"train": 65, "test": 20, "fresh": 15}, "input: images"),
    "cells": (_write_cells, {"train": 398, "test": 171}, "input: feature vectors of width 10"),
}
"""By example: what writes its data, the rows of each split, and how `aflite check` describes them."""


@pytest.mark.parametrize("name", WITHOUT_DOWNLOAD)
def test_example_of_each_kind_of_data_needs_no_download(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write, rows, described = WITHOUT_DOWNLOAD[name]
    write(tmp_path)
    shutil.copy(ROOT / "docs" / "examples" / f"{name}.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    for variable in ("DATA", "ENCODER"):
        monkeypatch.delenv(variable, raising=False)
    spec = load_spec(tmp_path / f"{name}.yaml")
    for model in (*spec.representations.values(), *spec.evaluators.values()):
        assert getattr(model, "checkpoint", None) is None
        assert model.kind in ("small_transformer", "siamese_bag", "timm_image", "identity", "linear", "rbf_svm")
    assert main(["check", "--no-timing", f"{name}.yaml"]) == 0
    written = capsys.readouterr().out
    assert described in written
    for split, count in rows.items():
        assert re.search(rf"^{split} .* {count:,}$", written, re.MULTILINE), written


def test_messages_that_stand_twice_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_messages(tmp_path)
    monkeypatch.setenv("DATA", str(tmp_path))
    assert main(["check", "--no-timing", str(ROOT / "docs" / "examples" / "my_spam.yaml")]) == 0
    written = capsys.readouterr().out
    assert "`drop_duplicates` dropped 2 rows of train because an earlier row has the same input and label" in written
    assert re.search(r"^spam +33 +10 +7$", written, re.MULTILINE), written


def test_both_forms_of_multiple_choice_are_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA", str(tmp_path))
    _write_questions(tmp_path)
    _write_answers(tmp_path)
    specs = (load_spec(ROOT / "docs" / "examples" / f"{name}.yaml") for name in ("my_questions", "my_answers"))
    columns = ["text", "text_pair", "label"]
    by_question, by_answer = (load_source(spec.source)["train"].select(columns).to_pylist() for spec in specs)
    assert len(by_question) == 400
    assert by_question == by_answer


def test_the_examples_without_a_download_are_those_that_the_guide_names() -> None:
    table = GUIDE.read_text().split("These need no download.")[1].split("Each of these examples adds one thing")[0]
    assert set(re.findall(r"\(examples/(\w+)\.yaml\)", table)) == set(WITHOUT_DOWNLOAD)


def test_the_pages_for_users_stay_short() -> None:
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1])
    pages = ["README.md", *nav[1]["Use it"], "dagster.md", "operations.md"]
    assert "read_a_report.md" in pages
    assert sum(len((DOCS / page).read_text(encoding="utf-8").split()) for page in pages) <= 12_000


def test_the_guide_names_every_example() -> None:
    linked = set(re.findall(r"\(examples/([\w.]+)\)", GUIDE.read_text()))
    assert linked == {path.name for path in EXAMPLES}


@pytest.mark.parametrize(
    "block",
    [one for name in ("your_own_dataset", "sources", "preferences") for one in _yaml_blocks(DOCS / f"{name}.md")],
)
def test_yaml_in_the_guide_is_valid(block: str) -> None:
    content: dict[str, Any] = yaml.safe_load(block)
    source = {"format": "csv", "splits": {"train": "a.csv", "test": "b.csv"}}
    assert parse_spec({"name": "mine", "source": source, **MODELS, **content})


@pytest.mark.parametrize("block", _yaml_blocks(ROOT / "docs" / "evaluation.md"))
def test_yaml_about_evaluation_is_valid(block: str) -> None:
    columns = {"text": "premise", "text_pair": "hypothesis"}
    source = {"format": "csv", "splits": {"train": "a.csv", "test": "b.csv"}}
    models = {"representations": {"net": {"kind": "small_transformer"}}, "evaluators": {"linear": {"kind": "linear"}}}
    assert parse_spec({"name": "mine", "source": source, "columns": columns, **models, **yaml.safe_load(block)})


@pytest.mark.parametrize("block", [*_yaml_blocks(ROOT / "README.md"), *_yaml_blocks(ROOT / "docs" / "operations.md")])
def test_yaml_in_the_readme_and_about_operations_is_valid(block: str) -> None:
    source = {"format": "csv", "splits": {"train": "a.csv", "test": "b.csv"}}
    assert parse_spec({"name": "mine", "source": source, **MODELS, **yaml.safe_load(block)})


def test_the_four_lines_on_forgettable_rows_can_be_added_to_a_file_of_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = ROOT / "docs" / "forgettables.md"
    block = next(one for one in _yaml_blocks(page) if "# 4" in one)
    lines = block.splitlines()
    added = [line for line in lines if re.search(r"# [1-4]$", line)]
    before = "\n".join(line for line in lines if line not in added)
    assert len(added) == 4
    file = "source: {format: csv, splits: {train: train.csv, test: test.csv}}\nseeds: [0, 1]\n"
    file += "representations: {small: {kind: small_transformer}}\n"
    names = ("entailment", "neutral", "contradiction")
    rows = [f"the premise {row},a hypothesis {row},{names[row % 3]}" for row in range(600)]
    for split, part in (("train", rows[:500]), ("test", rows[500:])):
        (tmp_path / f"{split}.csv").write_text("\n".join(["premise,hypothesis,label", *part]))
    monkeypatch.chdir(tmp_path)
    printed = []
    for text in (before, block):
        (tmp_path / "pairs.yaml").write_text(file + text)
        assert main(["check", "--no-timing", "pairs.yaml"]) == 0
        printed.append(capsys.readouterr().out)
    assert "  cells        12 = 1 evaluator x 6 train sets x 2 seeds" in printed[0]
    assert "weak model" not in printed[0]
    recipes = recipes_of(load_spec(tmp_path / "pairs.yaml").evaluators)
    assert [recipe.stages[0].settings.learning_rate for recipe in recipes.values()] == [0.0002, 0.0002]
    assert {(recipe.settings.learning_rate, recipe.settings.epochs) for recipe in recipes.values()} == {(0.001, 3)}
    assert {recipe.stages[0].settings.epochs for recipe in recipes.values()} == {3}
    assert "the second phase has a learning rate" not in printed[1]
    (tmp_path / "pairs.yaml").write_text(file + block.replace(", learning_rate: 0.0002", ""))
    assert main(["check", "--no-timing", "pairs.yaml"]) == 0
    warned = capsys.readouterr().out
    assert (
        "warning: evaluators.small_bow and evaluators.small_random: the second phase has a learning rate of 0.001"
        in warned
    )
    assert "set learning_rate: 0.0002 in the stage" in warned
    assert "bow: 1 training, 90 rows taken (20.0 % of full, assumed, because no run has counted them)" in printed[1]
    assert "= 1 evaluator x 6 train sets x 2 seeds + 2 evaluators on full alone x 2 seeds" in printed[1]
