"""The first screen of a report: the purpose of the page, the finding, advice, and the limits of the finding."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict
from aflite_assets.analysis.comparisons.versions import VersionComparison
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.analysis.scores.score_tables import TRAININGS
from aflite_assets.checks import CheckOutcome
from aflite_assets.reports.sentences.attributes import harder_sentences
from aflite_assets.reports.sentences.finding import FindingWords, Tone, tells_without_question, tone_of
from aflite_assets.reports.sentences.finding_cues import cues_of
from aflite_assets.reports.sentences.summary import SMALL_TEST_SET
from aflite_assets.reports.sentences.versions import outcome_line
from aflite_assets.scan.cues import Cue
from aflite_assets.scan.remedies import effect_of
from aflite_assets.scan.sentences import blind_sentence, column_question
from aflite_assets.text import count, listed, one_line, short
from aflite_assets.wording import counted, truncate

SIGNS: Mapping[Tone, str] = {
    "found": "!", "judge": "\N{BLACK DIAMOND}", "none": "\N{EN DASH}", "unknown": "?"
}  # fmt: skip

MOST_SETS = 4
"""Largest number of test sets on the first screen."""

FEWEST_SUSPECTS = 10
"""Least number of suspected label errors, so that the first screen names them."""

_FINDINGS = frozenset({"no_artefact_tells", "question_is_needed"})
"""Names of checks: if such a check fails, this is itself a finding and not a doubt about another finding."""

_CONSEQUENCES: Mapping[str, str] = {
    "no_repeats_across_splits": "Accuracies may be too high, because train rows are repeated in other splits",
    "no_groups_across_splits": "Accuracies may be too high, because groups of train rows continue in other splits",
    "few_repeats_in_train": "Train rows repeat each other",
    "no_label_conflicts": "Rows with the same input have different labels",
    "texts_fit_encoders": "Encoders do not see whole texts",
    "all_cells_done": "Some trainings have no result",
}
"""The consequence of a failed check, by the check's name, if the consequence is the same for every finding."""

_ABOUT: Mapping[str, str] = {
    "data": "On the data",
    "warm-up": "On the encoder",
    "filter": "On the filtered rows",
    "weak models": "On the weak model",
    "evaluators": "On the evaluator",
}
_ABOUT_SETS = {"not_at_chance": "On the challenge set"}
"""Beginnings of the sentences on checks of test sets, by the check's name."""

_MOST_CUES, _MOST_FAILED, _MOST_HARDER, _LONGEST, _LONGEST_SAID = 12, 2, 2, 40, 190


@dataclass(frozen=True)
class Limit:
    """One sentence on a limit of the finding, and the section of the page that has the details ("" if there is
    none).
    """

    text: str
    section: str = ""


@dataclass(frozen=True, kw_only=True)
class FirstScreen:
    """Content of the first screen of a report, as text that is not escaped.

    `badge`: the kind of finding in two or three words. `about`: a sentence on the purpose of the page. `sure`: how
    certain the finding is. `change`: what became of the strongest cue of an earlier result, or "". `to_do`: advice, or
    "". `command`: the command for the advice, or "". `cues`: the scan's cues that the finding is about, the strongest
    first. `carriers`: sentences on how many rows have the cues. `evaluator`: the evaluator whose accuracies show the
    finding, or "" if no evaluator was trained. `test_sets`: the test sets that show the finding, starting with the
    natural test set. `set_notes`: one note per test set on how the finding's cue is associated with its class.
    `representation`: the representation of the filtering that the finding is about, or "" if nothing was filtered.
    """

    tone: Tone
    badge: str
    about: str
    finding: str
    sure: str = ""
    to_do: str = ""
    command: str = ""
    limits: tuple[Limit, ...] = ()
    change: str = ""
    cues: tuple[Cue, ...] = ()
    carriers: str = ""
    leaning: PropertyLeaning | None = None
    evaluator: str = ""
    test_sets: tuple[str, ...] = ()
    set_notes: Mapping[str, str] = field(default_factory=dict)
    representation: str = ""

    @property
    def sign(self) -> str:
        """Symbol that the page shows for the tone of the finding."""
        return SIGNS[self.tone]


def first_screen(analysis: Analysis, *, from_files: bool, versions: Sequence[VersionComparison] = ()) -> FirstScreen:
    """Return the first screen for the most informative verdict.

    `from_files`: whether the rows are in files that `aflite fix` can copy and clean. `versions`: comparisons with
    earlier results; for a cleaned copy, the comparison with the original comes last.
    """
    about = _about(analysis)
    falls = analysis.of(CHALLENGE_FALLS)
    change = next(filter(None, (outcome_line(one, analysis.scan, falls) for one in reversed(versions))), "")
    if not analysis.verdicts:
        found = "No filtering was run, so there is no finding."
        limits = tuple(_limits(analysis, "", (), touched=True))
        return FirstScreen(
            tone="unknown", badge="Cannot tell", about=about, finding=found, limits=limits, change=change
        )
    one = analysis.verdicts[0]
    cues, evaluator, sets = cues_of(analysis, one), _evaluator(analysis, one), _test_sets(analysis, one)
    words = FindingWords(analysis, one, cues, evaluator)
    tone, badge = tone_of(one, cues, without_question=tells_without_question(analysis))
    rests_on_filter = tone in ("none", "unknown") or one.verdict.evidence.effect is not None
    return FirstScreen(
        tone=tone,
        badge=badge,
        about=about,
        finding=" ".join(filter(None, [_without_question(analysis), words.found()])),
        sure=words.sure(),
        to_do=words.to_do(),
        command=_command(analysis, one, tone, cues if from_files and not analysis.facts.split_questions else ()),
        limits=tuple(_limits(analysis, evaluator, sets, touched=rests_on_filter)),
        change=change,
        cues=cues[:_MOST_CUES],
        carriers=words.carriers(),
        leaning=one.verdict.evidence.leaning,
        evaluator=evaluator,
        test_sets=sets,
        set_notes=words.set_notes(),
        representation=one.representation,
    )


def _about(analysis: Analysis) -> str:
    facts = analysis.facts
    rows = count(facts.split_rows.get("train", 0))
    size = f"{rows} train rows, {count(len(facts.label_names))} classes"
    if (questions := facts.split_questions.get("train")) is not None:
        size = f"{rows} answers to {count(questions)} train questions"
    return (
        f"Can models solve {one_line(facts.name)} ({size}) by a shortcut, that is, by a cue that gives the label "
        "away without solving the task?"
    )


def _without_question(analysis: Analysis) -> str:
    """Return a sentence on how often the right answer is found without the question.

    Return "" if rows are not answers, or if no rule or model is better than chance.
    """
    blind = None if analysis.scan is None else analysis.scan.blind
    return "" if blind is None or not blind.named else blind_sentence(blind)


def _command(analysis: Analysis, one: FilteringVerdict, tone: Tone, mendable: tuple[Cue, ...]) -> str:
    """Return the command for the first step of the advice, or "" if there is no command."""
    name, verdict, leaning = analysis.facts.name, one.verdict, one.verdict.evidence.leaning
    if tone == "judge" and tells_without_question(analysis):
        return f"aflite scan {name}.yaml"
    fix = _fix_command(analysis, mendable[:_MOST_CUES], is_judged=tone == "judge")
    load = 'load_dataset("<dataset folder>", "filtered")'
    if verdict.shortcut:
        return fix or (load if verdict.evidence.effect == "helps" else "")
    if verdict.code == "leans_on":
        declares = leaning is not None and leaning.kind in ("attribute", "column")
        return f"aflite refresh {name}" if declares else fix
    if verdict.code == "artefact_tells" or tone == "judge":
        return fix
    return {"helps_no_shortcut_named": load, "cannot_tell": f"aflite refresh {name}"}.get(verdict.code, "")


def _fix_command(analysis: Analysis, mendable: tuple[Cue, ...], *, is_judged: bool) -> str:
    """Return the command that writes a cleaned copy, with a comment on its effect, or "" without a cue to remove.

    `is_judged`: whether a person decides whether the cue belongs to the task.
    """
    if not mendable or analysis.scan is None:
        return ""
    numbers = " ".join(f"--cue {cue.number + 1}" for cue in mendable)
    effect = effect_of(analysis.scan, mendable)
    command = f"aflite fix {analysis.facts.name}.yaml {numbers} --to NEW_FOLDER"
    first = "only if it is no real signal: " if is_judged and column_question(mendable[:1]) else ""
    return f"{command}   # {first}{effect}, in a copy" if effect else command


def _evaluator(analysis: Analysis, one: FilteringVerdict) -> str:
    """Return the evaluator whose accuracies the first screen shows.

    If the finding names an evaluator, the result is this evaluator. If the finding names none, the result is an
    evaluator that is accurate enough to judge shortcuts, or else the first evaluator.
    """
    evidence, judges = one.verdict.evidence, analysis.judging.judges
    named = [evidence.leaning.evaluator] if evidence.leaning else []
    named += [comparison.evaluator for comparison in evidence.comparisons[:1]]
    return next(iter([*named, *judges, *analysis.facts.plain_evaluators]), "")


def _test_sets(analysis: Analysis, one: FilteringVerdict) -> tuple[str, ...]:
    """Return at most `MOST_SETS` test sets: the first natural test set, and the test sets that the finding names.

    If the finding names fewer test sets, other test sets are added.
    """
    facts, evidence = analysis.facts, one.verdict.evidence
    leaning = evidence.leaning
    asked = [leaning.fallen_on or "", leaning.broken_on or ""] if leaning is not None else []
    names = [*facts.natural_sets[:1], *asked, *(each.test_set for each in evidence.comparisons), *facts.test_set]
    chosen = [name for name in dict.fromkeys(names) if name in facts.test_set][:MOST_SETS]
    return tuple(sorted(chosen, key=list(facts.test_set).index))


def _limits(analysis: Analysis, evaluator: str, test_sets: tuple[str, ...], *, touched: bool) -> Iterator[Limit]:
    """Yield the limits of the finding, the most serious limit first.

    `touched`: whether the finding would change if the filter kept other rows.
    """
    facts = analysis.facts
    yield from (Limit(one_line(note)) for note in facts.notes)
    yield from (Limit(said, "attributes") for said in harder_sentences(analysis)[:_MOST_HARDER])
    failed = [check for check in analysis.checks if check.outcome == "failed" and check.name not in _FINDINGS]
    failed.sort(key=lambda check: check.about == "filter" and not touched)
    shown = failed[:_MOST_FAILED]
    beside = [check for check in shown if check.about == "filter" and not touched]
    yield from (Limit(_failed(check, touched=touched), "checks") for check in shown if check not in beside)
    # Models that have learnt nothing contradict labels at random.
    biases = {one.representation: one.verdict.evidence.bias for one in analysis.verdicts}
    unlearnt = {name for name, bias in biases.items() if bias is not None and not bias.is_learnt}
    suspected = max((one.suspected_labels for one in facts.filterings if one.representation not in unlearnt), default=0)
    if suspected >= FEWEST_SUSPECTS:
        yield Limit(
            f"{counted(suspected, 'row')} may have a wrong label, or may only be hard: models that had not seen the "
            "row predict another class. Check the surest rows first.",
            "rows",
        )
    seeds = {
        (one.train_set, one.seed)
        for one in analysis.of(TRAININGS)
        if one.evaluator == evaluator and one.status == "done"
    }
    fewest = min((sum(name == train_set for name, _ in seeds) for train_set, _ in seeds), default=0)
    if evaluator and fewest < 2:
        yield Limit(
            f"“{evaluator}” was trained with one seed only, so the variation between trainings is unknown.", "models"
        )
    small = [facts.test_set[name] for name in test_sets if facts.test_set[name].rows < SMALL_TEST_SET]
    if small:
        sizes = listed([f"“{short(one.name, _LONGEST)}” {count(one.rows)}" for one in small])
        yield Limit(f"Some test sets have few rows, so their intervals are wide: {sizes}.", "models")
    if facts.partial_inputs and _without_question(analysis):
        names = listed([f"“{short(name, _LONGEST)}”" for name in facts.partial_inputs], 3)
        yield Limit(
            f"An answer is scored by itself by {names}, which can miss what the scan finds by comparing a question's "
            "answers.",
            "cues",
        )
    if facts.missing_sets:
        yield Limit(f"Not tested on {listed(list(map(one_line, facts.missing_sets)), 3)}: not available.", "models")
    if unfinished := sum(one.status != "done" for one in analysis.of(TRAININGS)):
        yield Limit(
            f"{counted(unfinished, 'training')} of {count(len(analysis.of(TRAININGS)))} have no result.", "models"
        )
    if evaluator and fewest > 1:
        outcomes = {check.outcome for check in analysis.checks} - {"skipped"}
        passed = "; every check that applies passed" if outcomes == {"passed"} else ""
        yield Limit(
            f"Accuracies are means over {counted(fewest, 'training')} of “{evaluator}” per train set{passed}.", "models"
        )
    yield from (Limit(_failed(check, touched=touched), "checks") for check in beside)
    if len(failed) > _MOST_FAILED:
        told = any(check.outcome == "failed" and check.name in _FINDINGS for check in analysis.checks)
        besides = ", besides those that are about the finding" if told else ""
        yield Limit(f"{counted(len(failed) - _MOST_FAILED, 'more check')} failed{besides}.", "checks")


def _failed(check: CheckOutcome, *, touched: bool) -> str:
    """Return a sentence on a failed check: the subject, the consequence, and what was found."""
    subject = f" “{short(check.subject, _LONGEST)}”" if check.subject else ""
    about = _ABOUT_SETS.get(check.name, _ABOUT.get(check.about, "On the data"))
    lead = _CONSEQUENCES.get(check.name, f"{about}{subject}")
    found = _first_sentences(one_line(check.found or check.what_to_do or check.asks))
    besides = check.about == "filter" and not touched
    return (
        f"{lead}: {found}{'' if found.endswith('…') else '.'}{' The finding does not depend on it.' if besides else ''}"
    )


def _first_sentences(text: str) -> str:
    """Return the first sentences of a text within `_LONGEST_SAID` characters, without the last full stop.

    A first sentence that does not fit is cut.
    """
    fitting = text[: _LONGEST_SAID + 1].rpartition(". ")[0] if len(text) > _LONGEST_SAID else text
    return fitting.rstrip(".") or truncate(text.rstrip("."), _LONGEST_SAID)
