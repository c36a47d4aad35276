"""The section of the page on how the sample was chosen."""

from collections.abc import Mapping
from importlib.resources import files

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.page.study import StudySection, Tables
from aflite_assets.studies.sample.analysis.curve import SAMPLE_CURVE
from aflite_assets.studies.sample.reports.sentences import sample_cautions, sample_text


def _values(analysis: Analysis, papers: Tables) -> Mapping[str, object] | None:
    points, stop = analysis.of(SAMPLE_CURVE), analysis.facts.sample_stop
    return None if stop is None else {"texts": (sample_text(points, stop), sample_cautions(points))}


PART = (
    StudySection(
        "sample",
        "How the sample was chosen",
        lambda analysis: (
            "How large a random sample is enough to learn the task; it was filtered in place of all train rows."
        ),
        (files(__package__) / "section.html.j2").read_text(encoding="utf-8"),
        _values,
        after="filtering",
    ),
)
