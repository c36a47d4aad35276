"""What a report is made from: the input records, checked when made; nothing here computes a result."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, get_args

import numpy as np
import pyarrow as pa

from aflite_assets.algorithm import ChanceScores
from aflite_assets.analysis.inputs.cues import Cue
from aflite_assets.analysis.inputs.forgettables import Forgettables
from aflite_assets.analysis.inputs.planted import PlantedRemoval
from aflite_assets.analysis.inputs.rankings import RankingPair
from aflite_assets.analysis.inputs.score_counts import ScoreCounts
from aflite_assets.analysis.inputs.similarity import ClassSimilarity
from aflite_assets.analysis.inputs.source_rows import NO_SOURCE, SourceRows
from aflite_assets.analysis.inputs.trained_cells import Cell as Cell  # also imported from here
from aflite_assets.analysis.inputs.trained_cells import require, require_columns
from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples

if TYPE_CHECKING:
    from aflite_assets.analysis.inputs.learning_curve import LearningCurve, SampleCurve

Collapse = Literal["label", "probability"]
Unit = Literal["row", "question"]

_ITERATION_COLUMNS = (
    "iteration", "rows_in", "train_rows_in", "scored_rows_in", "removed", "train_removed", "scored_removed", "cutoff",
    "representation_bias",
    "rows_never_held_out",
)  # fmt: skip
DATA_MAP_COLUMNS = ("guid", "index", "confidence", "variability", "correctness", "row_id", "kept")
"""The first five as in the tables that Swayamdipta et al. 2020 write."""

_ROW_COLUMNS = (
    "row_id", "split", "label", "kept", "removed_in_iteration", "predictability", "label_probability",
)  # fmt: skip


@dataclass(frozen=True)
class FineTuned:
    """An evaluator that is `start`, trained as that one is and then on rows of the challenge sets `sets` in turn."""

    start: str
    sets: tuple[str, ...]

    @property
    def meaning(self) -> str:
        """What the evaluator is, in words."""
        return f"{self.start}, trained on the train set first and then fine-tuned on {', then '.join(self.sets)}"


@dataclass(frozen=True, eq=False)
class TestSet:
    """Rows that evaluators are tested on, natural (a split of the dataset) or a challenge set.

    `row_ids` and `labels` are int64, one per row; labels number the set's own `label_names`.
    `kept[representation]` (natural sets) marks the rows that survived filtering, bool; `own_kept[representation,
    train set]` those left by the law that made another train set (a single pass, an earlier size).
    `categories[column]` (a text per row, None or empty for none) splits a challenge set, one way per column.
    `class_map[c]`, int64, is this set's class for the dataset's class `c`, -1 for none; None when both have the same
    classes. `collapse` says what is mapped: "label" the predicted class, which is wrong where it counts as none;
    "probability" the probabilities, of which those that count as one class are added up and the largest sum is the
    prediction. `notes`: what must be read beside the numbers. `groups`, int64, one per row: rows with the same number
    belong together (one premise, one template); None where every row is its own. `pooled`: whether the rows entered the
    filter's pool with the train rows, so that a difference on them is no evidence of help or harm. `unit`: what is
    counted as right or wrong, and so what intervals count: of multiple choice the question, which stands here as the
    row of its right answer (`questions.question_set`). `chance` in [0, 1]: of a unit of questions the accuracy of
    guessing, one over the number of answers, mean over questions; else None.

    Raises:
        InvalidInputError: lengths or class numbers do not fit, row ids repeat, a challenge set has `kept` or is
        `pooled`, or `chance` does not fit `unit`.
    """

    __test__ = False  # the name starts with "Test", which pytest would collect

    name: str
    challenge: bool
    row_ids: np.ndarray
    labels: np.ndarray
    label_names: tuple[str, ...]
    kept: Mapping[str, np.ndarray]
    categories: Mapping[str, np.ndarray] = field(default_factory=dict)
    class_map: np.ndarray | None = None
    collapse: Collapse = "label"
    notes: tuple[str, ...] = ()
    groups: np.ndarray | None = None
    pooled: bool = False
    own_kept: Mapping[tuple[str, str], np.ndarray] = field(default_factory=dict)
    unit: Unit = "row"
    chance: float | None = None

    @property
    def adds_probabilities(self) -> bool:
        """Whether predictions come from probabilities: not where every class counts as one of its own."""
        if self.class_map is None or self.collapse == "label":
            return False
        return bool((self.class_map < 0).any()) or len(np.unique(self.class_map)) < len(self.class_map)

    def __post_init__(self) -> None:
        where, rows, classes = f"test set {self.name!r}", len(self.row_ids), len(self.label_names)
        require(len(self.labels) == rows, f"{where}: {rows} row ids but {len(self.labels)} labels")
        require(len(np.unique(self.row_ids)) == rows, f"{where}: row ids repeat; each row counts once")
        inside = bool(np.all((self.labels >= 0) & (self.labels < classes)))
        require(inside, f"{where}: labels must lie in [0, {classes}), the set's own class numbers")
        require(not (self.challenge and self.kept), f"{where}: challenge sets are not filtered, leave kept empty")
        require(not (self.challenge and self.pooled), f"{where}: challenge sets never enter the pool, leave pooled out")
        require(
            (self.unit == "question") == (self.chance is not None),
            f"{where}: unit is {self.unit!r} and chance {self.chance}; questions have a chance, and they alone",
        )
        if self.groups is not None:
            require(
                self.groups.dtype == np.int64 and self.groups.shape == (rows,),
                f"{where}: groups must be int64 of shape ({rows},), got {self.groups.dtype} of shape "
                f"{self.groups.shape}",
            )
        for representation, kept in (*self.kept.items(), *self.own_kept.items()):
            require(
                kept.dtype == np.bool_ and kept.shape == (rows,),
                f"{where}: kept[{representation!r}] must be bool of shape ({rows},), "
                f"got {kept.dtype} of shape {kept.shape}",
            )
        for column, values in self.categories.items():
            require(len(values) == rows, f"{where}: {rows} rows but {len(values)} categories of {column!r}")
        require(
            self.collapse in get_args(Collapse),
            f"{where}: collapse is {self.collapse!r}; use one of {get_args(Collapse)}",
        )
        if self.class_map is not None:
            inside = bool(np.all((self.class_map >= -1) & (self.class_map < classes)))
            require(inside, f"{where}: class_map must lie in [-1, {classes}), got {self.class_map.tolist()}")


@dataclass(frozen=True, eq=False)
class FilteredSet:
    """The outcome of filtering with one representation.

    `iterations`: iteration int64, rows_in (of the pool), train_rows_in (of these), scored_rows_in, removed,
    train_removed, scored_removed, cutoff (nullable),
    representation_bias in [0, 1], rows_never_held_out. `rows`, every row of the pool and of the scored
    splits: row_id, split, label, kept, removed_in_iteration (nullable), predictability (nullable, in
    [0, 1]), label_probability (nullable). `runs` of the filter with draws of their own; of several, `kept_jaccard` says
    how alike the train rows are that they kept: mean and least over pairs, by_chance, in [0, 1]. `chance`: passes over
    permuted labels; `first_scores`: row_id and predictability of the rows in the first iteration. Both are None in
    results of earlier versions.

    Raises:
        InvalidInputError: a column is missing.
    """

    representation: str
    iterations: pa.Table
    stop_reason: str
    warnings: tuple[str, ...]
    rows: pa.Table
    settings: Mapping[str, object]
    runs: int = 1
    kept_jaccard: Mapping[str, float] | None = None
    chance: ChanceScores | None = None
    first_scores: pa.Table | None = None

    def __post_init__(self) -> None:
        where = f"filtered set of {self.representation!r}"
        require_columns(self.iterations, _ITERATION_COLUMNS, f"{where}: iterations table")
        require_columns(self.rows, _ROW_COLUMNS, f"{where}: rows table")

    def policy(self, split: str) -> str:
        """What the filter did with the rows of a split other than train: pooled, scored or kept."""
        policies = self.settings.get("evaluation_rows")
        return policies.get(split, "kept") if isinstance(policies, Mapping) else "kept"

    @property
    def entered(self) -> np.ndarray:
        """Which of `rows` the filter saw: all but those of splits that it left alone; bool."""
        splits = self.rows["split"].to_numpy(zero_copy_only=False)
        return np.isin(splits, ["train", *self.filtered_splits])

    @property
    def filtered_splits(self) -> tuple[str, ...]:
        """The splits other than train that it took part in."""
        splits = dict.fromkeys(self.rows["split"].to_pylist())
        return tuple(split for split in splits if split != "train" and self.policy(split) != "kept")

    @property
    def pool(self) -> np.ndarray:
        """Which of `rows` were filtered as train rows are: those, and the rows of pooled splits; bool."""
        splits = self.rows["split"].to_numpy(zero_copy_only=False)
        pooled = [split for split in self.filtered_splits if self.policy(split) == "pooled"]
        return np.isin(splits, ["train", *pooled])


@dataclass(frozen=True, eq=False)
class EvidenceTable:
    """A table of statistics to show as it is, with what it says in one or two sentences."""

    title: str
    caption: str
    table: pa.Table


@dataclass(frozen=True, eq=False)
class DataMap:
    """The data map of an evaluator trained on all train rows, beside what one representation's filter kept.

    `table` has `DATA_MAP_COLUMNS`: guid is the source's id, index the row's place in the table, `kept` null for rows
    that never entered the filter. `seeds` and `epochs`: trainings averaged over, and epochs of each; 0 for a map that
    is `given` with the dataset, whose evaluator is none of ours.

    Raises:
        InvalidInputError: a column is missing.
    """

    evaluator: str
    representation: str
    seeds: int
    epochs: int
    table: pa.Table
    given: bool = False

    def __post_init__(self) -> None:
        require_columns(self.table, DATA_MAP_COLUMNS, f"data map of {self.evaluator!r}")


@dataclass(frozen=True, eq=False)
class BenchmarkData:
    """Everything that one report shows.

    `split_rows`: rows per split as loaded; `warmup_rows`: train rows spent on the encoders; `notes`: what
    must be read first (a trial run, for instance); `scatter_features`: the two feature columns to plot,
    or None; `provenance`: versions, data version and seeds as text; `missing_sets`: challenge sets that could
    not be had, each with the reason. `families`: of "evaluators.<name>" and "representations.<name>" what the model is,
    the same text for models of one make; `architectures` likewise, the same text for models of one architecture.
    `held_back`: evaluators that stop by a share of their train rows, in (0, 1). `published`: name of the papers' own
    figures (`published_tables`), or None. `fine_tuned`: evaluators that went on training on challenge sets, which stand
    in no table about train sets alone. By representation: `similarities` of the rows of some classes, `score_counts` of
    every iteration. `warmup_curves`: those that chose the warm-up rows, none where a size was given; `sample_curve`:
    the one that chose the sample of the train rows, None where all are filtered. `primary`: the
    evaluator and test set whose comparison is judged by itself, None to take the first that can be judged;
    `smallest_effect`: points under which no difference is called one. `planted`: what each filtering removed of rows
    known to carry a shortcut. `data_maps`: one per representation and evaluator that recorded its training on full;
    `row_information`: PVI of the natural test sets' rows (`rows.table.INFORMATION`), None without any.
    `filter_runs`: which run of the filter each seed's `filtered` is of; empty where there is one. `cues`: by
    representation, what marks the rows that filtering removed; `row_facts` likewise, of single rows
    (`rows.table.ROW_FACTS`). `checks`: what was
    checked of the data, the filter and the models, with the outcome. `partial_inputs`: evaluators that see a part of
    the input only, so that what they learn is not the task. `source`: where the rows stand in the user's files.
    `settings_done`: what settings made of the source's rows, as they were asked to.
    `forgettables`: rows that weak models forget, and second phases on them; None where the file names no weak model.
    `rankings`: filtered sets that differ in their ranking alone; none where no rankings are compared.

    Raises:
        InvalidInputError: names repeat, the representation of a cell or of `rankings` was not filtered, or the classes
            of a test set do not fit the dataset's.
    """

    name: str
    title: str
    description: str
    label_names: tuple[str, ...]
    split_rows: Mapping[str, int]
    warmup_rows: int
    notes: tuple[str, ...]
    filtered: tuple[FilteredSet, ...]
    cells: tuple[Cell, ...]
    test_sets: tuple[TestSet, ...]
    examples: Examples
    scatter_features: tuple[int, int] | None
    evidence: tuple[EvidenceTable, ...]
    provenance: Mapping[str, str]
    missing_sets: Mapping[str, str] = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)
    architectures: Mapping[str, str] = field(default_factory=dict)
    held_back: Mapping[str, float] = field(default_factory=dict)
    published: str | None = None
    similarities: Mapping[str, tuple[ClassSimilarity, ...]] = field(default_factory=dict)
    score_counts: Mapping[str, ScoreCounts] = field(default_factory=dict)
    fine_tuned: Mapping[str, FineTuned] = field(default_factory=dict)
    warmup_curves: tuple["LearningCurve", ...] = ()
    sample_curve: "SampleCurve | None" = None
    primary: tuple[str, str] | None = None
    smallest_effect: float = 1.0
    filter_runs: Mapping[int, int] = field(default_factory=dict)
    planted: tuple[PlantedRemoval, ...] = ()
    cues: Mapping[str, tuple[Cue, ...]] = field(default_factory=dict)
    row_facts: Mapping[str, pa.Table] = field(default_factory=dict)
    checks: tuple[CheckOutcome, ...] = ()
    partial_inputs: tuple[str, ...] = ()
    data_maps: tuple[DataMap, ...] = ()
    row_information: pa.Table | None = None
    source: SourceRows = NO_SOURCE
    settings_done: tuple[str, ...] = ()
    forgettables: Forgettables | None = None
    rankings: tuple[RankingPair, ...] = ()

    def __post_init__(self) -> None:
        _require_unique([*(test_set.name for test_set in self.test_sets), *self.missing_sets], "test set")
        _require_unique(list(self.representations), "representation")
        _require_unique(
            [(cell.evaluator, cell.train_set, cell.representation, cell.seed) for cell in self.cells], "cell"
        )
        stray = {cell.representation for cell in self.cells} - {None, *self.representations}
        require(not stray, f"cells name representations {sorted(map(str, stray))} that have no filtered set")
        unknown = {name for pair in self.rankings for name in (pair.representation, pair.against)}
        unknown -= set(self.representations)
        require(not unknown, f"rankings name representations {sorted(unknown)} that have no filtered set")
        for test_set in self.test_sets:
            _require_fitting_classes(test_set, self.label_names)
        if self.primary is not None:
            _require_tested(self.primary[1], [test_set.name for test_set in self.test_sets], self.missing_sets)

    @property
    def representations(self) -> tuple[str, ...]:
        """Names of the representations filtered with, in the order given."""
        return tuple(filtered.representation for filtered in self.filtered)

    @property
    def evaluators(self) -> tuple[str, ...]:
        """Names of the evaluators, in the order of their first cell."""
        return tuple(dict.fromkeys(cell.evaluator for cell in self.cells))

    @property
    def plain_evaluators(self) -> tuple[str, ...]:
        """Those that were trained on a train set and nothing else."""
        return tuple(name for name in self.evaluators if name not in self.fine_tuned)

    @property
    def judging_evaluators(self) -> tuple[str, ...]:
        """The plain ones that see whole inputs; all plain ones where none does."""
        whole = tuple(name for name in self.plain_evaluators if name not in self.partial_inputs)
        return whole or self.plain_evaluators


class HasUnit(Protocol):
    """A test set, or its facts."""

    @property
    def unit(self) -> Unit:
        """What its numbers count."""


def units_text(test_sets: Iterable[HasUnit]) -> str:
    """What the numbers of these test sets count: "rows", "questions", or "rows or questions"."""
    units = sorted({f"{one.unit}s" for one in test_sets}, reverse=True)
    return " or ".join(units) or "rows"


def _require_tested(name: str, tested: list[str], missing: Collection[str]) -> None:
    message = f"the primary comparison is on {name!r}, which is no test set; report.primary may name one of {tested}"
    require(name in (*tested, *missing), message)


def _require_unique(names: Sequence[Hashable], what: str) -> None:
    repeated = [name for name, times in Counter(names).items() if times > 1]
    require(not repeated, f"{what} given more than once: {repeated}")


def _require_fitting_classes(test_set: TestSet, label_names: tuple[str, ...]) -> None:
    where = f"test set {test_set.name!r}"
    if test_set.class_map is None:
        require(
            test_set.label_names == label_names,
            f"{where} has classes {test_set.label_names}, the dataset has {label_names}; give a class_map",
        )
    else:
        require(
            len(test_set.class_map) == len(label_names),
            f"{where}: class_map has {len(test_set.class_map)} entries for the dataset's {len(label_names)} classes",
        )


def fine_tuned_note(test_set: str, fine_tuned: Mapping[str, FineTuned]) -> tuple[str, ...]:
    """What to read beside a challenge set's numbers where evaluators were fine-tuned on other rows of it."""
    names = [name for name, one in fine_tuned.items() if test_set in one.sets]
    if not names:
        return ()
    return (f"Not zero-shot for evaluators fine-tuned on other rows of this set: {', '.join(names)}.",)


def starts(fine_tuned: Mapping[str, FineTuned]) -> Iterable[str]:
    """The evaluators that others go on from, each once."""
    return dict.fromkeys(one.start for one in fine_tuned.values())
