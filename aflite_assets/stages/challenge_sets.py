"""The stage of `challenge_sets`: out-of-distribution test sets in the form of the raw dataset."""

from typing import Any

from aflite_assets.errors import DataError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.loading import load_source
from aflite_assets.sources.raw_table import build_raw_table, implied_columns
from aflite_assets.sources.specs import ChallengeSpec, SpecView
from aflite_assets.sources.tables import load_examples, save_examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.stages.published import CATEGORY
from aflite_assets.tracking import TrackedRun


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Load every challenge set into a folder of its name, with its category column and its own labels."""
    raw = load_examples(inputs["raw_dataset"].path)
    rows = {}
    for name, challenge in spec.challenge_sets.items():
        examples = _load(name, challenge, raw, seed=spec.seed)
        (draft.path / name).mkdir()
        save_examples(examples, draft.path / name)
        rows[name] = len(examples)
        progress.log(f"challenge set {name}: {len(examples)} rows")
    return {"sets": len(rows), "rows": rows}


def _load(name: str, challenge: ChallengeSpec, raw: Examples, *, seed: int) -> Examples:
    tables = load_source(challenge.source)
    if challenge.split not in tables:
        raise DataError(f"challenge set {name!r} has no split {challenge.split!r} (it has {sorted(tables)}); set split")
    table = tables[challenge.split]
    columns = implied_columns(challenge.source, challenge.columns)
    if challenge.category is not None:
        columns = columns.model_copy(update={"attributes": (*columns.attributes, challenge.category)})
    try:
        built = build_raw_table(
            {challenge.split: table},
            columns=columns,
            label_names=challenge.labels,
            unlabelled=challenge.unlabelled,
            limit=None if challenge.limit is None else {challenge.split: challenge.limit},
            seed=seed,
        )
    except DataError as error:
        raise DataError(f"challenge set {name!r}: {error}") from error
    examples = built.examples
    if challenge.category is not None:
        column = f"attribute.{challenge.category}"
        names = [CATEGORY if old == column else old for old in examples.table.column_names]
        examples = Examples(examples.table.rename_columns(names), examples.label_names)
    _check_fits(name, challenge, examples, raw)
    return examples


def _check_fits(name: str, challenge: ChallengeSpec, examples: Examples, raw: Examples) -> None:
    if examples.modality != raw.modality:
        raise DataError(f"challenge set {name!r} holds {examples.modality}, but the dataset {raw.modality}")
    if raw.modality == "text":
        for column in ("text", "text_pair"):
            if (column in raw.table.column_names) != (column in examples.table.column_names):
                raise DataError(
                    f"challenge set {name!r} and the dataset do not both have {column}; set columns.{column}"
                )
    if raw.modality == "features" and examples.features.shape[1] != raw.features.shape[1]:
        raise DataError(
            f"challenge set {name!r} has {examples.features.shape[1]} features, the dataset {raw.features.shape[1]}"
        )
    if challenge.collapse is None:
        if examples.label_names != raw.label_names:
            raise DataError(
                f"challenge set {name!r} has labels {list(examples.label_names)}, the dataset {list(raw.label_names)}; "
                "set labels to the same list, or collapse to map each label of the dataset to one of the set's"
            )
        return
    if set(challenge.collapse) != set(raw.label_names) or not set(challenge.collapse.values()) <= set(
        examples.label_names
    ):
        raise DataError(
            f"challenge set {name!r}: collapse {challenge.collapse} must map every label of {list(raw.label_names)} "
            f"to one of {list(examples.label_names)}"
        )
