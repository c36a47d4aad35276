"""`aflite compare`, and the section of a report, over two results of one dataset."""

import json
from pathlib import Path
from typing import Any

import pytest

from aflite_assets.command_line.main import main
from aflite_assets.results import ResultStore
from aflite_assets.specs.registry import parse_spec
from aflite_assets.stages.pipeline import run_pipeline
from tests.undrawn import undrawn_figures


@pytest.fixture
def two_results(made_vectors: dict[str, Any], store: ResultStore) -> str:
    """The name of a dataset of which a second result has another threshold and so other rows removed."""
    made_vectors["filter"] = {**made_vectors["filter"], "threshold": 0.9}
    with undrawn_figures():
        run_pipeline(parse_spec(made_vectors), store=store)
    return str(made_vectors["name"])


def test_the_last_two_results_of_a_dataset(
    two_results: str, store: ResultStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", two_results]) == 0
    out = capsys.readouterr().out
    assert "filter.given.threshold" in out
    assert "0.9" in out
    assert main(["compare", two_results, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {one["name"] for one in found["changed"] if one["kind"] == "setting"} == {"filter.given.threshold"}
    (counts,) = found["counts"]
    assert counts["to_kept"] + counts["to_removed"] == len(found["rows"]) > 0
    report = store.current("benchmark_report", two_results)
    page = report.file("report.html").read_text(encoding="utf-8")
    assert "What changed since an earlier result" in page
    assert "filter.given.threshold" in page
    assert report.manifest["provenance"]["compared with"] == [found["old"]]
    older = next(one for one in store.results("benchmark_report", two_results) if one.key != report.key)
    assert "What changed since an earlier result" not in older.file("report.html").read_text(encoding="utf-8")
    assert main(["compare", str(older.path), str(report.path / "report.html"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == found


def test_a_folder_named_like_a_dataset_does_not_hide_its_results(
    two_results: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / two_results).mkdir()
    assert main(["compare", two_results]) == 0
    assert "filter.given.threshold" in capsys.readouterr().out
    assert main(["compare", f"./{two_results}"]) == 1
    assert f"{tmp_path / two_results} is not a published report" in capsys.readouterr().err


def test_what_cannot_be_compared_is_named(
    made_vectors: dict[str, Any], store: ResultStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = made_vectors["name"]
    assert main(["compare", name]) == 1
    assert f"{name!r} has only one analysis, so there is no earlier analysis to compare with" in capsys.readouterr().err
    assert main(["compare", name, "marked_digits"]) == 1
    assert "has no analysis in" in capsys.readouterr().err
    assert main(["compare", name, str(tmp_path)]) == 1
    assert f"{tmp_path} is not a published report" in capsys.readouterr().err


def test_a_mended_dataset_is_compared_with_its_original(made_vectors: dict[str, Any], store: ResultStore) -> None:
    mended = {**made_vectors, "name": f"{made_vectors['name']}_fixed", "seed": 7}
    with undrawn_figures():
        run_pipeline(parse_spec(mended), store=store)
    report = store.current("benchmark_report", mended["name"])
    (compared,) = report.manifest["provenance"]["compared with"]
    assert compared.startswith(f"{made_vectors['name']} of ")
