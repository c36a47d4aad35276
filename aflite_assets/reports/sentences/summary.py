"""The summary of a report as plain sentences computed from the tables. Each warning is worded in `warnings`."""

from collections.abc import Sequence

import pyarrow.compute as pc

from aflite_assets.analysis.comparisons.headlines import headlines
from aflite_assets.analysis.comparisons.paired import PairedDifference, free_sets, paired_differences
from aflite_assets.analysis.filtering import FilterRow, filter_table, largest_class_by_iteration
from aflite_assets.analysis.inputs.records import BenchmarkData, FilteredSet
from aflite_assets.analysis.rules.verdicts import NOT_BY_LABEL
from aflite_assets.analysis.scores.groups import control, headline_split
from aflite_assets.analysis.scores.judges import ONE_ANSWER
from aflite_assets.analysis.scores.questions import answers_text
from aflite_assets.reports.sentences.cues import planted_sentence
from aflite_assets.reports.sentences.headlines import headline_sentence
from aflite_assets.reports.sentences.rankings import ranking_sentences
from aflite_assets.reports.sentences.sample import sample_cost_sentences
from aflite_assets.reports.sentences.verdict import no_primary, passed_over_text, verdict_texts
from aflite_assets.reports.sentences.warnings import SMALL_TEST_SET, cautions
from aflite_assets.reports.sentences.wording import interval_points, paired_text, stop_text
from aflite_assets.reports.tables.cells import verdict_text
from aflite_assets.text import count, listed, one_line, percent
from aflite_assets.wording import truncate


def plain_summary(data: BenchmarkData) -> tuple[str, ...]:
    """The verdicts with what they rest on, then what the numbers say, then the warnings."""
    verdicts = [line for one in verdict_texts(data) for line in (one.sentence, *(each.text for each in one.details))]
    return (*verdicts, *findings(data), *cautions(data))


def findings(data: BenchmarkData) -> tuple[str, ...]:
    """Sentences per representation: filtering, planted rows, the comparisons judged, each evaluator, the pairs.

    Then, where rankings are compared, which of them is better.
    """
    sentences: list[str] = []
    for filtered in data.filtered:
        train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
        sentences.append(filtering_sentence(filtered, answers_text(data, train["row_id"].to_numpy())))
        sentences += [runs] if (runs := runs_sentence(filtered)) else []
        sentences += [planted_sentence(one) for one in data.planted if one.representation == filtered.representation]
        sentences.append(comparison_sentence(data, filtered.representation))
        sentences += [headline_sentence(headline) for headline in headlines(data, filtered.representation)]
        sentences += _paired_sentences(data, filtered.representation)
    return (*sentences, *sample_cost_sentences(data), *ranking_sentences(data))


_MEANS = {
    "above": "Rows chosen this way train better there than as many random ones.",
    "below": "As many random rows train better there than rows chosen this way.",
    "open": "No difference is shown there: there may be none, or one too small to see.",
}
_SHIFTED = "Answers may just have moved between classes, whose rows are uneven there."


def comparison_sentence(data: BenchmarkData, representation: str) -> str:
    """Whether filtering helps or harms training, by the primary comparison, and how many of the others say so."""
    lead = f"Primary comparison of representation {representation}"
    differences = paired_differences(data, representation)
    primary = next((difference for difference in differences if difference.primary), None)
    if primary is None:
        return f"{lead}: none, as {_no_primary(data)}."
    who = f"{primary.evaluator} trained on filtered instead of {primary.against}, on {primary.test_set}"
    why = "" if primary.verdict.why is None else f" ({primary.verdict.why})"
    text = f"{lead}: {primary.verdict.side or 'none'}{why} ({who}"
    text += f": {paired_text(primary.interval)})." if primary.interval is not None else ")."
    text += passed_over_text(data)
    if primary.verdict.side is not None:
        text += f" {_SHIFTED if primary.verdict.why == NOT_BY_LABEL else _MEANS[primary.verdict.side]}"
        if primary.tested_on != "all":
            text += (
                f" {primary.test_set} is drawn from the same data and shares its shortcuts, so a loss there may be the "
                "price of leaving them out. Only a test set where a shortcut is absent or misleads shows a gain."
            )
    others = [
        difference
        for difference in differences
        if difference.whole and not difference.primary and difference.verdict.side is not None
    ]
    return f"{text} {_others(others)}" if others else text


def _no_primary(data: BenchmarkData) -> str:
    if data.primary is None and data.test_sets and data.plain_evaluators and not free_sets(data):
        return (
            "the rows of every test set took part in the filter; a challenge set can be judged, or a split with "
            "evaluation_rows: kept"
        )
    return no_primary(data)


def _others(others: Sequence[PairedDifference]) -> str:
    sides = {side: sum(other.verdict.side == side for other in others) for side in ("above", "below", "open")}
    counted_sides = listed([f"{count(number)} {side}" for side, number in sides.items()])
    return f"{_other_comparisons(len(others))}, judged together with all of the report: {counted_sides}."


def _other_comparisons(number: int) -> str:
    return "One other comparison on a whole set" if number == 1 else f"{count(number)} other comparisons on whole sets"


def _paired_sentences(data: BenchmarkData, representation: str) -> list[str]:
    """A sentence per evaluator about the natural test set of the headlines and every challenge set."""
    natural = headline_split([one.name for one in data.test_sets if not one.challenge])
    differences = [
        difference
        for difference in paired_differences(data, representation)
        if (difference.train_set, difference.against) == ("filtered", control(data, representation))
        and (difference.test_set == natural or difference.tested_on == "all")
    ]
    by_evaluator = ([one for one in differences if one.evaluator == name] for name in data.plain_evaluators)
    return [text for pairs in by_evaluator if (text := paired_sentence(pairs))]


def runs_sentence(filtered: FilteredSet) -> str:
    """How alike several runs of the filter are; empty for one."""
    if filtered.kept_jaccard is None:
        return ""
    mean, least, chance = (filtered.kept_jaccard[name] for name in ("mean", "least", "by_chance"))
    return (
        f"Filtering with representation {filtered.representation} was run {filtered.runs} times, with other draws each "
        f"time. Of the train rows that either of two runs kept, {percent(mean)} % were kept by both (least "
        f"{percent(least)} %). Two random sets of these sizes share {percent(chance)} %. Differences count this."
    )


def filtering_sentence(filtered: FilteredSet, answers: str = "") -> str:
    """How much was kept, why filtering stopped, and what became of representation bias.

    `answers`: what the train rows are, of multiple choice (`questions.answers_text`).
    """
    train = filtered.rows.filter(pc.equal(filtered.rows["split"], "train"))
    kept, rows = int(pc.sum(train["kept"]).as_py() or 0), train.num_rows
    share = f"{', ' if answers else ''}{answers} ({percent(kept / rows)} %)" if rows else ""
    text = (
        f"Filtering with representation {filtered.representation} kept {count(kept)} of {count(rows)} train rows{share}"
    )
    table = filter_table(filtered)
    text += f" and stopped because {stop_text(filtered.stop_reason)}."
    return f"{text} {_bias_sentence(table, largest_class_by_iteration(filtered))}" if table else text


def _bias_sentence(table: Sequence[FilterRow], largest: Sequence[float]) -> str:
    first, last = table[0].representation_bias, table[-1].representation_bias
    verb = "fell" if last < first else "rose" if last > first else "stayed"
    return (
        f"Over {len(table)} passes representation bias {verb} from {percent(first)} % to {percent(last)} %. "
        f"The largest class makes up {percent(largest[-1])} % of the rows left in the pool."
    )


def paired_sentence(differences: Sequence[PairedDifference]) -> str | None:
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


def _paired_text(one: PairedDifference, differences: Sequence[PairedDifference]) -> str | None:
    if one.interval is None:
        return None
    labels = [part for part in differences if part.test_set == one.test_set and part.is_label]
    sides = [part for part in labels if part.verdict.found]
    if len({part.verdict.side for part in sides}) == 2:
        apart = [f"{paired_text(part.interval)} on {_label(part)}" for part in sides if part.interval is not None]
        return (
            f"The gold labels of {one.test_set} go in opposite directions: {listed(apart)} (all its rows: "
            f"{interval_points(one.interval)}, {verdict_text(one.verdict)})."
        )
    rows = f"the filtered rows of {one.test_set}" if one.tested_on == "filtered" else one.test_set
    return f"On {rows}: {paired_text(one.interval)} ({verdict_text(one.verdict)})."


def _label(part: PairedDifference) -> str:
    return truncate(one_line(part.label or ""), 60)


__all__ = [
    "ONE_ANSWER",
    "SMALL_TEST_SET",
    "cautions",
    "comparison_sentence",
    "filtering_sentence",
    "findings",
    "largest_class_by_iteration",
    "paired_sentence",
    "plain_summary",
]
