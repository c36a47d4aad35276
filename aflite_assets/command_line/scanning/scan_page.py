"""A scan's result as one HTML page without scripts; Jinja2 escapes every text of the dataset."""

from collections.abc import Sequence

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from aflite_assets.scan.cues import ScanResult
from aflite_assets.scan.remedies import advice, advised
from aflite_assets.scan.sentences import (
    cue_sentence,
    elsewhere_sentences,
    headline,
    percent,
    reach_sentence,
    surface_sentence,
)
from aflite_assets.text import printable


def result_page(result: ScanResult, understood: Sequence[str], *, title: str, fix: str) -> str:
    """Return the page; `title` names the scanned file, `fix` is the beginning of the command that mends a cue."""
    environment = Environment(
        loader=PackageLoader("aflite_assets.command_line.scanning"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: value if isinstance(value, Markup) or not isinstance(value, str) else printable(value),
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = percent
    return environment.get_template("scan.html.j2").render(
        title=title,
        headline=headline(result),
        understood=understood,
        result=result,
        surface=surface_sentence(result),
        reach=reach_sentence(result),
        sentences={cue.number: cue_sentence(cue) for cue in result.cues},
        advice={cue.number: advice(cue, fix) for cue in result.cues if cue.number in advised(result)},
        elsewhere={cue.number: elsewhere_sentences(cue) for cue in result.cues},
    )
