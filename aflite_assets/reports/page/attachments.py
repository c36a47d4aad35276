"""The attachments of a report: tables and pictures that the report page shows on demand.

An attachment also names the file that contains all data of the table or picture.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aflite_assets.analysis.analysis import EVIDENCE_FOLDER, TABLES_FOLDER, Analysis
from aflite_assets.analysis.inputs.cues import ClassBlocks
from aflite_assets.analysis.tidy import JsonValue
from aflite_assets.reports.figures import example_rows, representation_figures
from aflite_assets.reports.figures.drawing import Picture
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.tables import all_tables, listings
from aflite_assets.reports.tables.published import Kind, paper_table, published_tables
from aflite_assets.reports.tables.table import Table, TableCell
from aflite_assets.text import printable, short
from aflite_assets.wording import counted

MOST_ROWS = 500
"""Largest number of rows of a table on the page. The file of the table has all rows."""

FIGURES_FOLDER = "figures"

_LONGEST = 200
"""Largest number of characters in the line about an attachment."""

_FILTERING, _MODELS, _PAPERS = "What filtering removed", "What models learnt", "What the papers print"

_TABLES: Mapping[str, str] = {
    "in_distribution": "Full, random and filtered side by side, as the papers print them.",
    "by_class": "The accuracy on each class, by train set.",
    "top_5": "Whether the right class is first, or among the first five.",
    "challenge_sets": "Every challenge set, whole and in parts.",
    "missing_sets": "Challenge sets that could not be read, and why.",
    "zero_shot": "Every challenge set beside the others, without training on it.",
    "falls": "From full to filtered, one change after the other.",
}
"""The tables of `all_tables.SHOWN` that are attached, and the content of each."""

_PAPERS_BESIDE: Mapping[str, tuple[Kind, ...]] = {
    "in_distribution": ("in_distribution",),
    "top_5": ("top_k",),
    "zero_shot": ("zero_shot",),
}
"""The papers' tables that are shown next to attached tables; the papers' other tables are in the sections of their
studies.
"""


class _About(NamedTuple):
    """The title of a picture, one line on its content, and an explanation of how to read the picture."""

    title: str
    about: str
    caption: str


_PICTURES: Mapping[str, _About] = {
    "filtering_curves": _About(
        "Curves of filtering",
        "Rows left, bias, cut-off and classes by iteration.",
        "In the panel of the bias, the dashed line is the share of the largest class among the pool rows left. The "
        "band around it is two standard deviations of guessing right with that share on so many rows; a bias inside "
        "it cannot be told from such guessing. It is no interval of the bias itself. In the panel of the cut-off, "
        "the dashed line is the threshold. The last scoring pass removes nothing and has no cut-off. If there are "
        "more than six classes, the six whose shares moved most are drawn.",
    ),
    "scores": _About(
        "Predictability by iteration",
        "How often rows were predicted at the start of an iteration.",
        "Each bar is a share of the train rows left, so that the shapes can be compared. At most eight iterations "
        "are shown, evenly spaced; the last one shows the kept rows. A row that was not held out in an iteration has "
        "its last score; a row that was never held out is left out. Rows at or over the threshold may stay, because "
        "the size of a slice is limited. All iterations are in tables/predictability_by_iteration.parquet.",
    ),
    "predictability": _About(
        "Last predictability",
        "Kept and removed rows by their last known predictability.",
        "Train rows. Rows that were never held out are left out.",
    ),
    "lengths": _About(
        "Lengths of texts",
        "Kept, removed and random rows by their number of words.",
        "Share of train rows by the number of words of each text. The random line is the mean of ten random sets "
        "with as many rows as were kept, and the band around it spans the ten sets. If kept rows are outside the "
        "band, their lengths differ by more than chance explains. The last place has all longer texts.",
    ),
}
"""The pictures of filtering that are attached, by the prefix of their names."""

_SIMILARITY = (
    "Cosine similarity of pairs of train rows of one class, in the features that filtering saw, as in Figure 1 of "
    "the ICML paper; at most four classes, those with most rows on both sides, and a sample of each side. Random is "
    "as many rows of the class as were kept. If kept is below random, the filter caused it, though with few rows it "
    "may be chance. This does not show that kept rows look more varied to a person: rows that a linear classifier "
    "gets right lie close together in its features, so part of the difference is built in. Wrongly labelled rows lie "
    "apart too. The colour scale is the same for all maps of one representation, but differs between representations."
)

_SIDES = 2
"""Kinds of rows of a class for which images are shown: kept and removed."""


@dataclass(frozen=True)
class Attachment:
    """A table or a picture that the page shows on demand. Exactly one of `table` and `picture` is set.

    `group`: the heading in the list of attachments. `about`: one line on the content. `caption`: an explanation of how
    to read the content. `file`: the path of the file with the content, relative to the page, or "" if only
    `report.json` has the content. `images`: data URIs of the images of kept and of removed rows, in the order of the
    picture's rows.
    """

    group: str
    title: str
    about: str
    file: str
    caption: str = ""
    table: Table | None = None
    picture: Picture | None = None
    images: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def size(self) -> str:
        """The number of rows of a table, or the word "picture" for a picture."""
        return "picture" if self.table is None else counted(len(self.table.rows), "row")


def attachments(analysis: Analysis, inputs: ReportInputs, pictures: Mapping[str, Picture]) -> tuple[Attachment, ...]:
    """Return the attachments in the order in which the page lists them.

    `pictures`: the result of `report_pictures`.
    """
    return (*_of_filtering(analysis, inputs, pictures), *_of_models(analysis))


def attachments_json(attached: Sequence[Attachment]) -> list[JsonValue]:
    """Return the attachments in the form that the page's viewer reads.

    Texts are not escaped, so the viewer must assign a text only to `textContent`. A table cell is a text, or a pair of
    a text and the number by which the cell is sorted.
    """
    return [
        {
            "title": printable(one.title),
            "caption": printable(one.caption),
            **({} if one.table is None else _table_json(one.table)),
            **({} if one.picture is None else {"picture": _uri(one.picture), "alt": printable(one.picture.alt)}),
            **({"images": [[side, list(uris)] for side, uris in one.images]} if one.images else {}),
        }
        for one in attached
    ]


def _table_json(table: Table) -> dict[str, JsonValue]:
    kinds = [*("text" for _ in table.headings), *(table.kind(column) for column in table.columns)]
    return {
        "heads": [printable(one) for one in (*table.headings, *(column.plain for column in table.columns))],
        "kinds": list(kinds),
        "rows": [
            [*map(printable, row.headings), *(_cell_json(cell) for cell in row.cells)] for row in table.rows[:MOST_ROWS]
        ],
        "left_out": max(len(table.rows) - MOST_ROWS, 0),
    }


def _cell_json(cell: TableCell) -> JsonValue:
    text = printable(cell.plain)
    return text if cell.value is None else [text, cell.value]


def _uri(picture: Picture) -> str:
    return example_rows.png_or_jpeg_uri(picture.png)


def _of_filtering(analysis: Analysis, inputs: ReportInputs, pictures: Mapping[str, Picture]) -> Iterator[Attachment]:
    """Yield the attachments of one filtering: its iterations, statistics of its kept and removed rows, and its
    pictures.
    """
    for table in listings.ITERATION_TABLE.tables(analysis):
        yield _table(_FILTERING, table, "Rows removed, cut-off score and bias by iteration.")
    for kind, one in _PICTURES.items():
        for name, picture in pictures.items():
            begins, _, representation = name.partition(".")
            if begins == kind:
                title = f"{one.title} ({representation})" if representation else one.title
                yield Attachment(_FILTERING, title, one.about, _file(name), one.caption, picture=picture)
    for number, evidence in enumerate(inputs.evidence):
        table = listings.evidence_table(evidence, inputs.source)
        file = f"{EVIDENCE_FOLDER}/{number:02d}.parquet"
        yield Attachment(_FILTERING, table.title, _first_sentence(table.caption), file, table.caption, table)
    for representation, classes in inputs.similarities.items():
        for blocks in classes:
            yield _similarity(inputs, representation, blocks, pictures)
    yield from _of_papers(analysis, "neighbours")


def _of_models(analysis: Analysis) -> Iterator[Attachment]:
    """Yield the tables of accuracies that the page shows only on demand.

    Each table is followed by the tables of the same kind from the papers.
    """
    for kind, about in _TABLES.items():
        for table in all_tables.SHOWN[kind](analysis):
            yield _table(_MODELS, table, about)
        yield from _of_papers(analysis, *_PAPERS_BESIDE.get(kind, ()))


def _of_papers(analysis: Analysis, *kinds: Kind) -> Iterator[Attachment]:
    for one in published_tables(analysis.facts.published):
        if one.kind in kinds:
            table = paper_table(one)
            yield Attachment(
                _PAPERS, f"{one.source}: {short(one.caption)}", "As printed there.", "", one.caption, table
            )


def _table(group: str, table: Table, about: str) -> Attachment:
    file = f"{TABLES_FOLDER}/{table.source}.parquet" if table.source else ""
    return Attachment(group, table.title, about, file, " ".join((table.caption, *table.notes)).strip(), table)


def _similarity(
    inputs: ReportInputs, representation: str, blocks: ClassBlocks, pictures: Mapping[str, Picture]
) -> Attachment:
    """Return the similarity map of one class, with the images of its kept and removed rows."""
    name = f"similarity.{representation}.{blocks[0].label}"
    images = []
    if inputs.examples.modality == "image":
        for one in blocks[:_SIDES]:
            rows = example_rows.shown_rows(inputs.examples, inputs.rows_of(representation), one.row_ids, inputs.source)
            images.append((one.side, tuple(row.image for row in rows if row.image is not None)))
    title = f"How alike rows of class “{short(blocks[0].label_name)}” are ({representation})"
    means = f"Mean cosine similarity: {representation_figures.means_text(blocks)}."
    about = "Kept, removed and random rows of one class, in the features that filtering saw."
    caption = f"{means} {_SIMILARITY}"
    return Attachment(_FILTERING, title, about, _file(name), caption, picture=pictures[name], images=tuple(images))


def _file(picture: str) -> str:
    return f"{FIGURES_FOLDER}/{picture}.png"


def _first_sentence(text: str) -> str:
    first = re.split(r"(?<!\bal)\. (?=[A-Z])", text, maxsplit=1)[0].rstrip(".")
    return f"{first}." if len(first) <= _LONGEST else short(first, _LONGEST)
