"""Records of rules and models that find right answers by reading the answers alone, or by overlap with the question."""

from dataclasses import dataclass

from aflite_assets.diagnostics.data_checks.partial_input import StrongTerm
from aflite_assets.diagnostics.properties.artefacts import Reason

SURE = 0.01
"""Family-wise error rate: probability of at least one false rule among all subsets and rules."""

LEAST_GAIN = 0.05
"""A rule is reported if the lower bound of its share of right answers is at least this far above chance."""

ALL_SUBSETS = ""
"""The subset that contains all questions."""

SURFACE, WORDS, FIRST_SENTENCE, BEGINNING = "surface", "words of the answers", "first sentence", "beginning"
"""Kinds of the models: all surface properties, and the words of whole answers, of first sentences, of beginnings."""

OVERLAP = "pair"
"""Kind of the rules that count words in common with the question; other rules read only the answers."""

WORD_MODELS = (WORDS, FIRST_SENTENCE, BEGINNING)
MODELS = (SURFACE, *WORD_MODELS)


@dataclass(frozen=True)
class BlindExample:
    """A question that a rule answers correctly, with the right answer that the rule picks and a wrong answer."""

    question: str
    right: str
    wrong: str


@dataclass(frozen=True)
class BlindRule:
    """A rule, or a small model, that picks an answer of each question.

    Only rules of kind `OVERLAP` read the question.

    `subset`: the name of the data subset, or `ALL_SUBSETS`. `name`: a readable name. `kind` and `reason`: the kind of
    the property, and why the property is an artefact; `reason` is None for a candidate. `found`: mean share of right
    answers among the picked answers, in [0, 1]; a tie between a right and a wrong answer counts half. `low`, `high`:
    the exact 95 % interval of `found`. `chance`: the share of answers that are right, averaged over the questions.
    `decided`: share of the questions in which the rule does not pick all answers. `p_value`: the p-value against
    chance, adjusted for all subsets and rules (Holm). `auc`: for a model, the probability that a right answer has a
    higher score than a wrong answer to any question; None for a rule.
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
        """Whether the rule finds significantly more right answers than chance, even if only a few more."""
        return self.p_value <= SURE and self.found > self.chance

    @property
    def is_named(self) -> bool:
        """Whether the rule finds significantly more right answers than chance, by at least `LEAST_GAIN`."""
        return self.is_sure and self.low >= self.chance + LEAST_GAIN

    @property
    def is_artefact(self) -> bool:
        """Whether the rule is reported and uses a property that cannot be part of any task."""
        return self.is_named and self.reason is not None

    @property
    def is_model(self) -> bool:
        """Whether the record describes a small model and not a named rule."""
        return self.kind in MODELS

    @property
    def reads_question(self) -> bool:
        """Whether the rule compares the words of the answers with the words of the question."""
        return self.kind == OVERLAP


@dataclass(frozen=True)
class BlindScores:
    """All rules in all subsets, sorted by their gain over chance, and facts about the questions on which they were
    tested.

    `questions`: the number of questions with a right and a wrong answer. `chance`: the share of answers that are right,
    averaged over the tested questions. `terms`: the words with the largest weights in the best reported word model, the
    largest weight first. `examples`: random questions that the rule in `shown` answers correctly. `terms` and
    `examples` are empty if no rule is reported.
    """

    questions: int
    chance: float
    rules: tuple[BlindRule, ...]
    terms: tuple[StrongTerm, ...] = ()
    examples: tuple[BlindExample, ...] = ()

    @property
    def sure(self) -> tuple[BlindRule, ...]:
        """Rules that find significantly more right answers than chance without the question."""
        return tuple(one for one in self.rules if one.is_sure and not one.reads_question)

    @property
    def named(self) -> tuple[BlindRule, ...]:
        """Rules that find at least `LEAST_GAIN` more right answers than chance without the question."""
        return tuple(one for one in self.rules if one.is_named and not one.reads_question)

    @property
    def sure_overlap(self) -> tuple[BlindRule, ...]:
        """Rules on overlap with the question that find significantly more right answers than chance."""
        return tuple(one for one in self.rules if one.is_sure and one.reads_question)

    @property
    def overlap(self) -> BlindRule | None:
        """The best reported rule on overlap with the question, over all questions, or None."""
        overall = (one for one in self.sure_overlap if one.subset == ALL_SUBSETS and one.is_named)
        return max(overall, key=lambda one: one.found, default=None)

    @property
    def named_overall(self) -> tuple[BlindRule, ...]:
        """Rules and models that are reported for the whole set of questions, the most accurate first."""
        return tuple(one for one in self.named if one.subset == ALL_SUBSETS)

    @property
    def shown(self) -> BlindRule | None:
        """The strongest reported rule, or the strongest reported model if no rule is reported."""
        return min(self.named_overall, key=lambda one: (one.is_model, -one.found), default=None)

    @property
    def read_from(self) -> BlindRule | None:
        """The reported word model that finds the most right answers. The field `terms` lists words of the best reported
        word model.
        """
        return next((one for one in self.named_overall if one.kind in WORD_MODELS), None)

    @property
    def has_artefact(self) -> bool:
        """Whether a reported rule uses a property that cannot be part of any task."""
        return any(one.is_artefact for one in self.rules)
