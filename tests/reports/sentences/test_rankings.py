"""What sentences say of two rankings and of second phases."""

from collections.abc import Callable
from dataclasses import replace

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.comparisons.differences import DIFFERENCES
from aflite_assets.analysis.inputs.records import BenchmarkData, RankingOverlap
from aflite_assets.reports.sentences import comparisons
from aflite_assets.studies.forgettables.analysis.records import Forgettables
from aflite_assets.studies.forgettables.reports import lines
from tests.planted_comparisons import KEPT_BY, OTHER, PAIR, PHASES, ranked_cells


def ranking_line(data: BenchmarkData) -> str:
    return comparisons.ranking_line(analyse(data))


def ranking_sentences(data: BenchmarkData) -> tuple[str, ...]:
    return comparisons.ranking_sentences(analyse(data))


def second_phase_line(data: BenchmarkData) -> str | None:
    return lines.second_phase_line(analyse(data))


def test_a_line_counts_in_how_many_comparisons_each_ranking_is_better(
    ranked: BenchmarkData, make_ranked: Callable[..., BenchmarkData]
) -> None:
    assert ranking_line(ranked) == "3 comparisons on whole test sets: vocabulary is better in 1."
    turned = make_ranked({"roberta": KEPT_BY[OTHER], OTHER: KEPT_BY["roberta"]})
    assert ranking_line(turned) == "3 comparisons on whole test sets: predictability is better in 1."
    assert ranking_line(make_ranked(seeds=1)) == "3 comparisons on whole test sets: neither was found better."
    missing = make_ranked(cells=tuple(cell for cell in ranked.cells if cell.representation == "roberta"))
    assert ranking_line(missing) == "No evaluator was trained on both."
    shares = {"roberta": (0.8, 0.7, 0.5), OTHER: (0.8, 0.7, 0.9)}
    earlier = ranked_cells(ranked.test_sets, shares, train_set="filtered_600")
    assert ranking_line(make_ranked(cells=(*ranked.cells, *earlier))) == (
        "6 comparisons on whole test sets: vocabulary is better in 1 and predictability is better in 1."
    )


def test_sentences_say_the_overlap_and_what_was_found(ranked: BenchmarkData) -> None:
    overlap, linear = ranking_sentences(ranked)
    assert overlap == (
        "Representation roberta was filtered twice, ranked by vocabulary and by predictability. Of the train rows "
        "that either ranking kept, 33.3 % were kept by both. Two random sets of these sizes share 20.0 %."
    )
    found = analyse(ranked).of(DIFFERENCES)
    (hans,) = (one for one in found if one.comparison == "ranking" and one.whole and one.test_set == "hans")
    assert linear == (
        "linear, trained on rows kept by vocabulary against rows kept by predictability. On hans vocabulary is better "
        f"(vocabulary minus predictability: 15.0 [{hans.low:.1f}, {hans.high:.1f}] points). On test and validation "
        "no difference was shown."
    )


def test_without_rankings_evaluators_or_kept_rows_less_is_said(
    planted: BenchmarkData, make_ranked: Callable[..., BenchmarkData]
) -> None:
    assert ranking_sentences(planted) == ()
    assert len(ranking_sentences(make_ranked(cells=()))) == 1
    empty = replace(PAIR, overlaps=(RankingOverlap("roberta", OTHER, "filtered", 10, 0, 0, 0, None, None),))
    assert ranking_sentences(make_ranked(rankings={"roberta": empty}))[0].endswith(
        "ranked by vocabulary and by predictability."
    )


def test_a_line_says_by_how_much_second_phases_differ(planted: BenchmarkData, forgotten: BenchmarkData) -> None:
    assert second_phase_line(planted) is None
    line = second_phase_line(forgotten)
    assert line is not None
    assert line.startswith("“net_bow” is 18.0 points above “net_random” on “hans”;")


def test_where_no_second_phase_differs_the_line_says_so(forgotten: BenchmarkData) -> None:
    forgettables = Forgettables.of(forgotten)
    same = tuple(
        replace(cell, evaluator=name)
        for cell in forgettables.cells
        if cell.evaluator == "net" and cell.train_set == "full"
        for name in ("net", "net_bow", "net_random")
    )
    phases = {name: PHASES[name] for name in ("net_bow", "net_random")}
    nothing = replace(forgotten, studies={"forgettable_sets": replace(forgettables, cells=same, phases=phases)})
    assert second_phase_line(nothing) == (
        "No difference was found between second phases on forgettable rows and on the same number of random rows."
    )
