"""The stage `cue_scan`: finds properties of the rows that predict the label by themselves, without any model.

The search is implemented in `scan`. The stages `leaning_sets` and `analysis` test whether models use the properties
that the scan finds.
"""

import json
import shlex
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from aflite_assets.analysis.tidy import to_json
from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.errors import ArtefactFoundError
from aflite_assets.processors import available_cores
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.scan.cues import CUES_WITH_ROWS, ScanFacts, ScanResult, cue_rows, cue_sets, surface_cues
from aflite_assets.scan.properties.copies import units_of
from aflite_assets.scan.remedies import advice, advised
from aflite_assets.scan.rows import ALL_ROWS
from aflite_assets.scan.scan import MOST_ROWS, ScanSettings, scan_examples
from aflite_assets.scan.sentences import blind_sentence, cue_headline, headline
from aflite_assets.specs.columns import subset_name, text_names
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.shared.published import read_challenge_sets
from aflite_assets.stages.shared.source_places import source_of
from aflite_assets.stages.stage import Stage, StageChecks, StageContext, StageInputs, StageSettings, of_choices

MOST_IMAGES = 20_000
"""Largest number of images scanned per set; smaller than `MOST_ROWS` because decoding an image takes milliseconds."""

SCAN_FILE = "scan.json"

_BLIND = "3"
"""Version of the code that scores answers without their question; only results on multiple choice depend on it."""


def most_scanned(modality: str) -> int:
    """Return, for one kind of input, the largest number of rows that the scan reads per set.

    A larger set is sampled at random.
    """
    return MOST_IMAGES if modality == "image" else MOST_ROWS


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Scan the train split for cues, and test the cues on the other splits and on the challenge sets."""
    raw, challenges = load_examples(inputs.raw_dataset.path), inputs.challenge_sets
    source = source_of(inputs.raw_dataset)
    names = settings.columns.features if isinstance(settings.columns.features, tuple) else ()
    found = scan_examples(
        raw,
        settings=ScanSettings(
            irrelevant=(*settings.irrelevant, *settings.planted),
            threads=available_cores(),
            most_rows=most_scanned(raw.modality),
        ),
        seed=settings.seed,
        others={name: load_examples(challenges.path / name) for name in read_challenge_sets(challenges).sets},
        feature_names=names,
        scale=Scale.load(inputs.raw_dataset.path),
        text_names=text_names(source, settings.columns),
        subset=subset_name(source),
    )
    _write(found, draft)
    context.progress.log(headline(found))
    summary: dict[str, object] = {
        "verdict": found.verdict,
        "artefacts": len(found.artefacts),
        "candidates": len(found.candidates),
        "properties": found.properties,
        "rows": found.rows,
    }
    return summary if found.surface is None else {**summary, "surface_balanced_accuracy": found.surface.balanced}


def _write(found: ScanResult, draft: Draft) -> None:
    content = {name: value for name, value in vars(found.facts).items() if name != "blind" or value is not None}
    text = json.dumps(to_json(content), indent=1, allow_nan=False)
    (draft.path / SCAN_FILE).write_text(text, encoding="utf-8")
    pq.write_table(surface_cues(found.cues), draft.path / "surface_cues.parquet")
    pq.write_table(cue_sets(found.cues), draft.path / "cue_sets.parquet")
    pq.write_table(cue_rows(found), draft.path / "cue_rows.parquet")
    scanned = {"set": found.sets, "row_id": found.row_ids, "unit": found.row_units}
    pq.write_table(pa.table(scanned, schema=SCANNED_ROWS), draft.path / "scanned_rows.parquet")


SCANNED_ROWS = pa.schema({"set": pa.string(), "row_id": pa.int64(), "unit": pa.int64()})
"""Schema of the scanned rows (all rows, or a sample of a large set); near copies and rows of a group share a unit."""


def grouped_with_copies(result: PublishedResult, raw: Examples) -> Examples:
    """Return the rows of the raw dataset, regrouped so that near copies found by the scan share a group.

    If the scan sampled a large set, rows outside the sample keep their own group.
    """
    scanned = pq.read_table(result.file("scanned_rows.parquet"))
    scanned = scanned.filter(
        pc.is_in(scanned["set"], pa.array([*set(raw.table["split"].unique().to_pylist()), ALL_ROWS]))
    )
    units = dict(zip(scanned["row_id"].to_pylist(), scanned["unit"].to_pylist(), strict=True))
    others = -1 - np.arange(len(raw))  # a number that no other row has
    copies = np.array([units.get(row, other) for row, other in zip(raw.row_ids.tolist(), others.tolist(), strict=True)])
    return raw.with_groups(units_of(raw.groups, copies))


def read_scan(result: PublishedResult) -> ScanFacts:
    """Return the findings of the scan, without the rows that have each cue."""
    return TypeAdapter(ScanFacts).validate_json(result.file(SCAN_FILE).read_bytes())


def example_carriers(
    result: PublishedResult, raw: Examples, *, most: int, of_class: bool = True
) -> dict[int, list[int]]:
    """For each cue, draw random train rows that have the cue; return a dict from cue number to row ids.

    At most `most` rows are drawn per cue. If `of_class` is True, the drawn rows belong to the cue's class; otherwise,
    they belong to other classes.
    """
    carriers, drawn = carriers_of(result, raw, ("train",)), {}
    for cue in read_scan(result).cues[:CUES_WITH_ROWS]:
        rows = carriers.get(cue.number, np.empty(0, np.int64))
        own = rows[(raw.select(rows).labels == raw.label_names.index(cue.label)) == of_class]
        drawn[cue.number] = np.sort(np.random.default_rng(cue.number).permutation(own)[:most]).tolist()
    return drawn


def carriers_of(result: PublishedResult, raw: Examples, splits: Sequence[str] | None = None) -> dict[int, np.ndarray]:
    """Return a dict from cue number to the ids (int64) of the rows that have the cue; cues without rows are left out.

    `splits`: names of the splits whose rows are returned; None for all splits. Rows are known only for the first
    `CUES_WITH_ROWS` cues. If the scan sampled a large set, only rows of the sample are known.
    """
    carried = pq.read_table(result.file("cue_rows.parquet"))
    own = raw.table["split"].unique().to_pylist() if splits is None else splits
    carried = carried.filter(pc.is_in(carried["set"], pa.array([*own, ALL_ROWS])))
    cues, rows = carried["cue"].to_numpy(), carried["row_id"].to_numpy()
    known = np.isin(rows, raw.row_ids)
    return {int(cue): rows[known & (cues == cue)] for cue in np.unique(cues[known])}


def refuse_artefact(spec: DatasetSpec, result: PublishedResult) -> None:
    """Refuse a dataset in which the scan found an artefact.

    Raises:
        ArtefactFoundError: the scan found an artefact; the message names the artefact, its remedy, and the setting to
            train anyway.
    """
    facts = read_scan(result)
    if facts.verdict != "artefact":
        return
    told, options = advised(facts), f"{shlex.quote(spec.name)}{f' --seed {spec.seed}' if spec.seed else ''}"
    mending = [advice(facts, cue, f"aflite fix {options}") for cue in facts.cues if cue.number in told][:1]
    raise ArtefactFoundError(
        f"the scan of {spec.name!r} found an artefact. No model is trained, because the dataset's YAML file sets "
        f"`scan: {{stop: artefact}}`. {headline(facts)} To see all cues, run `aflite scan {options}`; "
        f"{''.join(f'{one}; ' for one in mending)}or, to train anyway, set `scan: {{stop: never}}` or leave out `scan`"
    )


NO_ARTEFACT = {"no_artefact_tells": "No property outside the task predicts the label by itself."}
QUESTION_NEEDED = {"question_is_needed": "Right answers cannot be found without the question."}


_WHAT_TO_DO = (
    "mend the source: normalise the texts, drop the column, draw a new order of the rows, or balance the classes of "
    "the rows with the cue"
)

_REPORT_IT = (
    "rewrite the answers, or report the share of right answers found without the question beside each accuracy; "
    "`aflite scan` shows what finds them"
)


def check_artefacts(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    """Yield two outcomes: whether no artefact was found, and whether right answers depend on the question."""
    facts = read_scan(result)
    for name, asks in NO_ARTEFACT.items():
        passed = facts.verdict != "artefact"
        yield CheckOutcome("data", name, asks, passed, cue_headline(facts), _WHAT_TO_DO, applies=facts.can_tell)
    blind = facts.blind
    for name, asks in QUESTION_NEEDED.items():
        found = "" if blind is None else blind_sentence(blind)
        passed = not facts.tells_without_question
        yield CheckOutcome("data", name, asks, passed, found, _REPORT_IT, applies=blind is not None)


_CHECKS = StageChecks(NO_ARTEFACT | QUESTION_NEEDED, check_artefacts)
_SETTINGS = StageSettings("columns planted irrelevant seed", of_choices(blind=_BLIND))
CUE_SCAN = Stage("cue_scan", "8", _SETTINGS, "raw_dataset challenge_sets", run, checks=_CHECKS)
