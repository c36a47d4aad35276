"""Sections of the page on forgettable rows and on training on them."""

from collections.abc import Mapping
from importlib.resources import files

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.page.study import StudySection, Tables
from aflite_assets.studies.forgettables.reports.lines import forgotten_line, second_phase_line
from aflite_assets.studies.forgettables.reports.tables import PART as TABLES

_KINDS = ("second_phases", "categories.", "loss_ranked.", "thresholds.")
"""Prefixes of the names of the pictures of second phases."""


def _forgotten(analysis: Analysis, papers: Tables) -> Mapping[str, object] | None:
    return {} if TABLES["forgettables"](analysis) or papers["forgettables"] else None


def _second_phases(analysis: Analysis, papers: Tables) -> Mapping[str, object] | None:
    made = TABLES["two_phase"](analysis) or TABLES["forgettables_alone"](analysis)
    return {"kinds": _KINDS} if made or papers["two_phase"] else None


def _template(name: str) -> str:
    return (files(__package__) / f"{name}.html.j2").read_text(encoding="utf-8")


PART = (
    StudySection("forgettable", "Rows that weak models forget", forgotten_line, _template("forgotten"), _forgotten),
    StudySection(
        "second-phase",
        "Training on forgettable rows",
        lambda analysis: second_phase_line(analysis) or "Models that went on, or were trained, with forgettable rows.",
        _template("second_phase"),
        _second_phases,
    ),
)
