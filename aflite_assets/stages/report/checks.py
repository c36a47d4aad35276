"""Every check on the way to a report with its outcome: of the data, the warm-up, the filter and the models."""

from collections.abc import Collection, Iterator, Sequence

from aflite_assets.analysis.inputs.checks import CheckOutcome
from aflite_assets.analysis.inputs.forgettables import Forgettables
from aflite_assets.analysis.inputs.learning_curve import sample_points
from aflite_assets.analysis.inputs.records import Cell, FilteredSet, TestSet
from aflite_assets.analysis.scores.judges import (
    ONE_ANSWER,
    OverLargestClass,
    over_largest_class,
    over_largest_class_elsewhere,
)
from aflite_assets.reports.learning_curves import sample_cautions
from aflite_assets.reports.sentences.warnings import one_answer_names
from aflite_assets.reports.sentences.wording import bounds_text
from aflite_assets.results import PublishedResult
from aflite_assets.stages.display import raw_findings
from aflite_assets.stages.shared.published import read_challenge_sets, read_sample_curve
from aflite_assets.stages.shared.weak_model_findings import CHECKS, findings
from aflite_assets.stages.warmup.findings import FITS_ASKED, cut_texts, encoder_fits
from aflite_assets.text import listed, percent

_MOST_NAMED = 4


def data_outcomes(raw: PublishedResult, challenges: PublishedResult) -> Iterator[CheckOutcome]:
    """The checks of `diagnostics.data_checks`, and whether all challenge sets were there."""
    from aflite_assets.diagnostics.data_checks.all_checks import DATA_CHECKS

    asks = {check.name: " ".join(check.description.split()) for check in DATA_CHECKS}
    for found in raw_findings(raw):
        said = found.found if found.applies else str(found.numbers["result"])
        if not found.passed:
            said = f"{said}. To do: {found.what_to_do}" if said else found.what_to_do
        yield CheckOutcome("data", found.name, asks[found.name], found.passed, said, found.applies)
    named = read_challenge_sets(challenges)
    missing = named.missing
    yield CheckOutcome(
        "data",
        "challenge_sets_available",
        "Every challenge set that the settings name could be loaded.",
        not missing,
        "; ".join(f"{name}: {reason}" for name, reason in missing.items()),
        applies=bool(missing or named.sets),
    )


def sample_outcomes(sample: PublishedResult) -> Iterator[CheckOutcome]:
    """Whether the sample's accuracy rose, then stopped; nothing where all train rows are filtered."""
    curve = read_sample_curve(sample)
    if curve is not None:
        cautions = list(sample_cautions(sample_points(curve)))
        asks = "Accuracy by the size of the sample rises, then stops increasing."
        yield CheckOutcome("data", "sample_curve_flattens", asks, not cautions, " ".join(cautions))


def warmup_outcomes(split: PublishedResult, models: PublishedResult) -> Iterator[CheckOutcome]:
    """Whether texts fit, learning curves flatten, and encoders learnt anything; only what applies."""
    advice = cut_texts(split.summary["text_lengths"])
    if split.summary["text_lengths"]:
        asks = "At most 1 % of the rows have more tokens than a text model reads."
        yield CheckOutcome("warm-up", "texts_fit_encoders", asks, not advice, "; ".join(advice))
    curve = split.summary.get("learning_curve")
    if curve is not None:
        asks = "Every encoder's learning curve rises, then flattens."
        cautions = curve["cautions"]
        yield CheckOutcome("warm-up", "learning_curves_flatten", asks, not cautions, " ".join(cautions))
    fits = encoder_fits(models.summary, split.summary["rows_per_class"])
    for name, fit in fits.encoders.items():
        said = (
            f"{percent(fit.accuracy)} % of its {fit.rows:,} warm-up rows, 95 % [{percent(fit.interval.low)}, "
            f"{percent(fit.interval.high)}]; the largest class makes up {percent(fits.largest_class)} %"
        )
        failed = name in fits.no_better
        if failed:
            said += ". What it filters says little: train it longer, or on more rows"
        yield CheckOutcome("warm-up", f"better_than_largest_class ({name})", FITS_ASKED, not failed, said)


def filter_outcomes(filtered: Sequence[FilteredSet]) -> Iterator[CheckOutcome]:
    """Whether each filter ended without a caution about its own result."""
    for one in filtered:
        yield CheckOutcome(
            "filter",
            f"no_cautions ({one.representation})",
            "The filter ended without a caution about its own result.",
            not one.warnings,
            " ".join(one.warnings),
        )


def weak_model_outcomes(forgettables: Forgettables | None) -> Iterator[CheckOutcome]:
    """The checks of `forgettable_sets`; nothing where the dataset's file names no weak model."""
    if forgettables is None:
        return
    found = findings(forgettables.models, forgettables.failed)
    for name, asks in CHECKS.items():
        said = "; ".join(f"{model}: {what}" for model, what in found[name].items())
        applies = bool(forgettables.models) or name == "weak_models_trained"
        yield CheckOutcome("weak models", name, asks, not found[name], said, applies)


def evaluator_outcomes(
    cells: Sequence[Cell], test_sets: Sequence[TestSet], *, left_out: Collection[str] = ()
) -> Iterator[CheckOutcome]:
    """Whether every evaluator was trained and learnt something, and none answers with one class alone.

    `left_out`: evaluators that need not beat the largest class, for they see a part of the input or went on elsewhere.
    """
    natural = any(not one.challenge for one in test_sets)
    undone = [cell for cell in cells if cell.status != "done"]
    named = [f"{cell.evaluator} on {cell.train_set}, seed {cell.seed}: {cell.reason or cell.status}" for cell in undone]
    yield CheckOutcome(
        "evaluators",
        "all_cells_done",
        "Every evaluator was trained on every train set with every seed.",
        not undone,
        "; ".join(named),
        applies=bool(cells),
    )
    for name, one in over_largest_class(cells, test_sets).items():
        if name not in left_out:
            yield _learnt(one)
    for test_set, found in over_largest_class_elsewhere(cells, test_sets).items():
        judged_by = [one for name, one in found.items() if name not in left_out]
        if judged_by:
            yield _over_chance(test_set, judged_by)
    collapsed = one_answer_names(cells, test_sets)
    said = f"these learnt little, so do not judge by them: {listed(collapsed, _MOST_NAMED)}" if collapsed else ""
    asks = f"No evaluator gives one class to {round(100 * ONE_ANSWER)} % of a test set without being better than that."
    judged = natural and any(cell.predictions is not None for cell in cells)
    yield CheckOutcome("evaluators", "more_than_one_answer", asks, not collapsed, said, judged)


def _over_chance(test_set: str, found: Sequence[OverLargestClass]) -> CheckOutcome:
    """Those under the largest class are named, but are no failure: a shortcut that misleads there makes them so.

    Nor are those of which it cannot be told; the check is skipped where that is all of them.
    """
    at_chance = [one for one in found if one.at_chance]
    groups = {
        "at chance": at_chance,
        "worse than that": [one for one in found if one.margin.high < 0],
        "better": [one for one in found if one.beaten],
    }
    for one in found:
        if one.too_few:
            groups.setdefault(f"cannot be told from {one.rival} (too few {one.too_few})", []).append(one)
    said = ". ".join(
        f"{words[0].upper()}{words[1:]}: {one.evaluator} ({_margin_text(one)})"
        for words, each in groups.items()
        for one in each
    )
    advice = (
        f". A train set moves such a model from one class to another. Read its accuracy on {test_set} by gold label, "
        "and judge by another evaluator or set"
    )
    return CheckOutcome(
        "evaluators",
        f"not_at_chance ({test_set})",
        "No evaluator trained on full is at chance on a challenge set: where intervals can tell, they leave out the "
        "largest class.",
        not at_chance,
        f"{said}{advice if at_chance else ''}",
        applies=not all(one.too_few for one in found),
    )


def _margin_text(one: OverLargestClass) -> str:
    return f"{percent(one.accuracy)} %; {one.rival} gets {percent(one.largest)} %, difference {bounds_text(one.margin)}"


def _learnt(one: OverLargestClass) -> CheckOutcome:
    said = (
        f"{percent(one.accuracy)} % of {one.test_set}; {one.rival} gets {percent(one.largest)} %, difference "
        f"{bounds_text(one.margin)}"
    )
    return CheckOutcome(
        "evaluators",
        f"better_than_largest_class ({one.evaluator})",
        "An evaluator trained on full is better than the largest class, by the whole interval.",
        one.beaten,
        said if one.beaten else f"{said}. Do not judge by it: train it longer, on more seeds or on more rows",
    )
