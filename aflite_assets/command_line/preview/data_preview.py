"""Preview of a dataset for `aflite check`: its rows, its challenge sets and the plan of a run.

Small sources are read completely and with the same code as in the stages, so that every mistake is found. For large
sources, only the first rows are read. The preview publishes no results. The module `check_text` formats the printed
text.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from aflite_assets.command_line.preview.run_plan import RunPlan, StudyPreview
from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.image_folders import image_paths
from aflite_assets.data.loading import content_fingerprint
from aflite_assets.data.raw_table.table import RawTable
from aflite_assets.data.sampling import resolve_count
from aflite_assets.diagnostics.data_checks.context import SourceFacts
from aflite_assets.errors import MissingDataError
from aflite_assets.refresh.plan import plan_dataset
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.sources import HubSource, ImageFolderSource, LabelledFolder, SourceSpec
from aflite_assets.stages.data.challenge_sets import build_challenge, decodable_challenge, load_challenge
from aflite_assets.stages.data.fine_tune_rows import build_fine_tune, in_dataset_classes
from aflite_assets.stages.data.raw_dataset import LoadedTable, read_raw, split_rows
from aflite_assets.stages.shared.label_mapping import label_mapping
from aflite_assets.stages.shared.published import without_rows
from aflite_assets.stages.shared.report_inputs import check_scatter_features
from aflite_assets.stages.shared.sizes import curve_sizes, in_pool, warmup_rows
from aflite_assets.stages.shared.source_places import RowPlaces, facts_of
from aflite_assets.stages.warmup.warmup_split import check_models, draw_warmup, needs_warmup
from aflite_assets.studies import parts

FIRST_ROWS = 1_000
"""Number of rows per split that are read from a large source."""

MOST_HUB_ROWS = 100_000
"""Largest number of rows of a hub dataset that the preview downloads completely."""

MOST_IMAGES = 20_000
"""Largest number of images in a folder that the preview reads, decodes and hashes completely."""


@dataclass(frozen=True)
class DataPreview:
    """Preview of a dataset: the rows that were read, and the numbers of rows that a run would use.

    `raw`: raw table of the rows that were read. `first_rows`: number of rows that were read of each split, or None for
    all rows. `rows`: number of rows that a run would use, by split, or None if unknown. If the source was read only in
    part, `rows` is an upper limit. `facts`: facts about the source that the data checks need. `content`: fingerprint of
    the source, or an empty mapping if the source has no fingerprint or was not read completely. `seconds`: seconds that
    it took to read the source.
    """

    raw: LoadedTable
    first_rows: int | None
    rows: Mapping[str, int] | None
    facts: SourceFacts
    content: Mapping[str, str | int]
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether all rows of the source were read."""
        return self.first_rows is None


@dataclass(frozen=True)
class ChallengePreview:
    """Preview of a challenge set.

    `rows`: number of rows that a run would use, or an upper limit if the challenge set was read only in part.
    `label_mapping`: maps each label of the dataset to a label of the challenge set, or to None if there is no
    counterpart. `fine_tune_rows`: maximum number of rows for fine-tuning.
    """

    name: str
    raw: RawTable
    rows: int
    complete: bool
    label_mapping: Mapping[str, str | None]
    fine_tune_rows: int | None = None


@dataclass(frozen=True)
class ChallengePreviews:
    """Challenge sets that were read, and the reasons why optional challenge sets are missing, by name."""

    read: tuple[ChallengePreview, ...]
    missing: Mapping[str, str]


def preview_data(spec: DatasetSpec) -> DataPreview:
    """Read the whole source or its first rows, and build the raw table as the stage `raw_dataset` does.

    Raises:
        DataError: the data do not match the dataset spec.
    """
    started = time.perf_counter()
    first_rows, counts = _reading(spec.source)
    raw = read_raw(spec, first_rows=first_rows)
    rows = split_rows(raw.examples) if first_rows is None else _expected_rows(spec, counts)
    content = content_fingerprint(spec.source) if first_rows is None or isinstance(spec.source, HubSource) else {}
    facts = facts_of(
        RowPlaces(spec.source, raw.source_rows, content),
        spec.columns,
        drop_duplicates=spec.drop_duplicates,
        drop_between_splits=spec.between_splits == "drop",
        drawn_splits=frozenset(split_rows(raw.examples)) - frozenset(raw.source_rows),
    )
    return DataPreview(raw, first_rows, rows, facts, content, time.perf_counter() - started)


def _reading(source: SourceSpec) -> tuple[int | None, Mapping[str, int] | None]:
    """Return the number of rows to read of each split (None for all rows), and the number of rows in the whole source
    by split (None if unknown).

    Large image folders, and hub sources of large or unknown size, are read only in part.
    """
    if isinstance(source, HubSource):
        from aflite_assets.data.hub.datasets import row_counts

        counts, most = row_counts(source), MOST_HUB_ROWS
    elif isinstance(source, ImageFolderSource):
        folders = {
            split: one.folder if isinstance(one, LabelledFolder) else one for split, one in source.splits.items()
        }
        counts, most = {split: len(image_paths(Path(folder))) for split, folder in folders.items()}, MOST_IMAGES
    else:
        return None, None
    return (None if counts is not None and sum(counts.values()) <= most else FIRST_ROWS), counts


def _expected_rows(spec: DatasetSpec, counts: Mapping[str, int] | None) -> dict[str, int] | None:
    """Return the expected number of rows per split, after rows are held out and limits are applied.

    The expected number includes rows that a run may drop, such as duplicates.
    """
    if counts is None:
        return None
    rows = dict(counts)
    for split, size in spec.holdout.items():
        rows[split] = resolve_count(size, counts["train"], field=f"holdout.{split}", kind="train rows")
        rows["train"] -= rows[split]
    return {split: min(number, (spec.limit or {}).get(split, number)) for split, number in rows.items()}


def preview_challenges(spec: DatasetSpec, data: DataPreview) -> ChallengePreviews:
    """Read the challenge sets and map their classes as the stage `challenge_sets` does.

    Optional challenge sets may be missing.

    Raises:
        DataError: a challenge set does not match the dataset.
        MissingDataError: a required challenge set is missing.
    """
    read: list[ChallengePreview] = []
    missing: dict[str, str] = {}
    for name, challenge in spec.challenge_sets.items():
        try:
            read.append(_preview_challenge(spec, name, data))
        except MissingDataError as error:
            if challenge.required:
                raise
            missing[name] = str(error)
    return ChallengePreviews(tuple(read), missing)


def _preview_challenge(spec: DatasetSpec, name: str, data: DataPreview) -> ChallengePreview:
    challenge, raw = spec.challenge_sets[name], data.raw.examples
    first_rows, counts = _reading(challenge.source)
    complete, of_source = first_rows is None, counts or {}
    tables = load_challenge(name, challenge, first_rows=first_rows)
    read_as: Mapping[str, Any] = {"seed": spec.seed, "scale": data.raw.scale, "complete": complete}
    built = build_challenge(name, challenge, tables, raw, **read_as)
    decodable = decodable_challenge(name, built, largest_share=spec.undecodable_images, complete=complete)
    built = replace(built, examples=decodable.examples)
    mapping = label_mapping(name, challenge, built.examples, raw.label_names, complete=complete and data.complete)
    rows = len(built.examples) if complete else of_source.get(challenge.split, len(built.examples))
    tuned = None
    if challenge.fine_tune is not None:
        # The number includes rows that a run would drop because they are also test rows.
        to_tune = build_fine_tune(name, challenge, tables, **read_as).examples
        tuned = len(to_tune) if complete else of_source.get(challenge.fine_tune, len(to_tune))
        if complete and data.complete:
            in_dataset_classes(name, challenge, to_tune, raw.label_names)
    return ChallengePreview(name, built, min(rows, challenge.limit or rows), complete, mapping, tuned)


def preview_plan(
    spec: DatasetSpec,
    data: DataPreview,
    challenges: ChallengePreviews,
    *,
    reused: Mapping[str, PublishedResult] = MappingProxyType({}),
) -> RunPlan:
    """Check models and sizes as the stages do, and return the plan of a run.

    If the data were read only in part, only the numbers of rows are checked. `reused`: the current results that the run
    would reuse, by stage, which supply the numbers of forgotten rows and kept rows.

    Raises:
        ModelError: a model does not fit the data or is not available.
        DataError: the data have too few rows for a size in the settings.
    """
    raw = data.raw.examples
    rows = data.rows or split_rows(raw)
    if spec.report.scatter_features is not None:
        check_scatter_features(spec.report.scatter_features, raw)
    previews = parts("command_line.preview", StudyPreview)
    for one in previews:
        one.check(spec, raw)
    found = (one.select(spec, raw, rows, complete=data.complete) for one in previews)
    sample, sampled_rows, filtered = next(filter(None, found), (None, None, raw))
    if data.complete:
        drawn = draw_warmup(spec, filtered)
        n_warmup, filtered = len(drawn.row_ids), without_rows(filtered, drawn.row_ids)
        curve = None if drawn.samples is None else drawn.samples.sizes
    else:
        check_models(spec, raw)
        needed, classes, of_train = needs_warmup(spec), len(raw.label_names), sampled_rows or rows["train"]
        n_warmup = warmup_rows(spec.warmup, of_train, needed=needed, classes=classes)
        curve = curve_sizes(of_train, classes=classes) if needed and spec.warmup.size == "auto" else None
    return RunPlan(
        spec,
        rows,
        n_warmup,
        challenge_rows={one.name: one.rows for one in challenges.read},
        fine_tune_rows={one.name: one.fine_tune_rows for one in challenges.read if one.fine_tune_rows is not None},
        largest_group=_largest_group(spec, filtered),
        curve=curve,
        sample=sample,
        sampled_rows=sampled_rows,
        reused=reused,
    )


def reused_results(spec: DatasetSpec, store: ResultStore) -> dict[str, PublishedResult]:
    """Return the current results that a run would reuse, by stage."""
    if spec.name not in store.datasets():
        return {}
    reused = [one.stage for one in plan_dataset(spec, store).stages if one.current]
    return {stage: store.current(stage, spec.name) for stage in reused}


def _largest_group(spec: DatasetSpec, filtered: Examples) -> int:
    """Return the number of rows in the pool's largest group, without the warm-up rows."""
    if filtered.groups is None:
        return 1
    pool = in_pool(spec.filter, np.array(filtered.table["split"].to_pylist(), object))
    return int(np.unique(filtered.groups[pool], return_counts=True)[1].max())
