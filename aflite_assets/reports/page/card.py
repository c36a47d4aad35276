"""The dataset card: the README of a published dataset folder, with the front matter that `datasets` reads."""

import re
from collections.abc import Mapping, Sequence

import yaml

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.inputs.records import FilteredSet
from aflite_assets.reports.page.markdown import escape_markdown, markdown_table
from aflite_assets.reports.sentences.summary import filtering_sentence
from aflite_assets.reports.text import count, one_line, value_text

_HOLDS = {
    "filtered": "the rows that filtering kept",
    "hard": "the same rows as `filtered`, under the name that pairs with `easy`",
    "easy": "the rows that filtering removed",
    "random": "as many rows as `filtered`, drawn at random: the control to compare with",
    "full_tagged": "all rows, with the columns below",
}

_CONFIG_NAME = re.compile(r"[a-z0-9][a-z0-9_]*")

_COLUMNS = """\
| column of `full_tagged` | meaning |
| --- | --- |
| `predictability` | of the times the row was held out, the share in which a linear classifier was \
right, in \\[0, 1\\]; missing if never held out |
| `removed_in_iteration` | the filtering iteration that removed the row, counted from 0; missing for kept rows |
| `weight` | the class's share / the probability that the first iteration's classifiers gave to the row's label, \
clipped to \\[0.25, 4\\]: under 1 where the features give the label away, over 1 where they mislead; to multiply the \
row's loss by; missing for rows that were not scored |
"""

_METHOD = """\
Rows were removed with AFLite (Le Bras et al., ICML 2020, *Adversarial Filters of Dataset Biases*, \
[arXiv:2002.04108](https://arxiv.org/abs/2002.04108)). In each iteration many linear classifiers are trained on random \
parts of the data and predict the rest; rows that are predicted right most reliably go first. Labels were not changed.
"""

_CAVEATS = """\
- Difficulty is relative to the representation and the linear classifier used here. For another model the kept rows \
need not be hard, nor the removed ones easy.
- Kept rows are enriched in mislabelled and ambiguous ones, and these weigh most: a wrong label is hard to predict as \
well.
- Class shares and topics shift when rows are removed. Compare with a random subset of the same size before crediting \
filtering with an effect.
- Where you can, train on `full_tagged` with `weight` rather than on `filtered`: deleting rows loses what they teach.
- Accuracy on the filtered test rows is low partly by construction, since they were kept for being hard.
"""


def dataset_card(
    title: str,
    description: str,
    *,
    configs: Sequence[tuple[str, Mapping[str, str]]],
    rows: Mapping[str, Mapping[str, int]],
    filtered: Sequence[FilteredSet],
    label_names: Sequence[str],
    notes: Sequence[str] = (),
    provenance: Mapping[str, str] | None = None,
) -> str:
    """Markdown with YAML front matter for the folder's README.md.

    `configs`: configuration name and the Parquet path pattern of each split, relative to the folder; the
    first is loaded by default. A name may carry a representation, `filtered_<representation>`.
    `rows[config][split]` counts rows; splits without a count print a dash.

    Raises:
        InvalidInputError: no configuration, a name given twice or not of a-z, 0-9 and underscores, or a path that
            leaves the folder.
    """
    _check_configs(configs)
    sections = [
        _front_matter(title, configs),
        f"# {escape_markdown(title)}\n",
        _paragraphs(description),
        *(f"> **Note:** {escape_markdown(note)}\n" for note in notes),
        "## What is inside\n",
        _config_table(configs, rows),
        _COLUMNS,
        f"Classes, in the order of their numbers: {', '.join(escape_markdown(name) for name in label_names)}.\n",
        "```python\nfrom datasets import load_dataset\n\n"
        f'dataset = load_dataset("path/to/this/folder", "{configs[0][0]}")\n```\n',
        "## How it was made\n",
        _METHOD,
        *(_filtering(one) for one in filtered),
        "## Before you use it\n",
        _CAVEATS,
        "## Licence\n",
        "As the source dataset's. This folder holds its rows, selected and tagged.\n",
    ]
    if provenance:
        table = markdown_table(["what", "value"], list(provenance.items()), numbers_from=2)
        sections += ["## Versions\n", table]
    return "\n".join(sections)


def _check_configs(configs: Sequence[tuple[str, Mapping[str, str]]]) -> None:
    names = [name for name, _ in configs]
    if not names or len(set(names)) != len(names):
        raise InvalidInputError(f"a card needs configurations with different names, got {names}")
    for name, files in configs:
        if not _CONFIG_NAME.fullmatch(name):
            raise InvalidInputError(f"configuration name {name!r} must consist of a-z, 0-9 and underscores")
        bad = [path for path in files.values() if path.startswith(("/", "~")) or ".." in path.split("/")]
        if bad:
            raise InvalidInputError(f"configuration {name!r}: paths must stay inside the folder, got {bad}")


def _front_matter(title: str, configs: Sequence[tuple[str, Mapping[str, str]]]) -> str:
    entries = [
        {
            "config_name": name,
            **({"default": True} if place == 0 else {}),
            "data_files": [{"split": split, "path": path} for split, path in files.items()],
        }
        for place, (name, files) in enumerate(configs)
    ]
    matter = {
        "pretty_name": one_line(title),
        "license": "other",
        "license_name": "as-the-source-dataset",
        "tags": ["aflite", "adversarial-filtering", "dataset-bias"],
        "configs": entries,
    }
    # one line per value: a wrapped text could put "---" at a line's start and end the front matter
    text = yaml.safe_dump(matter, sort_keys=False, allow_unicode=True, width=2**20)
    return f"---\n{text}---\n"


def _paragraphs(text: str) -> str:
    lines = [escape_markdown(paragraph) for paragraph in text.split("\n\n")]
    return "\n\n".join(line for line in lines if line) + "\n"


def _config_table(configs: Sequence[tuple[str, Mapping[str, str]]], rows: Mapping[str, Mapping[str, int]]) -> str:
    lines = ["| configuration | holds | rows |", "| --- | --- | --- |"]
    for name, files in configs:
        sizes = [f"{escape_markdown(split)} {_size(rows.get(name, {}).get(split))}" for split in files]
        lines.append(f"| `{name}` | {_holds(name)} | {', '.join(sizes)} |")
    return "\n".join(lines) + "\n"


def _size(rows: int | None) -> str:
    return "not counted" if rows is None else count(rows)


def _holds(name: str) -> str:
    base = next((known for known in sorted(_HOLDS, key=len, reverse=True) if name.startswith(known)), None)
    if base is None:
        return "see the name"
    representation = name[len(base) :].strip("_")
    return _HOLDS[base] + (f"; representation {escape_markdown(representation)}" if representation else "")


def _filtering(filtered: FilteredSet) -> str:
    table = markdown_table(
        ["setting", "value"],
        [(name, value_text(value)) for name, value in filtered.settings.items()],
        numbers_from=2,
    )
    warnings = "".join(f"- Warning: {escape_markdown(warning)}\n" for warning in filtered.warnings)
    return f"{escape_markdown(filtering_sentence(filtered))}\n\n{table}\n{warnings}"
