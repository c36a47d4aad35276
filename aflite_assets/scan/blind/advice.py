"""Advice for datasets in which the right answers can be found without reading the questions."""

from dataclasses import dataclass

from aflite_assets.scan.blind.records import BlindRule, BlindScores

FILTER_FILE = "with_filter.yaml"
"""File name that the advice proposes for a dataset file with a filter."""

_REWRITE = "rewrite wrong answers (or right ones) until the scan names nothing; it takes seconds"
_BY_RULE = {
    "the most typical answer": "write the wrong answers afresh: edits of the right one leave it the most typical",
    "the odd one out": "choose each wrong answer by itself: wrong answers that were made or looked up together share "
    "words that the right one lacks",
    "the longest answer": "lengthen wrong answers or shorten right ones",
    "the shortest answer": "shorten wrong answers or lengthen right ones",
    "the first answer": "shuffle the answers of each question",
    "the last answer": "shuffle the answers of each question",
}


@dataclass(frozen=True)
class AdvisedStep:
    """A recommended step: one sentence, and the commands for the step."""

    text: str
    commands: tuple[str, ...] = ()


def next_steps(scores: BlindScores, scan: str) -> list[AdvisedStep]:
    """Return the recommended steps. Return an empty list if no rule or model is reported for the whole set of
    questions.

    `scan`: the command line that started the scan, or "" if it scanned a dataset's file, to which the user adds the
    filter.
    """
    named, overlap = scores.named_overall, _overlap(scores)
    if not named:
        return overlap
    best = named[0]
    return [
        AdvisedStep(
            f"Judge whether right answers may be recognised by {best.name}. If not, the answers give themselves away."
        ),
        *overlap,
        AdvisedStep(
            f"If the questions test models: report {_score(best)} beside each accuracy, since it takes no knowledge, "
            f"and {_rewrite(scores)}."
        ),
        _filtering(scan),
    ]


def _filtering(scan: str) -> AdvisedStep:
    if not scan:
        return AdvisedStep(
            "If they train models: add to the dataset's file a representation of `kind: surface` and a `filter` "
            "(docs/preferences.md, section Filter), check it, and run it."
        )
    return AdvisedStep(
        "If they train models: write a dataset's file with a filter on these properties, a test set on which they do "
        "not help, and models with and without the question. Check it, and run it:",
        (
            f"{scan} --filter-file {FILTER_FILE}",
            f"aflite check {FILTER_FILE} --no-timing",
            f"AFLITE_DATASETS=. aflite refresh {FILTER_FILE.removesuffix('.yaml')}",
        ),
    )


def _overlap(scores: BlindScores) -> list[AdvisedStep]:
    rule = scores.overlap
    if rule is None:
        return []
    return [
        AdvisedStep(
            f"Judge whether overlap with the question belongs to the task: it finds {_score(rule)}. In tasks of "
            "reading it does belong. If not, write answers that share equally many words with the question."
        )
    ]


def _score(best: BlindRule) -> str:
    return f"{100 * best.found:.0f} % (by {best.name}, chance {100 * best.chance:.0f} %)"


def _rewrite(scores: BlindScores) -> str:
    ways = [_BY_RULE[one.name] for one in scores.named_overall if one.name in _BY_RULE]
    return ways[0] if ways else _REWRITE
