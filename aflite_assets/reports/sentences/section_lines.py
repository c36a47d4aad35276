"""One line about each section of the page, so that a folded one says what it holds."""

from aflite_assets.analysis.comparisons.paired import paired_differences
from aflite_assets.analysis.comparisons.second_phase import phase_differences
from aflite_assets.analysis.filtering import filter_table
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.sentences.rankings import ranking_line
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


def section_lines(data: BenchmarkData) -> dict[str, str]:
    """By the section's id on the page."""
    names = [one_line(name) for name in data.plain_evaluators]
    challenges = [one_line(one.name) for one in data.test_sets if one.challenge]
    compared = [one for name in data.representations for one in paired_differences(data, name)]
    judged = sum(one.verdict.side is not None for one in compared)
    natural = [one_line(one.name) for one in data.test_sets if not one.challenge]
    tested = f" on {listed(natural, _MOST_NAMED)}" if natural else ""
    return _FIXED | {
        "says": f"In sentences, with {counted(len(cautions(data)), 'thing')} to keep in mind.",
        "rows": "Search the rows; open one to see why it was kept or removed.",
        "checks": _checks(data),
        "accuracy": f"{listed(names, _MOST_NAMED) or 'No evaluator'}{tested}, for every train set.",
        "challenge": f"{listed(challenges, _MOST_NAMED) or 'None available'}, whole and in parts.",
        "forgettable": _forgettable(data),
        "second-phase": second_phase_line(data) or "Models that went on, or were trained, with forgettable rows.",
        "rankings": ranking_line(data),
        "paired": f"{count(judged)} of {counted(len(compared), 'comparison')} on the same rows can be judged.",
        "filtering": _filtering(data),
        "evidence": f"{counted(len(data.evidence), 'table')} about what marks the rows that went.",
    }


def _checks(data: BenchmarkData) -> str:
    made = [check for check in data.checks if check.applies]
    failed = [one_line(check.title.replace("_", " ")) for check in made if not check.passed]
    skipped = len(data.checks) - len(made)
    left_out = f" {count(skipped)} skipped, as they do not apply." if skipped else ""
    if not failed:
        return f"All {counted(len(made), 'check')} passed.{left_out}"
    return (
        f"{count(len(failed))} of {counted(len(made), 'check')} did not pass: {listed(failed, _MOST_NAMED)}.{left_out}"
    )


def _forgettable(data: BenchmarkData) -> str:
    models = {} if data.forgettables is None else data.forgettables.models
    said = [f"{name} forgets {count(facts.forgettable)} of {count(facts.rows)} rows" for name, facts in models.items()]
    return f"{'; '.join(said) or 'No weak model was trained'}."


def second_phase_line(data: BenchmarkData) -> str | None:
    """In a sentence what second phases on forgettable rows gain over random rows; None where none was judged."""
    whole = [one for one in phase_differences(data) if one.part.column is one.part.label is None]
    judged = [one for one in whole if one.verdict.side is not None]
    if not judged:
        return None
    found = [one for one in judged if one.verdict.found]
    if not found:
        return "No difference was found between second phases on forgettable rows and on as many random ones."
    challenge = {one.name for one in data.test_sets if one.challenge}
    found.sort(
        key=lambda one: (
            not one.verdict.primary,
            one.test_set not in challenge,
            -abs(one.interval.difference if one.interval else 0.0),
        )
    )
    named = found[0]
    assert named.interval is not None
    side = "above" if named.interval.difference > 0 else "below"
    others = f"; {len(found)} of {len(judged)} comparisons found a difference" if len(judged) > 1 else ""
    return (
        f"“{named.evaluator}” is {abs(named.interval.difference):.1f} points {side} “{named.against}” on "
        f"“{named.test_set}”{others}."
    )


def _filtering(data: BenchmarkData) -> str:
    parts = [
        f"{one.representation}: {counted(len(filter_table(one)), 'iteration')}, until "
        f"{one_line(stop_text(one.stop_reason))}"
        for one in data.filtered
    ]
    return f"{'; '.join(parts) or 'No filtering was run'}."
