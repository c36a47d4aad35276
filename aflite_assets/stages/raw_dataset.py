"""The stage of `raw_dataset`: the source as one checked table, with the splits that are drawn from train."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft
from aflite_assets.results.files import write_json
from aflite_assets.sources.decodable_images import UndecodableImages, drop_undecodable
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.holdout import hold_out
from aflite_assets.sources.loading import load_source
from aflite_assets.sources.raw_table import RawTable, build_raw_table, implied_columns
from aflite_assets.sources.rows import rows_at
from aflite_assets.sources.sampling import stratified_sample
from aflite_assets.sources.specs import DatasetSpec, SpecView
from aflite_assets.sources.tables import save_examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.tracking import TrackedRun


@dataclass(frozen=True)
class LoadedTable(RawTable):
    """The raw table as it is published.

    `labelled_rows` by split, held-out ones included: before the limit was drawn and before undecodable images were
    dropped, which `undecodable_images` counts by split.
    """

    labelled_rows: Mapping[str, int]
    undecodable_images: Mapping[str, UndecodableImages]


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Read the source, check it against the spec and publish the rows as Parquet shards."""
    raw = read_raw(spec, log=progress.log)
    save_examples(raw.examples, draft.path)
    summary = describe(raw.examples)
    dropped = raw.undecodable_images
    limited = {
        split: rows + (dropped[split].rows if split in dropped else 0) for split, rows in summary["rows"].items()
    }
    summary |= {
        "source_rows": dict(raw.source_rows),
        "unlabelled_rows": dict(raw.unlabelled_rows),
        "labelled_rows": dict(raw.labelled_rows),
        "undecodable_images": {split: asdict(images) for split, images in raw.undecodable_images.items()},
        "trial_run": limited != raw.labelled_rows,
    }
    # Reports print these numbers, so a change in them must be a change of the data version.
    write_json(draft.path / "summary.json", summary)
    progress.log(f"raw dataset: {summary['rows']}")
    return summary


def read_raw(
    spec: DatasetSpec | SpecView, *, first_rows: int | None = None, log: Callable[[str], None] = lambda line: None
) -> LoadedTable:
    """Read the source and give it the raw dataset's form: columns, labels, held-out splits, limit, sound images.

    With `first_rows` only about so many rows of each split are looked at where reading all is slow. Then classes may
    be missing, the held-out splits get equal parts of the train rows, and any share of the images may be broken.

    Raises:
        DataError: the source is not what the spec says, a split cannot be drawn, or too many images do not decode.
    """
    complete = first_rows is None
    raw = build_raw_table(
        load_source(spec.source, rows=first_rows),
        columns=implied_columns(spec.source, spec.columns),
        label_names=spec.labels,
        unlabelled=spec.unlabelled,
        limit=None if spec.holdout else spec.limit,
        seed=spec.seed,
        annotations=spec.annotations,
        complete=complete,
    )
    examples = raw.examples
    labelled = {split: rows - raw.unlabelled_rows[split] for split, rows in raw.source_rows.items()}
    if spec.holdout:
        drawn = _held_out(examples, spec.holdout, seed=spec.seed) if complete else _dealt(examples, spec.holdout)
        labelled = {split: part.num_rows for split, part in drawn.items()}
        limited = _limited(drawn, spec.limit or {}, seed=spec.seed, complete=complete)
        examples = Examples(pa.concat_tables(limited), examples.label_names)
    decodable = drop_undecodable(examples, largest_share=spec.undecodable_images, complete=complete, log=log)
    return LoadedTable(decodable.examples, raw.source_rows, raw.unlabelled_rows, labelled, decodable.dropped)


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


def _by_split(examples: Examples) -> dict[str, pa.Table]:
    return {split: examples.in_split(split).table for split in dict.fromkeys(examples.table["split"].to_pylist())}


def _held_out(examples: Examples, holdout: Mapping[str, int | float], *, seed: int) -> dict[str, pa.Table]:
    """Every split's rows, the splits that are drawn from train after those of the source."""
    parts = _by_split(examples)
    drawn = hold_out(parts["train"], holdout, seed=seed)
    if len(np.unique(drawn["train"]["label"])) < 2:
        raise DataError(
            f"holdout {dict(holdout)} leaves {drawn['train'].num_rows} train rows of one class, filtering needs at "
            "least two; hold out fewer rows"
        )
    return {**parts, "train": drawn.pop("train"), **drawn}


def _dealt(examples: Examples, holdout: Mapping[str, int | float]) -> dict[str, pa.Table]:
    """The same of the first rows of a source, of which neither counts nor groups say anything."""
    parts = _by_split(examples)
    train = parts["train"]
    dealt = {
        name: rows_at(train, np.arange(number, train.num_rows, len(holdout) + 1))
        for number, name in enumerate(("train", *holdout))
    }
    position = train.column_names.index("split")
    return parts | {
        name: part.set_column(position, "split", pa.array([name] * part.num_rows, pa.string()))
        for name, part in dealt.items()
    }


def _limited(parts: Mapping[str, pa.Table], limit: Mapping[str, int], *, seed: int, complete: bool) -> list[pa.Table]:
    limited = []
    for number, (split, part) in enumerate(parts.items()):
        wanted = limit.get(split, part.num_rows)
        if wanted < part.num_rows:
            groups = part["group"].to_numpy() if "group" in part.column_names else None
            rng = np.random.default_rng([seed, number])
            part = rows_at(part, stratified_sample(part["label"].to_numpy(), groups, wanted, rng=rng))
            classes = len(np.unique(part["label"]))
            if complete and classes < (2 if split == "train" else 1):
                raise DataError(
                    f"split {split!r}: the limit of {wanted} rows leaves {part.num_rows} rows of {classes} classes; "
                    "raise it"
                )
        limited.append(part)
    return limited
