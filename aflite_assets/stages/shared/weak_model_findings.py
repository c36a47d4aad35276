"""Findings that speak against a weak model or its rows, with advice."""

from collections.abc import Callable, Iterator, Mapping

from aflite_assets.analysis.inputs.forgettables import WeakModelFacts
from aflite_assets.checks import CheckOutcome
from aflite_assets.results import PublishedResult
from aflite_assets.stages.stage import StageChecks

MOST_SHARE, LEAST_SHARE = 0.6, 0.01
"""Bounds of the share of forgettable rows; outside of these, they are hardly a selection."""

CHECKS: Mapping[str, str] = {
    "weak_models_trained": "Every model that defines forgettable rows was trained.",
    "weak_models_learnt": "Each of these models is better than the largest class of a test split, by the whole "
    "interval.",
    "forgettable_rows_are_a_choice": "Of the rows, 1 to 60 % are forgettable.",
    "balancing_keeps_half": "Cutting every class to the size of the smallest keeps at least half of the forgettable "
    "rows.",
}
"""The checks by name, with the question of each; none blocks."""


def check_weak_models(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    """Yield the outcomes of the checks of `forgettable_sets`; nothing if the dataset's YAML file names no weak
    model.
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
    """Return, by check of `CHECKS`, a sentence on what is wrong with which weak model. `failed`: why some weak models
    were not trained.
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
    """Return a sentence if the model is not better than the largest class of any split, by the whole interval or,
    without intervals, by the numbers.
    """
    if facts.margins:
        return _at_chance(facts)
    where, accuracy = max(facts.accuracy.items(), key=lambda item: item[1], default=("train", facts.train_accuracy))
    if accuracy > facts.largest_class:
        return None
    return (
        f"{accuracy:.1%} on {where}, and the largest class makes up {facts.largest_class:.1%}: its forgettable rows "
        "are meaningless; train it longer, or at another rate"
    )


def _at_chance(facts: WeakModelFacts) -> str | None:
    split, margin = max(facts.margins.items(), key=lambda item: item[1]["low"])
    if margin["low"] > 0:
        return None
    where = "worse than it" if margin["high"] < 0 else "at chance"
    return (
        f"{facts.accuracy[split]:.1%} on {split}, whose largest class makes up {margin['largest_class']:.1%}, "
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
        f"balancing takes {facts.taken} of {facts.forgettable} forgettable rows, because {fewest} has only "
        f"{facts.by_class[fewest]['forgettable']}; set balance: false to take all"
    )


WEAK_MODEL_CHECKS = StageChecks(CHECKS, check_weak_models)
