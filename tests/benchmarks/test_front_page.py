"""The numbers of the README and of `docs` are those of the files that they were made from, and can be made again."""

import json
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.errors import StoreError
from aflite_assets.results import ResultStore
from aflite_assets.stages.pipeline import run_stage
from tests.compatibility.kept import small_specs, unpack_store

ROOT = Path(__file__).parents[2]


@pytest.fixture
def front_page() -> Any:
    from benchmarks import front_page

    return front_page


def test_every_block_says_what_its_file_says(front_page: Any) -> None:
    measured = front_page.read_measured()
    for path in front_page.documents():
        text = path.read_text(encoding="utf-8")
        assert front_page.with_blocks(text, measured) == text, path.name


def test_the_readme_has_a_block_and_is_short(front_page: Any) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "<!-- measured: marked_digits.front -->" in text
    assert len(text.splitlines()) <= 140


def test_a_number_that_was_changed_by_hand_is_put_right(front_page: Any) -> None:
    measured = front_page.read_measured()
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    score = front_page.block("marked_digits.front", measured).split("| filtered | ")[1].split(" | ")[1].split(" ")[0]
    changed = text.replace(f"| {score} ", "| 99.9 ")
    assert changed != text
    assert front_page.with_blocks(changed, measured) == text


def test_a_block_of_what_was_not_measured_is_refused(front_page: Any) -> None:
    with pytest.raises(KeyError, match="snli"):
        front_page.with_blocks("<!-- measured: snli.accuracy -->\n<!-- end -->", front_page.read_measured())
    with pytest.raises(KeyError, match="weather"):
        front_page.block("digits.weather", front_page.read_measured())


def test_a_stored_report_is_measured(front_page: Any, tmp_path: Path) -> None:
    store = ResultStore(unpack_store(tmp_path))
    (spec,) = [spec for spec in small_specs("kept_specs.yaml") if spec.name == "kept_pairs"]
    for name in ("analysis", "benchmark_report"):
        run_stage(name, spec, store=store)
    made = front_page.measure(store, "kept_pairs")
    report = store.current("benchmark_report", "kept_pairs")
    assert made["verdict"]["sentence"] == json.loads(report.file("report.json").read_text())["verdict"]["sentence"]
    assert made["seconds"]["filtered_sets"] >= 0
    assert {row["train_set"] for row in made["accuracy"]} >= {"full", "filtered", "random_matched"}
    assert all(row["low"] <= row["difference"] <= row["high"] for row in made["differences"])
    assert made["differences"]


def test_what_was_never_made_is_refused(front_page: Any, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="benchmark_report of 'digits' was never materialised"):
        front_page.measure(ResultStore(tmp_path), "digits")
