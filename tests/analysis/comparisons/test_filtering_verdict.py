"""The records of verdicts: what they hold of planted benchmarks, and their way through JSON."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pydantic import TypeAdapter

from aflite_assets.analysis.analysis import Analysis, analyse
from aflite_assets.analysis.comparisons.differences import Lack
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.judges import Judging
from aflite_assets.checks import CheckOutcome
from tests.planted_reports import done_cell
from tests.reports.sentences.test_verdict import WORD, started, with_cues

RECORDS: dict[str, Any] = {
    "verdicts": tuple[FilteringVerdict, ...],
    "judging": Judging,
    "undecided": Lack | None,
    "checks": tuple[CheckOutcome, ...],
}


@pytest.mark.parametrize("fixture", ["planted", "by_hand", "hostile", "with_rows", "with_weak_models"])
def test_records_come_back_from_json_as_they_were(fixture: str, request: pytest.FixtureRequest) -> None:
    data = request.getfixturevalue(fixture)
    for analysis in map(analyse, (data, started(data))):
        assert analysis.verdicts
        for name, kind in RECORDS.items():
            adapter = TypeAdapter(kind)
            record = getattr(analysis, name)
            assert adapter.validate_json(adapter.dump_json(record)) == record, name


def test_facts_come_back_from_json(planted: BenchmarkData) -> None:
    facts, adapter = analyse(planted).facts, TypeAdapter(DatasetFacts)
    back = adapter.validate_json(adapter.dump_json(facts))
    assert back == facts
    assert (back.filterings[0].passes, back.filterings[0].bias) == (8, (0.82, pytest.approx(0.4)))
    assert tuple(part.rows for part in back.test_set["hans"].parts) == (150, 150, *[100, 50, 50] * 3)


def verdict_of(analysis: Analysis) -> FilteringVerdict:
    (verdict,) = analysis.verdicts
    return verdict


def test_a_verdict_has_the_differences_that_are_stated(planted: BenchmarkData) -> None:
    verdict = verdict_of(analyse(with_cues(started(planted), WORD)))
    stated = [verdict.on_natural, verdict.on_first, verdict.on_first_full]
    assert [(one.evaluator, one.against, one.test_set) for one in stated if one is not None] == [
        ("linear", "full", "test"),
        ("linear", "random", "hans"),
        ("linear", "full", "hans"),
    ]
    assert [one.interval.difference for one in stated if one is not None] == pytest.approx([-2.0, 11.0, 9.0])
    assert [one.lacking for one in stated if one is not None] == [None] * 3
    whole = verdict.against_all_rows
    assert whole is not None
    assert (whole.side, whole.worse, whole.random_as_good) == ("above", (), ())
    assert whole.best == ("hans", pytest.approx(9.0))


def test_without_a_deciding_comparison_nothing_is_stated_of_it(planted: BenchmarkData) -> None:
    pooled = tuple(replace(one, pooled=True) for one in planted.test_sets if not one.challenge)
    analysis = analyse(replace(planted, test_sets=pooled))
    verdict = verdict_of(analysis)
    assert (verdict.on_first, verdict.on_first_full, verdict.against_all_rows) == (None, None, None)
    assert verdict.on_natural is not None
    assert analysis.undecided == "no challenge set"


def test_the_comparison_that_the_file_names_is_stated_first(planted: BenchmarkData) -> None:
    *_, hans = planted.test_sets
    cells = []
    for cell in planted.cells:
        if cell.evaluator == "linear":
            other = done_cell((replace(hans, name="other"),), (0.0, 0.0, 0.5), evaluator="linear",
                              train_set=cell.train_set, seed=cell.seed, train_rows=cell.train_rows)  # fmt: skip
            assert cell.predictions is not None
            assert other.predictions is not None
            cells.append(replace(cell, predictions=pa.concat_tables([cell.predictions, other.predictions])))
    both = replace(planted, test_sets=(*planted.test_sets, replace(hans, name="other")), cells=tuple(cells))

    def order(data: BenchmarkData) -> list[str]:
        return [one.test_set for one in verdict_of(analyse(started(data))).verdict.evidence.comparisons]

    assert order(both) == ["hans", "other"]
    assert order(replace(both, primary=("linear", "other"))) == ["other", "hans"]


def test_the_hint_that_gives_a_class_away_is_kept(planted: BenchmarkData) -> None:
    rare, often = (replace(WORD, value=name, class_share=0.95, rows=rows) for name, rows in (("a", 40), ("b", 60)))
    verdict = verdict_of(analyse(with_cues(planted, WORD, rare, often, replace(often, adjusted_p=1.0, rows=90))))
    assert verdict.giveaway == WORD
    assert verdict_of(analyse(with_cues(planted, rare, often))).giveaway == often


def test_the_class_whose_share_moved_most_is_kept(planted: BenchmarkData) -> None:
    (filtered,) = planted.filtered
    kept = np.asarray(filtered.rows["label"].to_numpy() != 1) | (np.arange(1_200) < 600)
    rows = filtered.rows.set_column(3, "kept", pa.array(kept))
    moved = replace(planted, filtered=(replace(filtered, rows=rows),))
    found = [verdict_of(analyse(data)).moved_class for data in (planted, moved)]
    assert found == [None, ("neutral", pytest.approx(1 / 3), pytest.approx(0.2))]
