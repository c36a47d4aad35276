"""The stage of `raw_dataset`: the source as one checked table."""

from collections import Counter
from typing import Any

from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft
from aflite_assets.results.files import write_json
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.loading import load_source
from aflite_assets.sources.raw_table import build_raw_table, implied_columns
from aflite_assets.sources.specs import SpecView
from aflite_assets.sources.tables import save_examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.tracking import TrackedRun


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Read the source, check it against the spec and publish the rows as Parquet shards."""
    raw = build_raw_table(
        load_source(spec.source),
        columns=implied_columns(spec.source, spec.columns),
        label_names=spec.labels,
        unlabelled=spec.unlabelled,
        limit=spec.limit,
        seed=spec.seed,
    )
    save_examples(raw.examples, draft.path)
    summary = describe(raw.examples)
    labelled = {split: rows - raw.unlabelled_rows[split] for split, rows in raw.source_rows.items()}
    summary |= {
        "source_rows": dict(raw.source_rows),
        "unlabelled_rows": dict(raw.unlabelled_rows),
        "labelled_rows": labelled,
        "trial_run": summary["rows"] != labelled,
    }
    # Reports print these numbers, so a change in them must be a change of the data version.
    write_json(draft.path / "summary.json", summary)
    progress.log(f"raw dataset: {summary['rows']}")
    return summary


def describe(examples: Examples) -> dict[str, Any]:
    """Row counts per split and class, and what kind of input the rows have."""
    splits = examples.table["split"].to_pylist()
    classes = Counter(zip(splits, examples.labels.tolist(), strict=True))
    return {
        "rows": dict(Counter(splits)),
        "rows_per_class": {
            split: {name: classes[split, number] for number, name in enumerate(examples.label_names)}
            for split in dict.fromkeys(splits)
        },
        "label_names": list(examples.label_names),
        "modality": examples.modality,
        "groups": None if examples.groups is None else len(set(examples.groups.tolist())),
    }
