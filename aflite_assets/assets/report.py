"""Asset of the group `report`: the HTML report."""

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from aflite_assets.addresses import results_page
from aflite_assets.assets.common import AssetRun, stage_asset, table
from aflite_assets.assets.display.inline import linked_figures
from aflite_assets.assets.display.numbers import report_numbers
from aflite_assets.assets.display.pictures import report_pictures
from aflite_assets.results import PublishedResult, ResultStore

ROWS = "rows"
"""Anchor of the report's section in which rows can be browsed."""


@stage_asset(group="report", kinds={"html"})
def benchmark_report(run: AssetRun) -> dict[str, Any]:
    """Accuracy before and after filtering, fair controls, figures and evidence on one page, and as JSON.

    If `aflite serve` runs at the address in `AFLITE_RESULTS_URL`, `report` is a link and pictures are shown directly.
    Without a server, paste `report_link` into the browser, and click [Show Markdown] to see pictures. Accuracies (in
    [0, 1]) and the difference that decides the verdict (in percentage points) are plotted under Metadata, Plots.
    `accuracy.of` names the comparison whose numbers are plotted.
    """
    store, report = run.store, run.result.file("report.html")
    folder = store.current("published_dataset", run.result.partition).path
    analysis = store.current("analysis", run.result.partition)
    links = report_links(report, store)
    run.context.log.info(f"Report: {links.get('report_link', links['report']).value}")
    run.context.log.info(f"Dataset folder: {folder}")
    metadata = {
        "finding": dg.MetadataValue.md(run.summary["first_screen"]),
        "verdicts": dg.MetadataValue.text("\n".join(run.summary["verdicts"])),
        **links,
        "checks": dg.MetadataValue.text("\n".join(run.summary["checks"])),
        **report_numbers(analysis),
        **report_tables(run.result),
        **figures_shown(run.result, store),
        "rows": dg.MetadataValue.path(str(analysis.file("rows.parquet"))),
        "tables": dg.MetadataValue.path(str(analysis.path / "tables")),
        "report_json": dg.MetadataValue.path(str(run.result.file("report.json"))),
        "dataset_folder": dg.MetadataValue.path(str(folder)),
    }
    # The verdicts are logged last, so that a person sees them at the end of a run.
    for line in run.summary["verdicts"]:
        run.context.log.info(f"Verdict, representation {line}")
    for line in run.summary["checks"]:
        run.context.log.log(logging.WARNING if line.startswith("check FAILED") else logging.INFO, line)
    return metadata


def report_links(report: Path, store: ResultStore) -> dict[str, dg.MetadataValue]:
    """Return the link to the report or, if `AFLITE_RESULTS_URL` is not set, its file's path and an address to paste.

    The address of the file is shown as text and not as a link, because browsers do not open files from a server's page.
    """
    page = results_page(report, store.root)
    if page is not None:
        return {
            "report": dg.MetadataValue.url(page),
            "rows_link": dg.MetadataValue.url(f"{page}#{ROWS}"),
            "report_file": dg.MetadataValue.path(str(report)),
        }
    return {
        "report": dg.MetadataValue.path(str(report)),
        "report_link": dg.MetadataValue.text(report.as_uri()),
        "rows_link": dg.MetadataValue.text(f"{report.as_uri()}#{ROWS}"),
    }


def figures_shown(result: PublishedResult, store: ResultStore) -> dict[str, dg.MetadataValue]:
    """Return the report's own figures as links to `aflite serve` or, if there is no server, inside the metadata."""
    inside = report_pictures(result)
    return {**inside, **linked_figures(result, store, list(inside))}


def report_tables(result: PublishedResult) -> dict[str, Any]:
    """Return every table of the report in the layout of the papers, with its notes."""
    layouts = json.loads(result.file("layouts.json").read_text(encoding="utf-8"))
    named = [
        entry
        for name, each in layouts.items()
        for layout in each
        for entry in _entries(f"{name} {layout['title']}".rstrip(), layout)
    ]
    return dict(zip(_distinct(name for name, _ in named), [value for _, value in named], strict=True))


def _entries(name: str, layout: Mapping[str, Any]) -> list[tuple[str, dg.MetadataValue]]:
    """Return the table under `name`, and its notes under a separate name."""
    notes = dg.MetadataValue.text(" ".join(layout["notes"]))
    columns = _distinct(layout["columns"])
    rows = table(dict(zip(columns, row, strict=True)) for row in layout["rows"])
    return [(name, rows), *([(f"{name} notes", notes)] if layout["notes"] else [])]


def _distinct(names: Iterable[str]) -> list[str]:
    """Return names that the UI accepts as keys: empty names become "row", and repeated names get a number."""
    distinct: dict[str, None] = {}
    for name in names:
        number, own = 2, name or "row"
        while own in distinct:
            number, own = number + 1, f"{name} ({number})"
        distinct[own] = None
    return list(distinct)
