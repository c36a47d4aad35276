"""Planted benchmarks: predictions written so that every accuracy in a report is known beforehand."""

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.cues import RemovedCue
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, EvidenceTable, FilteredSet, TestSet
from aflite_assets.analysis.rows.table import ROW_FACTS
from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.reports.figures.all_figures import report_pictures
from aflite_assets.reports.inputs import ReportInputs
from aflite_assets.reports.page.html import render_report
from aflite_assets.reports.page.json_report import report_json
from aflite_assets.reports.tables.table import Table
from aflite_assets.studies.forgettables.analysis.records import Forgettables, LearntRows
from tests.stored_rows import stored_rows

NLI = ("entailment", "neutral", "contradiction")

ACCURACIES: Mapping[str, tuple[float, float, float]] = {
    "full": (0.90, 0.60, 0.55),
    "random": (0.86, 0.55, 0.53),
    "filtered": (0.80, 0.70, 0.64),
}
"""Per train set: share right on removed test rows, on kept test rows, on challenge rows."""


def planted_predictions(test_set: TestSet, right: np.ndarray, n_classes: int) -> np.ndarray:
    """Dataset class numbers that are right exactly where `right` says so, also through a class map."""
    class_map = np.arange(n_classes) if test_set.class_map is None else test_set.class_map
    predicted = np.empty(len(right), dtype=np.int64)
    for i, (label, hit) in enumerate(zip(test_set.labels, right, strict=True)):
        predicted[i] = np.flatnonzero((class_map == label) == hit)[0]
    return predicted


def exact_share(rows: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Of the given positions, exactly round(share x count), drawn at random."""
    return rng.permutation(rows)[: round(share * len(rows))]


def done_cell(
    test_sets: tuple[TestSet, ...],
    shares: tuple[float, float, float],
    *,
    evaluator: str,
    train_set: str,
    seed: int,
    train_rows: int,
    n_classes: int = 3,
) -> Cell:
    """A cell with exactly these shares right on removed, kept and challenge rows."""
    rng = np.random.default_rng([seed, len(evaluator), len(train_set)])
    tables = []
    for test_set in test_sets:
        right = np.zeros(len(test_set.row_ids), dtype=bool)
        if test_set.challenge:
            right[exact_share(np.arange(len(right)), shares[2], rng)] = True
        else:
            kept = test_set.kept["roberta"]
            right[exact_share(np.flatnonzero(~kept), shares[0], rng)] = True
            right[exact_share(np.flatnonzero(kept), shares[1], rng)] = True
        predicted = planted_predictions(test_set, right, n_classes)
        order = rng.permutation(len(right))
        tables.append(
            pa.table(
                {
                    "test_set": [test_set.name] * len(right),
                    "row_id": test_set.row_ids[order],
                    "predicted": predicted[order],
                }
            )
        )
    representation = None if train_set == "full" else "roberta"
    return Cell(evaluator, train_set, representation, seed, train_rows, "done", None, pa.concat_tables(tables))


def natural_set(name: str, *, first_row: int, rows: int, kept: int) -> TestSet:
    """A test set whose first `kept` rows survived filtering, labels 0, 1, 2, 0, ..."""
    mask = np.arange(rows) < kept
    ids, labels = np.arange(first_row, first_row + rows), np.arange(rows) % 3
    return TestSet(name, False, ids, labels, NLI, {"roberta": mask})


def hans(rows: int = 300) -> TestSet:
    """Two classes, three categories, each with both gold labels; neutral and contradiction count as one."""
    categories = np.array(["lexical_overlap", "subsequence", "constituent"])[np.arange(rows) // 2 % 3]
    return TestSet(
        "hans",
        True,
        np.arange(rows),
        np.arange(rows) % 2,
        ("entailment", "non-entailment"),
        {},
        {"heuristic": categories},
        np.array([0, 1, 1]),
        collected="constructed",
    )


def filtered_set(train_rows: int = 1200, *, n_iterations: int = 8, first_row: int = 0) -> FilteredSet:
    """An eighth of the train rows goes in all iterations but the last; the last third is kept."""
    rng = np.random.default_rng(5)
    removed_each = train_rows * 2 // 3 // (n_iterations - 1)
    row_ids = np.arange(first_row, first_row + train_rows)
    removed_in = np.arange(train_rows) // removed_each
    kept = removed_in >= n_iterations - 1
    predictability = np.where(kept, rng.beta(2, 3, train_rows) * 0.75, 0.75 + 0.25 * rng.beta(2, 1, train_rows))
    rows = pa.table(
        {
            "row_id": row_ids,
            "split": ["train"] * train_rows,
            "label": row_ids % 3,
            "kept": kept,
            "removed_in_iteration": pa.array(removed_in, pa.int64(), mask=kept),
            "predictability": pa.array(predictability.astype(np.float32)),
            "label_probability": pa.array(rng.random(train_rows, dtype=np.float32)),
        }
    )
    left = [train_rows - removed_each * i for i in range(n_iterations)]
    removing = n_iterations - 1
    iterations = pa.table(
        {
            "iteration": np.arange(n_iterations),
            "rows_in": left,
            "train_rows_in": left,
            "scored_rows_in": [count // 2 for count in left],
            "removed": [removed_each] * removing + [0],
            "train_removed": [removed_each] * removing + [0],
            "scored_removed": [removed_each // 2] * removing + [0],
            "cutoff": pa.array([0.98 - 0.03 * i for i in range(removing)] + [None], pa.float64()),
            "representation_bias": [0.82 - 0.06 * i for i in range(n_iterations)],
            "rows_never_held_out": [0] * n_iterations,
        }
    )
    settings = {"target_size": 400, "slice_size": removed_each, "threshold": 0.75, "n_partitions": 64}
    return FilteredSet("roberta", iterations, "threshold", (), rows, settings)


def text_examples(rows: int, label_names: tuple[str, ...] = NLI) -> Examples:
    """Sentence pairs; row ids 0, 1, ..."""
    subjects = ("A man in a blue shirt", "Two dogs", "An old woman with a hat", "Children", "The band")
    acts = ("is sleeping on a couch", "run along the beach", "waits for the bus", "play in the garden")
    table = pa.table(
        {
            "row_id": np.arange(rows),
            "source_id": [f"source{i}" for i in range(rows)],
            "split": ["train"] * rows,
            "label": np.arange(rows) % 3,
            "text": [f"{subjects[i % 5]} {acts[i % 4]}." for i in range(rows)],
            "text_pair": [f"{subjects[(i // 3) % 5]} {acts[(i // 5) % 4]}." for i in range(rows)],
        }
    )
    return Examples(table, label_names)


def feature_examples(rows: int, width: int = 2) -> Examples:
    """Three Gaussian clouds; row ids 0, 1, ..."""
    rng = np.random.default_rng(2)
    centres = np.array([[0, 0], [2.5, 0.5], [1, 2.4]])[np.arange(rows) % 3]
    points = np.concatenate([centres + rng.normal(size=(rows, 2)), rng.normal(size=(rows, width - 2))], axis=1)
    table = pa.table(
        {
            "row_id": np.arange(rows),
            "split": ["train"] * rows,
            "label": np.arange(rows) % 3,
            "features": pa.array(points.astype(np.float32).tolist(), pa.list_(pa.float32())),
        }
    )
    return Examples(table, NLI)


def png(pixels: np.ndarray) -> bytes:
    """Encoded pixels (height x width x 3, uint8)."""
    from PIL import Image

    encoded = io.BytesIO()
    Image.fromarray(pixels).save(encoded, format="png")
    return encoded.getvalue()


def image_examples(rows: int) -> Examples:
    """Coloured gradients of 32 x 32; row ids 0, 1, ..."""
    ramp = np.linspace(0, 255, 32, dtype=np.uint8)
    images = []
    for i in range(rows):
        pixels = np.zeros((32, 32, 3), dtype=np.uint8)
        pixels[..., i % 3] = ramp
        pixels[..., (i + 1) % 3] = ramp[:, None] // (1 + i % 4)
        images.append({"bytes": png(pixels), "path": None, "sha256": None})
    table = pa.table(
        {
            "row_id": np.arange(rows),
            "split": ["train"] * rows,
            "label": np.arange(rows) % 3,
            "image": pa.array(images, IMAGE_TYPE),
        }
    )
    return Examples(table, NLI)


def planted_benchmark(**changes: Any) -> BenchmarkData:
    """Evaluator `linear` with three seeds everywhere; `forest` with one seed, failed on filtered, random not run.

    Test set `test`: 1,000 rows, 400 kept; `validation`: 250 rows, 100 kept; `hans`: 300 rows.
    """
    test_sets = (
        natural_set("test", first_row=2000, rows=1000, kept=400),
        natural_set("validation", first_row=3000, rows=250, kept=100),
        hans(),
    )
    sizes = {"full": 1200, "random": 400, "filtered": 400}
    cells = [
        done_cell(test_sets, shares, evaluator="linear", train_set=name, seed=seed, train_rows=sizes[name])
        for name, shares in ACCURACIES.items()
        for seed in range(3)
    ]
    full = done_cell(test_sets, (0.95, 0.65, 0.6), evaluator="forest", train_set="full", seed=0, train_rows=1200)
    cells += [
        full,
        Cell("forest", "random", "roberta", 0, 400, "not run"),
        Cell("forest", "filtered", "roberta", 0, 400, "failed", "loss became NaN in epoch 2"),
    ]
    given: dict[str, Any] = {
        "name": "toy_nli",
        "title": "Toy NLI",
        "description": "Sentence pairs made for trying the report.",
        "label_names": NLI,
        "split_rows": {"train": 1400, "validation": 250, "test": 1000},
        "warmup_rows": 200,
        "notes": (),
        "filtered": (filtered_set(),),
        "cells": tuple(cells),
        "test_sets": test_sets,
        "examples": text_examples(1400),
        "evidence": (),
        "provenance": {"aflite-assets": "0.1.0", "seeds": "0, 1, 2"},
    }
    return BenchmarkData(**(given | changes))


RIGHT: Mapping[tuple[str, str, str | None], list[tuple[str, str] | str]] = {
    ("p", "full", None): [("111110", "11110000"), ("101110", "11000000")],
    ("p", "random", "a"): [("110110", "10100000"), ("100110", "10000000")],
    ("p", "filtered", "a"): [("011000", "11111100"), ("111000", "11111110")],
    ("p", "random", "b"): [("111111", "00000000"), ("111111", "00000000")],
    ("p", "filtered", "b"): [("000011", "00001111"), ("000111", "00001111")],
    ("q", "full", None): [("111111", "11111111"), ("111111", "11111111")],
    ("q", "random", "a"): [("111000", "11111111"), "not run"],
    ("q", "filtered", "a"): ["failed", ("000111", "11111111")],
    ("q", "random", "b"): ["not run", "not run"],
    ("q", "filtered", "b"): [("111111", "11111111"), ("111111", "11111111")],
}
"""Of the hand-written benchmark, per evaluator, train set and representation, a seed after the other: which rows of
`test` and of `odd` are right, or why there is no prediction."""


def hand_written_cell(key: tuple[str, str, str | None], seed: int, right: tuple[str, str] | str) -> Cell:
    """A cell with exactly these rows right."""
    rows = {"full": 90, "random": 30, "filtered": 30}[key[1]]
    if isinstance(right, str):
        status: Any = right
        return Cell(*key, seed, rows, status, "out of memory" if status == "failed" else None)
    said = {
        "test_set": ["test"] * 6 + ["odd"] * 8,
        "row_id": [*range(10, 16), *range(8)],
        "predicted": [row % 2 if bit == "1" else 1 - row % 2 for bits in right for row, bit in enumerate(bits)],
    }
    return Cell(*key, seed, rows, "done", None, pa.table(said))


def hand_written_benchmark(**changes: Any) -> BenchmarkData:
    """Two classes, representations `a` and `b`, evaluators `p` and `q` with two seeds, all of it written by hand.

    `test`: 6 rows with annotators but one, of which `a` kept the first 3 and `b` the last 4; `odd`: 8 rows with the
    category columns `kind` (a value everywhere) and `rule` (rows 0, 3 and 4 alone). Labels are 0, 1, 0, 1, ...
    """
    names = ("yes", "no")
    kept = {"a": np.arange(6) < 3, "b": np.arange(6) > 1}
    test = TestSet("test", False, np.arange(10, 16), np.arange(6) % 2, names, kept)
    kinds = np.array(["x"] * 4 + ["y"] * 4, dtype=object)
    rules = np.array(["r", "", None, "r", "s", "", None, ""], dtype=object)
    odd = TestSet("odd", True, np.arange(8), np.arange(8) % 2, names, {}, {"kind": kinds, "rule": rules})
    row_ids = np.array([*range(10, 16), *range(100, 112)])
    annotators = [[0, 0, 1], [1, 1], [], [0, 1], [0], [0, 0, 0, 1], *[[]] * 12]
    examples = text_examples(18, names).table.set_column(0, "row_id", pa.array(row_ids))
    examples = examples.set_column(examples.column_names.index("label"), "label", pa.array(row_ids % 2))
    examples = examples.append_column("annotator_labels", pa.array(annotators, pa.list_(pa.int64())))
    filtered = filtered_set(12, n_iterations=3, first_row=100)
    rows = filtered.rows.set_column(2, "label", pa.array(np.arange(12) % 2))
    given: dict[str, Any] = {
        "name": "hand",
        "title": "By hand",
        "description": "",
        "label_names": names,
        "split_rows": {"train": 90, "test": 6},
        "warmup_rows": 10,
        "notes": (),
        "filtered": tuple(replace(filtered, representation=one, rows=rows) for one in "ab"),
        "cells": tuple(
            hand_written_cell(key, seed, right) for key, seeds in RIGHT.items() for seed, right in enumerate(seeds)
        ),
        "test_sets": (test, odd),
        "examples": Examples(examples, names),
        "evidence": (),
        "provenance": {},
    }
    return BenchmarkData(**(given | changes))


HOSTILE = (
    '<script>alert(1)</script> ]]> \x00\x07 | `code` "q" \'\n<img src=x onerror=alert(1)> \u202eevil {{ 7*7 }} '
    + "W" * 900
)


def planted_facts(filtered: FilteredSet, *, label: int = 1) -> pa.Table:
    """Scores that rise to the last one; of removed rows the class `label` given instead, and kept row 1199 as nearest.

    Row 0 is suspected to be of class `label`.
    """
    rows = filtered.rows.select(["row_id", "kept", "removed_in_iteration", "predictability"]).to_pylist()
    last = filtered.iterations.num_rows - 1
    passes = [last if row["kept"] else row["removed_in_iteration"] for row in rows]
    scores = [
        [None] + [row["predictability"] * (one + 1) / (end + 1) for one in range(1, end + 1)]
        for row, end in zip(rows, passes, strict=True)
    ]
    gone = [not row["kept"] for row in rows]
    columns = (
        [row["row_id"] for row in rows],
        scores,
        [[label, 2] if one else [] for one in gone],
        [[0.25, 0.0625] if one else [] for one in gone],
        [1199 if one else None for one in gone],
        [0.875 if one else None for one in gone],
        [label if row["row_id"] == 0 else None for row in rows],
        [0.875 if row["row_id"] == 0 else None for row in rows],
    )
    arrays = [pa.array(values, field.type) for values, field in zip(columns, ROW_FACTS, strict=True)]
    return pa.table(arrays, ROW_FACTS)


def word_cue(column: str, word: str, label_name: str) -> RemovedCue:
    """A word that is a cue of removal."""
    return RemovedCue("word", column, word, label_name, 0.9, 300, 250, 0.3125, 0.125, 1e-9, 1e-9)


def hostile_benchmark() -> BenchmarkData:
    """Every text that a dataset or a run can bring is hostile; names that the specs restrict are not."""
    names, base, filtered = (HOSTILE, "</script><b>", "&amp;"), planted_benchmark(), filtered_set()
    natural = [replace(s, label_names=names) for s in base.test_sets if not s.challenge]
    categories = np.array([HOSTILE, "|", "</script>"])[np.arange(300) // 2 % 3]
    blank = np.array([None, HOSTILE, ""], dtype=object)[np.arange(300) % 3]
    challenge = replace(
        base.test_sets[-1], label_names=(HOSTILE, "</td>"), categories={HOSTILE: categories, "</th>": blank}
    )
    table = text_examples(1400).table
    table = table.set_column(table.column_names.index("text"), "text", pa.array([HOSTILE] * 1400))
    table = table.append_column(f"attribute.{HOSTILE}", pa.array([HOSTILE] * 1400))
    return planted_benchmark(
        title=HOSTILE,
        description=HOSTILE,
        label_names=names,
        notes=(HOSTILE,),
        filtered=(
            replace(
                filtered,
                stop_reason=HOSTILE,
                warnings=(HOSTILE,),
                settings={HOSTILE: HOSTILE, "nan": float("nan")},
            ),
        ),
        cells=tuple(replace(c, reason=HOSTILE) if c.status == "failed" else c for c in base.cells),
        test_sets=(*natural, challenge),
        examples=Examples(table, names),
        evidence=(EvidenceTable(HOSTILE, HOSTILE, pa.table({HOSTILE: [HOSTILE], "share": [float("nan")]})),),
        provenance={HOSTILE: HOSTILE},
        row_facts={"roberta": planted_facts(filtered, label=0)},
        cues={"roberta": (word_cue("text", "script", HOSTILE),)},
        checks=(CheckOutcome(HOSTILE, HOSTILE, HOSTILE, False, HOSTILE),),
    )


def shown_values(table: Table) -> dict[tuple[str, ...], list[Any]]:
    """By the headings of each row what its cells are sorted by, or say where they are no numbers."""
    return {row.headings: [cell.text if cell.value is None else cell.value for cell in row.cells] for row in table.rows}


@pytest.fixture(scope="session", name="values")
def shown_values_fixture() -> Callable[[Table], dict[tuple[str, ...], list[Any]]]:
    return shown_values


@pytest.fixture(scope="session")
def planted() -> BenchmarkData:
    return planted_benchmark()


@pytest.fixture(scope="session")
def make_planted() -> Callable[..., BenchmarkData]:
    return planted_benchmark


@pytest.fixture(scope="session")
def hostile() -> BenchmarkData:
    return hostile_benchmark()


@pytest.fixture(scope="session")
def with_rows() -> BenchmarkData:
    """The planted benchmark with facts about its rows, a cue, an attribute and checks."""
    table = text_examples(1400).table.append_column("attribute.genre", pa.array(["fiction", "travel"] * 700))
    return planted_benchmark(
        examples=Examples(table, NLI),
        row_facts={"roberta": planted_facts(filtered_set())},
        cues={"roberta": (word_cue("text_pair", "dogs", "entailment"),)},
        checks=(
            CheckOutcome("data", "labels_known", "Every label is known.", True),
            CheckOutcome(
                "warm-up", "better_than_largest_class", "It fits.", False, "40.0 % of its rows", subject="roberta"
            ),
            CheckOutcome("data", "images_decode", "All do.", True, "not applicable: images only", applies=False),
        ),
    )


def learnt_rows() -> tuple[LearntRows, ...]:
    """Two seeds of one weak model on rows 0 to 999: the first was right in row % 4 epochs of 3, never where that is 0.

    Rows right in 1 epoch were forgotten once. The second seed forgot nothing.
    """
    ids = np.arange(1000)
    right, epochs, none = ids % 4, np.full(1000, 3), np.zeros(1000, np.int64)
    events = (right == 1).astype(np.int64)
    sets = {"forgettable": ids[right < 2], "never_learnt": ids[right == 0]}
    names = ("row_id", "forgetting_events", "right", "presentations")
    return (
        LearntRows("bow", 0, pa.table([ids, events, right, epochs], names), sets),
        LearntRows("bow", 1, pa.table([ids, none, epochs, epochs], names)),
    )


@pytest.fixture(scope="session")
def with_weak_models(with_rows: BenchmarkData) -> BenchmarkData:
    """The same with `learnt_rows`."""
    return replace(with_rows, studies={"forgettable_sets": Forgettables(learnt=learnt_rows())})


@pytest.fixture(scope="session")
def by_hand() -> BenchmarkData:
    return hand_written_benchmark()


@pytest.fixture(scope="session")
def make_by_hand() -> Callable[..., BenchmarkData]:
    return hand_written_benchmark


@pytest.fixture(scope="session", name="done_cell")
def done_cell_fixture() -> Callable[..., Cell]:
    return done_cell


@pytest.fixture(scope="session", name="feature_examples")
def feature_examples_fixture() -> Callable[..., Examples]:
    return feature_examples


@pytest.fixture(scope="session", name="image_examples")
def image_examples_fixture() -> Callable[..., Examples]:
    return image_examples


def report_inputs(data: BenchmarkData, scatter_features: tuple[int, int] | None = None) -> ReportInputs:
    """What a report of these records shows beside their numbers."""
    rows = stored_rows(data)
    return ReportInputs(data.examples, rows, data.source, scatter_features, data.similarities, data.evidence)


def rendered_page(data: BenchmarkData, **options: Any) -> str:
    """The page of these records, from their analysis."""
    analysis, inputs = analyse(data), report_inputs(data, options.pop("scatter_features", None))
    return render_report(
        analysis, inputs, options.pop("pictures", None) or report_pictures(analysis, inputs), **options
    )


def report_document(data: BenchmarkData) -> Any:
    """The JSON of these records' report."""
    return report_json(analyse(data), report_inputs(data))
