"""The summary of a report in sentences: findings, cautions, and one line per section of the page."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS
from aflite_assets.analysis.comparisons.leanings import LEANINGS
from aflite_assets.analysis.inputs.cues import PLANTED
from aflite_assets.analysis.scores.judges import ONE_ANSWER, one_answer_names, same_kind
from aflite_assets.analysis.scores.score_tables import TRAININGS
from aflite_assets.checks import CheckOutcome
from aflite_assets.reports.sentences import comparisons, filtering
from aflite_assets.reports.sentences.attributes import attributes_line
from aflite_assets.reports.sentences.leaning import leanings_line
from aflite_assets.reports.sentences.verdict import verdict_texts
from aflite_assets.reports.sentences.wording import GLOSSARY
from aflite_assets.reports.tables.cells import units_text
from aflite_assets.scan.sentences import headline
from aflite_assets.studies import functions
from aflite_assets.text import count, listed, one_line
from aflite_assets.wording import counted

SMALL_TEST_SET = 300
"""Least number of rows of a test set without a caution. With fewer rows, the 95 % interval of accuracy extends over 5
points to either side.
"""

_MOST_NAMED = 4

_FIXED = {
    "sizes": "What was left at each size, compared with as many random rows and with published figures if there are "
    "any.",
    "transfer": "Models trained on a train set, then on a challenge set's own train rows.",
    "warmup": "Learning curves of the encoders, and the sample size chosen by them.",
    "data-map": "How evaluators learnt the rows that were kept and those that were removed.",
    "examples": "Rows of either side, drawn at random.",
    "settings": "The settings of this run, and the software that made it.",
    "words": f"{len(GLOSSARY)} terms and what they mean here, and which results to compare.",
    "falls": "What each change from full to filtered costs in accuracy.",
}


def plain_summary(analysis: Analysis) -> tuple[str, ...]:
    """Return all sentences of the summary: the verdicts with their reasons, the findings, and the cautions."""
    said = ((one.sentence, *(detail.text for detail in one.details)) for one in verdict_texts(analysis))
    return (*chain.from_iterable(said), *findings(analysis), *cautions(analysis))


def findings(analysis: Analysis) -> tuple[str, ...]:
    """Return sentences on the findings for each representation (filtering, planted rows and comparisons), of studies,
    and on rankings.
    """
    sentences: list[str] = []
    for one in analysis.facts.filterings:
        name = one.representation
        said = filtering.filtering_sentence(one, one.train_questions), filtering.runs_sentence(one)
        sentences += filter(None, said)
        sentences += map(filtering.planted_sentence, analysis.of(PLANTED, name))
        sentences.append(comparisons.comparison_sentence(analysis, name))
        sentences += (comparisons.fall_sentence(analysis.facts, fall) for fall in analysis.falls(name))
        sentences += comparisons.paired_sentences(analysis, name)
    sentences += comparisons.adversary_sentences(analysis)
    of_studies = (make(analysis) for make in functions("reports.sentences"))
    return (*sentences, *chain.from_iterable(of_studies), *comparisons.ranking_sentences(analysis))


def section_lines(analysis: Analysis) -> dict[str, str]:
    """Return one line about each section of the page, by the id of the section."""
    facts, compared = analysis.facts, comparisons.of_kind(analysis, "control")
    tested = [*facts.natural_sets, *facts.challenge_sets]
    evaluators, sets = (
        listed([one_line(name) for name in names], _MOST_NAMED) for names in (facts.plain_evaluators, tested)
    )
    asked, falls = analysis.of(LEANINGS), analysis.of(CHALLENGE_FALLS)
    judged = sum(one.side is not None for one in compared)
    return _FIXED | {
        "says": f"The results in sentences, with {counted(len(cautions(analysis)), 'thing')} to keep in mind.",
        "rows": "Search the rows; open one to see why it was kept or removed.",
        "cues": "" if analysis.scan is None else headline(analysis.scan),
        "checks": _checks(analysis.checks),
        "accuracy": f"{evaluators or 'No evaluator'}{f' on {sets}' if sets else ''}, for every train set.",
        "rankings": comparisons.ranking_line(analysis),
        "leanings": f"{leanings_line(asked)}; {counted(sum(one.named for one in falls), 'fall')} named.",
        "attributes": attributes_line(analysis),
        "paired": f"{count(judged)} of {counted(len(compared), 'comparison')} on the same rows can be judged.",
    }


def _checks(checks: Sequence[CheckOutcome]) -> str:
    made = [check for check in checks if check.applies]
    failed = [one_line(check.title.replace("_", " ")) for check in made if not check.passed]
    skipped, number = len(checks) - len(made), counted(len(made), "check")
    found = f"{count(len(failed))} of {number} did not pass: {listed(failed, _MOST_NAMED)}."
    left_out = f" {count(skipped)} skipped, as they do not apply." if skipped else ""
    return f"{found if failed else f'All {number} passed.'}{left_out}"


def cautions(analysis: Analysis) -> tuple[str, ...]:
    """Return cautions about the numbers, for example about single seeds, about small or missing test sets and about
    unfinished training runs.
    """
    parts = _selection_cautions, _related_cautions, _training_cautions, _size_cautions
    return tuple(sentence for part in parts for sentence in part(analysis))


def _selection_cautions(analysis: Analysis) -> Iterator[str]:
    """Yield cautions about test rows that filtering selected, about test rows in the filter's pool, and about rows in
    groups.
    """
    tests = analysis.facts.test_sets
    if analysis.of(TRAININGS) and any(one.filtered_rows for one in tests):
        left = "those that filtering left, and it removed what linear classifiers predict best"
        lower = "accuracy on them is lower by construction, and a difference on them does not count as help or harm"
        yield f"Filtered test rows are {left}. So {lower}."
    if pooled := listed([one.name for one in tests if one.pooled]):
        took_part = f"The rows of {pooled} entered the filter's pool, so they influenced which train rows were kept"
        yield f"{took_part}: differences on them are shown, but no verdict is based on them."
    if grouped := listed([one.name for one in tests if one.groups is not None]):
        yield f"Rows of {grouped} belong together in groups, so their intervals count groups."


def _related_cautions(analysis: Analysis) -> Iterator[str]:
    """Yield cautions about train rows held back for early stopping, and about evaluators with the same model or
    architecture as a representation.
    """
    facts = analysis.facts
    same = same_kind(facts.evaluators, facts.representations, facts.families)
    alike = same_kind(facts.evaluators, facts.representations, facts.architectures)
    near = {name: [one for one in found if one not in same.get(name, ())] for name, found in alike.items()}
    if same:
        make = "These evaluators are of the same kind as a filter, so rows were chosen against them"
        yield f"{make}: {_as_representations(same)}. They fall more than others would. {_judge_by(analysis, same)}"
    if any(near.values()):
        family = "These evaluators are of the adversary's family, another size or copy of its architecture"
        yield f"{family}, so they may fall more than others would: {_as_representations(near)}."
    shares = [facts.held_back[name] for name in facts.evaluators if name in facts.held_back]
    for share in dict.fromkeys(shares):
        rows = f"about {100 * (1 - share):.4g} % of the train rows that the tables name"
        names = listed([name for name in facts.evaluators if facts.held_back.get(name) == share])
        yield f"These were trained on {rows}, and early stopping used the rest: {names}."


def _as_representations(related: Mapping[str, list[str]]) -> str:
    return listed([f"{name} (as representation {listed(found)})" for name, found in related.items() if found])


def _judge_by(analysis: Analysis, related: Mapping[str, list[str]]) -> str:
    facts = analysis.facts
    whole = [name for name in facts.judging_evaluators if name not in (*facts.partial_inputs, *related)]
    if others := listed([name for name in analysis.judging.judges if name in whole]):
        return f"Judge by the other evaluators that see whole inputs: {others}."
    if whole:
        return "The other evaluators that see whole inputs learnt too little to judge by."
    return "No evaluator of another kind saw whole inputs; add one to judge by."


def _training_cautions(analysis: Analysis) -> Iterator[str]:
    """Yield the warnings that filters gave, and cautions about evaluators that learnt little or were trained with only
    one seed.
    """
    facts, judging = analysis.facts, analysis.judging
    for one in facts.filterings:
        yield from (f"Filter with {one.representation}: {warning}" for warning in one.warnings)
    if behind := [one for one in judging.margins if not one.beaten and one.evaluator in facts.judging_evaluators]:
        names = listed([f"{one.evaluator} (on {one.test_set})" for one in behind])
        yield f"When trained on full, these are not shown to be better than {behind[0].rival}: {names}."
    if collapsed := listed(one_answer_names(judging.one_answer), _MOST_NAMED):
        one_class = f"These models give one class to at least {round(100 * ONE_ANSWER)} % of a test set"
        yield (
            f"{one_class}, and are not shown to be better than always predicting its largest class. They learnt "
            f"little: {collapsed}."
        )
    done = [one for one in analysis.of(TRAININGS) if one.status == "done"]
    seeds = Counter((one.evaluator, one.train_set, one.representation) for one in done)
    alone = [key for key, number in seeds.items() if number == 1]
    compared = {(name, one.representation) for one in facts.filterings for name in ("filtered", one.control)}
    unjudged = {name for name, *trained_on in alone if tuple(trained_on) in compared}
    if names := listed([name for name in facts.evaluators if name in unjudged]):
        unknown = "so the variation between seeds is unknown and there is no verdict"
        yield f"These have one seed only, {unknown}: {names}."
    kept = [(f"{name} on {train_set}", by) for name, train_set, by in alone if name not in unjudged]
    if others := listed([f"{text} ({by})" if by else text for text, by in kept], _MOST_NAMED):
        narrow = "so intervals of comparisons with them count test rows alone and are too narrow"
        yield f"These were trained with one seed only, {narrow}: {others}."


def _size_cautions(analysis: Analysis) -> Iterator[str]:
    """Yield cautions about small test sets, small parts of test sets, missing test sets and unfinished trainings."""
    tests, trainings = analysis.facts.test_sets, analysis.of(TRAININGS)
    sizes = [(one.name, one.rows) for one in tests]
    sizes += [(f"{one.name} filtered with {name}", rows) for one in tests for name, rows in one.filtered_rows.items()]
    if small := listed([f"{name} ({count(rows)})" for name, rows in sizes if rows < SMALL_TEST_SET]):
        yield f"Under {SMALL_TEST_SET} test {units_text(analysis.facts)}, so wide intervals: {small}."
    small_parts = ((one, sum(part.rows < SMALL_TEST_SET for part in one.parts)) for one in tests)
    if parts := [f"{one.name} ({count(few)} of {counted(len(one.parts), 'part')})" for one, few in small_parts if few]:
        yield f"Parts of challenge sets with under {SMALL_TEST_SET} test rows: {listed(parts)}."
    if missing := listed(list(analysis.facts.missing_sets)):
        yield f"These challenge sets are not available, so nothing was tested on them: {missing}."
    if unfinished := sum(one.status != "done" for one in trainings):
        yield f"{unfinished} of {len(trainings)} cells have no result; the tables say which and why."
