"""Warnings of `aflite check` about settings that are valid but probably not intended, with the settings to change."""

from collections.abc import Iterator, Mapping

import numpy as np
import yaml

from aflite_assets.command_line.preview.data_preview import ChallengePreviews, DataPreview
from aflite_assets.command_line.preview.run_plan import RunPlan, StudyPreview
from aflite_assets.command_line.terminal import escaped, truncate_escaped
from aflite_assets.data.examples import Examples
from aflite_assets.data.questions import right_answers
from aflite_assets.errors import ArtefactFoundError
from aflite_assets.results import PublishedResult
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.filter import advised_threshold
from aflite_assets.specs.recipes import recipes_of
from aflite_assets.specs.sources import ChoiceSource, as_tuple
from aflite_assets.stages.data.challenge_sets import few_chosen
from aflite_assets.stages.data.cue_scan import refuse_artefact
from aflite_assets.studies import parts
from aflite_assets.text import count, listed, percent
from aflite_assets.wording import counted

WORST_CASE_ROWS = 1_537
"""Smallest number of rows with which the 95 % interval of any initial bias is at most 5 points wide."""

_ROUNDING = 1e-9


def all_warnings(data: DataPreview, challenges: ChallengePreviews, plan: RunPlan) -> Iterator[str]:
    """Yield all warnings about a planned run."""
    spec, examples = plan.spec, data.raw.examples
    yield from scan_section(spec, plan.reused)
    yield from _threshold(spec, examples)
    for one in parts("command_line.preview", StudyPreview):
        yield from one.warnings(plan, classes=len(examples.label_names))
    yield from train_sets_section(plan)
    yield from rates_section(spec)
    yield from _few_chosen(spec, challenges)
    yield from _verdict(plan)
    yield from _planted(spec, examples)


def scan_section(spec: DatasetSpec, reused: Mapping[str, PublishedResult]) -> Iterator[str]:
    """Yield a line if a run may stop because of the setting `scan.stop`.

    If the run would reuse a scan, a warning is yielded only if this scan found an artefact.
    """
    if spec.scan.stop == "never":
        return
    if "cue_scan" not in reused:
        yield "`scan.stop` is artefact: if `cue_scan` finds an artefact, the run ends, and no model is trained"
        return
    try:
        refuse_artefact(spec, reused["cue_scan"])
    except ArtefactFoundError as error:
        yield escaped(f"warning: a run would end after cue_scan: {error}")


def _threshold(spec: DatasetSpec, examples: Examples) -> Iterator[str]:
    """Yield a warning if always predicting the largest class reaches the filter's threshold."""
    train, threshold = examples.in_split("train"), spec.filter.threshold
    largest = int(np.bincount(train.labels).argmax())
    guessed = float((train.labels == largest).mean())
    if threshold > guessed + _ROUNDING:
        return
    share, name = percent(guessed), truncate_escaped(examples.label_names[largest], 40)
    if right_answers(train, partly=isinstance(spec.source, ChoiceSource)) is not None:
        what = f"always predicting {name} is right for {share} % of the answers, so guessing alone would remove answers"
    else:
        what = (
            f"{share} % of the train rows are {name}, so these rows count as predictable for a classifier that always "
            f"predicts {name}"
        )
    enough = advised_threshold(guessed)
    yield f"warning: filter.threshold is {threshold:g}, and {what}; set filter: {{threshold: {enough:g}}}"


def train_sets_section(plan: RunPlan) -> Iterator[str]:
    """Yield a warning for each size in `train_sets` that the filter never reaches."""
    most, least = plan.train_pool_rows, plan.settings.target_size
    for name, rows in plan.spec.train_sets.items():
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
    """Return a number as text that YAML parses as a number, such as 4.0e-06. YAML would parse `4e-06` as text."""
    return str(yaml.safe_dump(float(f"{number:g}"))).split()[0]


def _few_chosen(spec: DatasetSpec, challenges: ChallengePreviews) -> Iterator[str]:
    """Yield warnings about challenge sets for which too few questions were chosen."""
    for one in challenges.read:
        challenge = spec.challenge_sets[one.name]
        if one.complete and (few := few_chosen(challenge, one.raw.examples)):
            several = len(challenge.balanced_by) + len(challenge.against) > 1
            fewer = "name fewer measures in balanced_by or against, or " if several else ""
            yield f"warning: challenge_sets.{one.name} has {few}; {fewer}provide more questions"


def _verdict(plan: RunPlan) -> Iterator[str]:
    """Yield warnings about questions that the report will not be able to answer."""
    spec = plan.spec
    if len(spec.seeds) == 1:
        yield "warning: `seeds` has one seed, so the variation between training runs is unknown; set seeds: [0, 1, 2]"
    splits = [split for split in (*spec.source.splits, *spec.holdout) if split != "train"]
    if not spec.challenge_sets and all(spec.filter.evaluation_rows_of(split) == "pooled" for split in splits):
        yield (
            "warning: every test row enters the filter's pool, so the report cannot decide whether filtering helps; "
            "add a challenge set, or hold rows out: holdout: {fresh: 0.1} with filter: "
            "{evaluation_rows: {fresh: kept}}"
        )
    if plan.pool_rows < WORST_CASE_ROWS:
        yield (
            f"warning: {counted(plan.pool_rows, 'row')} to filter may be too few to distinguish a bias from that of "
            f"shuffled labels; {count(WORST_CASE_ROWS)} are always enough"
        )


def _planted(spec: DatasetSpec, examples: Examples) -> Iterator[str]:
    """Yield a warning for each attribute of `planted` with values that no row has."""
    for attribute, values in spec.planted.items():
        present = set(examples.table[f"attribute.{attribute}"].unique().to_pylist())
        missing = [value for value in as_tuple(values) if value not in present]
        if missing:
            yield (
                f"warning: planted names {escaped(attribute)} {escaped(', '.join(missing))}, which no row has; it has "
                f"{escaped(listed(sorted(map(str, present)), 10))}"
            )
