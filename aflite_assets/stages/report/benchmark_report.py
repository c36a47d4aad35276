"""The stage of `benchmark_report`: one page to read, its figures, its numbers as JSON, Markdown and layouts."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.checks import failed_lines
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.results.files import write_json
from aflite_assets.stages.evaluation.analysis.stage import AnalysisInputs, AnalysisSettings, benchmark_data
from aflite_assets.stages.stage import Stage, StageContext

if TYPE_CHECKING:
    from aflite_assets.reports.figures.drawing import Picture


class BenchmarkReportSettings(AnalysisSettings):
    """What `benchmark_report` reads of a dataset's file."""


@dataclass(frozen=True)
class BenchmarkReportInputs(AnalysisInputs):
    """The results that `benchmark_report` reads."""

    published_dataset: PublishedResult
    analysis: PublishedResult


def run(
    settings: BenchmarkReportSettings, inputs: BenchmarkReportInputs, draft: Draft, context: StageContext
) -> dict[str, object]:
    """Render the report from what was published; the tracker has its numbers, and the path of the page.

    The page itself holds plotly's script, and is kept once.
    """
    from aflite_assets.analysis.analysis import analyse
    from aflite_assets.reports.figures.all_figures import picture_inputs, report_pictures
    from aflite_assets.reports.page.html import render_report
    from aflite_assets.reports.page.json_report import report_json
    from aflite_assets.reports.sentences.verdict import verdict_texts

    data = benchmark_data(settings, inputs, draft.partition)
    verdicts = verdict_texts(analyse(data))
    pictures = report_pictures(analyse(data), picture_inputs(data))
    (draft.path / "report.html").write_text(render_report(data, pictures=pictures), encoding="utf-8")
    (draft.path / "report.json").write_text(json.dumps(report_json(data), indent=2, allow_nan=False), encoding="utf-8")
    write_tables(data, draft.path)
    write_pictures(pictures, draft.path)
    context.tracker.log_parameters({"report_page": str(draft.target / "report.html")})
    context.tracker.log_artifact(draft.path / "report.json")
    return {
        "cells": len(data.cells),
        "test_sets": [test.name for test in data.test_sets],
        "verdict": verdicts[0].code if verdicts else None,
        "checks": failed_lines(data.checks),
        "verdicts": [f"{one.representation}: {one.sentence}" for one in verdicts],
    }


def write_tables(data: BenchmarkData, folder: Path) -> None:
    """Every table as the papers lay it out, and as Markdown; its numbers are published by `analysis`."""
    from aflite_assets.reports.page.markdown import plain_table, tables_markdown
    from aflite_assets.reports.tables.all_tables import shown_tables

    shown = shown_tables(data)
    write_json(
        folder / "layouts.json", {name: [asdict(plain_table(one)) for one in each] for name, each in shown.items()}
    )
    write_json(folder / "tables.json", {name: tables_markdown(each) for name, each in shown.items()})


def write_pictures(pictures: "Mapping[str, Picture]", folder: Path) -> None:
    """Every figure as `figures/<name>.png`, and in `figures.json` what each shows."""
    (folder / "figures").mkdir()
    for name, picture in pictures.items():
        (folder / "figures" / f"{name}.png").write_bytes(picture.png)
    write_json(folder / "figures.json", {name: picture.alt for name, picture in pictures.items()})


BENCHMARK_REPORT = Stage("benchmark_report", "18", BenchmarkReportSettings, BenchmarkReportInputs, run)
