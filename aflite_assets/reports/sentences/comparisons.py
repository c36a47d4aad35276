"""Differences between trainings in sentences: the primary comparison, pairs, falls, samples, rankings, phases."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.differences import DIFFERENCES, Comparison, Difference
from aflite_assets.analysis.comparisons.falls import Change, FallStep, Headline
from aflite_assets.analysis.comparisons.rankings import RANKING_OVERLAP, RankingOverlap
from aflite_assets.analysis.facts import DatasetFacts, RankingFacts
from aflite_assets.analysis.rules.verdicts import NOT_BY_LABEL
from aflite_assets.analysis.scores.groups import headline_split
from aflite_assets.reports.sentences.verdict import no_primary, passed_over_text
from aflite_assets.reports.sentences.wording import bounds_text, interval_points, paired_text
from aflite_assets.reports.tables.cells import verdict_text
from aflite_assets.reports.tables.difference_tables import NOT_SHOWN, better_ranking, ranking_text
from aflite_assets.text import count, listed, one_line, percent, signed_points
from aflite_assets.wording import counted, truncate

_MEANS = {
    "above": "Rows chosen this way train better there than as many random ones.",
    "below": "As many random rows train better there than rows chosen this way.",
    "open": "No difference is shown there: there may be none, or one too small to see.",
}
_SHIFTED = "Answers may just have moved between classes, whose rows are uneven there."


_CHANGES: Mapping[Change, str] = {
    "test rows": "as the filtered test rows alone are asked",
    "fewer train rows": "with fewer train rows",
    "class sizes": "with the class sizes of filtered",
    "which train rows": "with which train rows were kept",
}


def of_kind(analysis: Analysis, kind: Comparison, representation: str | None = None) -> list[Difference]:
    """The differences of one kind, of one representation if it is given."""
    return [
        one
        for one in analysis.of(DIFFERENCES)
        if one.comparison == kind and representation in (None, one.representation)
    ]


def comparison_sentence(analysis: Analysis, representation: str) -> str:
    """Whether filtering helps or harms training, by the primary comparison, and how many of the others say so."""
    lead = f"Primary comparison of representation {representation}"
    differences = of_kind(analysis, "control", representation)
    primary = next((one for one in differences if one.primary), None)
    if primary is None:
        return f"{lead}: none, as {_no_primary(analysis)}."
    who = f"{primary.evaluator} trained on filtered instead of {primary.against}, on {primary.test_set}"
    why = "" if primary.why is None else f" ({primary.why})"
    text = f"{lead}: {primary.side or 'none'}{why} ({who}"
    text += f": {paired_text(primary)})." if primary.difference is not None else ")."
    text += passed_over_text(analysis)
    if primary.side is not None:
        text += f" {_SHIFTED if primary.why == NOT_BY_LABEL else _MEANS[primary.side]}"
        if primary.tested_on != "all":
            text += (
                f" {primary.test_set} is drawn from the same data and shares its shortcuts, so a loss there may be the "
                "price of leaving them out. Only a test set where a shortcut is absent or misleads shows a gain."
            )
    others = [one for one in differences if one.whole and not one.primary and one.side is not None]
    return f"{text} {_others(others)}" if others else text


def _no_primary(analysis: Analysis) -> str:
    if analysis.primary.lack == "took part in the filter":
        return (
            "the rows of every test set took part in the filter; a challenge set can be judged, or a split with "
            "evaluation_rows: kept"
        )
    return no_primary(analysis)


def _others(others: Sequence[Difference]) -> str:
    sides = {side: sum(other.side == side for other in others) for side in ("above", "below", "open")}
    counted_sides = listed([f"{count(number)} {side}" for side, number in sides.items()])
    return f"{_other_comparisons(len(others))}, judged together with all of the report: {counted_sides}."


def _other_comparisons(number: int) -> str:
    return "One other comparison on a whole set" if number == 1 else f"{count(number)} other comparisons on whole sets"


def paired_sentences(analysis: Analysis, representation: str) -> list[str]:
    """A sentence per evaluator about the natural test set of the headlines and every challenge set."""
    facts = analysis.facts
    pair = "filtered", facts.filtering[representation].control
    natural = headline_split(list(facts.natural_sets))
    differences = [
        one
        for one in of_kind(analysis, "control", representation)
        if one.pair == pair and (one.test_set == natural or one.tested_on == "all")
    ]
    by_evaluator = ([one for one in differences if one.evaluator == name] for name in facts.plain_evaluators)
    return [text for pairs in by_evaluator if (text := _paired_sentence(pairs))]


def _paired_sentence(differences: Sequence[Difference]) -> str | None:
    """One evaluator's differences between filtered and random in words; None where no pair has a result.

    Of the parts of challenge sets only gold labels are spoken of, where they go in opposite directions.
    """
    sentences = [
        text for difference in differences if difference.whole and (text := _paired_text(difference, differences))
    ]
    if not sentences:
        return None
    return (
        f"{differences[0].evaluator}, trained on filtered against as many random rows ({differences[0].against}), both "
        f"tested on the same rows. {' '.join(sentences)}"
    )


def _paired_text(one: Difference, differences: Sequence[Difference]) -> str | None:
    if one.difference is None:
        return None
    labels = [part for part in differences if part.test_set == one.test_set and part.is_label]
    sides = [part for part in labels if part.found]
    if len({part.side for part in sides}) == 2:
        apart = [f"{paired_text(part)} on {_label(part)}" for part in sides]
        return (
            f"The gold labels of {one.test_set} go in opposite directions: {listed(apart)} (all its rows: "
            f"{interval_points(one)}, {verdict_text(one)})."
        )
    rows = f"the filtered rows of {one.test_set}" if one.tested_on == "filtered" else one.test_set
    return f"On {rows}: {paired_text(one)} ({verdict_text(one)})."


def _label(part: Difference) -> str:
    return truncate(one_line(part.label or ""), 60)


def headline_sentence(headline: Headline) -> str:
    """The comparison in words, with what the fall is made of, or why there is none."""
    where, fall = f"{headline.evaluator} on {headline.test_set}", headline.fall
    missing = [name for name in ("full", "random", "filtered") if getattr(headline, name).accuracy is None]
    if fall.start is None or fall.end is None:
        return f"{where}: nothing to compare yet, because there is no result for {listed(missing)}."
    text = (
        f"{where}: trained and tested on full it is right on {percent(fall.start)} % of the {fall.unit}s; trained and "
        f"tested on filtered it {_changes(100 * (fall.start - fall.end))}, to {percent(fall.end)} %."
    )
    unknown = [step.after for step in fall.steps if step.fall is None]
    if unknown:
        return f"{text} Without a result for {unknown[0]} it is open what this is made of."
    return f"{text} Step by step, in points: {'. Then '.join(_step_text(step) for step in fall.steps)}."


def _step_text(step: FallStep) -> str:
    if step.fall is None:
        return "is unknown"
    after = f" ({step.after})" if step.what in ("fewer train rows", "class sizes") else ""
    change = replace(step.fall, difference=-step.fall.difference, low=-step.fall.high, high=-step.fall.low)
    return f"{signed_points(change.difference)} ({bounds_text(change)}) {_CHANGES[step.what]}{after}"


def _changes(drop: float) -> str:
    if round(drop, 1) == 0:
        return "does not change"
    return f"{'falls' if drop > 0 else 'rises'} by {signed_points(abs(drop))} points"


def sample_cost_sentences(analysis: Analysis) -> tuple[str, ...]:
    """One per evaluator: where all train rows are better than the sample, where worse, and where neither is shown."""
    costs = of_kind(analysis, "sample")
    return tuple(
        _sample_sentence(evaluator, [one for one in costs if one.evaluator == evaluator])
        for evaluator in dict.fromkeys(one.evaluator for one in costs)
    )


def _sample_sentence(evaluator: str, costs: Sequence[Difference]) -> str:
    said = [
        f"{words} on {listed([f'{one_line(one.test_set)} ({interval_points(one)} points)' for one in each])}"
        for words, side in (("better", "above"), ("worse", "below"), ("not shown to differ", None))
        if (each := [one for one in costs if (one.side if one.found else None) == side])
    ]
    return f"{one_line(evaluator)}, trained on all train rows instead of the sample, is {'; '.join(said)}."


def ranking_line(analysis: Analysis) -> str:
    """How many comparisons on whole test sets found one of the rankings better, over all sizes."""
    whole = [one for one in of_kind(analysis, "ranking") if one.whole and one.difference is not None]
    if not whole:
        return "No evaluator was trained on both."
    found = [better_ranking(analysis.facts, one) for one in whole if one.found]
    sides = [f"{ranking} is better in {count(found.count(ranking))}" for ranking in dict.fromkeys(filter(None, found))]
    return f"{counted(len(whole), 'comparison')} on whole test sets: {listed(sides) or 'neither was found better'}."


def ranking_sentences(analysis: Analysis) -> tuple[str, ...]:
    """Per pair of rankings how alike the kept rows are, then a sentence per evaluator about whole test sets."""
    sentences = []
    for name, pair in analysis.facts.rankings.items():
        overlaps = [one for one in analysis.of(RANKING_OVERLAP) if one.representation == name]
        sentences.append(_overlap_sentence(name, pair, overlaps))
        mine = [
            one
            for one in of_kind(analysis, "ranking", name)
            if one.whole and one.train_set == "filtered" and one.difference is not None
        ]
        evaluators = dict.fromkeys(one.evaluator for one in mine)
        sentences += [
            _ranking_sentence(analysis.facts, pair, [one for one in mine if one.evaluator == each])
            for each in evaluators
        ]
    return tuple(sentences)


def _overlap_sentence(name: str, pair: RankingFacts, overlaps: Sequence[RankingOverlap]) -> str:
    first, second = pair.rankings
    text = f"Representation {name} was filtered twice, ranked by {first} and by {second}."
    kept = next((one for one in overlaps if one.train_set == "filtered"), None)
    if kept is None or kept.jaccard is None or kept.jaccard_by_chance is None:
        return text
    return (
        f"{text} Of the train rows that either kept, {percent(kept.jaccard)} % were kept by both. Two random sets of "
        f"these sizes share {percent(kept.jaccard_by_chance)} %."
    )


def _ranking_sentence(facts: DatasetFacts, pair: RankingFacts, compared: Sequence[Difference]) -> str:
    """One evaluator's differences on whole test sets, those with a better ranking first."""
    first, second = pair.rankings
    gap = f"{first} minus {second}"
    shown = [one for one in compared if better_ranking(facts, one) is not None]
    said = [
        f"On {one_line(one.test_set)} {ranking_text(facts, one)} ({gap}: {interval_points(one)} points)."
        for one in shown
    ]
    if open_on := [one_line(one.test_set) for one in compared if one not in shown]:
        said.append(f"On {listed(open_on)} {NOT_SHOWN}.")
    return (
        f"{one_line(compared[0].evaluator)}, trained on rows kept by {first} against rows kept by {second}. "
        f"{' '.join(said)}"
    )


def second_phase_line(analysis: Analysis) -> str | None:
    """In a sentence what second phases on forgettable rows gain over random rows; None where none was judged."""
    judged = [one for one in of_kind(analysis, "second phase") if one.whole and one.side is not None]
    if not judged:
        return None
    found = [one for one in judged if one.found]
    if not found:
        return "No difference was found between second phases on forgettable rows and on as many random ones."
    challenge = analysis.facts.challenge_sets
    named = min(found, key=lambda one: (not one.primary, one.test_set not in challenge, -abs(one.difference or 0.0)))
    others = f"; {len(found)} of {len(judged)} comparisons found a difference" if len(judged) > 1 else ""
    return (
        f"“{named.evaluator}” is {abs(named.difference or 0.0):.1f} points {named.side} “{named.against_evaluator}” on "
        f"“{named.test_set}”{others}."
    )
