"""The section of the page."""

from collections.abc import Mapping

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.page.study import StudySection, Tables

from ..analysis.analysis import COUNTED


def shown(analysis: Analysis, papers: Tables) -> Mapping[str, object] | None:
    return {} if analysis.of(COUNTED) else None


TEMPLATE = '{% import "table.html.j2" as html %}{{ html.draw(tables.counted_rows[0]) }}'
PART = (StudySection("counted", "Counting", lambda analysis: "All counted.", TEMPLATE, shown),)
