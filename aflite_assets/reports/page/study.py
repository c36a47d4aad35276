"""Sections of the page about studies."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from jinja2 import Environment
from markupsafe import Markup

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.tables.table import Table
from aflite_assets.studies import parts

Tables = Mapping[str, Sequence[Table]]


@dataclass(frozen=True)
class StudySection:
    """A section of the page about a study, after a section of the core.

    `line`: the line below the title. `template`: a Jinja template of the content, which may use `tables` and `papers`
    by kind, `all_pictures` and `facts`. `values`: further values of the template, called with the analysis and the
    papers' tables; None leaves the section out.
    """

    id: str
    title: str
    line: Callable[[Analysis], str]
    template: str
    values: Callable[[Analysis, Tables], Mapping[str, object] | None]
    after: Literal["filtering", "transfer"] = "transfer"


def study_sections(analysis: Analysis, environment: Environment, values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the sections to show, each with its line and its content; they are the `PART` of `reports.page`."""
    for one in (section for part in parts("reports.page", tuple) for section in part):
        own = one.values(analysis, values["papers"])
        if own is not None:
            content = environment.from_string(one.template).render(values, **own)
            yield {"section": one, "line": one.line(analysis), "content": Markup(content)}
