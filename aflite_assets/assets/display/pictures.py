"""Small pictures for the UI, as Markdown that contains the image; the report has all pictures."""

import base64
import json

import dagster as dg

from aflite_assets.results import PublishedResult
from aflite_assets.stages.display import small_pictures

_REPORT_KINDS = ("overview", "falls", "filtering_curves", "examples", "scatter_before", "scatter_after")
"""Kinds of the report's figures that no earlier asset shows."""


def markdown_picture(png: bytes, alt: str) -> dg.MarkdownMetadataValue:
    """Return a PNG under 50 kB as Markdown metadata; `alt` is the alternative text, without Markdown."""
    from aflite_assets.reports.page.markdown import escape_markdown

    return dg.MetadataValue.md(f"![{escape_markdown(alt)}](data:image/png;base64,{base64.b64encode(png).decode()})")


def result_pictures(result: PublishedResult) -> dict[str, dg.MarkdownMetadataValue]:
    """Return the pictures of a result that `stages.display` draws, by name; each picture is drawn once and stored."""
    return {name: markdown_picture(picture.png, picture.alt) for name, picture in small_pictures(result).items()}


def report_pictures(result: PublishedResult) -> dict[str, dg.MarkdownMetadataValue]:
    """Read the report's figures from its files, except figures that earlier assets show."""
    alts = json.loads(result.file("figures.json").read_text(encoding="utf-8"))
    return {
        name.replace(".", "_"): markdown_picture(result.file(f"figures/{name}.png").read_bytes(), alt)
        for name, alt in alts.items()
        if name.partition(".")[0] in _REPORT_KINDS
    }
