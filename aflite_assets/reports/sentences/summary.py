"""The summary of a report in sentences, and one line about each section of its page."""

from collections.abc import Sequence

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.facts import DatasetFacts
from aflite_assets.analysis.inputs.planted import PLANTED
from aflite_assets.checks import CheckOutcome
from aflite_assets.reports.sentences.comparisons import (
    comparison_sentence,
    headline_sentence,
    of_kind,
    paired_sentences,
    ranking_line,
    ranking_sentences,
    sample_cost_sentences,
    second_phase_line,
)
from aflite_assets.reports.sentences.cues import planted_sentence
from aflite_assets.reports.sentences.filtering import filtering_sentence, runs_sentence
from aflite_assets.reports.sentences.verdict import verdict_texts
from aflite_assets.reports.sentences.warnings import cautions
from aflite_assets.reports.sentences.wording import GLOSSARY, stop_text
from aflite_assets.text import count, listed, one_line
from aflite_assets.wording import counted

_MOST_NAMED = 4

_FIXED = {
    "top": "Whether the right class is first, or among the first five.",
    "zero-shot": "Every challenge set beside the others, without training on it.",
    "sizes": "What was left at each size beside as many random rows, and the published figures where there are any.",
    "transfer": "Trained on a train set, then on a challenge set's own train rows.",
    "warmup": "Learning curves of the encoders, and the size that they chose.",
    "sample": "How large a random sample is enough to learn the task; it was filtered in place of all train rows.",
    "predictability": "How often the classifiers were right about each row.",
    "data-map": "How evaluators learnt the rows that were kept and those that were removed.",
    "scatter": "Two features, before and after filtering.",
    "examples": "Rows of either side, drawn at random.",
    "similarity": "Kept, removed and random rows of one class, compared with each other.",
    "settings": "What was asked for, and what it was made with.",
    "words": f"{len(GLOSSARY)} terms and what they mean here.",
    "reading": "What to compare with what, and what an interval holds.",
    "in-distribution": "The comparison that the papers print, with the published figures where there are any.",
}


def plain_summary(analysis: Analysis) -> tuple[str, ...]:
    """The verdicts with what they rest on, then what the numbers say, then the warnings."""
    verdicts = [
        line for one in verdict_texts(analysis) for line in (one.sentence, *(each.text for each in one.details))
    ]
    return (*verdicts, *findings(analysis), *cautions(analysis))


def findings(analysis: Analysis) -> tuple[str, ...]:
    """Sentences per representation: filtering, planted rows, the comparisons judged, each evaluator, the pairs.

    Then, where rankings are compared, which of them is better.
    """
    sentences: list[str] = []
    for one in analysis.facts.filterings:
        name = one.representation
        sentences.append(filtering_sentence(one, one.train_questions))
        sentences += [runs] if (runs := runs_sentence(one)) else []
        sentences += [planted_sentence(each) for each in analysis.of(PLANTED) if each.representation == name]
        sentences.append(comparison_sentence(analysis, name))
        sentences += [headline_sentence(each) for each in analysis.headlines if each.representation == name]
        sentences += paired_sentences(analysis, name)
    return (*sentences, *sample_cost_sentences(analysis), *ranking_sentences(analysis))


def section_lines(analysis: Analysis) -> dict[str, str]:
    """By the section's id on the page."""
    facts, compared = analysis.facts, of_kind(analysis, "control")
    names = [one_line(name) for name in facts.plain_evaluators]
    challenges = [one_line(name) for name in facts.challenge_sets]
    judged = sum(one.side is not None for one in compared)
    natural = [one_line(name) for name in facts.natural_sets]
    tested = f" on {listed(natural, _MOST_NAMED)}" if natural else ""
    return _FIXED | {
        "says": f"In sentences, with {counted(len(cautions(analysis)), 'thing')} to keep in mind.",
        "rows": "Search the rows; open one to see why it was kept or removed.",
        "checks": _checks(analysis.checks),
        "accuracy": f"{listed(names, _MOST_NAMED) or 'No evaluator'}{tested}, for every train set.",
        "challenge": f"{listed(challenges, _MOST_NAMED) or 'None available'}, whole and in parts.",
        "forgettable": _forgettable(facts),
        "second-phase": second_phase_line(analysis) or "Models that went on, or were trained, with forgettable rows.",
        "rankings": ranking_line(analysis),
        "paired": f"{count(judged)} of {counted(len(compared), 'comparison')} on the same rows can be judged.",
        "filtering": _filtering(facts),
        "evidence": f"{counted(facts.evidence_tables, 'table')} about what marks the rows that went.",
    }


def _checks(checks: Sequence[CheckOutcome]) -> str:
    made = [check for check in checks if check.applies]
    failed = [one_line(check.title.replace("_", " ")) for check in made if not check.passed]
    skipped = len(checks) - len(made)
    left_out = f" {count(skipped)} skipped, as they do not apply." if skipped else ""
    if not failed:
        return f"All {counted(len(made), 'check')} passed.{left_out}"
    return (
        f"{count(len(failed))} of {counted(len(made), 'check')} did not pass: {listed(failed, _MOST_NAMED)}.{left_out}"
    )


def _forgettable(facts: DatasetFacts) -> str:
    models = facts.weak_models.items()
    said = [f"{name} forgets {count(one.forgettable)} of {count(one.rows)} rows" for name, one in models]
    return f"{'; '.join(said) or 'No weak model was trained'}."


def _filtering(facts: DatasetFacts) -> str:
    parts = [
        f"{one.representation}: {counted(one.passes, 'iteration')}, until {one_line(stop_text(one.stop_reason))}"
        for one in facts.filterings
    ]
    return f"{'; '.join(parts) or 'No filtering was run'}."
