from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData, Cell
from aflite_assets.reports.sentences.summary import SMALL_TEST_SET, cautions


def test_evaluators_of_the_adversarys_make_are_named(make_by_hand: Any) -> None:
    families = {
        "representations.a": "huggingface_text roberta-large",
        "representations.b": "linear",
        "evaluators.p": "huggingface_text roberta-large",
        "evaluators.q": "huggingface_text bert-large",
    }
    said = [line for line in cautions(analyse(make_by_hand(families=families))) if "of the same kind" in line]
    assert said == [
        "These evaluators are of the same kind as a filter, so rows were chosen against them: p (as "
        "representation a). They fall more than others would. Judge by the other evaluators that see whole inputs: q."
    ]
    partial = cautions(analyse(make_by_hand(families=families, partial_inputs=("q",))))
    assert any(line.endswith("No evaluator of another kind saw whole inputs; add one to judge by.") for line in partial)
    both = {**families, "representations.b": "huggingface_text roberta-large", "evaluators.q": "linear"}
    assert any("p (as representation a and b)." in line for line in cautions(analyse(make_by_hand(families=both))))


def test_other_sizes_of_the_adversarys_architecture_are_named_more_softly(make_by_hand: Any) -> None:
    families = {
        "representations.a": "large",
        "representations.b": "other",
        "evaluators.p": "base",
        "evaluators.q": "large",
    }
    alike = {
        "representations.a": "roberta",
        "representations.b": "bert",
        "evaluators.p": "roberta",
        "evaluators.q": "roberta",
    }
    said = cautions(analyse(make_by_hand(families=families, architectures=alike)))
    assert [line for line in said if line.startswith("These evaluators")] == [
        "These evaluators are of the same kind as a filter, so rows were chosen against them: q (as "
        "representation a). They fall more than others would. Judge by the other evaluators that see whole inputs: p.",
        "These evaluators are of the adversary's family, another size or copy of its architecture, so they may fall "
        "more than others would: p (as representation a).",
    ]


def test_shares_held_back_are_named(make_by_hand: Any) -> None:
    said = [
        line for line in cautions(analyse(make_by_hand(held_back={"q": 0.05, "p": 0.125}))) if "early stopping" in line
    ]
    assert said == [
        "These were trained on about 87.5 % of the train rows that the tables name, and early stopping used the "
        "rest: p.",
        "These were trained on about 95 % of the train rows that the tables name, and early stopping used the rest: q.",
    ]
    both = cautions(analyse(make_by_hand(held_back={"q": 0.05, "p": 0.05})))
    assert (
        "These were trained on about 95 % of the train rows that the tables name, and early stopping used the rest: "
        "p and q." in both
    )


def test_without_families_nobody_is_named(by_hand: BenchmarkData) -> None:
    assert not [line for line in cautions(analyse(by_hand)) if "of the same kind" in line]


def test_small_sets_and_parts_are_named(by_hand: BenchmarkData) -> None:
    assert SMALL_TEST_SET == 300
    said = cautions(analyse(by_hand))
    assert (
        "Under 300 test rows, so wide intervals: test (6), odd (8), test filtered with a (3) and test filtered with b "
        "(4)." in said
    )
    assert "Parts of challenge sets with under 300 test rows: odd (15 of 15 parts)." in said


def test_what_the_filter_warns_of_is_kept_in_mind(by_hand: BenchmarkData) -> None:
    warned = replace(by_hand, filtered=tuple(replace(one, warnings=("Class 0 moved.",)) for one in by_hand.filtered))
    assert "Filter with a: Class 0 moved." in cautions(analyse(warned))


def test_models_that_do_not_beat_the_largest_class_are_named(planted: BenchmarkData) -> None:
    def one_class(cell: Cell) -> Cell:
        if cell.predictions is None or cell.train_set != "full":
            return cell
        said = pa.array(np.zeros(cell.predictions.num_rows, np.int64))
        return replace(cell, predictions=cell.predictions.set_column(2, "predicted", said))

    torn = replace(planted, cells=tuple(map(one_class, planted.cells)))
    assert (
        "When trained on full, these are not shown to be better than the largest class: linear (on test) and "
        "forest (on test)." in (cautions(analyse(torn)))
    )
    assert not any("largest class" in line for line in cautions(analyse(planted)))
