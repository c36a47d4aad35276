"""Preview of a dataset for `aflite check`: its rows, its challenge sets and the plan of a run.

Small sources are read completely and with the same code as in the stages, so that every mistake is found. For large
sources, only the first rows are read. The preview publishes no results. The module `check_text` formats the printed
text.
"""

import time
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from aflite_assets.command_line.preview.known_sizes import known_kept
from aflite_assets.command_line.preview.planned import RunPlan
from aflite_assets.command_line.preview.run_plan import plan_run
from aflite_assets.command_line.preview.study import StudyPreview
from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.image_folders import image_paths
from aflite_assets.data.loading import content_fingerprint
from aflite_assets.data.raw_table.table import RawTable
from aflite_assets.data.sampling import resolve_count
from aflite_assets.diagnostics.data_checks.context import SourceFacts
from aflite_assets.errors import MissingDataError
from aflite_assets.results import ResultStore
from aflite_assets.specs.core import ChallengeSpec
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.sources import HubSource, ImageFolderSource, LabelledFolder, SourceSpec
from aflite_assets.stages.data.challenge_sets import build_challenge, decodable_challenge, load_challenge
from aflite_assets.stages.data.fine_tune_rows import build_fine_tune, in_dataset_classes
from aflite_assets.stages.data.raw_dataset import LoadedTable, read_raw
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
class Reading:
    """The part of a source that the preview reads.

    `first_rows`: number of rows to read of each split, or None for all rows.

    `rows`: number of rows in the whole source by split, or None if unknown.
    """

    first_rows: int | None
    rows: Mapping[str, int] | None


@dataclass(frozen=True)
class DataPreview:
    """Preview of a dataset: the rows that were read, and the numbers of rows that a run would use.

    `raw`: raw table of the rows that were read. `rows`: number of rows that a run would use, by split, or None if
    unknown. If the source was read only in part, `rows` is an upper limit. `content`: fingerprint of the source, or an
    empty text if the source has no fingerprint or was not read completely. `seconds`: seconds that it took to read the
    source.
    """

    raw: LoadedTable
    reading: Reading
    rows: Mapping[str, int] | None
    content: Mapping[str, str | int]
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether all rows of the source were read."""
        return self.reading.first_rows is None


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
    reading = reading_of(spec.source)
    raw = read_raw(spec, first_rows=reading.first_rows)
    complete = reading.first_rows is None
    rows = _counts(raw.examples) if complete else _expected_rows(spec, reading.rows)
    content = content_fingerprint(spec.source) if complete or isinstance(spec.source, HubSource) else {}
    return DataPreview(raw, reading, rows, content, time.perf_counter() - started)


def source_facts(spec: DatasetSpec, data: DataPreview) -> SourceFacts:
    """Return the facts about the source that the data checks need."""
    read = data.raw.source_rows
    return facts_of(
        RowPlaces(spec.source, read, data.content),
        spec.columns,
        drop_duplicates=spec.drop_duplicates,
        drop_between_splits=spec.between_splits == "drop",
        drawn_splits=frozenset(_counts(data.raw.examples)) - frozenset(read),
    )


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


def preview_plan(
    spec: DatasetSpec, data: DataPreview, challenges: ChallengePreviews, *, store: ResultStore | None = None
) -> RunPlan:
    """Check models and sizes as the stages do, and return the plan of a run.

    If the data were read only in part, only the numbers of rows are checked. `store`: the result store, which supplies
    the numbers of forgotten rows and kept rows from current results.

    Raises:
        ModelError: a model does not fit the data or is not available.
        DataError: the data have too few rows for a size in the settings.
    """
    raw = data.raw.examples
    rows = data.rows or _counts(raw)
    if spec.report.scatter_features is not None:
        check_scatter_features(spec.report.scatter_features, raw)
    previews = parts("command_line.preview", StudyPreview)
    for one in previews:
        one.check(spec, raw)
    settings, warmup_ids, curve = spec, np.zeros(0, np.int64), None
    found = (one.select(spec, raw, rows, complete=data.complete) for one in previews)
    sample, sample_rows, filtered = next(filter(None, found), (None, None, raw))
    if data.complete:
        drawn = draw_warmup(settings, filtered)
        warmup_ids, n_warmup = drawn.row_ids, len(drawn.row_ids)
        curve = None if drawn.samples is None else drawn.samples.sizes
    else:
        check_models(settings, raw)
        needed, classes = needs_warmup(settings), len(raw.label_names)
        of_train = rows["train"] if sample_rows is None else sample_rows
        n_warmup = warmup_rows(spec.warmup, of_train, needed=needed, classes=classes)
        if needed and spec.warmup.size == "auto":
            curve = curve_sizes(of_train, classes=classes)
    return plan_run(
        spec,
        rows,
        challenge_rows={challenge.name: challenge.rows for challenge in challenges.read},
        fine_tune_rows={
            challenge.name: challenge.fine_tune_rows
            for challenge in challenges.read
            if challenge.fine_tune_rows is not None
        },
        warmup_rows=n_warmup,
        curve=curve,
        sample=sample,
        sampled_rows=sample_rows,
        largest_group=_largest_group(spec, filtered, warmup_ids),
        drawn_shares=None if store is None else dict(ChainMap(*(dict(one.known(spec, store)) for one in previews))),
        kept=None if store is None else known_kept(spec, store),
    )


def reading_of(source: SourceSpec) -> Reading:
    """Return the part of a source that the preview reads.

    Large image folders, and hub sources of large or unknown size, are read only in part.
    """
    if isinstance(source, HubSource):
        from aflite_assets.data.hub.datasets import row_counts

        counts = row_counts(source)
        small = counts is not None and sum(counts.values()) <= MOST_HUB_ROWS
        return Reading(None if small else FIRST_ROWS, counts)
    if isinstance(source, ImageFolderSource):
        counts = {split: _images(place) for split, place in source.splits.items()}
        return Reading(None if sum(counts.values()) <= MOST_IMAGES else FIRST_ROWS, counts)
    return Reading(None, None)


def _preview_challenge(spec: DatasetSpec, name: str, data: DataPreview) -> ChallengePreview:
    challenge, raw = spec.challenge_sets[name], data.raw.examples
    reading = reading_of(challenge.source)
    tables = load_challenge(name, challenge, first_rows=reading.first_rows)
    complete = reading.first_rows is None
    built = build_challenge(name, challenge, tables, raw, seed=spec.seed, scale=data.raw.scale, complete=complete)
    decodable = decodable_challenge(name, built, largest_share=spec.undecodable_images, complete=complete)
    built = replace(built, examples=decodable.examples)
    mapping = label_mapping(name, challenge, built.examples, raw.label_names, complete=complete and data.complete)
    rows = len(built.examples) if complete else (reading.rows or {}).get(challenge.split, len(built.examples))
    tune = _fine_tune_rows(name, challenge, tables, data, reading, seed=spec.seed)
    return ChallengePreview(name, built, min(rows, challenge.limit or rows), complete, mapping, tune)


def _fine_tune_rows(
    name: str,
    challenge: ChallengeSpec,
    tables: Mapping[str, pa.Table],
    data: DataPreview,
    reading: Reading,
    *,
    seed: int,
) -> int | None:
    """Return the maximum number of rows for fine-tuning, or None if the challenge set does not set `fine_tune`.

    The number includes fine-tuning rows that a run would drop because they are also test rows.
    """
    if challenge.fine_tune is None:
        return None
    complete, raw = reading.first_rows is None, data.raw.examples
    rows = build_fine_tune(name, challenge, tables, seed=seed, scale=data.raw.scale, complete=complete).examples
    if complete and data.complete:
        in_dataset_classes(name, challenge, rows, raw.label_names)
    return len(rows) if complete else (reading.rows or {}).get(challenge.fine_tune, len(rows))


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


def _counts(raw: Examples) -> dict[str, int]:
    return {
        split.as_py(): rows.as_py() for split, rows in zip(*raw.table["split"].value_counts().flatten(), strict=True)
    }


def _images(place: str | LabelledFolder) -> int:
    return len(image_paths(Path(place.folder if isinstance(place, LabelledFolder) else place)))


def _largest_group(spec: DatasetSpec, raw: Examples, warmup_ids: np.ndarray) -> int:
    """Return the number of rows in the pool's largest group."""
    rest = without_rows(raw, warmup_ids)
    if rest.groups is None:
        return 1
    pool = in_pool(spec.filter, np.array(rest.table["split"].to_pylist(), object))
    return int(np.unique(rest.groups[pool], return_counts=True)[1].max())
