"""The first screen of a report in words: what this is, what was found, what to do, and what limits it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from aflite_assets.analysis.analysis import Analysis
from aflite_assets.analysis.comparisons.falls import CHALLENGE_FALLS
from aflite_assets.analysis.comparisons.filtering_verdict import FilteringVerdict
from aflite_assets.analysis.rules.dataset_verdict import Code
from aflite_assets.analysis.rules.leaning import PropertyLeaning
from aflite_assets.analysis.scores.accuracies import TRAININGS
from aflite_assets.reports.sentences.summary import SMALL_TEST_SET
from aflite_assets.reports.sentences.verdict import VerdictWords, is_about, leaning_text, mending
from aflite_assets.reports.tables.cells import property_name
from aflite_assets.scan.cues import Cue
from aflite_assets.text import count, listed, one_line, percent, short, signed_points
from aflite_assets.wording import counted, truncate

Tone = Literal["found", "none", "unknown"]
"""What a person must tell apart at a glance."""

BADGES: Mapping[Tone, str] = {"found": "Finding", "none": "No shortcut shown", "unknown": "Cannot tell"}
SIGNS: Mapping[Tone, str] = {"found": "!", "none": "\N{EN DASH}", "unknown": "?"}

TONES: Mapping[Code, Tone] = {
    "shortcut_found_helps": "found",
    "shortcut_found_mixed": "found",
    "shortcut_found_harms": "found",
    "shortcut_found": "found",
    "leans_on": "found",
    "artefact_tells": "found",
    "helps_no_shortcut_named": "found",
    "easy": "none",
    "learnable_no_shortcut_shown": "none",
    "class_balance_only": "none",
    "nothing_found": "none",
    "cannot_tell": "unknown",
}

MOST_SETS = 4
"""Test sets that the first screen shows."""

_FINDINGS = frozenset({"no_artefact_tells"})
"""Checks whose failure is a finding and no doubt about one."""

_MOST_CUES, _MOST_FAILED, _LONGEST, _LONGEST_SAID = 12, 2, 40, 150


@dataclass(frozen=True)
class Limit:
    """One sentence on what limits the finding, and the section of the page that has more; "" if none has."""

    text: str
    section: str = ""


@dataclass(frozen=True)
class FirstScreen:
    """The sentences of the first screen; none is escaped.

    `about`: what the page is. `to_do` with its `command`, "" where there is none. `cues`: those of the scan that the
    finding is about, the strongest first. `evaluator`: whose accuracies show it, "" if none was trained.
    `test_sets`: those that show it, the natural one first. `representation`: "" if nothing was filtered.
    """

    tone: Tone
    about: str
    finding: str
    to_do: str
    command: str
    limits: tuple[Limit, ...]
    cues: tuple[Cue, ...]
    leaning: PropertyLeaning | None
    evaluator: str
    test_sets: tuple[str, ...]
    representation: str

    @property
    def badge(self) -> str:
        """The tone in words."""
        return BADGES[self.tone]

    @property
    def sign(self) -> str:
        """The tone as one sign."""
        return SIGNS[self.tone]


def first_screen(analysis: Analysis, *, from_files: bool) -> FirstScreen:
    """Word the verdict that says most. `from_files`: whether the rows stand in files that `aflite fix` can mend."""
    about = _about(analysis)
    if not analysis.verdicts:
        said = "No filtering was run, so there is no finding."
        return FirstScreen("unknown", about, said, "", "", tuple(_limits(analysis, "", ())), (), None, "", (), "")
    one = analysis.verdicts[0]
    words, cues = VerdictWords(analysis, one), _cues(analysis, one)
    tone, leaning, evaluator = TONES[one.verdict.code], one.verdict.evidence.leaning, _evaluator(analysis, one)
    sets = _test_sets(analysis, one)
    to_do, command = _to_do(analysis, words, cues if from_files else ())
    return FirstScreen(
        tone,
        about,
        finding_text(words),
        to_do,
        command,
        tuple(_limits(analysis, evaluator, sets)),
        cues,
        leaning,
        evaluator,
        sets,
        one.representation,
    )


def _about(analysis: Analysis) -> str:
    facts = analysis.facts
    size = f"{count(facts.split_rows.get('train', 0))} train rows, {count(len(facts.label_names))} classes"
    return (
        f"Can models solve {one_line(facts.name)} ({size}) by a shortcut, that is, by a cue that gives the label away "
        "without the task being solved?"
    )


def finding_text(words: VerdictWords) -> str:
    """The finding with its numbers, in the fewest sentences."""
    verdict, leaning = words.verdict, words.leaning
    if leaning is not None:
        price = _price(words.analysis, leaning)
        if verdict.shortcut:
            return f"Shortcut: {property_name(leaning)}. Models lean on it: {price}."
        return f"Models lean on {property_name(leaning)}: {price}. Whether that is a shortcut is yours to say."
    if verdict.code == "artefact_tells":
        return f"Artefact: {words.artefact()}"
    if verdict.code == "helps_no_shortcut_named":
        gains = f"instead of as many random rows, {words.changes('gains')}"
        return f"Filtering helps, though no shortcut can be named: {gains}."
    said = words.because(with_effect=False)
    return f"{said[:1].upper()}{said[1:]}"


def _price(analysis: Analysis, one: PropertyLeaning) -> str:
    """What leaning on the property costs, as accuracies where a fall was measured."""
    where = one.fallen_on or one.broken_on
    falls = {(fall.evaluator, fall.test_set): fall for fall in analysis.of(CHALLENGE_FALLS)}
    if where is not None and (fall := falls.get((one.evaluator, where))) is not None and fall.named:
        leads = "it goes with no class or another one" if one.fallen_on else "it misleads"
        before = f"from {percent(fall.natural)} % on “{short(fall.natural_set, _LONGEST)}”"
        after = f"to {percent(fall.challenge)} % on “{short(where, _LONGEST)}”, where {leads}"
        return f"accuracy of “{one.evaluator}” falls {before} {after}"
    if one.pull is not None and one.untied is not None:
        return (
            f"“{one.evaluator}” follows it to wrong classes {signed_points(one.pull)} points more often, but "
            f"{signed_points(one.untied)} if trained on rows in which it goes with no class"
        )
    said = leaning_text(one)
    return said.split(": ", 1)[1] if ": " in said else "it tells their answers"


def _cues(analysis: Analysis, one: FilteringVerdict) -> tuple[Cue, ...]:
    """The cues of the scan that the finding is about."""
    if analysis.scan is None:
        return ()
    evidence, by_itself = one.verdict.evidence, [cue for cue in analysis.scan.cues if cue.explained_by is None]
    if evidence.leaning is not None:
        about = [cue for cue in by_itself if is_about(cue, evidence.leaning)]
    elif one.verdict.code == "artefact_tells":
        about = [cue for cue in by_itself if cue.name == evidence.artefacts[0]]
    else:
        about = by_itself[:1]
    return tuple(about[:_MOST_CUES])


def _to_do(analysis: Analysis, words: VerdictWords, mendable: tuple[Cue, ...]) -> tuple[str, str]:
    """What to do in one or two sentences, and the command that does it or begins it."""
    name, code = analysis.facts.name, words.verdict.code
    numbers = " ".join(f"--cue {cue.number + 1}" for cue in mendable)
    fix = f"aflite fix {name}.yaml {numbers} --to NEW_FOLDER" if numbers else ""
    filtered = 'load_dataset("<dataset folder>", "filtered")'
    if words.verdict.shortcut and words.leaning is not None:
        mend = f"{_capital(mending(words.leaning))}."
        if words.effect != "helps":
            return mend, fix
        return f"{mend} Until then train on `filtered` where it misleads: {_gain(words)}.", fix or filtered
    if code == "leans_on" and words.leaning is not None:
        if words.leaning.kind in ("attribute", "column"):
            declared = f"`irrelevant: [{short(words.leaning.name, _LONGEST)}]`"
            return (
                f"If it is no part of the task, add {declared} to the file and judge again.",
                f"aflite refresh {name}",
            )
        return f"If it is no part of the task, {mending(words.leaning)}.", fix
    if code == "artefact_tells":
        return "Mend it in the source, then judge again. Until then no accuracy proves the task.", fix
    use = _capital(words.use_rows())
    if code == "cannot_tell":
        return f"Use {use[:1].lower()}{use[1:]}", f"aflite refresh {name}"
    if words.effect == "helps" and code == "helps_no_shortcut_named":
        return f"Use {use[:1].lower()}{use[1:]}", filtered
    return f"Use {use[:1].lower()}{use[1:]}", ""


def _gain(words: VerdictWords) -> str:
    gain = max(words.verdict.evidence.gains, key=lambda one: one.difference or 0.0)
    points = f"{signed_points(gain.difference or 0.0)} points on “{short(gain.test_set, _LONGEST)}”"
    return f"“{gain.evaluator}” gains {points} over as many random rows"


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _evaluator(analysis: Analysis, one: FilteringVerdict) -> str:
    """The evaluator of the finding, else one that may judge, else the first."""
    evidence, judges = one.verdict.evidence, analysis.judging.judges
    named = [evidence.leaning.evaluator] if evidence.leaning else []
    named += [comparison.evaluator for comparison in evidence.comparisons[:1]]
    return next(iter([*named, *judges, *analysis.facts.plain_evaluators]), "")


def _test_sets(analysis: Analysis, one: FilteringVerdict) -> tuple[str, ...]:
    """The test sets of the finding after the natural ones, at most `MOST_SETS`, those of the dataset first."""
    facts, evidence = analysis.facts, one.verdict.evidence
    leaning = evidence.leaning
    asked = [leaning.fallen_on or "", leaning.broken_on or ""] if leaning is not None else []
    names = [*facts.natural_sets[:1], *asked, *(each.test_set for each in evidence.comparisons), *facts.test_set]
    chosen = [name for name in dict.fromkeys(names) if name in facts.test_set][:MOST_SETS]
    return tuple(sorted(chosen, key=list(facts.test_set).index))


def _limits(analysis: Analysis, evaluator: str, test_sets: tuple[str, ...]) -> Iterator[Limit]:
    """What a reader must know before trusting the finding, the gravest first."""
    facts = analysis.facts
    yield from (Limit(one_line(note)) for note in facts.notes)
    failed = [check for check in analysis.checks if check.outcome == "failed" and check.name not in _FINDINGS]
    for check in failed[:_MOST_FAILED]:
        title = one_line(check.title.replace("_", " "))
        said = truncate(one_line(check.found or check.asks).rstrip("."), _LONGEST_SAID)
        yield Limit(f"Check “{title}” failed: {said}{'' if said.endswith('…') else '.'}", "checks")
    if len(failed) > _MOST_FAILED:
        yield Limit(f"{counted(len(failed) - _MOST_FAILED, 'more check')} failed.", "checks")
    seeds = {
        (one.train_set, one.seed)
        for one in analysis.of(TRAININGS)
        if one.evaluator == evaluator and one.status == "done"
    }
    fewest = min((sum(name == train_set for name, _ in seeds) for train_set, _ in seeds), default=0)
    if evaluator and fewest < 2:
        yield Limit(
            f"“{evaluator}” was trained with one seed only, so how much training moves it is unknown.", "overview"
        )
    small = [facts.test_set[name] for name in test_sets if facts.test_set[name].rows < SMALL_TEST_SET]
    if small:
        sizes = listed([f"“{short(one.name, _LONGEST)}” {count(one.rows)}" for one in small])
        yield Limit(f"Few test rows, so wide intervals: {sizes}.", "overview")
    if facts.missing_sets:
        yield Limit(f"Not tested on {listed(list(map(one_line, facts.missing_sets)), 3)}: not available.", "overview")
    if unfinished := sum(one.status != "done" for one in analysis.of(TRAININGS)):
        yield Limit(
            f"{counted(unfinished, 'training')} of {count(len(analysis.of(TRAININGS)))} have no result.", "overview"
        )
    if evaluator and fewest > 1:
        outcomes = {check.outcome for check in analysis.checks} - {"skipped"}
        passed = "; every check that applies passed" if outcomes == {"passed"} else ""
        yield Limit(f"It rests on {counted(fewest, 'training')} of “{evaluator}” per train set{passed}.", "overview")
