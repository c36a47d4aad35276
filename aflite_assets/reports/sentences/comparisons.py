"""Sentences about differences between training runs.

The sentences are about decisive comparisons, pairs of train sets, drops in accuracy and rankings.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Comparison, Difference
from aflite_assets.analysis.comparisons.falls import Fall
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.records import RANKING_OVERLAP, RankingPair
from aflite_assets.reports.sentences.verdict import undecided_text
from aflite_assets.reports.sentences.wording import bounds_text, interval_points, paired_text
from aflite_assets.reports.tables.cells import verdict_text
from aflite_assets.reports.tables.difference_tables import NOT_SHOWN, better_ranking, ranking_text
from aflite_assets.text import count, listed, one_line, percent, short, signed_points
from aflite_assets.wording import counted

_CHANGES: Mapping[str, str] = {
    "test rows": "if only the filtered test rows are tested",
    "fewer train rows": "with fewer train rows ({after})",
    "class sizes": "with the class sizes of filtered ({after})",
    "which train rows": "with which train rows were kept",
}


def of_kind(analysis: Analysis, kind: Comparison, representation: str | None = None) -> list[Difference]:
    """Return the differences of one kind, for one representation or, with None, for all representations."""
    return [one for one in analysis.of(DIFFERENCES, representation) if one.comparison == kind]


def by_evaluator(differences: Sequence[Difference]) -> dict[str, list[Difference]]:
    """Return the differences of each evaluator, in the order of first appearance."""
    names = dict.fromkeys(one.evaluator for one in differences)
    return {name: [one for one in differences if one.evaluator == name] for name in names}


def comparison_sentence(analysis: Analysis, representation: str) -> str:
    """Return a sentence that counts the gains and losses, first among the decisive comparisons and then among the other
    comparisons.
    """
    differences = of_kind(analysis, "control", representation)
    deciding = _sides([one for one in differences if one.deciding])
    found = f" (evaluators of another make on challenge sets, Holm): {deciding}."
    text = f"Comparisons that decide whether filtering with representation {representation} helps"
    text += found if deciding else f": none, because {undecided_text(analysis)}."
    others = _sides([one for one in differences if one.whole and not one.deciding and one.side is not None])
    return f"{text} Other comparisons on whole sets, judged together: {others}." if others else text


def _sides(differences: Sequence[Difference]) -> str:
    sides = Counter(one.side or "not judged" for one in differences)
    return listed([f"{count(sides[side])} {side}" for side in ("above", "below", "open", "not judged") if sides[side]])


def paired_sentences(analysis: Analysis, representation: str) -> list[str]:
    """Return one text per evaluator that compares the filtered set with its control.

    The text covers one natural test set and all challenge sets.
    """
    facts, pair = analysis.facts, ("filtered", analysis.facts.filtering[representation].control)
    natural, sentences = facts.headline_set, []
    compared = [one for one in of_kind(analysis, "control", representation) if one.pair == pair]
    compared = [one for one in compared if one.test_set == natural or one.tested_on == "all"]
    for name in facts.plain_evaluators:
        mine = [one for one in compared if one.evaluator == name]
        if said := [_paired_text(one, mine) for one in mine if one.whole and one.difference is not None]:
            trained = f"trained on filtered against as many random rows ({pair[1]})"
            sentences.append(f"{name}, {trained}, both tested on the same rows. {' '.join(said)}")
    return sentences


def _paired_text(one: Difference, differences: Sequence[Difference]) -> str:
    parts = [part for part in differences if part.test_set == one.test_set and part.column is None]
    labels = [part for part in parts if part.label is not None and part.found]
    if len({part.side for part in labels}) == 2:
        apart = listed([f"{paired_text(part)} on {short(part.label or '')}" for part in labels])
        together = f"all its rows: {interval_points(one)}, {verdict_text(one)}"
        return f"The gold labels of {one.test_set} go in opposite directions: {apart} ({together})."
    rows = f"the filtered rows of {one.test_set}" if one.tested_on == "filtered" else one.test_set
    return f"On {rows}: {paired_text(one)} ({verdict_text(one)})."


def fall_sentence(facts: DatasetFacts, fall: Fall) -> str:
    """Return a sentence on the drop in accuracy from `full` to `filtered` and on the parts of the drop.

    If the drop in accuracy is unknown, the sentence states why.
    """
    start, *changes, end = fall
    where, unit = f"{start.evaluator} on {start.test_set}", facts.test_set[start.test_set].unit
    if start.accuracy is None or end.accuracy is None:
        missing = listed([one.after for one in (start, end) if one.accuracy is None])
        return f"{where}: nothing to compare yet, because there is no result for {missing}."
    drop = 100 * (start.accuracy - end.accuracy)
    change = f"{'falls' if drop > 0 else 'rises'} by {signed_points(abs(drop))} points"
    before = f"trained and tested on full it is right on {percent(start.accuracy)} % of the {unit}s"
    after = f"it {change if round(drop, 1) else 'does not change'}, to {percent(end.accuracy)} %"
    text, steps = f"{where}: {before}; trained and tested on filtered {after}.", []
    for one in changes:
        if one.difference is None or one.low is None or one.high is None:
            return f"{text} Without a result for {one.after} the causes cannot be separated."
        turned = replace(one, low=-one.high, high=-one.low)  # a fall is shown as a negative number
        made_by = _CHANGES[one.change].format(after=one.after)
        steps.append(f"{signed_points(-one.difference)} ({bounds_text(turned)}) {made_by}")
    return f"{text} Step by step, in points: {'. Then '.join(steps)}."


def adversary_sentences(analysis: Analysis) -> Iterator[str]:
    """Yield sentences on whether a weak adversary leaves rows that are harder for a strong evaluator.

    There is one sentence per adversary and evaluator. The ICML 2020 paper examines in section 4.2 how weak adversaries
    affect strong evaluators. An adversary is the ensemble of linear classifiers on a representation. An adversary's
    strength is the share of pool rows that the ensemble predicted correctly in the filter's first iteration. Yields
    nothing if the dataset has only one representation, or if there are no results.
    """
    facts = analysis.facts
    for one in facts.filterings if len(facts.filterings) > 1 else ():
        for start, *_, end in analysis.falls(one.representation):
            if one.bias is None or start.accuracy is None or end.accuracy is None:
                continue
            weaker, name = start.accuracy > one.bias[0] and end.accuracy < start.accuracy, one.representation
            fall = 100 * (start.accuracy - end.accuracy)
            yield (
                f"Linear classifiers on {name} are right about {percent(one.bias[0])} % of the rows, and "
                f"{start.evaluator} about {percent(start.accuracy)} % of {start.test_set}. Of the rows that {name} "
                f"leaves, {start.evaluator} gets {percent(end.accuracy)} % right, {abs(fall):.1f} points "
                f"{'fewer' if fall >= 0 else 'more'}"
                + (": the weaker adversary left rows that are harder for it." if weaker else ".")
            )


def ranking_line(analysis: Analysis) -> str:
    """Return a line that states how many comparisons favour each ranking.

    The line counts comparisons on whole test sets, for all sizes of train sets.
    """
    whole = [one for one in of_kind(analysis, "ranking") if one.whole and one.difference is not None]
    if not whole:
        return "No evaluator was trained on both."
    better = Counter(filter(None, (better_ranking(analysis.facts, one) for one in whole if one.found)))
    sides = listed([f"{ranking} is better in {count(number)}" for ranking, number in better.items()])
    return f"{counted(len(whole), 'comparison')} on whole test sets: {sides or 'neither was found better'}."


def ranking_sentences(analysis: Analysis) -> tuple[str, ...]:
    """Return sentences on each pair of rankings.

    The first sentence states how similar the two sets of kept rows are. One further sentence per evaluator compares
    accuracies on whole test sets.
    """
    sentences = []
    for name, pair in analysis.facts.rankings.items():
        first, second = pair.rankings
        text = f"Representation {name} was filtered twice, ranked by {first} and by {second}."
        kept = next((one for one in analysis.of(RANKING_OVERLAP, name) if one.train_set == "filtered"), None)
        if kept is not None and kept.jaccard is not None and kept.jaccard_by_chance is not None:
            text += f" Of the train rows that either ranking kept, {percent(kept.jaccard)} % were kept by both."
            text += f" Two random sets of these sizes share {percent(kept.jaccard_by_chance)} %."
        sentences.append(text)
        filtered = [one for one in of_kind(analysis, "ranking", name) if one.whole and one.train_set == "filtered"]
        groups = by_evaluator([one for one in filtered if one.difference is not None])
        sentences += [_ranking_sentence(analysis.facts, pair, each) for each in groups.values()]
    return tuple(sentences)


def _ranking_sentence(facts: DatasetFacts, pair: RankingPair, compared: Sequence[Difference]) -> str:
    """Return a sentence that compares an evaluator trained on rows kept by two rankings.

    The sentence names significant differences first.
    """
    first, second = pair.rankings
    said, undecided = [], [one_line(one.test_set) for one in compared if better_ranking(facts, one) is None]
    for one in compared:
        if better_ranking(facts, one) is not None:
            gap = f"{first} minus {second}: {interval_points(one)} points"
            said.append(f"On {one_line(one.test_set)} {ranking_text(facts, one)} ({gap}).")
    if undecided:
        said.append(f"On {listed(undecided)} {NOT_SHOWN}.")
    lead = f"{one_line(compared[0].evaluator)}, trained on rows kept by {first} against rows kept by {second}."
    return f"{lead} {' '.join(said)}"
