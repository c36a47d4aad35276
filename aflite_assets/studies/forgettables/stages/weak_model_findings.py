"""Checks of the weak models and of the rows that they forget, with advice."""

from collections.abc import Callable, Iterator, Mapping

from aflite_assets.analysis.inputs.weak_models import WeakModelFacts
from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult
from aflite_assets.stages.stage import StageChecks

MOST_SHARE, LEAST_SHARE = 0.6, 0.01
"""Bounds of the share of forgettable rows; outside these bounds, the rows are hardly a selection."""

CHECKS: Mapping[str, str] = {
    "weak_models_trained": "Every weak model, which defines the forgettable rows, was trained.",
    "weak_models_learnt": "On at least one split, each weak model is significantly more accurate than the share of the "
    "largest class.",
    "forgettable_rows_are_a_choice": "Between 1 and 60 % of the train rows are forgettable.",
    "balancing_keeps_half": "At least half of the forgettable rows are left after every class is cut to the size of "
    "the smallest.",
}
"""The checks' names and what each of them verifies; no check blocks a run."""


def check_weak_models(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    """Yield the outcomes of the checks of `forgettable_sets`.

    Yields nothing if the dataset's YAML file names no weak model.
    """
    summary = result.summary
    if summary.get("nothing_asked"):
        return
    models = {name: WeakModelFacts(**facts) for name, facts in summary["models"].items()}
    for name, wrong in findings(models, summary["failed"]).items():
        found = "; ".join(f"{model}: {what}" for model, what in wrong.items())
        applies = bool(models) or name == "weak_models_trained"
        yield CheckOutcome("weak models", name, CHECKS[name], not wrong, found, applies=applies)


def findings(models: Mapping[str, WeakModelFacts], failed: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return, for each check in `CHECKS`, one sentence about each weak model that fails the check.

    `failed`: the reason for each weak model that could not be trained.
    """
    judged: Mapping[str, Callable[[WeakModelFacts], str | None]] = {
        "weak_models_learnt": _learnt_nothing,
        "forgettable_rows_are_a_choice": _no_choice,
        "balancing_keeps_half": _unbalanced,
    }
    found = {
        check: {name: said for name, facts in models.items() if (said := judge(facts)) is not None}
        for check, judge in judged.items()
    }
    return {"weak_models_trained": dict(failed), **found}


def _learnt_nothing(facts: WeakModelFacts) -> str | None:
    """Return a sentence if the model is not more accurate than always predicting the largest class of a split.

    The model passes if, on at least one split, its accuracy is significantly higher than the share of the largest
    class. If there are no confidence intervals, the model passes if its accuracy is higher than the share of the
    largest class.
    """
    if facts.margins:
        return _at_chance(facts)
    where, accuracy = max(facts.accuracy.items(), key=lambda item: item[1], default=("train", facts.train_accuracy))
    if accuracy > facts.largest_class:
        return None
    return (
        f"accuracy {accuracy:.1%} on {where}, and the largest class makes up {facts.largest_class:.1%}: its "
        "forgettable rows are meaningless; train it longer, or at another rate"
    )


def _at_chance(facts: WeakModelFacts) -> str | None:
    split, margin = max(facts.margins.items(), key=lambda item: item[1]["low"])
    if margin["low"] > 0:
        return None
    where = "worse than the largest class" if margin["high"] < 0 else "at chance"
    return (
        f"accuracy {facts.accuracy[split]:.1%} on {split}, largest class {margin['largest_class']:.1%}; "
        f"difference {margin['low']:.1f} to {margin['high']:.1f} points: {where}, so its forgettable rows are "
        "meaningless; train it longer, or at another rate"
    )


def _no_choice(facts: WeakModelFacts) -> str | None:
    if LEAST_SHARE <= facts.share <= MOST_SHARE:
        return None
    remedy = "train it longer, or with a larger model" if facts.share > MOST_SHARE else "train it for fewer epochs"
    return f"{facts.forgettable} of {facts.rows} rows ({facts.share:.1%}) are forgettable; {remedy}"


def _unbalanced(facts: WeakModelFacts) -> str | None:
    if 2 * facts.taken >= facts.forgettable:
        return None
    fewest = min(facts.by_class, key=lambda name: facts.by_class[name]["forgettable"])
    return (
        f"balancing keeps {facts.taken} of {facts.forgettable} forgettable rows, because class {fewest} has only "
        f"{facts.by_class[fewest]['forgettable']}; set `balance: false` to keep all"
    )


WEAK_MODEL_CHECKS = StageChecks(CHECKS, check_weak_models)
