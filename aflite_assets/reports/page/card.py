"""The dataset card: the README of a published dataset folder, with the front matter that `datasets` reads."""

from collections.abc import Mapping, Sequence

import yaml
from markupsafe import Markup

from aflite_assets.analysis.filtering import filter_outcome, removed_by_class, still_predicted
from aflite_assets.analysis.inputs.records import FilteredSet
from aflite_assets.reports.page.markdown import escape_markdown, template_environment
from aflite_assets.reports.sentences.filtering import filtering_sentence, still_predicted_sentence
from aflite_assets.text import listed, one_line, short

_MOST_NAMED = 20  # columns of the source


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
    """Return Markdown with YAML front matter for the folder's README.md. All dataset text is escaped.

    `configs`: by configuration name the Parquet path pattern of each split, relative to the folder; the first is loaded
    by default. Names and splits are of [a-z0-9_]; a name may end with a representation, `filtered_<representation>`.
    `rows[config][split]` counts rows. `source_columns`: inputs, label and attributes; `own_columns`: what the columns
    that the project adds are called, by their plain names; `ids_given`: whether `id` is the source's own.
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
    """Return what became of the rows of each split but train."""
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
