"""Readers of published results, for later stages and for assets.

The readers import no heavy library and compute nothing.
"""

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from aflite_assets.analysis.filtering import IterationRow
from aflite_assets.analysis.inputs.learning_curve import LearningCurve
from aflite_assets.array_files import ArrayFileError, open_array
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers
from aflite_assets.data.raw_table.storage import load_examples
from aflite_assets.diagnostics.evidence.label_noise import quarantined_ids, whole_suspects
from aflite_assets.errors import StoreError
from aflite_assets.results import PublishedResult
from aflite_assets.stages.stage import Progress, StudyResults

_CATEGORY = "attribute.category."

CHALLENGE_SETS_FILE = "sets.json"
"""The file that stores `ChallengeSets`."""

FILTER_RUNS = "filter_runs.parquet"
"""Table of the rows that each filter run kept, including the first run; missing if there was only one run."""

LABEL_ERRORS = "label_errors.parquet"
"""Table of a filtered set's rows with suspected label errors; missing if the class probabilities were not kept."""

PREDICTED_INSTEAD = "predicted_instead.parquet"
"""Table of the wrong labels predicted for a filtered set's rows; missing if predictions were not counted by class."""

WORDS_RECORDED = ("distinct_words", "words_per_row")
"""Columns of the iterations' table that count the words of the rows that entered an iteration.

The columns exist only if the filter ranks rows by words.
"""

SELECTION_FILE = "rows.parquet"
"""Table in the result of a study that selects train rows: columns row_id and held_back (see `RowSelection`)."""

ROW_SETS_FILE = "sets.parquet"
"""Table of the rows of each `RowSet`, in the result of a study that draws train rows; missing if nothing was drawn."""

FINE_TUNE = "fine_tune"
"""Folder, inside a challenge set's folder, with the rows for fine-tuning evaluators."""


@dataclass(frozen=True)
class FineTuneFacts:
    """Facts about the rows of a challenge set that are available for fine-tuning evaluators.

    `split`: the split in the set's source. `repeats_dropped`: number of rows that were dropped because their input also
    occurs in a test set.
    """

    split: str
    rows: int
    source_rows: int
    unlabelled_rows: int
    undecodable_images: int
    repeats_dropped: int


@dataclass(frozen=True)
class ChallengeFacts:
    """Facts about a published challenge set.

    `source_rows`: number of rows before unlabelled rows were dropped and a limit was applied. `dataset_classes`: True
    if the challenge set's classes have the names and numbers of the dataset's classes. `undecodable_images`: number of
    rows dropped because their image could not be decoded. `fine_tune`: facts about the rows for fine-tuning, or None if
    the set has no such rows.
    """

    rows: int
    source_rows: int
    unlabelled_rows: int
    label_names: list[str]
    dataset_classes: bool
    undecodable_images: int
    fine_tune: FineTuneFacts | None = None

    def as_json(self) -> dict[str, object]:
        """Return the facts as they are published; `fine_tune` is left out if it is None."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True)
class ChallengeSets:
    """Names and facts of the published challenge sets, without their rows.

    `missing`: the reason why each unavailable optional set is missing, by name.
    """

    sets: Mapping[str, ChallengeFacts]
    missing: Mapping[str, str]

    @property
    def mapped(self) -> frozenset[str]:
        """The sets for which predictions must be mapped to other classes before they are compared with labels."""
        return frozenset(name for name, facts in self.sets.items() if not facts.dataset_classes)


@dataclass(frozen=True)
class ControlSet:
    """A control set: a train set that is compared with the filtered set of one representation.

    `name` is one of the following names:

    - `random`, `random_matched`, `single_pass_model` or `single_pass_linear`;
    - `filtered_<name>`: the rows that remained when the filter reached an earlier size;
    - `random_<name>`: the same number of random rows as in `filtered_<name>`;
    - `sampled`: the train rows of `full` that belong to the sample, if the filter ran on a sample;
    - `weighted`: all train rows from which controls are drawn; `weights` (float32) multiplies the loss of each row.

    `seed` is None if the set does not depend on the evaluators' seed. `row_ids` is int64.
    """

    representation: str
    name: str
    seed: int | None
    split: str
    row_ids: np.ndarray
    weights: np.ndarray | None = None


@dataclass(frozen=True)
class RowSet:
    """A set of train rows that a study drew from the training of a model.

    `row_ids` is int64. `seed` is the evaluators' seed with which the rows were drawn, or None if no rows were drawn at
    random.
    """

    weak_model: str
    name: str
    seed: int | None
    row_ids: np.ndarray


@dataclass(frozen=True)
class RowSelection:
    """Train rows that are used in place of all train rows, and rows held back to choose them; int64 row ids."""

    rows: np.ndarray
    held_back: np.ndarray


@functools.lru_cache(maxsize=1)
def examples_of(raw: PublishedResult) -> Examples:
    """Return the rows of a raw dataset.

    The dataset read last stays in memory, for processes that run several training runs one after another.
    """
    return load_examples(raw.path)


def category_column(name: str) -> str:
    """Return the name of the column in a challenge set's table that stores the source's category column `name`."""
    return f"{_CATEGORY}{name}"


def category_columns(examples: Examples) -> dict[str, np.ndarray]:
    """Return a challenge set's category columns by their names in the source.

    Each column is an object array with one text or None per row.
    """
    return {
        column.removeprefix(_CATEGORY): np.array(examples.table[column].to_pylist(), dtype=object)
        for column in examples.table.column_names
        if column.startswith(_CATEGORY)
    }


def read_warmup_rows(result: PublishedResult) -> np.ndarray:
    """Return the ids of the warm-up rows, int64, ascending."""
    row_ids: np.ndarray = pq.read_table(result.file("rows.parquet"))["row_id"].to_numpy()
    return row_ids


def read_learning_curves(result: PublishedResult) -> tuple[LearningCurve, ...]:
    """Return the learning curves that `warmup.size: auto` used; return an empty tuple if `warmup.size` is a number."""
    recorded = result.summary.get("learning_curve", {"curves": ()})
    return tuple(
        LearningCurve(**{**curve, "rows": tuple(curve["rows"]), "right": tuple(curve["right"])})
        for curve in recorded["curves"]
    )


def read_selection(results: StudyResults) -> RowSelection | None:
    """Return the train rows that studies select, or None if no study selects rows and all train rows are used.

    If several studies select rows, only the rows that all of them select are used.
    """
    found: RowSelection | None = None
    for result in results.values():
        if not result.summary.get("nothing_asked"):
            rows = pq.read_table(result.file(SELECTION_FILE))
            row_ids, held_back = rows["row_id"].to_numpy(), rows["held_back"].to_numpy(zero_copy_only=False)
            chosen, held = row_ids[~held_back], row_ids[held_back]
            both = None if found is None else (np.intersect1d(found.rows, chosen), np.union1d(found.held_back, held))
            found = RowSelection(*(both or (chosen, held)))
    return found


def selected_rows(raw: Examples, selection: RowSelection | None) -> Examples:
    """Return the rows available to warm-up and filter: the selected train rows, and all rows of every other split.

    Without a selection, return all rows.
    """
    if selection is None:
        return raw
    train = raw.table["split"].to_numpy(zero_copy_only=False) == "train"
    return Examples(raw.table.filter(pa.array(~train | np.isin(raw.row_ids, selection.rows))), raw.label_names)


def without_rows(examples: Examples, row_ids: np.ndarray) -> Examples:
    """Return the examples whose ids are not in `row_ids`, in their original order."""
    return Examples(examples.table.filter(pa.array(~np.isin(examples.row_ids, row_ids))), examples.label_names)


def full_rows(
    raw: Examples, warmup: PublishedResult, *, include_warmup: bool, selection: RowSelection | None = None
) -> Examples:
    """Return the set `full`: all rows of every split, except warm-up rows and rows held back to choose `selection`.

    With `include_warmup`, the warm-up rows are included, as in the set D of the AFLite paper.
    """
    rows = raw if include_warmup else without_rows(raw, read_warmup_rows(warmup))
    return rows if selection is None else without_rows(rows, selection.held_back)


def read_control_sets(result: PublishedResult) -> list[ControlSet]:
    """Return the control sets of every representation."""
    table = pq.read_table(result.file("sets.parquet"))
    controls = []
    for key, rows in by_keys(table, "representation", "name", "seed", "split"):
        weights = rows["weight"] if "weight" in rows.column_names else None
        known = None if weights is None or weights.null_count else weights.to_numpy()
        controls.append(ControlSet(**key.as_py(), row_ids=rows["row_id"].to_numpy(), weights=known))
    return controls


def read_row_sets(result: PublishedResult) -> list[RowSet]:
    """Return the non-empty sets of train rows that a study drew."""
    if (table := _read_optional(result, ROW_SETS_FILE)) is None:
        return []
    groups = by_keys(table, "weak_model", "name", "seed")
    return [RowSet(**key.as_py(), row_ids=rows["row_id"].to_numpy()) for key, rows in groups]


def by_keys(table: pa.Table, *columns: str) -> Iterator[tuple[pa.StructScalar, pa.Table]]:
    """Yield each combination of values in `columns` with the matching rows, in order of first appearance."""
    for key in table.group_by(list(columns), use_threads=False).aggregate([]).to_struct_array():
        same = (_equal(table[name], value) for name, value in key.as_py().items())
        yield key, table.filter(functools.reduce(pc.and_, same))


def _equal(column: pa.ChunkedArray, value: object) -> pa.ChunkedArray:
    return pc.is_null(column) if value is None else pc.fill_null(pc.equal(column, value), False)


def open_features(part: PublishedResult) -> np.ndarray:
    """Return a representation's features as a memory-mapped float32 array, in the row order of `read_rows`.

    Raises:
        StoreError: the file is damaged.
    """
    path = part.file("features.npy")
    try:
        return open_array(path)
    except ArrayFileError as error:
        raise StoreError(
            f"{path} is not the array that was published ({error}); run `aflite doctor --deep --fix`, then "
            "materialise the asset again"
        ) from error


def read_rows(part: PublishedResult) -> pa.Table:
    """Return the embedded rows: row_id, split, label, group (if any) and warmup_label_probability.

    `warmup_label_probability` is null if the representation has no model.
    """
    return pq.read_table(part.file("rows.parquet"))


def representation_of(filtered: PublishedResult, name: str) -> str:
    """Return the representation of a filtered set.

    The name of a filtered set is its representation, except for sets that compare rankings.
    """
    representation: str = filtered.summary.get(name, {}).get("representation", name)
    return representation


def kept_rows(part: PublishedResult, run: int) -> Mapping[str, np.ndarray]:
    """Return the ids (int64, ascending) of the rows that a filter run kept, by split; run 0 is the published run."""
    if run:
        rows = pq.read_table(part.file(FILTER_RUNS), filters=[("filter_run", "=", run)])
    else:
        rows = pq.read_table(part.file("rows.parquet"), filters=[("kept", "=", True)])
    row_ids, split_of = rows["row_id"].to_numpy(), rows["split"].to_numpy(zero_copy_only=False)
    return {split: np.sort(row_ids[split_of == split]) for split in dict.fromkeys(split_of.tolist())}


def first_scores(part: PublishedResult) -> pa.Table:
    """Return the scores of a filtered set's first iteration: columns row_id and predictability."""
    return pq.read_table(part.file("scores/000.parquet"))


def predicted_instead(part: PublishedResult) -> pa.Table | None:
    """Return the wrong labels predicted most often for each row in the last iteration that scored the row.

    The columns are row_id, label_1, share_1, label_2, share_2, label_3 and share_3. `share_<rank>` is the share of the
    row's held-out predictions that equal `label_<rank>`. The label and share of a rank are null if fewer labels were
    predicted. Return None if there were too many rows and classes to count the predictions.
    """
    return _read_optional(part, PREDICTED_INSTEAD)


def label_errors(part: PublishedResult) -> pa.Table | None:
    """Return the suspected label errors of a filtered set; the row with the least likely label comes first.

    The columns are those of `diagnostics.evidence.label_noise.SUSPECTS`. Rows that are `quarantined` are in no other
    file of the filtered set. Return None if no table of suspects was published.
    """
    return _read_optional(part, LABEL_ERRORS)


def _read_optional(part: PublishedResult, name: str) -> pa.Table | None:
    return pq.read_table(part.file(name)) if (part.path / name).is_file() else None


def plausible_label_errors(part: PublishedResult, raw: Examples) -> pa.Table | None:
    """Return suspected label errors; for multiple choice, only those in questions where another answer may be right."""
    suspects = label_errors(part)
    if suspects is None or right_answers(raw) is None:
        return suspects
    places = {row_id: place for place, row_id in enumerate(raw.row_ids.tolist())}
    assert raw.groups is not None
    questions = raw.groups[[places[row_id] for row_id in suspects["row_id"].to_pylist()]]
    return whole_suspects(suspects, np.asarray(questions, dtype=np.int64))


def quarantined_rows(part: PublishedResult) -> np.ndarray:
    """Return the ids (int64) of the rows that were quarantined before the filter's first iteration."""
    suspects = label_errors(part)
    return np.empty(0, np.int64) if suspects is None else quarantined_ids(suspects)


def report_iterations(representation: str, part: PublishedResult, progress: Progress) -> None:
    """Send every published iteration of one representation to `progress`, in order."""
    for row in pq.read_table(part.file("iterations.parquet")).to_pylist():
        progress.on_iteration(IterationRow.of(representation, row))


def read_challenge_sets(result: PublishedResult) -> ChallengeSets:
    """Return the names and facts of the published challenge sets, and the reason why each missing set is missing."""
    published = json.loads(result.file(CHALLENGE_SETS_FILE).read_text(encoding="utf-8"))
    reasons = result.summary["missing"]
    sets = TypeAdapter(dict[str, ChallengeFacts]).validate_python(published["sets"])
    return ChallengeSets(sets, {name: reasons[name] for name in published["missing"]})


def fine_tune_examples(challenges: PublishedResult, name: str) -> Examples:
    """Return the rows of a challenge set for fine-tuning evaluators, with the dataset's classes.

    Raises:
        DataError: the set is missing, or was published without rows for fine-tuning.
    """
    return load_examples(challenges.path / name / FINE_TUNE)


def test_examples(raw: Examples, challenges: PublishedResult) -> dict[str, Examples]:
    """Return every test set by name: first the splits other than train, unchanged, then the challenge sets."""
    splits = [split for split in dict.fromkeys(raw.table["split"].to_pylist()) if split != "train"]
    return {split: raw.in_split(split) for split in splits} | challenge_examples(challenges)


def challenge_examples(challenges: PublishedResult) -> dict[str, Examples]:
    """Return the published challenge sets by name."""
    return {name: load_examples(challenges.path / name) for name in read_challenge_sets(challenges).sets}
