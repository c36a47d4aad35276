"""The table of the cues that the scan found. A cue is a property of rows that predicts the label by itself."""

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.reports.tables.table import Column, Heading, Row, Table, TableCell
from aflite_assets.scan.columns import listed_cues
from aflite_assets.scan.cues import CUES_WITH_ROWS, Cue, ScanFacts
from aflite_assets.scan.sentences import elsewhere_sentences, reach_sentence, surface_sentence
from aflite_assets.text import DASH, count, one_line, percent, short

MOST_SHOWN = 12
"""Largest number of cues in the page's table; the table `surface_cues` of the stage `cue_scan` has all cues."""

_LONGEST = 80

_COLUMNS = (
    Heading("class"),
    Heading("rows"),
    Heading("of class", ("%",)),
    Heading("of others", ("%",)),
    Heading("precision", ("%",)),
    Heading("base rate", ("%",)),
    Heading("balanced accuracy", ("%, 95 %",)),
    Heading("elsewhere"),
)

CAPTION = (
    "Each line is one property for one class against all others. “Of class” and “of others” are the shares of the "
    "class and of all other rows that have it. Precision is the share of the rows with the property that are of the "
    "class; the base rate is that share of all rows. The balanced accuracy is that of the property alone, on rows "
    "that it was not chosen on; chance is 50 %. An artefact is no part of any task. You decide whether another "
    "property belongs to the task."
)


def cue_tables(analysis: Analysis) -> tuple[Table, ...]:
    """Return the table of the strongest cues, in which artefacts come first. Return no table if no cue was found."""
    if analysis.scan is None or not (shown := shown_cues(analysis.scan)):
        return ()
    left = len(analysis.scan.cues) - len(shown)
    more = (
        f"{count(left)} more cues, which are weaker or explained by a stronger one, are in the table "
        "surface_cues of cue_scan.",
    )
    table = Table(
        name="surface_cues",
        of="",
        title="Properties that tell the label by themselves",
        headings=("nature", "property"),
        columns=tuple(Column(heading) for heading in _COLUMNS),
        rows=tuple(_row(one, browsed=one in browsed_cues(analysis)) for one in shown),
        caption=CAPTION,
        notes=(*_notes(analysis.scan), *(more if left else ())),
        style="free",
    )
    return (table,)


def shown_cues(scan: ScanFacts) -> tuple[Cue, ...]:
    """Return at most `MOST_SHOWN` cues: the first cue of each column or text property, without cues that a stronger cue
    explains.
    """
    return tuple(listed_cues(scan)[:MOST_SHOWN])


def browsed_cues(analysis: Analysis) -> tuple[Cue, ...]:
    """Return the shown cues whose rows the scan stored.

    The page's row browser can filter rows by cues with known rows.
    """
    if analysis.scan is None or not analysis.facts.filterings:
        return ()
    return tuple(one for one in shown_cues(analysis.scan) if one.number < CUES_WITH_ROWS)


def rows_place(cue: Cue) -> str:
    """Return the HTML id of the element on the page that shows the rows of a cue."""
    return f"rows-cue-{cue.number}"


def _notes(scan: ScanFacts) -> tuple[str, ...]:
    return tuple(filter(None, (surface_sentence(scan), reach_sentence(scan), *map(one_line, scan.notes))))


def _row(one: Cue, *, browsed: bool) -> Row:
    nature = {"declared": "declared irrelevant", "artefact": "artefact", None: "yours to judge"}[one.reason]
    shares = one.share_of_class, one.share_of_rest, one.precision, one.base_rate
    interval = f"[{percent(one.low)}, {percent(one.high)}]"
    cells = (
        TableCell(short(one.label, _LONGEST), kind="text"),
        TableCell(count(one.rows), value=one.rows),
        *(TableCell(percent(share), value=share) for share in shares),
        TableCell(percent(one.balanced), (interval,), value=one.balanced),
        TableCell("; ".join(map(one_line, elsewhere_sentences(one))) or DASH, kind="text"),
    )
    return Row((nature, short(one.name, _LONGEST)), cells, rows_at=rows_place(one) if browsed else "")
