"""What the comparison of two rankings says, in sentences; nothing where no rankings are compared."""

from collections.abc import Sequence

from aflite_assets.analysis.comparisons.rankings import NOT_SHOWN, RankingDifference, ranking_differences
from aflite_assets.analysis.inputs.rankings import RankingPair
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.sentences.wording import interval_points
from aflite_assets.text import count, listed, one_line, percent


def ranking_line(data: BenchmarkData) -> str:
    """How many comparisons on whole test sets found one of the rankings better, over all sizes."""
    whole = [one for one in ranking_differences(data) if one.place.whole and one.interval is not None]
    if not whole:
        return "No evaluator was trained on both."
    found = [one.better for one in whole if one.verdict.found]
    sides = [f"{ranking} is better in {count(found.count(ranking))}" for ranking in dict.fromkeys(filter(None, found))]
    comparisons = f"{count(len(whole))} comparison{'' if len(whole) == 1 else 's'} on whole test sets"
    return f"{comparisons}: {listed(sides) or 'neither was found better'}."


def ranking_sentences(data: BenchmarkData) -> tuple[str, ...]:
    """Per pair of rankings how alike the kept rows are, then a sentence per evaluator about whole test sets."""
    sentences = []
    for pair in data.rankings:
        sentences.append(_overlap_sentence(pair))
        mine = [
            one
            for one in ranking_differences(data)
            if one.pair == pair and one.place.whole and one.place.train_set == "filtered" and one.interval is not None
        ]
        evaluators = dict.fromkeys(one.place.evaluator for one in mine)
        sentences += [
            _evaluator_sentence(pair, [one for one in mine if one.place.evaluator == name]) for name in evaluators
        ]
    return tuple(sentences)


def _overlap_sentence(pair: RankingPair) -> str:
    first, second = pair.rankings
    text = f"Representation {pair.representation} was filtered twice, ranked by {first} and by {second}."
    kept = next((one for one in pair.overlaps if one.train_set == "filtered"), None)
    if kept is None or kept.jaccard is None or kept.by_chance is None:
        return text
    return (
        f"{text} Of the train rows that either kept, {percent(kept.jaccard)} % were kept by both. Two random sets of "
        f"these sizes share {percent(kept.by_chance)} %."
    )


def _evaluator_sentence(pair: RankingPair, compared: Sequence[RankingDifference]) -> str:
    """One evaluator's differences on whole test sets, those with a better ranking first."""
    first, second = pair.rankings
    gap = f"{first} minus {second}"
    said = [
        f"On {one_line(one.place.test_set)} {one.says} ({gap}: {interval_points(one.interval)} points)."
        for one in compared
        if one.better is not None
    ]
    open_on = [one_line(one.place.test_set) for one in compared if one.better is None]
    if open_on:
        said.append(f"On {listed(open_on)} {NOT_SHOWN}.")
    return (
        f"{one_line(compared[0].place.evaluator)}, trained on rows kept by {first} against rows kept by {second}. "
        f"{' '.join(said)}"
    )
