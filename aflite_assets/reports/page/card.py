"""The dataset card: the README of a published dataset folder, with the front matter that `datasets` reads."""

import re
from collections.abc import Mapping, Sequence

import yaml

from aflite_assets.analysis.filtering import filter_outcome, removed_by_class, still_predicted
from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.page.markdown import escape_markdown, markdown_table, pipe_table
from aflite_assets.reports.sentences.filtering import filtering_sentence, still_predicted_sentence
from aflite_assets.text import count, listed, one_line, percent, value_text
from aflite_assets.wording import truncate

_HOLDS = {
    "filtered": "the rows that filtering kept",
    "hard": "the same rows as `filtered`: every train row is under the threshold",
    "easy": "the rows that filtering removed",
    "random": "as many rows as `filtered`, drawn at random: the control to compare with",
    "quarantined": "rows whose labels are suspected: taken out before the first pass, so in none of the others but "
    "`full_tagged`",
    "full_tagged": "all rows, and what the filter says of each",
}

_MOST_NAMED, _NAME_LENGTH = 20, 60
"""Columns of the source that are named, and the characters shown of each."""

_Configs = Sequence[tuple[str, Mapping[str, str]]]
_CONFIG_NAME = re.compile(r"[a-z0-9][a-z0-9_]*")

_GIVEN_ID = "the id that the source gives the row"
_MADE_ID = "the row's split in the source and its number there, as in `train-17`"
_COLUMNS = {
    "content_hash": "hash of the row's input: equal inputs have equal ones",
    "source_row": "the row's number in its split of the source, counted from 0 before any row was dropped (of multiple "
    "choice every answer is a row)",
    "group": "rows with one number belong together and were never split by the filter",
    "annotator_labels": "class numbers that single annotators gave",
    "status": "`full_tagged` only: kept, removed, warm-up (spent on training the encoder), quarantined (its label is "
    "suspected), or not filtered (a split that was left alone)",
    "predictability": "`full_tagged` only: of the times the row was held out, the share in which a linear classifier "
    "was right, in [0, 1], as last known; missing if never held out",
    "removed_in_iteration": "`full_tagged` only: the pass that removed the row, counted from 0; missing for kept rows",
    "weight": "`full_tagged` only: see below; missing for rows that were not scored",
}

_WEIGHTS = """\
`{weight}` is the class's share / the probability that the first pass's classifiers gave to the row's label, clipped \
to \\[0.25, 4\\]: under 1 where the features give the label away, over 1 where they mislead. It is there to multiply a \
row's loss by, on all rows instead of the kept ones. Whether that helps is not said here: see the train set `weighted` \
in the report, which has it where the dataset's settings have `train_weighted: true`.
"""

_METHOD = """\
Rows were removed with AFLite (Le Bras et al., ICML 2020, *Adversarial Filters of Dataset Biases*, \
[arXiv:2002.04108](https://arxiv.org/abs/2002.04108)). In each pass many linear classifiers are trained on random \
parts of the data and predict the rest. {order} Labels were not changed.
"""

_ORDERS = {
    "predictability": "Rows that are predicted right most reliably go first.",
    "vocabulary": "Of the rows that are predicted right reliably enough, those with the fewest words of their own go "
    "first (Mishra and Sachdeva, SustaiNLP 2020).",
    "several": "Which of the predictable rows go first is said in the settings of each filtering (`ranking`).",
}

_LIMITS = """\
- What is predictable depends on the representation and the linear classifier used here. Another model may predict \
kept rows and fail on removed ones.
- A predictable row need not have a shortcut: an easy task is easy. Whether one was found is said in the report.
- Wrong and ambiguous labels are seldom predicted, so they gather among the kept rows, and their weights are high.
- Class shares and topics shift when rows are removed. Compare with a random subset of the same size and classes \
before crediting filtering with an effect.
- Accuracy on filtered test rows is low partly by construction: they were chosen by what classifiers got wrong.
"""

_LAWS = {
    "pooled": "were in one pool with the train rows: classifiers were trained on them too, and they left as train rows "
    "did, so a result on them is no independent evidence",
    "scored": "left by the law by which train rows left; no classifier was trained on them",
    "kept": "were left alone: `filtered` has all of them",
}


def dataset_card(
    title: str,
    description: str,
    *,
    configs: _Configs,
    rows: Mapping[str, Mapping[str, int]],
    filtered: Sequence[FilteredSet],
    label_names: Sequence[str],
    source_columns: Sequence[str],
    own_columns: Mapping[str, str],
    ids_given: bool,
    notes: Sequence[str],
    provenance: Mapping[str, str],
) -> str:
    """Return Markdown with YAML front matter for the folder's README.md.

    `configs`: configuration name and the Parquet path pattern of each split, relative to the folder; the
    first is loaded by default. A name may carry a representation, `filtered_<representation>`.
    `rows[config][split]` counts rows; splits without a count say so. `source_columns`: names of the inputs,
    the label and the attributes; `own_columns`: how the columns that the project adds to these are called, by their
    plain names; `ids_given`: whether `id` is the source's own.

    Raises:
        InvalidInputError: no configuration, a name given twice or not of [a-z0-9_], or a path outside the folder.
    """
    _check_configs(configs)
    rankings = {str(one.settings.get("ranking", "predictability")) for one in filtered}
    return "\n".join(
        [
            _front_matter(title, configs),
            f"# {escape_markdown(title)}\n",
            "\n\n".join(filter(None, map(escape_markdown, description.split("\n\n")))) + "\n",
            *(f"> **Note:** {escape_markdown(note)}\n" for note in notes),
            "## What is inside\n",
            _config_table(configs, rows, filtered),
            _column_table(source_columns, own_columns, ids_given=ids_given),
            f"Classes, in the order of their numbers: {', '.join(map(escape_markdown, label_names))}.\n",
            "```python\nfrom datasets import load_dataset\n\n"
            f'dataset = load_dataset("path/to/this/folder", "{configs[0][0]}")\n```\n',
            "## How it was made\n",
            _METHOD.format(order=_ORDERS[rankings.pop() if len(rankings) == 1 else "several"]),
            *(_filtering(one, label_names) for one in filtered),
            "## Weights\n",
            _WEIGHTS.format(weight=own_columns["weight"]),
            "## Known limits\n",
            _LIMITS,
            "## Licence\n",
            "As the source dataset's. This folder holds its rows, selected and tagged.\n",
            "## Versions\n",
            markdown_table(["what", "value"], provenance.items(), numbers_from=2),
        ]
    )


def _check_configs(configs: _Configs) -> None:
    names = [name for name, _ in configs]
    if not names or len(set(names)) != len(names):
        raise InvalidInputError(f"a card needs configurations with different names, got {names}")
    for name, files in configs:
        if not _CONFIG_NAME.fullmatch(name):
            raise InvalidInputError(f"configuration name {name!r} must consist of a-z, 0-9 and underscores")
        bad = [path for path in files.values() if path.startswith(("/", "~")) or ".." in path.split("/")]
        if bad:
            raise InvalidInputError(f"configuration {name!r}: paths must stay inside the folder, got {bad}")


def _front_matter(title: str, configs: _Configs) -> str:
    matter = {
        "pretty_name": one_line(title),
        "license": "other",
        "license_name": "as-the-source-dataset",
        "tags": ["aflite", "adversarial-filtering", "dataset-bias"],
        "configs": [
            {"config_name": name}
            | ({"default": True} if name == configs[0][0] else {})
            | {"data_files": [{"split": split, "path": path} for split, path in files.items()]}
            for name, files in configs
        ],
    }
    # one line per value: a wrapped text could put "---" at a line's start and end the front matter
    text = yaml.safe_dump(matter, sort_keys=False, allow_unicode=True, width=2**20)
    return f"---\n{text}---\n"


def _policies(filtered: FilteredSet) -> Mapping[str, str]:
    """Return what became of the rows of each split but train."""
    policies = filtered.settings.get("evaluation_rows")
    return policies if isinstance(policies, Mapping) else {}


def _config_table(configs: _Configs, rows: Mapping[str, Mapping[str, int]], filtered: Sequence[FilteredSet]) -> str:
    left_alone = {split for one in filtered for split, policy in _policies(one).items() if policy == "kept"}
    lines = []
    for name, files in configs:
        counts, has_them = rows.get(name, {}), name.startswith(("filtered", "hard"))
        sizes = [
            f"{escape_markdown(split)} {count(counts[split]) if split in counts else 'not counted'}"
            + (" (unfiltered)" if has_them and split in left_alone else "")
            for split in files
        ]
        lines.append((f"`{name}`", _holds(name), ", ".join(sizes)))
    return pipe_table(["configuration", "holds", "rows"], lines, numbers_from=3)


def _holds(name: str) -> str:
    base = next(filter(name.startswith, _HOLDS), None)
    if base is None:
        return "see the name"
    representation = name[len(base) :].strip("_")
    return _HOLDS[base] + (f"; representation {escape_markdown(representation)}" if representation else "")


def _column_table(source: Sequence[str], own: Mapping[str, str], *, ids_given: bool) -> str:
    meanings = {"id": _GIVEN_ID if ids_given else _MADE_ID, **_COLUMNS}
    given = escape_markdown(listed([truncate(one_line(name), _NAME_LENGTH) for name in source], _MOST_NAMED))
    lines = [(given, "the source's: inputs, label and attributes")]
    lines += [(f"`{name}`", meanings[plain].replace("[", r"\[")) for plain, name in own.items()]
    return pipe_table(["column", "meaning"], lines, numbers_from=2)


def _filtering(filtered: FilteredSet, label_names: Sequence[str]) -> str:
    policies = _policies(filtered).items()
    laws = (f"- Rows of {escape_markdown(split)} ({policy}): {_LAWS[policy]}.\n" for split, policy in policies)
    runs = f" (the first of {filtered.runs} runs of the filter, which differ in their draws, is published)"
    settings = [(name, value_text(value)) for name, value in filtered.settings.items() if name != "evaluation_rows"]
    return "\n".join(
        [
            f"### Representation {escape_markdown(filtered.representation)}\n",
            f"{escape_markdown(filtering_sentence(filter_outcome(filtered)))}\n",
            f"{escape_markdown(still_predicted_sentence(still_predicted(filtered)))}\n",
            _class_table(filtered, label_names),
            "".join(laws),
            f"Settings{runs if filtered.runs > 1 else ''}:\n",
            markdown_table(["setting", "value"], settings, numbers_from=2),
            "".join(f"- Warning: {escape_markdown(warning)}\n" for warning in filtered.warnings),
        ]
    )


def _class_table(filtered: FilteredSet, label_names: Sequence[str]) -> str:
    """Return a table of the train rows of each class: filtered, removed, and its share before and after."""
    header = ["class", "train rows in the pool", "removed", "share before", "share after"]
    rows = []
    for one in removed_by_class(filtered, len(label_names)):
        shares = (f"{percent(share)} %" for share in (one.share_before, one.share_after))
        rows.append((label_names[one.label], count(one.rows), count(one.removed), *shares))
    return markdown_table(header, rows)
