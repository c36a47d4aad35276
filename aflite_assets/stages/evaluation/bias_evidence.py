"""The stage `bias_evidence`: tables of statistics about kept and removed rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.cues import PlantedRemoval
from aflite_assets.analysis.inputs.records import EvidenceTable, FilteredSet
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.results.files import write_json
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.sources import as_tuple
from aflite_assets.stages.data.cue_scan import grouped_with_copies
from aflite_assets.stages.evaluation.distance_features import distance_features
from aflite_assets.stages.evaluation.evidence_tables import (
    adversary_tables,
    annotator_tables,
    cue_tables,
    label_noise_tables,
    nearest_rows,
    neighbour_tables,
    overlap_tables,
    paper_neighbour_tables,
    planted_removals,
    planted_tables,
    similarities,
    similarity_tables,
    suspect_tables,
    tested_cues,
)
from aflite_assets.stages.evaluation.word_evidence import word_tables
from aflite_assets.stages.shared.published import plausible_label_errors, representation_of
from aflite_assets.stages.shared.report_inputs import filtered_set
from aflite_assets.stages.stage import Progress, Stage, StageContext, StageInputs, StageSettings
from aflite_assets.studies import functions
from aflite_assets.tracking import TrackedRun, table_metrics, table_name
from aflite_assets.wording import counted

_OVERALL = "all-representations"
"""File name prefix of tables about all representations; no representation's name contains a hyphen."""


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Compute and publish every table that applies to the dataset, per representation and over all representations.

    The similarities of pairs of rows and the nearest kept row of each removed row are written to separate files. The
    tracker receives every table as a file and as metrics; the tables of a representation go to a nested run.
    """
    raw = load_examples(inputs.raw_dataset.path)
    filtered = {name: filtered_set(name, part) for name, part in inputs.filtered_sets.parts.items()}
    seed, planted = settings.seed, {attribute: as_tuple(values) for attribute, values in settings.planted.items()}
    encoder, version, everything = settings.distance_encoder, inputs.raw_dataset.data_version, None
    if encoder is not None:
        everything = distance_features(encoder, raw, draft, seed=seed, raw_version=version, context=context)
    tables = partial(_tables, raw=raw, inputs=inputs, planted=planted, everything=everything, draft=draft, seed=seed)
    index: list[dict[str, str]] = []
    all_removals: list[PlantedRemoval] = []
    summary: dict[str, object] = {}
    for name, one in filtered.items():
        with context.tracker.child(name) as tracked:
            published = _publish(name, tables(one), draft, tracked, context.progress)
        removals = planted_removals(name, one.rows, raw, planted)
        all_removals += removals
        summary[name] = {"tables": len(published), **_described(removals)}
        index += published
    rows = {name: one.rows for name, one in filtered.items()}
    overall = chain(overlap_tables(rows), adversary_tables(rows, raw, seed=seed))
    index += _publish(_OVERALL, overall, draft, context.tracker, context.progress)
    of_planted = {"planted": [asdict(removal) for removal in all_removals]} if all_removals else {}
    files = {what: {name: _file(name, what) for name in filtered} for what in ("similarities", "cues", "nearest_kept")}
    write_json(draft.path / "evidence.json", {"tables": index, **files, **of_planted})
    context.tracker.log_artifact(draft.path / "evidence.json")
    return summary


def _file(representation: str, what: str) -> str:
    return f"{representation}-{what}.parquet"


def _tables(
    filtered: FilteredSet,
    *,
    raw: Examples,
    inputs: StageInputs,
    planted: Mapping[str, tuple[str, ...]],
    everything: PublishedResult | None,
    draft: Draft,
    seed: int,
) -> Iterator[EvidenceTable]:
    """Yield the tables of one representation, and write similarities, cues and nearest kept rows to separate files.

    `everything`: features from a model trained on all train rows, or None if the settings do not request them.
    """
    name, rows, names = filtered.representation, filtered.rows, raw.label_names
    embedded = inputs.embeddings.part(representation_of(inputs.filtered_sets, name))
    alike = similarities(rows, embedded, names, seed=seed)
    cues = tested_cues(rows, grouped_with_copies(inputs.cue_scan, raw), planted, seed=seed)
    whole = {"similarities": alike, "cues": cues, "nearest_kept": nearest_rows(rows, embedded, seed=seed)}
    for what, table in whole.items():
        pq.write_table(table, draft.path / _file(name, what))
    yield from cue_tables(name, cues, names)
    yield from planted_tables(name, rows, raw, planted)
    yield from _own_tables(name, rows, raw)
    yield from word_tables(filtered, raw, seed=seed)
    for tables in functions("stages.evidence"):
        yield from tables(filtered, raw, seed=seed)
    yield from neighbour_tables(name, rows, embedded, names, seed=seed)
    if everything is not None:
        yield from paper_neighbour_tables(name, rows, everything, names, seed=seed)
    yield from similarity_tables(name, alike)
    yield from annotator_tables(name, rows, raw)
    yield from suspect_tables(name, rows, raw)
    yield from label_noise_tables(name, rows, plausible_label_errors(inputs.filtered_sets.part(name), raw))


def _described(removals: Sequence[PlantedRemoval]) -> dict[str, object]:
    """Return the precision and recall of removal for each planted attribute; the result is empty if no attribute was
    planted.
    """
    names = ("precision", "precision_by_chance", "recall", "recall_by_chance")
    planted = {removal.attribute: {name: getattr(removal, name) for name in names} for removal in removals}
    return {"planted": planted} if planted else {}


def _publish(
    name: str, tables: Iterable[EvidenceTable], draft: Draft, tracked: TrackedRun, progress: Progress
) -> list[dict[str, str]]:
    """Write each table to a file, send it to the tracker and log it; return the entries of the tables' index."""
    index = []
    for number, evidence in enumerate(tables):
        file = f"{name}-{number:02d}.parquet"
        pq.write_table(evidence.table, draft.path / file)
        title = evidence.title.removesuffix(f" ({name})")
        tracked.log_table(table_name(title), evidence.table)
        tracked.log_metrics(table_metrics(title, evidence.table))
        index.append({"title": evidence.title, "caption": evidence.caption, "file": file})
        progress.log(f"bias evidence: {evidence.title}: {counted(evidence.table.num_rows, 'row')}")
    return index


def _own_tables(representation: str, rows: pa.Table, raw: Examples) -> Iterator[EvidenceTable]:
    """Yield the non-empty tables that depend only on the rows of one filtered set."""
    from aflite_assets.diagnostics.evidence.kept_vs_removed import (
        attribute_shares,
        label_shares,
        mean_scores,
        removed_by_class,
        text_lengths,
    )

    tables = [
        EvidenceTable(
            f"Classes kept and removed ({representation})",
            "Rows per class, and each class's share of the kept and of the removed rows.",
            label_shares(rows, label_names=raw.label_names).drop_columns(["label"]),
        ),
        EvidenceTable(
            f"Train rows removed by iteration and class ({representation})",
            "Train rows per class that entered an iteration, and how many of them it removed. The examples are the "
            "three easiest removed rows: the highest predictability, then the highest probability of their label. "
            "The class removed first is the easiest to predict, by a shortcut or by the task.",
            removed_by_class(rows, raw),
        ),
        EvidenceTable(
            f"Attributes kept and removed ({representation})",
            "Columns listed as attributes in the spec. share_kept is the share of the value's rows that filtering "
            "kept.",
            attribute_shares(rows, raw),
        ),
        EvidenceTable(
            f"Scores of kept and removed rows ({representation})",
            "Mean of the last known predictability, and mean probability of the row's own label in the first "
            "iteration.",
            mean_scores(rows),
        ),
        EvidenceTable(
            f"Text lengths ({representation})",
            "Mean number of words and characters of kept and removed rows, over all classes and per class. Whether "
            "a length gives the label away is tested among the cues of the removed rows.",
            _named_classes(text_lengths(rows, raw)),
        ),
    ]
    yield from (evidence for evidence in tables if evidence.table.num_rows)


def _named_classes(table: pa.Table) -> pa.Table:
    """Replace null label names by `all classes`; a null label name means that the table row covers all classes."""
    place = table.column_names.index("label_name")
    return table.set_column(place, "label_name", pc.fill_null(table["label_name"], "all classes"))


_SETTINGS = StageSettings("distance_encoder planted seed")
BIAS_EVIDENCE = Stage("bias_evidence", "16", _SETTINGS, "raw_dataset cue_scan embeddings filtered_sets", run)
