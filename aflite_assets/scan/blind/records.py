"""Records of what finds the right answer without the question."""

from dataclasses import dataclass

from aflite_assets.diagnostics.data_checks.partial_input import StrongTerm
from aflite_assets.diagnostics.properties.artefacts import Reason

SURE = 0.01
"""Chance of one false rule or more among all subsets and rules."""

LEAST_GAIN = 0.05
"""The lower end of a rule's share must be at least so much above chance for the rule to be named."""

ALL_SUBSETS = ""
"""The subset that holds all questions."""

SURFACE, WORDS, FIRST_SENTENCE, BEGINNING = "surface", "words of the answers", "first sentence", "beginning"
"""Kinds of the models: all surface properties, and the words of whole answers, of first sentences, of beginnings."""

WORD_MODELS = (WORDS, FIRST_SENTENCE, BEGINNING)
MODELS = (SURFACE, *WORD_MODELS)


@dataclass(frozen=True)
class BlindExample:
    """A question that a rule answers rightly: its text, the right answer that is picked, and a wrong one."""

    question: str
    right: str
    wrong: str


@dataclass(frozen=True)
class BlindRule:
    """A rule, or a small model, that picks an answer of each question without reading the question.

    `subset`: the part of the data, or `ALL_SUBSETS`. `name`: as a person reads it. `kind` and `reason`: the nature of
    the property, reason None for a candidate. `found`: mean share of right answers among those picked, in [0, 1], where
    a tie of one right and one wrong answer counts half; `low`, `high`: its exact 95 % interval. `chance`: right answers
    over all answers, mean over the questions. `decided`: share of the questions in which the rule picks fewer than all
    answers. `p_value`: against chance, adjusted for all subsets and rules (Holm). `auc`: of a model, how often a right
    answer scores above a wrong one of any question; else None.
    """

    subset: str
    name: str
    kind: str
    reason: Reason | None
    questions: int
    found: float
    low: float
    high: float
    chance: float
    decided: float
    p_value: float
    auc: float | None = None

    @property
    def is_sure(self) -> bool:
        """Whether the rule surely finds more right answers than chance, however few more."""
        return self.p_value <= SURE and self.found > self.chance

    @property
    def is_named(self) -> bool:
        """Whether the rule surely finds more right answers than chance, by at least `LEAST_GAIN`."""
        return self.is_sure and self.low >= self.chance + LEAST_GAIN

    @property
    def is_artefact(self) -> bool:
        """Whether the rule is named and is about a property that is no part of any task."""
        return self.is_named and self.reason is not None

    @property
    def is_model(self) -> bool:
        """Whether a model picks, and not a rule with a name."""
        return self.kind in MODELS


@dataclass(frozen=True)
class BlindScores:
    """All rules in all subsets, those that find most above chance first, and what they were tested on.

    `questions`: with a right and a wrong answer. `chance`: their right answers over all answers, mean over questions.
    `terms`: what the strongest named model of words leans on, the strongest first. `examples`: questions that the rule
    `shown` answers, drawn at random; both are empty if nothing is named.
    """

    questions: int
    chance: float
    rules: tuple[BlindRule, ...]
    terms: tuple[StrongTerm, ...] = ()
    examples: tuple[BlindExample, ...] = ()

    @property
    def sure(self) -> tuple[BlindRule, ...]:
        """Rules that surely find more than chance."""
        return tuple(one for one in self.rules if one.is_sure)

    @property
    def named(self) -> tuple[BlindRule, ...]:
        """Rules that surely find at least `LEAST_GAIN` more than chance."""
        return tuple(one for one in self.rules if one.is_named)

    @property
    def named_overall(self) -> tuple[BlindRule, ...]:
        """Rules and models that are named on all questions, those that find most first."""
        return tuple(one for one in self.named if one.subset == ALL_SUBSETS)

    @property
    def shown(self) -> BlindRule | None:
        """The rule that examples are shown of: the strongest named one, else the strongest named model."""
        return min(self.named_overall, key=lambda one: (one.is_model, -one.found), default=None)

    @property
    def read_from(self) -> BlindRule | None:
        """The named model of words that finds most, whose `terms` are shown."""
        return next((one for one in self.named_overall if one.kind in WORD_MODELS), None)

    @property
    def has_artefact(self) -> bool:
        """Whether a property that is no part of any task finds the right answer."""
        return any(one.is_artefact for one in self.rules)
