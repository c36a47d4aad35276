"""The stage of `bias_evidence`: statistics about kept and removed rows, as tables."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.models.devices import DeviceSettings
from aflite_assets.reports.planted import PlantedRemoval
from aflite_assets.reports.records import EvidenceTable
from aflite_assets.reports.text import counted
from aflite_assets.results import Draft
from aflite_assets.results.files import write_json
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.source_specs import as_tuple
from aflite_assets.sources.specs import SpecView
from aflite_assets.sources.tables import load_examples
from aflite_assets.stages.evidence_tables import (
    adversary_tables,
    annotator_tables,
    neighbour_tables,
    overlap_tables,
    planted_removals,
    planted_tables,
    similarities,
    similarity_tables,
    suspect_tables,
)
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.tracking import TrackedRun

_OVERALL = "all-representations"
"""Begins the files of tables about every representation; with its hyphen it is no representation's name."""


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Compute every table that applies to the dataset, per representation and over all, and publish them.

    Similarities of pairs of rows, which a report draws, are files of their own.
    """
    raw = load_examples(inputs["raw_dataset"].path)
    embeddings = inputs["embeddings"]
    filtered = {name: pq.read_table(part.file("rows.parquet")) for name, part in inputs["filtered_sets"].parts.items()}
    planted = {attribute: as_tuple(values) for attribute, values in spec.planted.items()}
    index: list[dict[str, str]] = []
    pairs: dict[str, str] = {}
    found: list[PlantedRemoval] = []
    summary: dict[str, Any] = {}
    for name, rows in filtered.items():
        alike = similarities(rows, embeddings.part(name), raw.label_names, seed=spec.seed)
        pairs[name] = f"{name}-similarities.parquet"
        pq.write_table(alike, draft.path / pairs[name])
        tables = chain(
            planted_tables(name, rows, raw, planted),
            _own_tables(name, rows, raw),
            neighbour_tables(name, rows, embeddings.part(name), raw.label_names, seed=spec.seed),
            similarity_tables(name, alike),
            annotator_tables(name, rows, raw),
            suspect_tables(name, rows, raw),
        )
        published = _publish(name, tables, draft, progress)
        removals = planted_removals(name, rows, raw, planted)
        found += removals
        summary[name] = {"tables": len(published), **_described(removals)}
        index += published
    overall = chain(overlap_tables(filtered), adversary_tables(filtered, raw, seed=spec.seed))
    index += _publish(_OVERALL, overall, draft, progress)
    of_planted = {"planted": [asdict(one) for one in found]} if found else {}
    write_json(draft.path / "evidence.json", {"tables": index, "similarities": pairs, **of_planted})
    return summary


def _described(removals: Sequence[PlantedRemoval]) -> dict[str, Any]:
    """Precision and recall by attribute, for the tracker; nothing where nothing was planted."""
    names = ("precision", "precision_by_chance", "recall", "recall_by_chance")
    planted = {one.attribute: {name: getattr(one, name) for name in names} for one in removals}
    return {"planted": planted} if planted else {}


def _publish(name: str, tables: Iterable[EvidenceTable], draft: Draft, progress: Progress) -> list[dict[str, str]]:
    """Write each table as it is made, with a line; the index entries."""
    index = []
    for number, evidence in enumerate(tables):
        file = f"{name}-{number:02d}.parquet"
        pq.write_table(evidence.table, draft.path / file)
        index.append({"title": evidence.title, "caption": evidence.caption, "file": file})
        progress.log(f"bias evidence: {evidence.title}: {counted(evidence.table.num_rows, 'row')}")
    return index


def _own_tables(representation: str, rows: pa.Table, raw: Examples) -> Iterator[EvidenceTable]:
    """What stands in the rows of one filtered set; tables without rows (no attributes, no texts) are left out."""
    from aflite_assets.diagnostics.kept_removed import attribute_shares, label_shares, mean_scores, text_lengths

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
        *(_word_tables(representation, rows, raw) if raw.modality == "text" else []),
    ]
    yield from (evidence for evidence in tables if evidence.table.num_rows)


def _word_tables(representation: str, rows: pa.Table, raw: Examples) -> list[EvidenceTable]:
    from aflite_assets.diagnostics.word_artifacts import word_artifacts

    train = rows.filter(pa.compute.equal(rows["split"], "train"))
    pool = raw.select(train["row_id"].to_numpy())
    found = word_artifacts(pool, {"filtered": train.filter(train["kept"])["row_id"].to_numpy()}, top=10)
    return [
        EvidenceTable(
            f"Words that go with a class ({representation})",
            "Ten words per class whose rows carry it more often than chance, by z-statistic (Gardner et al. 2021) "
            f"among the train rows, and the same words after filtering; by chance no word exceeds {found.line:.1f}.",
            found.words.drop_columns(["label"]),
        ),
        EvidenceTable(
            f"Words over the line ({representation})",
            f"How many words exceed z = {found.line:.1f} in the train rows and in what filtering kept. "
            "A smaller set has smaller z-statistics for the same shares.",
            found.over_line.drop_columns(["label"]),
        ),
    ]
