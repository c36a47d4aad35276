"""Which comparisons make a verdict: planted answers that move from one class to another."""

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import paired_differences
from aflite_assets.analysis.comparisons.filtering_verdict import dataset_verdict_on
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.rules.dataset_verdict import DatasetVerdict
from aflite_assets.reports.sentences.comparisons import comparison_sentence
from tests.planted_reports import done_cell
from tests.reports.sentences.test_verdict import started, verdict_text, with_shortcut

ROWS = 300


def verdict_on(data: BenchmarkData) -> DatasetVerdict:
    return dataset_verdict_on(data, data.filtered[0])


def uneven_set(ones: int, name: str = "odd") -> TestSet:
    """Two gold labels, so many rows of the second one first."""
    labels = (np.arange(ROWS) < ones).astype(np.int64)
    names = ("entailment", "non-entailment")
    return TestSet(
        name, True, np.arange(ROWS), labels, names, {}, {}, np.array([0, 1, 1]), collected="constructed"
    )  # fmt: skip


def answering(cell: Cell, test_set: TestSet, first_class: float) -> Cell:
    """The cell with answers on `test_set` that go with nothing: the first class for this share of the rows."""
    assert cell.predictions is not None
    rng = np.random.default_rng([cell.seed, len(cell.train_set)])
    said = np.where(rng.random(ROWS) < first_class, 0, 1)
    table = pa.table({"test_set": [test_set.name] * ROWS, "row_id": np.arange(ROWS), "predicted": said})
    return replace(cell, predictions=pa.concat_tables([cell.predictions, table]))


def shifted(
    planted: BenchmarkData, shares: Mapping[str, float], *, ones: int, seeds: int = 3, evaluator: str = "linear"
) -> BenchmarkData:
    """Filtered and random alike on the natural sets; on `odd` so often the first class, whatever the row."""
    natural = tuple(one for one in planted.test_sets if not one.challenge)
    odd = uneven_set(ones)
    cells = tuple(
        answering(
            done_cell(natural, (0.9, 0.6, 0), evaluator=evaluator, train_set=name, seed=seed, train_rows=400),
            odd,
            share,
        )
        for name, share in shares.items()
        for seed in range(seeds)
    )
    return started(replace(planted, test_sets=(*natural, odd), cells=cells))


@pytest.mark.parametrize(
    ("shares", "ones", "seeds"),
    [
        ({"full": 0.5, "random": 0.95, "filtered": 0.05}, 180, 3),
        ({"full": 0.35, "random": 0.8, "filtered": 0.35}, 195, 5),
    ],
)
def test_answers_that_move_to_the_larger_gold_label_are_no_gain(
    planted: BenchmarkData, shares: Mapping[str, float], ones: int, seeds: int
) -> None:
    data = shifted(planted, shares, ones=ones, seeds=seeds)
    (odd,) = (one for one in paired_differences(data) if one.deciding)
    assert odd.difference is not None
    assert odd.difference > 10
    verdict = verdict_on(data)
    (compared,) = verdict.evidence.comparisons
    assert compared.difference is not None
    assert compared.difference == odd.label_mean
    assert abs(compared.difference) < 5
    assert (compared.verdict.side, compared.verdict.why) == ("open", None)
    assert verdict.code == "learnable_no_shortcut_shown"


def test_the_report_states_the_mean_over_gold_labels(planted: BenchmarkData) -> None:
    data = shifted(planted, {"full": 0.5, "random": 0.95, "filtered": 0.05}, ones=180)
    (gain,) = (one.text for one in verdict_text(data, "roberta").details if one.text.startswith("Against as many"))
    assert ". Each gold label weighs the same." in gain
    assert re.search(
        "Whether filtering helps is not shown: linear on odd, [0-9.\N{MINUS SIGN}]+ points "
        "\\[\N{MINUS SIGN}[0-9.]+, [0-9.]+\\]\\.$",
        verdict_text(with_shortcut(data), "roberta").sentence,
    )
    compared = comparison_sentence(analyse(data), "roberta")
    assert compared.startswith(
        "Comparisons that decide whether filtering with representation roberta helps (evaluators of another make on "
        "challenge sets, Holm): 1 open."
    )


def test_answers_that_move_to_the_smaller_gold_label_are_no_harm(planted: BenchmarkData) -> None:
    data = shifted(planted, {"full": 0.5, "random": 0.05, "filtered": 0.95}, ones=180)
    assert verdict_on(with_shortcut(data)).code == "shortcut_found"


def test_on_even_gold_labels_their_mean_is_the_same_comparison(planted: BenchmarkData) -> None:
    compared, _ = verdict_on(started(planted)).evidence.comparisons
    assert compared.difference == pytest.approx(11)
    assert compared.verdict.side == "above"


def without_cue(planted: BenchmarkData) -> BenchmarkData:
    """`linear` is as good after either training; `part` is better on `odd` after filtered, on both gold labels."""
    alike = shifted(planted, {"full": 0.5, "random": 0.5, "filtered": 0.5}, ones=180)
    labels = {one.name: one.labels for one in alike.test_sets}

    def better(cell: Cell) -> Cell:
        """Right on two in three rows of `odd` where it was trained on filtered, else on one in three."""
        assert cell.predictions is not None
        table, rows = cell.predictions, np.arange(ROWS)
        right = (rows % 3 > 0) == (cell.train_set == "filtered")
        said = np.where(right, labels["odd"], 1 - labels["odd"])
        natural = table.slice(0, table.num_rows - ROWS)
        odd = pa.table({"test_set": ["odd"] * ROWS, "row_id": rows, "predicted": said})
        return replace(cell, evaluator="part", predictions=pa.concat_tables([natural, odd]))

    return replace(alike, cells=(*alike.cells, *map(better, alike.cells)))


def test_only_evaluators_that_see_whole_inputs_decide(planted: BenchmarkData) -> None:
    data = without_cue(planted)
    both = verdict_on(data)
    assert [(one.evaluator, one.test_set) for one in both.evidence.gains] == [("part", "odd")]
    assert both.code == "helps_no_shortcut_named"
    alone = verdict_on(replace(data, partial_inputs=("part",)))
    assert (alone.code, alone.evidence.gains) == ("learnable_no_shortcut_shown", ())
    assert [one.evaluator for one in alone.evidence.comparisons] == ["linear"]
