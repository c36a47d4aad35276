"""Markdown of a report's tables, and the dataset card, which is the README of a published dataset.

All text in the Markdown is escaped.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from aflite_assets.analysis.filtering import filter_outcome, removed_by_class, still_predicted
from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.reports.figures.accuracy_bars import AccuracyBars
from aflite_assets.reports.sentences.filtering import filtering_sentence, still_predicted_sentence
from aflite_assets.reports.sentences.first_screen import FirstScreen
from aflite_assets.reports.tables.table import Table
from aflite_assets.text import count, listed, one_line, percent, short, value_text

_MOST_NAMED = 20  # largest number of named columns of the source

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#|~$!])")
# Texts that GitHub converts to links (GFM, "Autolinks (extension)"): addresses, host names, e-mail, mailto, xmpp.
_LINK = re.compile(r":(?=//)|www(?=\.)|@(?=[\w-]+\.)", re.IGNORECASE)
# An invisible space prevents a link. A backslash would not, because renderers look for addresses after removing it.
_BREAK = "\u200b"
_BLOCK_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|(?=[-+=]))")  # a backslash is inserted after the match


def template_environment(safe: Callable[[str], str]) -> Environment:
    """Return a Jinja environment that applies `safe` to each plain string, and then escapes the result.

    `Markup` objects are left unchanged.
    """
    environment = Environment(
        loader=PackageLoader("aflite_assets.reports.page"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: safe(value) if type(value) is str else value,  # Markup is a subclass of str
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"count": count, "percent": percent, "value_text": value_text}
    return environment


def escape_markdown(text: str) -> str:
    """Return dataset text as one line of Markdown that is shown literally.

    All characters with a meaning in Markdown, HTML, links or tables are escaped.
    """
    text = _SPECIAL.sub(r"\\\1", _LINK.sub(rf"\g<0>{_BREAK}", one_line(text)))
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _BLOCK_START.sub(r"\1\\", text)


def plain_table(table: Table) -> dict[str, Any]:
    """Return the title, columns, rows and notes of a table as unescaped texts.

    `numbers_from`: position of the first column with numbers.
    """
    return {
        "title": table.of,
        "columns": [*table.headings, *(column.plain for column in table.columns)],
        "rows": [[*row.headings, *(cell.plain for cell in row.cells)] for row in table.rows],
        "notes": list(table.notes),
        "numbers_from": len(table.headings),
    }


def tables_markdown(tables: Iterable[Table]) -> str:
    """Return several tables as one Markdown text, each table below its title and its notes."""
    return "\n".join(map(_markdown, tables))


def _markdown(table: Table) -> str:
    plain = plain_table(table)
    head, *lines = [list(map(escape_markdown, row)) for row in (plain["columns"], *plain["rows"])]
    rule = ["---"] * len(table.headings) + ["---:"] * len(table.columns)
    rows = "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *lines))
    title = f"**{escape_markdown(table.of)}**" if table.of else ""
    return "\n\n".join(filter(None, [title, *map(escape_markdown, table.notes), rows]))


def first_screen_markdown(first: FirstScreen, bars: AccuracyBars | None) -> str:
    """Return the first screen of the page as Markdown: the finding, advice, the chart as a table, and the limits of the
    finding.
    """
    parts = [f"**What changed:** {escape_markdown(first.change)}"] if first.change else []
    parts.append(f"**{first.badge}:** {escape_markdown(first.finding)}")
    if first.sure:
        parts.append(f"**How sure:** {escape_markdown(first.sure.replace('`', ''))}")
    if first.to_do:
        parts.append(f"**What to do:** {escape_markdown(first.to_do.replace('`', ''))}")
    if first.command:
        parts.append(f"`{one_line(first.command).replace('`', '')}`")
    if bars is not None:
        parts.append(_bars_markdown(bars))
    if first.limits:
        parts.append("**Basis and limits:** " + " ".join(escape_markdown(one.text) for one in first.limits))
    return "\n\n".join(parts)


def _bars_markdown(bars: AccuracyBars) -> str:
    labels = [bar.label for bar in bars.groups[0].bars]
    lines = [
        [escape_markdown(f"{bars.evaluator}, accuracy in %"), *labels],
        ["---", *("---:" for _ in labels)],
        *([escape_markdown(one.test_set), *(escape_markdown(bar.text) for bar in one.bars)] for one in bars.groups),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def dataset_card(
    title: str,
    description: str,
    *,
    configs: Mapping[str, Mapping[str, str]],
    rows: Mapping[str, Mapping[str, int]],
    filtered: Sequence[FilteredSet],
    label_names: Sequence[str],
    source_columns: Sequence[str],
    own_columns: Mapping[str, str],
    ids_given: bool,
    notes: Sequence[str],
    provenance: Mapping[str, str],
) -> str:
    """Return the dataset card as Markdown, with the YAML front matter that `datasets` reads. All dataset text is
    escaped.

    `configs`: for each configuration, a path pattern of Parquet files per split, relative to the folder. The first
    configuration is loaded by default. Names of configurations and splits consist of [a-z0-9_]. A configuration's name
    may end with a representation, as in `filtered_<representation>`. `rows`: number of rows by configuration and split.
    `source_columns`: names of the source's columns: inputs, label and attributes. `own_columns`: maps each column that
    this project adds to the name of the published column. `ids_given`: whether the column `id` contains the ids of the
    source.
    """
    template = template_environment(lambda text: Markup(escape_markdown(text))).get_template("card.md.j2")
    return template.render(
        front_matter=_front_matter(title, configs),
        title=title,
        description=Markup("\n\n".join(filter(None, map(escape_markdown, description.split("\n\n"))))),
        notes=notes,
        configs=configs,
        rows=rows,
        left_alone={split for one in filtered for split, policy in _policies(one).items() if policy == "kept"},
        source_columns=listed(list(map(short, source_columns)), _MOST_NAMED),
        own_columns=own_columns,
        ids_given=ids_given,
        label_names=label_names,
        rankings=sorted({str(one.settings.get("ranking", "predictability")) for one in filtered}),
        filterings=[
            {
                "filtered": one,
                "sentences": [filtering_sentence(filter_outcome(one)), still_predicted_sentence(still_predicted(one))],
                "classes": removed_by_class(one, len(label_names)),
                "policies": _policies(one),
                "settings": {name: value for name, value in one.settings.items() if name != "evaluation_rows"},
            }
            for one in filtered
        ],
        provenance=provenance,
    )


def _policies(filtered: FilteredSet) -> Mapping[str, str]:
    """Return the setting `evaluation_rows`, which maps each split other than train to the treatment of its rows."""
    policies = filtered.settings.get("evaluation_rows")
    return policies if isinstance(policies, Mapping) else {}


def _front_matter(title: str, configs: Mapping[str, Mapping[str, str]]) -> str:
    matter = {
        "pretty_name": one_line(title),
        "license": "other",
        "license_name": "as-the-source-dataset",
        "tags": ["aflite", "adversarial-filtering", "dataset-bias"],
        "configs": [
            {"config_name": name}
            | ({"default": True} if number == 0 else {})
            | {"data_files": [{"split": split, "path": path} for split, path in files.items()]}
            for number, (name, files) in enumerate(configs.items())
        ],
    }
    # one line per value: a wrapped text could put "---" at a line's start and end the front matter
    return yaml.safe_dump(matter, sort_keys=False, allow_unicode=True, width=2**20)
