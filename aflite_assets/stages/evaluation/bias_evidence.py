"""The stage of `bias_evidence`: statistics about kept and removed rows, as tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.reports.inputs.planted import PlantedRemoval
from aflite_assets.reports.inputs.records import EvidenceTable
from aflite_assets.reports.text import counted
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.results.files import write_json
from aflite_assets.specs.dataset import PlantedValues
from aflite_assets.specs.models import EncoderSpec
from aflite_assets.specs.sources import as_tuple
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
    removal_marks,
    similarities,
    similarity_tables,
    suspect_tables,
)
from aflite_assets.stages.evaluation.word_evidence import word_tables
from aflite_assets.stages.shared.published import label_errors
from aflite_assets.stages.shared.report_inputs import filtered_set
from aflite_assets.stages.stage import Progress, Stage, StageContext, StageInputs, StageSettings
from aflite_assets.tracking import TrackedRun, table_metrics, table_name

_OVERALL = "all-representations"
"""Begins the files of tables about every representation; with its hyphen it is no representation's name."""


class BiasEvidenceSettings(StageSettings):
    """What `bias_evidence` reads of a dataset's file."""

    distance_encoder: EncoderSpec | None
    planted: dict[str, PlantedValues]
    seed: int


@dataclass(frozen=True)
class BiasEvidenceInputs(StageInputs):
    """The results that `bias_evidence` reads."""

    raw_dataset: PublishedResult
    embeddings: PublishedResult
    filtered_sets: PublishedResult


def run(
    settings: BiasEvidenceSettings, inputs: BiasEvidenceInputs, draft: Draft, context: StageContext
) -> dict[str, object]:
    """Compute every table that applies to the dataset, per representation and over all, and publish them.

    Similarities of pairs of rows, which a report draws, and the nearest kept rows of removed ones are files of their
    own. Every table goes to the tracker whole and number by number, a representation's to a nested run.
    """
    raw = load_examples(inputs.raw_dataset.path)
    embeddings = inputs.embeddings
    sets = {name: filtered_set(name, part) for name, part in inputs.filtered_sets.parts.items()}
    filtered = {name: filter_result.rows for name, filter_result in sets.items()}
    everything = None
    if settings.distance_encoder is not None:
        everything = distance_features(
            settings.distance_encoder,
            raw,
            draft,
            seed=settings.seed,
            raw_version=inputs.raw_dataset.data_version,
            context=context,
        )
    planted = {attribute: as_tuple(values) for attribute, values in settings.planted.items()}
    index: list[dict[str, str]] = []
    pairs: dict[str, str] = {}
    marks: dict[str, str] = {}
    nearest: dict[str, str] = {}
    all_removals: list[PlantedRemoval] = []
    summary: dict[str, object] = {}
    names = raw.label_names
    for name, rows in filtered.items():
        with context.tracker.child(name) as tracked:
            alike = similarities(rows, embeddings.part(name), names, seed=settings.seed)
            pairs[name] = f"{name}-similarities.parquet"
            pq.write_table(alike, draft.path / pairs[name])
            cues = removal_marks(rows, raw, planted, seed=settings.seed)
            marks[name] = f"{name}-cues.parquet"
            pq.write_table(cues, draft.path / marks[name])
            nearest[name] = f"{name}-nearest_kept.parquet"
            near = nearest_rows(rows, embeddings.part(name), seed=settings.seed)
            pq.write_table(near, draft.path / nearest[name])
            tables = chain(
                cue_tables(name, cues),
                planted_tables(name, rows, raw, planted),
                _own_tables(name, rows, raw),
                word_tables(sets[name], raw, seed=settings.seed),
                neighbour_tables(name, rows, embeddings.part(name), names, seed=settings.seed),
                () if everything is None else paper_neighbour_tables(name, rows, everything, names, seed=settings.seed),
                similarity_tables(name, alike),
                annotator_tables(name, rows, raw),
                suspect_tables(name, rows, raw),
                label_noise_tables(name, rows, label_errors(inputs.filtered_sets.part(name))),
            )
            published = _publish(name, tables, draft, tracked, context.progress)
        removals = planted_removals(name, rows, raw, planted)
        all_removals += removals
        summary[name] = {"tables": len(published), **_described(removals)}
        index += published
    overall = chain(overlap_tables(filtered), adversary_tables(filtered, raw, seed=settings.seed))
    index += _publish(_OVERALL, overall, draft, context.tracker, context.progress)
    of_planted = {"planted": [asdict(removal) for removal in all_removals]} if all_removals else {}
    files = {"similarities": pairs, "cues": marks, "nearest_kept": nearest}
    write_json(draft.path / "evidence.json", {"tables": index, **files, **of_planted})
    context.tracker.log_artifact(draft.path / "evidence.json")
    return summary


def _described(removals: Sequence[PlantedRemoval]) -> dict[str, object]:
    """Precision and recall by attribute, for the tracker; nothing where nothing was planted."""
    names = ("precision", "precision_by_chance", "recall", "recall_by_chance")
    planted = {removal.attribute: {name: getattr(removal, name) for name in names} for removal in removals}
    return {"planted": planted} if planted else {}


def _publish(
    name: str, tables: Iterable[EvidenceTable], draft: Draft, tracked: TrackedRun, progress: Progress
) -> list[dict[str, str]]:
    """Write and track each table as it is made, with a line; the index entries."""
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
    """What stands in the rows of one filtered set; tables without rows (no attributes, no texts) are left out."""
    from aflite_assets.diagnostics.evidence.kept_vs_removed import (
        attribute_shares,
        label_shares,
        mean_scores,
        text_lengths,
    )

    tables = [
        EvidenceTable(
            f"Classes kept and removed ({representation})",
            "Each class's rows and its share of the kept and of the removed rows.",
            label_shares(rows, label_names=raw.label_names).drop_columns(["label"]),
        ),
        EvidenceTable(
            f"Attributes kept and removed ({representation})",
            "Columns that the spec carries along. share_kept is the share of the value's rows that filtering kept.",
            attribute_shares(rows, raw),
        ),
        EvidenceTable(
            f"Scores of kept and removed rows ({representation})",
            "Means of the last known predictability, and of the first iteration's probability of the row's own label.",
            mean_scores(rows),
        ),
        EvidenceTable(
            f"Text lengths ({representation})",
            "Mean number of words of kept and removed rows.",
            text_lengths(rows, raw),
        ),
    ]
    yield from (evidence for evidence in tables if evidence.table.num_rows)


BIAS_EVIDENCE = Stage("bias_evidence", "8", BiasEvidenceSettings, BiasEvidenceInputs, run)
