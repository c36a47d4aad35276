"""The stage `leaning_sets`: properties that models may rely on, and train sets that show whether they do.

For each candidate property, the stage publishes two train sets of the same size. In one train set, the property is not
associated with any class; in the other, it remains associated. For every test row, the stage also publishes the class
to which the property points. `evaluator_models` trains one evaluator on the train sets, and `analysis` draws the
conclusions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from aflite_assets.analysis.inputs.records import CANDIDATES, DRAWN, POINTED, Candidate, LeaningSet
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.diagnostics.properties.ties import NOWHERE, Tie, independent_rows, learn_tie, pointed
from aflite_assets.diagnostics.properties.values import Property, properties_of
from aflite_assets.diagnostics.record_tables import random_rows
from aflite_assets.p_values import holm
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.scan.cues import CUES_WITH_ROWS, UNSEEN
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.stages.data.cue_scan import grouped_with_copies, read_scan
from aflite_assets.stages.shared.model_families import leaning_evaluator
from aflite_assets.stages.shared.published import full_rows, read_selection, test_examples
from aflite_assets.stages.stage import Stage, StageContext, StageInputs, StageSettings

MOST_CANDIDATES = 3
"""Largest number of properties for which models are trained."""

TRAININGS = 3
"""Number of trainings on each set; with only two, confidence intervals would be very wide."""

LEAST_TIE = 0.02
"""Smallest association of a candidate property with the label.

The association is measured as the share of the rows that must be dropped to make the property independent of the label.
"""

FEWEST_TRAIN_ROWS = 100
"""Smallest number of rows of a train set; no model is trained for a candidate with fewer independent rows."""

ENOUGH_ROWS = 2_000
"""A set gets at least this many rows if they exist, even if all sets together then exceed `SHARE_OF_GRID`."""

SHARE_OF_GRID = 0.25
"""Largest size of all these sets together, as a share of the rows on which the grid trains."""

SAME_ROWS = 0.8
"""Smallest share of rows with the same predicted class at which two properties count as one.

Only rows for which at least one of the two properties points to a class are counted.
"""

_STREAM = 21
"""Number that is combined with the seed to give an independent stream of random numbers."""


@dataclass(frozen=True, eq=False)
class TiedProperty:
    """A property, its values on the train rows (text), and the strength of its association with the label."""

    number: int
    of: Property
    values: np.ndarray
    tie: Tie
    p_value: float


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Choose candidate properties from the rows of `full`, and draw train sets for each property.

    There are no candidates if the dataset is multiple choice, or if no evaluator is suitable.
    """
    raw = load_examples(inputs.raw_dataset.path)
    selection = read_selection(inputs.selection)
    full = full_rows(
        raw, inputs.warmup_split, include_warmup=settings.full_includes_warmup, selection=selection
    ).in_split("train")
    evaluator = leaning_evaluator(settings.representations, settings.evaluators)
    of_questions = right_answers(full) is not None
    asked = evaluator is not None and not of_questions
    if of_questions:
        context.progress.log(f"no candidates: {_OF_QUESTIONS}")
    cues = cue_properties(inputs.cue_scan, pairs="text_pair" in full.table.column_names)
    scale = Scale.load(inputs.raw_dataset.path)
    found = candidates(grouped_with_copies(inputs.cue_scan, full), settings, cues=cues, scale=scale) if asked else ()
    for one in found:
        context.progress.log(
            f"{one.of.kind} {one.of.name} {one.of.word} is associated with the label; a share of "
            f"{one.tie.overlap:.2f} of the rows remains without the association"
        )
    most_rows = most_rows_of_set(len(full), len(settings.evaluators), len(settings.seeds), candidates=len(found))
    sets = [_train_sets(one, full, settings.seed, most_rows=most_rows) for one in found]
    tests = test_examples(raw, inputs.challenge_sets)
    described = CANDIDATES.to_arrow([_candidate(one, full.label_names) for one in found])
    pq.write_table(described, draft.path / "candidates.parquet")
    pq.write_table(pa.concat_tables([DRAWN.empty_table(), *sets]), draft.path / "train_sets.parquet")
    points = [_pointed_table(one, name, rows) for one in found for name, rows in tests.items()]
    pq.write_table(pa.concat_tables([POINTED.empty_table(), *points]), draft.path / "pointed.parquet")
    train_rows = sum(len(one) for one in sets)
    summary: dict[str, object] = {"candidates": len(found), "evaluator": evaluator, "train_rows": train_rows}
    return {**summary, "why": _OF_QUESTIONS} if of_questions else summary


_OF_QUESTIONS = (
    "the test of leaning compares properties of single rows, but rules that find right answers compare the answers to "
    "a question; see the cue scan, and test sets with `balanced_by`"
)


_COVERED = frozenset({"attribute", "column", "date", "length", "words", "image"})
"""Kinds of cues that are left out.

`properties_of` already returns properties of these kinds, except `image`, because an image's appearance is its content.
"""

_ONE_OF_KIND = frozenset({"length", "typography", "blanks", "signs"})
"""Kinds of properties of which at most one is a candidate, because properties of such a kind often occur together."""

_GROUP = "word group"
"""Kind of cue for a group of words with a common meaning, such as negations.

In a dataset of single texts, such words may be the topic itself.
"""


def cue_properties(scanned: PublishedResult, *, pairs: bool = False) -> tuple[Property, ...]:
    """Return the cues of the scan that models may rely on, as properties with the values `yes` and `no`.

    Cues that a stronger cue explains, and cues that models do not see, are left out. In a large dataset, the value is
    `not scanned` for rows that the scan did not read. `pairs`: True if each row is a pair of texts. Cues that consist
    of a group of words are included only if `pairs` is True.
    """
    left_out = _COVERED | UNSEEN if pairs else _COVERED | UNSEEN | {_GROUP}
    carried, rows = (pq.read_table(scanned.file(f"{name}.parquet")) for name in ("cue_rows", "scanned_rows"))
    found = []
    for cue in read_scan(scanned).cues[:CUES_WITH_ROWS]:
        if cue.explained_by is None and not left_out & cue.kinds:
            own = carried.filter(pc.equal(carried["cue"], cue.number))
            found.append(Property(cue.kind, cue.name, partial(_carries, own, rows), cue.reason))
    return tuple(found)


def _carries(carried: pa.Table, scanned: pa.Table, rows: Examples, of_set: str) -> np.ndarray | None:
    """Return, per row, whether the row has a cue: `yes`, `no` or `not scanned`; None if no row was scanned."""
    has, known = (
        np.isin(rows.row_ids, table.filter(pc.equal(table["set"], of_set))["row_id"].to_numpy())
        for table in (carried, scanned)
    )
    if not known.any():
        return None
    return np.select([has, known], ["yes", "no"], "not scanned").astype(object)


def candidates(
    full: Examples, settings: DatasetSpec, *, cues: Sequence[Property] = (), scale: Scale | None = None
) -> tuple[TiedProperty, ...]:
    """Return the candidates that `strongest_ties` chooses among `cues` and the properties of the rows of `full`.

    `scale`: the scale by which the features were standardised, or None.
    """
    names = settings.columns.features if isinstance(settings.columns.features, tuple) else ()
    irrelevant = (*settings.irrelevant, *settings.planted)
    tied = []
    for one in (*properties_of(full, irrelevant=irrelevant, feature_names=names, scale=scale), *cues):
        values = one.values(full)
        if values is not None:
            tied.append((one, values, learn_tie(values, full.labels, full.groups)))
    return strongest_ties(tied)


def strongest_ties(tied: Sequence[tuple[Property, np.ndarray, Tie]]) -> tuple[TiedProperty, ...]:
    """Return at most `MOST_CANDIDATES` properties that are significantly associated with the label (Holm, 5 %).

    Declared properties come first, then artefacts, then all other properties. Among declared properties, among
    artefacts and among other properties, strong associations come first. At most one property is taken per kind in
    `_ONE_OF_KIND`. If several properties point to the same class on nearly all rows, only the first property is taken.
    `tied`: each property with its values on train rows (text) and its association with the label.
    """
    adjusted = holm([tie.p_value for *_, tie in tied])
    sure = [(*one, p) for one, p in zip(tied, adjusted, strict=True) if p <= 0.05 and 1 - one[2].overlap >= LEAST_TIE]
    order = {"declared": 0, "artefact": 1, None: 2}
    sure.sort(key=lambda each: (order[each[0].reason], each[2].overlap))
    taken: list[TiedProperty] = []
    for each in sure:
        found = TiedProperty(len(taken), *each)
        if len(taken) < MOST_CANDIDATES and not any(_alike(found, other) for other in taken):
            taken.append(found)
    return tuple(taken)


def _alike(one: TiedProperty, other: TiedProperty) -> bool:
    """Return True if two properties are so similar that only one of them may be a candidate.

    Two properties are similar if they have the same kind and the kind is in `_ONE_OF_KIND`. Two properties are also
    similar if they point to the same class on nearly all rows.
    """
    if one.of.kind == other.of.kind and one.of.kind in _ONE_OF_KIND:
        return True
    first, second = pointed(one.values, one.tie), pointed(other.values, other.tie)
    either = (first != NOWHERE) | (second != NOWHERE)
    return float((first == second)[either].mean()) >= SAME_ROWS


def most_rows_of_set(full: int, evaluators: int, seeds: int, *, candidates: int = MOST_CANDIDATES) -> int:
    """Return the largest allowed number of rows of one train set. The limit is chosen so that all train sets of the
    stage `leaning_sets` together have about a quarter of the rows on which the grid trains. `full`: the number of rows
    of the train set `full`, from which the sets are drawn.
    """
    grid = 2.5 * full * evaluators * seeds  # `full`, and three sets with about half of its rows
    allowed = max(ENOUGH_ROWS, int(SHARE_OF_GRID * grid / (2 * TRAININGS * max(candidates, 1))))
    return min(full, allowed)


def _train_sets(one: TiedProperty, full: Examples, seed: int, *, most_rows: int) -> pa.Table:
    """Draw two train sets per training run for one property; return an empty table if too few rows remain."""
    rows = one.tie.overlap * len(full)
    tables = [DRAWN.empty_table()]
    for training in range(TRAININGS) if rows >= FEWEST_TRAIN_ROWS else ():
        rng = np.random.default_rng([seed, _STREAM, one.number, training])
        independent = independent_rows(one.values, full.labels, one.tie, rng, share=min(1.0, most_rows / rows))
        tied = random_rows(full.labels, independent, rng)
        drawn: Mapping[LeaningSet, np.ndarray] = {"independent": independent, "tied": tied}
        tables += [_set_table(one.number, name, training, full.row_ids[mask]) for name, mask in drawn.items()]
    return pa.concat_tables(tables)


def _set_table(number: int, name: LeaningSet, training: int, row_ids: np.ndarray) -> pa.Table:
    rows = len(row_ids)
    columns = {"candidate": np.full(rows, number), "name": [name] * rows, "training": np.full(rows, training)}
    return pa.table({**columns, "row_id": np.sort(row_ids)}, schema=DRAWN)


def _candidate(one: TiedProperty, label_names: tuple[str, ...]) -> Candidate:
    points_to = tuple(label_names[label] for label in one.tie.points_to.tolist())
    rows = tuple(int((one.values == value).sum()) for value in one.tie.names)
    named = one.number, one.of.kind, one.of.name, one.of.word, one.of.reason
    return Candidate(*named, one.tie.names, points_to, rows, one.p_value, one.tie.overlap)


def _pointed_table(one: TiedProperty, test_set: str, rows: Examples) -> pa.Table:
    """Return, per row, the class to which the property points; return an empty table if the set lacks the property."""
    values = one.of.values(rows, test_set)
    if values is None:
        return POINTED.empty_table()
    columns = {"candidate": np.full(len(rows), one.number), "test_set": [test_set] * len(rows)}
    return pa.table({**columns, "row_id": rows.row_ids, "points_to": pointed(values, one.tie)}, schema=POINTED)


_SETTINGS = StageSettings("columns planted irrelevant representations evaluators seeds seed full_includes_warmup")
LEANING_SETS = Stage("leaning_sets", "7", _SETTINGS, "raw_dataset challenge_sets cue_scan selection warmup_split", run)
