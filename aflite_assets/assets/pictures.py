"""Small pictures for the UI, as Markdown with the image inside; the report has all of them."""

import base64
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import dagster as dg

from aflite_assets.results import PublishedResult

if TYPE_CHECKING:
    from aflite_assets.reports.drawing import Picture
    from aflite_assets.reports.learning_curve import LearningCurve

_REPORT_KINDS = ("filtering_curves", "examples", "scatter_before", "scatter_after")
"""Figures of a report that no earlier asset shows."""


def markdown_picture(png: bytes, alt: str) -> dg.MarkdownMetadataValue:
    """A PNG under 50 kB as Markdown metadata; `alt` is literal text."""
    from aflite_assets.reports.markdown import escape_markdown

    return dg.MetadataValue.md(f"![{escape_markdown(alt)}](data:image/png;base64,{base64.b64encode(png).decode()})")


def warmup_picture(curves: Sequence["LearningCurve"]) -> dg.MarkdownMetadataValue:
    """The learning curves by which the warm-up rows were chosen."""
    from aflite_assets.reports import pictures

    drawn = pictures.warmup_picture(curves)
    return markdown_picture(drawn.png, drawn.alt)


def filter_pictures(result: PublishedResult) -> dict[str, dg.MarkdownMetadataValue]:
    """The filtering curve of every representation, and how its scores moved from iteration to iteration."""
    from aflite_assets.reports.drawing import Picture
    from aflite_assets.reports.figures import filtering_curve
    from aflite_assets.reports.pictures import scores_picture
    from aflite_assets.stages.report_inputs import filtered_set, score_counts

    pictures: dict[str, Picture] = {}
    for name, part in result.parts.items():
        one = filtered_set(name, part)
        pictures[f"curve_{name}"] = Picture(filtering_curve(one), f"filtering curve of {name}")
        if (counts := score_counts(part)) is not None:
            pictures[f"scores_{name}"] = scores_picture(one, counts)
    return _shown(pictures)


def evidence_pictures(result: PublishedResult) -> dict[str, dg.MarkdownMetadataValue]:
    """The heat maps of similarity, of every representation and class compared, under the class's number."""
    from aflite_assets.reports.pictures import similarity_pictures
    from aflite_assets.stages.report_inputs import read_similarities

    return _shown(
        {
            f"similarity_{name}_{label}": picture
            for name, classes in read_similarities(result).items()
            for label, picture in similarity_pictures(classes, name)
        }
    )


def report_pictures(result: PublishedResult) -> dict[str, dg.MarkdownMetadataValue]:
    """Those figures of the report that no earlier asset shows, from its files."""
    alts = json.loads(result.file("figures.json").read_text(encoding="utf-8"))
    return {
        name.replace(".", "_"): markdown_picture(result.file(f"figures/{name}.png").read_bytes(), alt)
        for name, alt in alts.items()
        if name.partition(".")[0] in _REPORT_KINDS
    }


def _shown(pictures: "dict[str, Picture]") -> dict[str, dg.MarkdownMetadataValue]:
    return {name: markdown_picture(picture.png, picture.alt) for name, picture in pictures.items()}
