"""The stage `benchmark_report`: renders the numbers of `analysis` as an HTML page, figures, JSON and Markdown."""

from dataclasses import replace
from shutil import copytree

from pydantic_core import to_json

from aflite_assets.analysis.analysis import EVIDENCE_FOLDER, TABLES_FOLDER, read_analysis, read_evidence
from aflite_assets.analysis.rows.table import read_row_tables
from aflite_assets.checks import failed_lines
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.results import Draft
from aflite_assets.results.files import write_json
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.data.cue_scan import carriers_of, example_carriers
from aflite_assets.stages.evaluation.analysis.rows import read_source_rows
from aflite_assets.stages.report.versions import comparisons
from aflite_assets.stages.shared.report_inputs import read_similarities
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings

MOST_CARRIERS = 3
"""Largest number of example rows that the report shows per cue."""


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Render the results of `analysis`, without computing any number, and log the path of the page to the tracker.

    Example rows and pictures are embedded in the HTML page. The section of details links to files in `tables/` and
    `evidence/`, which are copied from `analysis`. `layouts.json` has every table in the layout of the papers, and
    `tables.json` has the tables as Markdown. `figures.json` describes each picture `figures/<name>.png`.
    """
    from aflite_assets.reports.figures.accuracy_bars import screen_bars
    from aflite_assets.reports.figures.all_figures import report_pictures
    from aflite_assets.reports.page import html, json_report, markdown
    from aflite_assets.reports.page.attachments import FIGURES_FOLDER
    from aflite_assets.reports.sentences.first_screen import first_screen
    from aflite_assets.reports.sentences.verdict import verdict_texts
    from aflite_assets.reports.tables.all_tables import shown_tables

    analysis, folder = read_analysis(inputs.analysis.path), draft.path
    versions = comparisons(draft.store, inputs.analysis, log=draft.log)
    shown = replace(report_inputs(settings, inputs), versions=versions)
    draft.provenance["compared with"] = [one.old for one in versions]
    pictures, tables = report_pictures(analysis, shown), shown_tables(analysis)
    (folder / "report.html").write_text(html.render_report(analysis, shown, pictures), encoding="utf-8")
    (folder / "report.json").write_bytes(to_json(json_report.report_json(analysis, shown), indent=2))
    write_json(folder / "layouts.json", {name: list(map(markdown.plain_table, each)) for name, each in tables.items()})
    write_json(folder / "tables.json", {name: markdown.tables_markdown(each) for name, each in tables.items()})
    for name in (TABLES_FOLDER, EVIDENCE_FOLDER):
        copytree(inputs.analysis.path / name, folder / name)
    (folder / FIGURES_FOLDER).mkdir()
    for name, picture in pictures.items():
        (folder / FIGURES_FOLDER / f"{name}.png").write_bytes(picture.png)
    write_json(folder / "figures.json", {name: picture.alt for name, picture in pictures.items()})
    context.tracker.log_parameters({"report_page": str(draft.target / "report.html")})
    context.tracker.log_artifact(folder / "report.json")
    verdicts = verdict_texts(analysis)
    first = first_screen(analysis, from_files=shown.from_files, versions=versions)
    return {
        "first_screen": markdown.first_screen_markdown(first, screen_bars(analysis, first)),
        "test_sets": [test.name for test in analysis.facts.test_sets],
        "verdict": verdicts[0].code if verdicts else None,
        "checks": failed_lines(analysis.checks),
        "verdicts": [f"{one.representation}: {one.sentence}" for one in verdicts],
    }


def report_inputs(settings: DatasetSpec, inputs: StageInputs) -> ReportInputs:
    """Return everything that the report shows besides the numbers of `analysis`, such as example rows."""
    raw, folder = load_examples(inputs.raw_dataset.path), inputs.analysis.path
    return ReportInputs(
        examples=raw,
        rows=read_row_tables(folder),
        source=read_source_rows(inputs.raw_dataset, raw, settings.columns),
        scatter_features=settings.report.scatter_features,
        similarities=read_similarities(inputs.bias_evidence),
        evidence=read_evidence(folder),
        cue_rows=example_carriers(inputs.cue_scan, raw, most=MOST_CARRIERS),
        counterexamples=example_carriers(inputs.cue_scan, raw, most=1, of_class=False),
        carriers=carriers_of(inputs.cue_scan, raw),
    )


_SETTINGS = StageSettings("columns report")
_INPUTS = "raw_dataset cue_scan published_dataset bias_evidence analysis"
BENCHMARK_REPORT = Stage("benchmark_report", "31", _SETTINGS, _INPUTS, run)
