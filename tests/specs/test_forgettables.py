"""Settings of forgettable rows and minorities: what they default to, and what is refused with its place."""

import copy
from typing import Any

import pytest

from aflite_assets.errors import SpecError
from aflite_assets.specs.registry import parse_spec
from aflite_assets.studies.forgettables.specs.settings import NEGATION_WORDS, ForgettablesSettings

BAG = {"kind": "siamese_bag"}


@pytest.fixture
def content(spec_content: dict[str, Any]) -> dict[str, Any]:
    """Pairs of texts, two neural evaluators (one stops early) and a classical one."""
    return copy.deepcopy(spec_content) | {
        "columns": {"text": "premise", "text_pair": "hypothesis"},
        "labels": ["yes", "no"],
        "representations": {"net": {"kind": "small_transformer"}},
        "evaluators": {
            "net": {"kind": "small_transformer"},
            "early": {"kind": "small_transformer", "early_stopping": {}},
            "linear": {"kind": "linear"},
        },
        "seed": 7,
        "seeds": [3, 4],
    }


def _message(content: dict[str, Any]) -> str:
    with pytest.raises(SpecError) as caught:
        parse_spec(content)
    return str(caught.value)


def test_defaults_are_the_papers(content: dict[str, Any]) -> None:
    raw = {**content, "forgettables": {"bow": {"model": BAG}, "own": {"evaluator": "net"}}}
    spec = ForgettablesSettings.of(parse_spec(raw))
    bow, own = spec.forgettables["bow"], spec.forgettables["own"]
    assert (bow.balance, bow.alone, bow.highest_loss) == (True, False, ())
    assert bow.training_seeds(seed=spec.seed, seeds=spec.seeds) == (7,)
    assert own.training_seeds(seed=spec.seed, seeds=spec.seeds) == (3,)
    model = bow.settings(spec.evaluators)
    assert (model.kind, model.epochs, model.learning_rate, model.weight_decay) == ("siamese_bag", 5, 1e-3, 0.0)
    assert own.settings(spec.evaluators) == spec.evaluators["net"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "forgettables.x: either `model` (a model to train) or `evaluator` (the name of an evaluator) is needed"),
        ({"model": BAG, "evaluator": "net"}, "forgettables.x: either `model`"),
        ({"model": BAG, "seeds": [1, 1]},
            "`seeds` is [1, 1], which repeats a seed; give every training run a different seed"),
        ({"model": BAG, "highest_loss": [0.1, 0.2, 0.1]},
            "`highest_loss` is [0.1, 0.2, 0.1], which repeats a share; give every set another share"),
        ({"model": {"kind": "linear"}}, "forgettables.x.model.kind: is unknown"),
        ({"evaluator": "nett"}, "`forgettables.x.evaluator` is 'nett', which is not a neural evaluator, which has "
            "epochs; name one of ['net', 'early']; did you mean 'net'?"),
        ({"evaluator": "linear"}, "`forgettables.x.evaluator` is 'linear', which is not a neural evaluator"),
        ({"evaluator": "early"}, "`forgettables.x.evaluator` is 'early', which has a variable number of epochs because "
            "of `early_stopping`; name an evaluator without `early_stopping`, or set `model` instead"),
        ({"evaluator": "net", "seeds": [4, 5]},
            "`forgettables.x.seeds` contains 5, which is not a seed of the evaluator 'net'; name one of [3, 4]"),
    ],
)  # fmt: skip
def test_models_that_cannot_be_forgotten_with_are_refused(
    content: dict[str, Any], entry: dict[str, Any], message: str
) -> None:
    assert message in _message({**content, "forgettables": {"x": entry}})


def test_minorities_have_the_papers_words(content: dict[str, Any]) -> None:
    minorities = {"positive": "yes", "negative": "no"}
    raw = {**content, "forgettables": {"bow": {"model": BAG}}, "minorities": minorities}
    spec = ForgettablesSettings.of(parse_spec(raw))
    assert spec.minorities is not None
    assert spec.minorities.words == NEGATION_WORDS == ("not", "no", "doesn't", "don't", "never", "any")


@pytest.mark.parametrize(
    ("minorities", "changes", "message"),
    [
        ({"positive": "yes", "negative": "yes"}, {},
            "`positive` and `negative` are both 'yes'; name two different classes"),
        ({"positive": "yes", "negative": "nope"}, {},
            "`minorities.negative` is 'nope', which is not a class; name one of ['yes', 'no']"),
        ({"positive": "yes", "negative": "no"}, {"forgettables": {}},
            "`minorities` is set, but `forgettables` has no model; add a model to `forgettables`"),
        ({"positive": "yes", "negative": "no"}, {"columns": {"text": "premise"}},
            "`minorities` compares two texts, but `columns.text_pair` is not set; remove `minorities`"),
    ],
)  # fmt: skip
def test_minorities_that_cannot_be_counted_are_refused(
    content: dict[str, Any], minorities: dict[str, Any], changes: dict[str, Any], message: str
) -> None:
    given = {**content, "forgettables": {"bow": {"model": BAG}}, "minorities": minorities, **changes}
    assert message in _message(given)
