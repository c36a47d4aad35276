"""Small pictures for the UI, as Markdown with the image inside; full figures are in the report."""

import base64

import dagster as dg

from aflite_assets.results import PublishedResult


def picture(png: bytes, alt: str) -> dg.MarkdownMetadataValue:
    """A PNG under 50 kB as Markdown metadata."""
    return dg.MetadataValue.md(f"![{alt}](data:image/png;base64,{base64.b64encode(png).decode()})")


def filter_pictures(result: PublishedResult) -> dict[str, dg.MarkdownMetadataValue]:
    """The filtering curve of every representation."""
    from aflite_assets.reports.figures import filtering_curve
    from aflite_assets.stages.report_inputs import filtered_set

    return {
        name: picture(filtering_curve(filtered_set(name, part)), f"filtering curve of {name}")
        for name, part in result.parts.items()
    }
