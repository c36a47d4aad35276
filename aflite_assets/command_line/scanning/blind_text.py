"""Text and JSON about rules and models that find the right answer without reading the question, or by overlap with its
words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from aflite_assets.command_line.terminal import escaped, indented, table, truncate_escaped
from aflite_assets.scan.blind.advice import next_steps
from aflite_assets.scan.blind.meanings import meaning
from aflite_assets.scan.blind.records import ALL_SUBSETS, BlindRule, BlindScores
from aflite_assets.scan.sentences import percent

MOST_RULES = 12
"""Rules of all questions that are printed, and of their parts."""

_TITLE = "Without the question, right answers found by picking (ties of equals count half)"
_OVERLAP = "By overlap with the question, which may belong to the task"
_PART, _TERM = 24, 40


def nature(rule: BlindRule) -> str:
    """Return the kind of a rule: "model", "artefact" or "candidate"."""
    if rule.is_model:
        return "model"
    return "candidate" if rule.reason is None else "artefact"


def blind_lines(scores: BlindScores | None, scan: str) -> list[str]:
    """Return lines on the rules that find right answers significantly better than chance, with examples and advice.

    `scan`: the command line that repeats the scan, with which each advised command begins; "" for a dataset's file.
    """
    if scores is None:
        return []
    none = [f"{_TITLE}: no rule and no model finds surely more than chance, {percent(scores.chance)}."]
    alone = _rules_table(_TITLE, scores.sure) if scores.sure else none
    overlap = [*_rules_table(_OVERLAP, scores.sure_overlap), ""] if scores.sure_overlap else []
    return [*alone, "", *overlap, *_terms(scores), *_examples(scores), *_next_steps(scores, scan)]


def _rules_table(title: str, rules: Sequence[BlindRule]) -> list[str]:
    whole = [one for one in rules if one.subset == ALL_SUBSETS]
    parts = [one for one in rules if one.subset != ALL_SUBSETS]
    shown = [*whole[:MOST_RULES], *parts[:MOST_RULES]]
    head = ("rule or model", "part", "questions", "found", "chance", "decides", "nature")
    printed = [f"{title}:", *table([head, *map(_row, shown)], numbers=(2, 4, 5))]
    more = len(rules) - len(shown)
    printed += [f"  and {more} more, in --json and --html"] if more else []
    return printed + _meanings(shown)


def _meanings(shown: Sequence[BlindRule]) -> list[str]:
    said = {one.name: meaning(one) for one in shown}
    return [line for name, clause in said.items() for line in indented(f"{name}: {clause}")]


def _terms(scores: BlindScores) -> Iterator[str]:
    if scores.read_from is None or not scores.terms:
        return
    yield f"Strongest in {scores.read_from.name}, counted in questions that they were not chosen on:"
    rows = [
        (truncate_escaped(f"“{one.term}”", _TERM), "right" if one.tells_right else "wrong", f"{one.right:,}",
         f"{one.wrong:,}")
        for one in scores.terms
    ]  # fmt: skip
    yield from table([("words", "tell", "right answers with them", "wrong answers with them"), *rows], numbers=(2, 3))
    yield ""


def _examples(scores: BlindScores) -> Iterator[str]:
    if scores.shown is None or not scores.examples:
        return
    yield f"Questions drawn from those that are answered rightly by {scores.shown.name}:"
    for one in scores.examples:
        yield f"  question: {escaped(one.question)}"
        yield f"    picked: {escaped(one.right)}"
        yield f"     wrong: {escaped(one.wrong)}"
    yield ""


def _next_steps(scores: BlindScores, scan: str) -> Iterator[str]:
    steps = next_steps(scores, scan)
    for number, step in enumerate(steps):
        yield from () if number else ("What to do:",)
        yield from indented(f"- {escaped(step.text)}")
        yield from (f"      {escaped(command)}" for command in step.commands)
    yield from ("",) if steps else ()


def _row(rule: BlindRule) -> tuple[str, ...]:
    return (
        rule.name,
        "all" if rule.subset == ALL_SUBSETS else truncate_escaped(rule.subset, _PART),
        f"{rule.questions:,}",
        f"{percent(rule.found)} [{100 * rule.low:.0f}, {100 * rule.high:.0f}]",
        percent(rule.chance),
        percent(rule.decided),
        nature(rule),
    )


def blind_record(scores: BlindScores) -> dict[str, object]:
    """Return rules, words and examples as values for JSON.

    A rule about all questions has an empty string as the name of its subset.
    """
    rules = [
        {
            **asdict(one),
            "nature": nature(one),
            "named": one.is_named,
            "reads_question": one.reads_question,
            "meaning": meaning(one),
        }
        for one in scores.rules
    ]
    return {**asdict(scores), "rules": rules}
