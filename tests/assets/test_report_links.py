"""Where the report of a dataset is found: a link, or a path and an address to paste."""

from pathlib import Path

import dagster as dg
import pytest

from aflite_assets.assets.report import report_links
from aflite_assets.results import ResultStore


def test_a_report_that_is_served_is_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFLITE_RESULTS_URL", "http://127.0.0.1:3333")
    report = tmp_path / "benchmark_report" / "digits" / "0a1b" / "report.html"
    assert report_links(report, ResultStore(tmp_path)) == {
        "report": dg.MetadataValue.url("http://127.0.0.1:3333/benchmark_report/digits/0a1b/report.html"),
        "rows_link": dg.MetadataValue.url("http://127.0.0.1:3333/benchmark_report/digits/0a1b/report.html#rows"),
        "report_file": dg.MetadataValue.path(str(report)),
    }


def test_else_an_address_can_be_pasted(tmp_path: Path) -> None:
    report = tmp_path / "a home" / "report.html"
    assert report_links(report, ResultStore(tmp_path)) == {
        "report": dg.MetadataValue.path(str(report)),
        "report_link": dg.MetadataValue.text(f"file://{tmp_path}/a%20home/report.html"),
        "rows_link": dg.MetadataValue.text(f"file://{tmp_path}/a%20home/report.html#rows"),
    }
