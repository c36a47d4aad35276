"""Warnings of `aflite check` about samples, train sets and learning rates that are valid but probably not intended.

The module `check_text` writes the warnings about verdicts and thresholds.
"""

from collections.abc import Iterator

from aflite_assets.command_line.preview.data_preview import ChallengePreviews, DataPreview
from aflite_assets.command_line.preview.known_sizes import found_result
from aflite_assets.command_line.preview.planned import RunPlan
from aflite_assets.command_line.preview.study import StudyPreview
from aflite_assets.command_line.terminal import escaped
from aflite_assets.errors import ArtefactFoundError
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.stages.data.challenge_sets import few_chosen
from aflite_assets.stages.data.cue_scan import CUE_SCAN, refuse_artefact
from aflite_assets.studies import parts
from aflite_assets.text import count, listed


def scan_section(spec: DatasetSpec, store: ResultStore) -> Iterator[str]:
    """Yield a line if a run may stop because of the setting `scan.stop`.

    If the dataset has a current scan, a warning is yielded only if this scan found an artefact.
    """
    if spec.scan.stop == "never":
        return
    scan = found_result(CUE_SCAN.name, spec, store)
    if scan is None:
        yield "`scan.stop` is artefact: if `cue_scan` finds an artefact, the run ends, and no model is trained"
        return
    try:
        refuse_artefact(spec, scan)
    except ArtefactFoundError as error:
        yield escaped(f"warning: a run would end after cue_scan: {error}")


def chosen_section(spec: DatasetSpec, challenges: ChallengePreviews) -> Iterator[str]:
    """Yield warnings about challenge sets for which too few questions were chosen."""
    for one in challenges.read:
        challenge = spec.challenge_sets[one.name]
        if one.complete and (few := few_chosen(challenge, one.raw.examples)):
            several = len(challenge.balanced_by) + len(challenge.against) > 1
            fewer = "name fewer measures in balanced_by or against, or " if several else ""
            yield f"warning: challenge_sets.{one.name} has {few}; {fewer}provide more questions"


def study_section(spec: DatasetSpec, data: DataPreview, plan: RunPlan) -> Iterator[str]:
    """Yield the warnings of studies about settings that would make a run fail."""
    for one in parts("command_line.preview", StudyPreview):
        yield from one.warnings(spec, plan, classes=len(data.raw.examples.label_names))


def train_sets_section(spec: DatasetSpec, plan: RunPlan) -> Iterator[str]:
    """Yield a warning for each size in `train_sets` that the filter never reaches."""
    most, least = plan.train_pool_rows, plan.settings.target_size
    for name, rows in spec.train_sets.items():
        if rows >= most:
            yield (
                f"warning: train_sets.{name} is {count(rows)}, but only {count(most)} train rows are filtered, so "
                f"`filtered_{name}` would have all of them; set a smaller number"
            )
        elif rows < least:
            yield (
                f"warning: train_sets.{name} is {count(rows)}, but filter.target_size keeps {count(least)} train "
                f"rows, so there will be no `filtered_{name}`; set at least {count(least)}, or lower target_size"
            )


def rates_section(spec: DatasetSpec) -> Iterator[str]:
    """Yield a warning for each second training phase whose learning rate is at least that of the first phase."""
    recipes = recipes_of(spec.evaluators)
    high: dict[tuple[str, float], list[str]] = {}
    for name, recipe in recipes.items():
        rates = [stage.settings.learning_rate for stage in recipe.stages if stage.drawn is not None]
        if rates and max(rates) >= recipe.settings.learning_rate:
            high.setdefault((recipe.start, max(rates)), []).append(name)
    for (start, rate), names in high.items():
        first = recipes[names[0]].settings.learning_rate
        yield (
            f"warning: {listed([f'evaluators.{name}' for name in names])}: the second phase has a learning rate of "
            f"{yaml_number(rate)}, and the first, of {start}, {yaml_number(first)}; the paper's second rate is a "
            "fifth or a quarter of its first. On template_nli, accuracy on the dataset's test rows fell more with a "
            f"high rate, and most with wrong labels; set learning_rate: {yaml_number(first / 5)} in the stage"
        )


def yaml_number(number: float) -> str:
    """Return a number as text that YAML parses as a number, such as 0.0002 or 4.0e-06. YAML would parse `4e-06` as
    text.
    """
    text = f"{number:g}"
    return text.replace("e", ".0e") if "e" in text and "." not in text else text
