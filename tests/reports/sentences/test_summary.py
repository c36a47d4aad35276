from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import paired_differences
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.reports.sentences.comparisons import comparison_sentence
from aflite_assets.reports.sentences.summary import cautions, findings, plain_summary
from aflite_assets.reports.sentences.wording import paired_text
from tests.rooms import PACKAGE, imports

DECIDE = "Comparisons that decide whether filtering with representation roberta helps"
FAMILY = "evaluators of another make on challenge sets, Holm"


def test_the_deciding_comparisons_are_one_line(planted: BenchmarkData) -> None:
    said = comparison_sentence(analyse(planted), "roberta")
    assert said in findings(analyse(planted))
    assert (
        said
        == f"{DECIDE} ({FAMILY}): 1 above and 1 not judged. Other comparisons on whole sets, judged together: 2 open."
    )


def test_comparisons_that_are_missing_say_why(planted: BenchmarkData, make_planted: Any) -> None:
    small = comparison_sentence(analyse(replace(planted, smallest_effect=20.0)), "roberta")
    assert small.startswith(f"{DECIDE} ({FAMILY}): 1 open and 1 not judged.")
    natural = tuple(replace(one, pooled=True) for one in planted.test_sets if not one.challenge)
    assert comparison_sentence(analyse(replace(planted, test_sets=natural)), "roberta") == (
        f"{DECIDE}: none, because there is no challenge set; add one in which a shortcut is absent or misleads."
    )
    assert comparison_sentence(analyse(make_planted(cells=())), "roberta") == (
        f"{DECIDE}: none, because no training can be compared."
    )
    gone = replace(planted, test_sets=natural, missing_sets={"gone": "no file"})
    assert comparison_sentence(analyse(gone), "roberta") == (
        f"{DECIDE}: none, because the challenge sets are not available."
    )


def test_sets_that_took_part_and_sets_in_groups_are_named(planted: BenchmarkData) -> None:
    test, validation, hans = planted.test_sets
    sets = (replace(test, pooled=True), validation, replace(hans, groups=np.arange(300) // 3))
    said = cautions(analyse(replace(planted, test_sets=sets)))
    assert (
        "The rows of test entered the filter's pool, so they influenced which train rows were kept: differences on "
        "them are shown, but no verdict is based on them."
    ) in said
    assert "Rows of hans belong together in groups, so their intervals count groups." in said


def test_missing_results_are_named(planted: BenchmarkData) -> None:
    assert "forest on test: nothing to compare yet, because there is no result for filtered." in findings(
        analyse(planted)
    )


def test_pairs_on_the_same_rows_are_put_into_words(by_hand: BenchmarkData) -> None:
    said = [
        line
        for line in findings(analyse(by_hand))
        if line.startswith("p, trained on filtered against as many random rows")
    ]
    assert len(said) == 2
    differences = [one for one in paired_differences(by_hand) if one.representation == "a"]
    pairs = [one for one in differences if one.evaluator == "p" and one.whole]
    assert [one.difference is None for one in pairs] == [False] * 3
    words = [paired_text(one) for one in pairs]
    assert words[0].startswith("16.7 points below, 95 % [\N{MINUS SIGN}")
    assert said[0] == (
        "p, trained on filtered against as many random rows (random), both tested on the same rows. "
        f"On test: {words[0]} (no verdict: few rows). On the filtered rows of test: {words[1]} (no verdict: chosen by "
        f"the filter). On odd: {words[2]} (no verdict: few rows)."
    )


def test_gold_labels_that_go_opposite_ways_are_not_no_difference(planted: BenchmarkData) -> None:
    hans = planted.test_sets[-1]

    def cell(train_set: str, answer: int, seed: int) -> Cell:
        said = {"test_set": ["hans"] * 300, "row_id": hans.row_ids, "predicted": [answer] * 300}
        return Cell("linear", train_set, "roberta", seed, 400, "done", None, pa.table(said))

    cells = (cell("random", 0, 0), cell("random", 0, 1), cell("filtered", 1, 0), cell("filtered", 1, 1))
    data = replace(planted, test_sets=(hans,), cells=cells)
    (said,) = [line for line in findings(analyse(data)) if line.startswith("linear, trained on filtered against")]
    low, high = "[\N{MINUS SIGN}100.0, \N{MINUS SIGN}97.5]", "[97.5, 100.0]"  # of 150 rows each
    assert (
        "both tested on the same rows. The gold labels of hans go in opposite directions: 100.0 points below, 95 % "
        f"{low} on entailment and 100.0 points above, 95 % {high} on non-entailment (all its rows: 0.0 ["
    ) in said
    assert said.endswith("], open).")
    assert "no difference" not in said


def test_without_filtered_test_rows_pairs_are_on_all_rows(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    test, odd = by_hand.test_sets
    data = make_by_hand(test_sets=(replace(test, kept={}), odd))
    said = findings(analyse(data))
    assert any(line.startswith("p, trained on filtered") and "16.7 points below" in line for line in said)
    assert not [line for line in said if "filtered rows" in line or "hard to predict" in line]
    assert not [line for line in cautions(analyse(data)) if "by construction" in line]


def test_pairs_without_a_result_are_left_out(planted: BenchmarkData) -> None:
    assert not [line for line in findings(analyse(planted)) if line.startswith("forest, trained on filtered against")]


def test_cautions_name_single_seeds_small_sets_and_unfinished_cells(planted: BenchmarkData) -> None:
    said = cautions(analyse(planted))
    full = (
        "These were trained with one seed only, so intervals of comparisons with them count test rows alone and are "
        "too narrow: "
    )
    assert f"{full}forest on full." in said
    assert not [line for line in said if "there is no verdict" in line]
    assert (
        "Under 300 test rows, so wide intervals: validation (250) and validation filtered with roberta (100)." in said
    )
    assert "2 of 12 cells have no result; the tables say which and why." in said


@pytest.mark.parametrize("train_set", ["filtered", "random", "full"])
def test_one_seed_of_what_is_compared_means_no_verdict(planted: BenchmarkData, train_set: str) -> None:
    cells = tuple(
        cell
        for cell in planted.cells
        if cell.evaluator == "linear" and (cell.train_set, cell.seed > 0) != (train_set, True)
    )
    data = replace(planted, cells=cells)
    said = [line for line in cautions(analyse(data)) if "one seed only" in line.lower()]
    if train_set == "full":
        assert said[0].endswith("are too narrow: linear on full.")
        assert comparison_sentence(analyse(data), "roberta").startswith(f"{DECIDE} ({FAMILY}): 1 above.")
    else:
        assert said == [
            "These have one seed only, so the variation between seeds is unknown and there is no verdict: linear."
        ]
        assert comparison_sentence(analyse(data), "roberta") == f"{DECIDE} ({FAMILY}): 1 not judged."


@pytest.mark.parametrize(("share", "named"), [(0.97, True), (0.9, False)])
def test_a_model_that_gives_one_answer_is_named(planted: BenchmarkData, share: float, named: bool) -> None:
    cell = next(c for c in planted.cells if c.train_set == "filtered" and c.predictions is not None)
    assert cell.predictions is not None
    rows = cell.predictions.num_rows
    answers = np.where(np.arange(rows) % 100 < 100 * share, 2, 0)
    one_answer = replace(cell, predictions=cell.predictions.set_column(2, "predicted", pa.array(answers)))
    cells = tuple(one_answer if c is cell else c for c in planted.cells)
    said = [line for line in cautions(analyse(replace(planted, cells=cells))) if "give one class" in line]
    assert bool(said) == named
    if named:
        assert said[0].endswith("learnt little: linear trained on filtered (roberta).")


def test_sentences_are_made_of_records_alone() -> None:
    folder = PACKAGE / "reports" / "sentences"
    modules = {module for path in folder.glob("*.py") for _, module in imports(path)}
    assert modules.isdisjoint({"numpy", "pyarrow", "pyarrow.compute"})
    assert [path.name for path in folder.glob("*.py") if "BenchmarkData" in path.read_text(encoding="utf-8")] == []


def test_large_sets_and_many_seeds_need_no_caution(planted: BenchmarkData, make_planted: Any) -> None:
    sets = tuple(s for s in planted.test_sets if s.name != "validation")
    calm = make_planted(cells=tuple(c for c in planted.cells if c.evaluator == "linear"), test_sets=sets)
    assert len(cautions(analyse(calm))) == 2
    assert "lower by construction" in cautions(analyse(calm))[0]
    assert cautions(analyse(calm))[1] == "Parts of challenge sets with under 300 test rows: hans (11 of 11 parts)."


def test_nothing_trained_still_tells_of_the_filtering(make_planted: Any) -> None:
    said = plain_summary(analyse(make_planted(cells=())))
    assert said[0].startswith("Cannot tell: the filter's result does not say what shuffled labels give")
    assert any(line.startswith("Filtering with representation roberta") for line in said)
