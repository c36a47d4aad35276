"""Short explanations of the names of rules and models."""

from collections.abc import Mapping

from aflite_assets.scan.blind.records import BEGINNING, FIRST_SENTENCE, SURFACE, WORDS, BlindRule

NAMES: Mapping[str, str] = {
    SURFACE: "all surface properties together",
    WORDS: "the words of the answers",
    FIRST_SENTENCE: "the words of the first sentences",
    BEGINNING: "the first three words of the answers",
}
"""Readable names of the models, by kind."""

_HELD_OUT = "learned on four fifths of the questions and tested on the rest"

_OF_MODELS: Mapping[str, str] = {
    SURFACE: f"a linear model of length, signs, typography, blanks and groups of words of each answer, {_HELD_OUT}",
    WORDS: f"a linear model of the words and pairs of words of each answer, {_HELD_OUT}",
    FIRST_SENTENCE: f"a linear model of the words of each answer's first sentence alone, {_HELD_OUT}",
    BEGINNING: f"a linear model of the first words of each answer alone, {_HELD_OUT}",
}

_OF_RULES: Mapping[str, str] = {
    "the longest answer": "the answer with the most characters",
    "the shortest answer": "the answer with the fewest characters",
    "the most markup": "the answer with the most bold, code, headings, list marks, cells of tables and tags",
    "the least markup": "the answer with the least bold, code, headings, list marks, cells of tables and tags",
    "the most blanks at its ends": "the answer with the most spaces and empty lines before and after its text",
    "the fewest blanks at its ends": "the answer with the fewest spaces and empty lines before and after its text",
    "the most digits": "the answer with the most digits",
    "the fewest digits": "the answer with the fewest digits",
    "the most hedging words": "the answer with the most words such as \u201cperhaps\u201d and \u201ctypically\u201d",
    "the fewest hedging words": "the answer with the fewest words like \u201cperhaps\u201d and \u201ctypically\u201d",
    "the most refusals": "the answer with the most phrases such as \u201cI cannot help\u201d",
    "the fewest refusals": "the answer with the fewest phrases such as \u201cI cannot help\u201d",
    "the most negations": "the answer with the most words such as \u201cnot\u201d and \u201cnever\u201d",
    "the fewest negations": "the answer with the fewest words such as \u201cnot\u201d and \u201cnever\u201d",
    "the most words of the question": "the answer that repeats the most different words of its question",
    "the fewest words of the question": "the answer that repeats the fewest different words of its question",
    "the first answer": "the answer that is listed first",
    "the last answer": "the answer that is listed last",
    "the most typical answer": "the answer most like the others of its question, by rare words in common; "
    "wrong answers made by editing the right one leave this trace",
    "the odd one out": "the answer least like the others of its question, by rare words in common",
    "the largest number": "the answer with the largest number",
    "the smallest number": "the answer with the smallest number",
    "the highest first digits": "the number with the highest first digits, such as 9,400 before 12,000",
    "the lowest first digits": "the number with the lowest first digits, such as 12,000 before 9,400; real quantities "
    "often begin with 1 or 2, and invented ones do so more rarely",
    "the least round number": "the number with the most digits before its last zeros",
    "the roundest number": "the number with the fewest digits before its last zeros",
    "the most outlying number": "the number farthest from the others, as a ratio",
    "the most central number": "the number nearest to the others, as a ratio; wrong numbers made around the right one "
    "leave this trace",
}


def meaning(rule: BlindRule) -> str:
    """Return a clause that describes which answer a rule or model picks."""
    return _OF_MODELS[rule.kind] if rule.is_model else _OF_RULES[rule.name]
