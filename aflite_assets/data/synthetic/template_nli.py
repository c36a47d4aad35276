"""Generation of sentence pairs with planted artifacts by a small grammar, as tables like those that are read from
files.

A premise states two facts about two different persons. A hypothesis states one fact about one of these persons:

    Clara cradles the poodle while Ivan looks sad.    Clara holds a dog.

Facts belong to topics (`TOPICS`), such as what somebody holds. A topic has several kinds (such as dog), and a kind has
several members (such as poodle). The *close* wording of a fact names a member ("cradles the poodle"), and the *broad*
wording names a kind ("holds a dog"); the two wordings share no word. For each topic, exactly one kind is true of a
person. The premise is the only source of information about a person. The words of a pair therefore determine its label:

- entailment: for the person and topic of the hypothesis, the premise states the same kind, closely or broadly.
- contradiction: for the person and topic of the hypothesis, the premise states another kind.
- neutral: the premise states nothing about this person on the topic of the hypothesis.

A plain premise states two facts. The first fact is about the hypothesis's person, in the close wording. The second fact
is about another person, in the broad wording, and on another topic than the hypothesis. One in ten rows without the
overlap cue is an echo, regardless of its label: the premise contains the exact words of the hypothesis. In echoes with
the label entailment, these words are about the hypothesis's person; in all other echoes, they are about another person.

Label, hypothesis and echo are drawn independently, and the premise is drawn last. If no cues are planted, neither the
hypothesis alone nor the word overlap is informative about the label. The texts of a plain pair share only the name, and
an echo contains every word of the hypothesis.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from aflite_assets.errors import DataError
from aflite_assets.specs.sources import TemplateNliSource

Label = Literal["entailment", "neutral", "contradiction"]
LABELS: tuple[Label, ...] = ("entailment", "neutral", "contradiction")

NAMES = (
    "Anna", "Boris", "Clara", "David", "Elena", "Felix", "Greta", "Henry", "Ivan", "Julia", "Karim", "Laura",
    "Marta", "Nadia", "Oscar", "Paula", "Quentin", "Rosa", "Samir", "Tessa", "Ursula", "Victor", "Wanda", "Yusuf",
)  # fmt: skip
LINKS = ("and", "while", "but", "whereas")
ECHO_SHARE = 0.1
"""Share of the rows without the overlap cue whose premise contains the hypothesis word for word."""

MOST_DRAWS = 1_000
"""Number of failed draws of a row after which the grammar has no new pairs; a class has over 2,000,000 pairs."""


@dataclass(frozen=True)
class Topic:
    """A topic of facts about persons: its two wordings, its kinds, and the members of each kind."""

    close: str
    verb: str
    thing: str
    kinds: Mapping[str, tuple[str, ...]]

    def broad(self, kind: str) -> str:
        """Return the broad wording of a fact, as in a hypothesis."""
        return f"{self.verb} {self.thing.format(kind)}"


TOPICS = (
    Topic(
        "explores the {}",
        "stays",
        "{}",
        {"upstairs": ("attic", "loft"), "downstairs": ("cellar", "basement"), "outside": ("garden", "meadow")},
    ),
    Topic(
        "cradles the {}",
        "holds",
        "a {}",
        {"dog": ("poodle", "beagle"), "cat": ("tabby", "siamese"), "bird": ("parrot", "pigeon")},
    ),
    Topic(
        "wears {}",
        "dresses in",
        "{}",
        {"red": ("scarlet", "crimson"), "blue": ("navy", "azure"), "green": ("emerald", "olive")},
    ),
    Topic(
        "turned {}",
        "counts among",
        "{}",
        {"children": ("four", "six"), "teenagers": ("thirteen", "fifteen"), "adults": ("thirty", "fifty")},
    ),
    Topic(
        "starts {}",
        "does",
        "{}",
        {"housework": ("sweeping", "ironing"), "sports": ("jogging", "swimming"), "crafts": ("knitting", "carving")},
    ),
    Topic(
        "feels {}",
        "looks",
        "{}",
        {"happy": ("merry", "cheerful"), "sad": ("gloomy", "tearful"), "angry": ("furious", "irate")},
    ),
)


@dataclass(frozen=True)
class TemplateCue:
    """A planted artifact: its name in the column `cue` and, for the cue `hypothesis_word`, the word."""

    name: Literal["none", "negation", "hypothesis_word", "overlap"]
    word: str = ""


NO_CUE = TemplateCue("none")
ALIGNED: Mapping[Label, tuple[TemplateCue, ...]] = {
    "entailment": (TemplateCue("hypothesis_word", "indeed"), TemplateCue("overlap")),
    "neutral": (TemplateCue("hypothesis_word", "incidentally"),),
    "contradiction": (TemplateCue("negation"), TemplateCue("hypothesis_word", "actually")),
}
"""The cues that are associated with each label."""


def template_nli(source: TemplateNliSource) -> dict[str, pa.Table]:
    """Generate the splits of a dataset of premises and hypotheses.

    Columns, all strings: `text` (the premise), `text_pair` (the hypothesis), `label`, `cue` ("none", "negation",
    "hypothesis_word" or "overlap") and `id`. Class sizes differ by at most one row. In each class,
    `round(planted_share * rows)` rows carry one cue. If a class has several cues, their frequencies differ by at most
    one row. There are three cues:

    - negation: the hypothesis ends in, for example, ", not a cat", which names another kind of its topic at random.
      Kinds exclude one another, so the meaning of the hypothesis does not change. With `cues: aligned`, contradictions
      have the cue negation.
    - hypothesis_word: the hypothesis ends in ", indeed", ", incidentally" or ", actually", which do not change its
      meaning. With `cues: aligned`, the three words mark entailments, neutral pairs and contradictions, in this order.
    - overlap: the premise contains all words of the hypothesis. With `cues: aligned`, entailments have the cue overlap.

    With `cues: reversed`, a class instead gets the cues of the two other classes, and each word counts as a separate
    cue. If such a class has the overlap cue, the repeated words are about the other person. Rows without a planted cue
    contain no negation and none of the three words.

    Each split has its own stream of random numbers, determined by the seed and the split's name. A pair that already
    occurred in the same or an earlier split is drawn again, so that no pair is in two splits.

    These cues were found in SNLI and MultiNLI: Gururangan et al., NAACL 2018 (negation, modifiers); Poliak et al., *SEM
    2018 (hypothesis-only models); McCoy et al., ACL 2019 (word overlap).

    Raises:
        DataError: the grammar has too few pairs for the requested number of rows.
    """
    drawn: set[tuple[str, str]] = set()
    return {split: _split(source, split, rows, drawn) for split, rows in source.splits.items()}


def _split(source: TemplateNliSource, split: str, rows: int, drawn: set[tuple[str, str]]) -> pa.Table:
    rng = np.random.default_rng([source.seed, *split.encode()])
    plan = list(_plan(source, rows))
    pairs = [_new_pair(split, rows, label, cue, rng, drawn) for label, cue in plan]
    order = rng.permutation(rows)
    return pa.table(
        {
            "text": [pairs[row][0] for row in order],
            "text_pair": [pairs[row][1] for row in order],
            "label": [plan[row][0] for row in order],
            "cue": [plan[row][1].name for row in order],
            "id": [f"{split}-{number}" for number in range(rows)],
        }
    )


def _plan(source: TemplateNliSource, rows: int) -> Iterator[tuple[Label, TemplateCue]]:
    """Yield the label and the cue of every row, one class after the other."""
    for number, label in enumerate(LABELS):
        count = len(range(number, rows, len(LABELS)))
        planted = round(source.planted_share * count)
        cues = _cues(label, source.cues)
        yield from ((label, cues[row % len(cues)] if row < planted else NO_CUE) for row in range(count))


def _cues(label: Label, direction: Literal["aligned", "reversed"]) -> Sequence[TemplateCue]:
    if direction == "aligned":
        return ALIGNED[label]
    return [cue for other in LABELS if other != label for cue in ALIGNED[other]]


def _new_pair(
    split: str, rows: int, label: Label, cue: TemplateCue, rng: np.random.Generator, drawn: set[tuple[str, str]]
) -> tuple[str, str]:
    for _ in range(MOST_DRAWS):
        pair = _pair(label, cue, rng)
        if pair not in drawn:
            drawn.add(pair)
            return pair
    raise DataError(
        f"split {split!r} needs {rows} rows, but the grammar has no new pair with the label {label!r} after "
        f"{len(drawn)} rows; lower the number of rows"
    )


def _pair(label: Label, cue: TemplateCue, rng: np.random.Generator) -> tuple[str, str]:
    """Draw a pair, and return its premise and hypothesis as texts."""
    person, other = (NAMES[number] for number in rng.choice(len(NAMES), 2, replace=False))
    topic, second, third = (TOPICS[number] for number in rng.choice(len(TOPICS), 3, replace=False))
    kind, another = (list(topic.kinds)[number] for number in rng.choice(len(topic.kinds), 2, replace=False))
    claim = topic.broad(kind)
    close = {
        "entailment": _closely(topic, kind, rng),
        "contradiction": _closely(topic, another, rng),
        "neutral": _closely(second, _any_kind(second, rng), rng),
    }
    if cue.name == "overlap" or rng.random() < ECHO_SHARE:
        pair = (claim, _other_news(close, rng)) if label == "entailment" else (close[label], claim)
    else:
        pair = (close[label], third.broad(_any_kind(third, rng)))
    clauses = [f"{person} {pair[0]}", f"{other} {pair[1]}"]
    premise = f" {LINKS[rng.integers(len(LINKS))]} ".join(clauses[:: rng.choice([1, -1])])
    return f"{premise}.", f"{person} {claim}{_tail(cue, topic, kind, rng)}."


def _closely(topic: Topic, kind: str, rng: np.random.Generator) -> str:
    members = topic.kinds[kind]
    return topic.close.format(members[rng.integers(len(members))])


def _any_kind(topic: Topic, rng: np.random.Generator) -> str:
    return list(topic.kinds)[rng.integers(len(topic.kinds))]


def _other_news(close: Mapping[str, str], rng: np.random.Generator) -> str:
    """Return the fact about the other person in an echo with the label entailment.

    This fact has the same topic as the hypothesis in half of the echoes, as it does in echoes with other labels.
    """
    return close["contradiction" if rng.random() < 0.5 else "neutral"]


def _tail(cue: TemplateCue, topic: Topic, kind: str, rng: np.random.Generator) -> str:
    if cue.name == "negation":
        others = [other for other in topic.kinds if other != kind]
        return f", not {topic.thing.format(others[rng.integers(len(others))])}"
    return f", {cue.word}" if cue.name == "hypothesis_word" else ""
