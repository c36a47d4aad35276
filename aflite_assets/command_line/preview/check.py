"""The work of `aflite check`: the order and the text of its sections, and the data checks that end it.

Text from the dataset is truncated and escaped before it is printed.
"""

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from aflite_assets.checks import CheckOutcome
from aflite_assets.command_line.preview.data_preview import (
    ChallengePreview,
    ChallengePreviews,
    DataPreview,
    preview_challenges,
    preview_data,
    preview_plan,
    reused_results,
)
from aflite_assets.command_line.preview.estimate import LAST_RUN, CostEstimate, estimate_cost
from aflite_assets.command_line.preview.plan_warnings import all_warnings
from aflite_assets.command_line.preview.run_plan import PlannedWeakModel, RunPlan, StudyPreview
from aflite_assets.command_line.terminal import duration, escaped, indented, table, truncate_escaped, write_lines
from aflite_assets.data.examples import Examples
from aflite_assets.data.images import read_encoded
from aflite_assets.data.questions import right_answers, separate_questions
from aflite_assets.diagnostics.data_checks.all_checks import data_findings
from aflite_assets.errors import DataError
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results.opening import open_store
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.filter import Count
from aflite_assets.stages.data.raw_dataset import changes
from aflite_assets.stages.shared.published import category_columns
from aflite_assets.stages.warmup.findings import length_line
from aflite_assets.stages.warmup.warmup_split import text_lengths
from aflite_assets.studies import parts
from aflite_assets.text import count, listed, percent, value_text
from aflite_assets.wording import counted

MOST_CLASSES = 20
MOST_CATEGORIES = 6
MOST_NAME_SIGNS = 40
MOST_TEXT_SIGNS = 100
MOST_NUMBERS = 6
SHOWN_ROWS = 3


def check(spec: DatasetSpec, *, device: DeviceSettings | None) -> None:
    """Print what a dataset's data and file mean for a run, and the estimated cost on `device` unless it is None.

    Raises:
        DataError: the data do not match the spec, or a failed data check would stop a run.
        ModelError: a model does not fit the data or is not available.
    """
    data = preview_data(spec)
    _print(data_section(spec, data))
    raw = data.raw
    broken, unlabelled = raw.undecodable_images, raw.unlabelled_rows
    findings = data_findings(raw.examples, unlabelled_rows=unlabelled, undecodable_images=broken, source=data.facts)
    _print(findings_section(findings))
    blocking = [finding.name for finding in findings if finding.blocking and not finding.passed]
    if blocking:
        raise DataError(
            f"these failed checks would stop a run: {', '.join(blocking)}; correct the data as described under each "
            "check"
        )
    challenges = preview_challenges(spec, data)
    _print(challenge_section(challenges))
    plan = preview_plan(spec, data, challenges, reused=reused_results(spec, open_store()))
    _print(plan_section(data, plan))
    _print(all_warnings(data, challenges, plan))
    lengths = text_lengths(spec, raw.examples)
    _print(f"{name}: {length_line(facts)}" for name, facts in lengths.items() if "not_measured" not in facts)
    if device is not None:
        _print(estimate_section(estimate_cost(raw.examples, plan, device=device, log=_progress)))


def _print(section: Iterable[str]) -> None:
    lines = list(section)
    if lines:
        write_lines(sys.stdout, [*lines, ""])


def _progress(line: str) -> None:
    write_lines(sys.stderr, [f"{line} ..."])


def data_section(spec: DatasetSpec, data: DataPreview) -> Iterator[str]:
    """Yield the section on the data: name, source, rows per split and class, kind of input, and first rows."""
    raw, examples = data.raw, data.raw.examples
    yield f"{spec.name}: {escaped(spec.title)}" if spec.title else spec.name
    yield f"source: {spec.source.format}{_content(data.content)}"
    first = f"the first {count(data.first_rows or 0)} rows of each split, or a few of each class"
    yield f"read: {'all rows' if data.complete else first} in {duration(data.seconds)}"
    yield ""
    yield from _number_table(_split_rows(data))
    yield ""
    splits = examples.table["split"].to_numpy(zero_copy_only=False)
    yield from _class_table(examples, {split: splits == split for split in dict.fromkeys(splits)})
    yield ""
    yield f"input: {_input(examples)}"
    yield from (escaped(line) for line in changes(raw))
    if raw.annotations_left_out is not None:
        yield escaped(raw.annotations_left_out)
    yield ""
    places = data.facts.places(examples.row_ids[:SHOWN_ROWS].tolist())
    for position, place in enumerate(places):
        yield from _row_lines(Examples(examples.table.slice(position, 1), examples.label_names), place)


def challenge_section(challenges: ChallengePreviews) -> Iterator[str]:
    """Yield every challenge set with its rows, its categories and the mapping of labels."""
    if not challenges.read and not challenges.missing:
        yield "challenge sets: none"
    for challenge in challenges.read:
        yield from _challenge(challenge)
    for name, reason in challenges.missing.items():
        yield f"challenge set {name} is left out: {escaped(reason)}"


def plan_section(data: DataPreview, plan: RunPlan) -> Iterator[str]:
    """Yield the sizes of a planned run: the numbers of rows, iterations, train sets and cells (trained evaluators)."""
    settings, spec = plan.settings, plan.spec
    sizes = spec.filter
    less = "no more often" if settings.comparison == "greater" else "less often"
    train_size = sizes.train_size or ("as warm-up" if plan.warmup_rows else "a tenth of the pool")
    yield f"plan{_basis(data)}"
    lines = [
        *(line for one in parts("command_line.preview", StudyPreview) for line in one.lines(plan)),
        ("warm-up", _warmup(plan)),
        ("pool", f"{counted(plan.pool_rows, 'row')} to filter{_policy(plan)}"),
        ("target_size", f"{_size(settings.target_size, sizes.target_size)} of train are kept at least"),
        ("train_size", f"{_size(settings.train_size, train_size)} per classifier"),
        ("slice_size", f"{_size(settings.slice_size, sizes.slice_size)} at most are removed per iteration"),
        ("partitions", f"{count(settings.n_partitions)} per iteration"),
        ("threshold", f"{settings.threshold:g}: rows that are predicted {less} are kept"),
        ("iterations", _iterations(plan)),
        *(("weak model", _weak_model(name, weak, plan)) for name, weak in plan.weak_models.items()),
        ("train sets", _train_sets(plan)),
        ("test sets", ", ".join(f"{name} {count(rows)}" for name, rows in plan.test_rows.items()) + " rows"),
        ("cells", _cells(plan)),
    ]
    yield from (f"  {line}" for line in table(lines))


def findings_section(findings: Iterable[CheckOutcome]) -> Iterator[str]:
    """Yield the failed data checks, each with a finding and advice."""
    for result in findings:
        if result.passed:
            continue
        numbers = ", ".join(f"{escaped(name)} {escaped(value_text(value))}" for name, value in result.numbers.items())
        yield f"{'error' if result.blocking else 'warning'}: {result.name}"
        yield from indented(escaped(result.found) or numbers)
        yield from indented(escaped(result.what_to_do))


def estimate_section(estimate: CostEstimate) -> Iterator[str]:
    """Yield the estimated cost per stage and model, the total cost, and a remark on how reliable the estimate is."""
    yield f"estimated cost on this machine ({estimate.device}, {os.cpu_count()} CPU cores)"
    head = ("stage", "what", "work", "estimate")
    rows = [
        (
            line.stage,
            line.what,
            " + ".join(counted(number, unit) for unit, number in line.counts.items()),
            "not measured" if line.seconds is None else duration(line.seconds),
        )
        for line in estimate.lines
    ]
    least = "at least " if estimate.not_measured else ""
    larger = "" if estimate.sizes_known else " and leaves larger train sets, on which models take more steps"
    yield from (f"  {line}" for line in table([head, *rows, ("total", "", "", least + duration(estimate.seconds))]))
    for line in estimate.lines:
        if line.note:
            yield from indented(f"{line.stage} of {line.what}: {line.note}")
    if estimate.at_once > 1:
        yield from indented(
            f"Small evaluators are trained in parallel, in {estimate.at_once} processes with one thread and up to 1 "
            "GiB each; a run starts fewer processes if too few cores or too little memory are free."
        )
    for line in estimate.not_measured:
        yield from indented(
            f"not measured: {line.stage} of {line.what}, because the model is not on this machine; a run downloads "
            "it first"
        )
    if any(line.what == LAST_RUN for line in estimate.lines):
        yield from indented(
            'For a stage with "its last run", the time is how long the stage took for its current result. A run now '
            "would reuse that result, which takes no time."
        )
    yield from indented(
        f"Measured in {duration(estimate.measuring_seconds)}. Expect a factor of two either way: other programs slow "
        f"the machine, and a filter that the threshold stops has fewer iterations{larger}. Reading, statistics and "
        "the report take longer with many rows. Reused results need no process."
    )


def _content(content: Mapping[str, str | int]) -> str:
    if "commit" in content:
        return f", commit {content['commit']}"
    return f", {counted(int(content['files']), 'file')}, sha256 {str(content['sha256'])[:16]}…" if content else ""


def _split_rows(data: DataPreview) -> list[list[str]]:
    """Return a table with one line per split, and a column for undecodable images if there are any."""
    raw, used, broken = data.raw, data.rows or {}, data.raw.undecodable_images
    rows = [["split", "rows read", "unlabelled", *(["undecodable"] if broken else []), "to use"]]
    for split in dict.fromkeys([*raw.source_rows, *raw.examples.table["split"].to_pylist(), *used]):
        is_drawn = split not in raw.source_rows
        row = [split, "from train" if is_drawn else count(raw.source_rows[split])]
        row.append("" if is_drawn else count(raw.unlabelled_rows[split]))
        if broken:
            row.append(count(broken[split].rows if split in broken else 0))
        rows.append([*row, count(used[split]) if split in used else "unknown"])
    return rows


def _number_table(rows: list[list[str]]) -> list[str]:
    return table(rows, numbers=range(1, len(rows[0])))


def _class_table(examples: Examples, columns: Mapping[str, Any]) -> Iterator[str]:
    """Yield a table of the numbers of rows per class; `columns`: the rows that each column counts, by heading."""
    names = examples.label_names
    counts = [np.bincount(examples.labels[rows], minlength=len(names)).tolist() for rows in columns.values()]
    rows = [[_name(name), *map(count, of_class)] for name, *of_class in zip(names, *counts, strict=True)]
    yield from _number_table([["class", *columns], *rows[:MOST_CLASSES]])
    if len(names) > MOST_CLASSES:
        yield f"… and {count(len(names) - MOST_CLASSES)} more classes"


def _name(name: str) -> str:
    return truncate_escaped(name, MOST_NAME_SIGNS)


def _input(examples: Examples) -> str:
    text = "sentence pairs" if "text_pair" in examples.table.column_names else "texts"
    kind = {"text": text, "image": "images", "features": "feature vectors"}[examples.modality]
    if examples.modality == "features":
        kind += f" of width {count(examples.features.shape[1])}"
    questions = _questions(examples)
    if examples.groups is None or (questions and separate_questions(examples) is None):
        return f"{kind}{questions}"
    return f"{kind}{questions} in {counted(len(np.unique(examples.groups)), 'group')}"


def _questions(examples: Examples) -> str:
    if right_answers(examples, partly=separate_questions(examples) is not None) is None or examples.questions is None:
        return ""
    return f", the answers of {counted(len(np.unique(examples.questions)), 'question')}"


def _row_lines(row: Examples, place: str) -> Iterator[str]:
    """Yield lines that show one row: place and label, then input, group, annotators and attributes."""
    yield f"{escaped(place)}: label {escaped(row.label_names[int(row.labels[0])])}"
    for name in row.table.column_names:
        if name not in ("row_id", "source_id", "split", "label", "question"):
            yield f"  {escaped(name)}: {_value(row, name, row.table[name][0].as_py())}"


def _value(row: Examples, column: str, value: Any) -> str:
    if column == "features":
        first = ", ".join(f"{number:.3g}" for number in value[:MOST_NUMBERS])
        return f"{len(value)} numbers: {first}" + (", …" if len(value) > MOST_NUMBERS else "")
    if column == "image":
        return _image(row, value["path"])
    if column == "annotator_labels":
        value = ", ".join(row.label_names[number] for number in value or ()) or None
    return "none" if value is None else truncate_escaped(str(value), MOST_TEXT_SIGNS)


def _image(row: Examples, path: str | None) -> str:
    shown = "{0.width} x {0.height} pixels, {0.format} {0.mode}".format
    size = read_encoded(row.image_bytes(0), shown) or "cannot be read"
    return size if path is None else f"{size}, {escaped(path)}"


def _challenge(challenge: ChallengePreview) -> Iterator[str]:
    raw = challenge.raw
    read = "" if challenge.complete else ", of which the first were read"
    dropped = sum(raw.unlabelled_rows.values())
    without = f", {count(dropped)} without a label dropped" if dropped else ""
    yield f"challenge set {challenge.name}: {counted(challenge.rows, 'row')}{_questions(raw.examples)}{read}{without}"
    if challenge.fine_tune_rows is not None:
        yield f"  {counted(challenge.fine_tune_rows, 'row')} for fine-tuning, without rows that are in a test set"
    for label, own in challenge.label_mapping.items():
        if label != own:
            yield f"  {_name(label)} counts as {'none' if own is None else _name(own)}"
    yield from (f"  {line}" for line in _class_table(raw.examples, _categories(raw.examples)))


def _categories(examples: Examples) -> dict[str, Any]:
    """Return the rows of the whole set and, if there are few categories, also those of each category."""
    rows: dict[str, Any] = {"rows": slice(None)}
    by_column = category_columns(examples)
    for column, texts in by_column.items():
        values = np.array([value or "none" for value in texts.tolist()])
        categories = np.unique(values).tolist()
        for category in categories if len(categories) <= MOST_CATEGORIES else ():
            rows[_name(category if len(by_column) == 1 else f"{column}: {category}")] = values == category
    return rows


def _basis(data: DataPreview) -> str:
    if data.complete:
        return ""
    unknown = " only for the rows that were read, because the total number is unknown"
    return unknown if data.rows is None else " according to the source, including rows that may be dropped"


def _warmup(plan: RunPlan) -> str:
    of_train = f"{count(plan.filtered_from)} {'train' if plan.sample is None else 'sampled'} rows"
    if not plan.warmup_rows:
        return "none, no encoder is trained"
    if plan.curve is not None:
        samples = ", ".join(map(count, plan.curve.samples))
        return (
            f"at most {counted(plan.warmup_rows, 'row')} of {of_train} (auto: a sample of "
            f"{samples}, and {count(plan.curve.held_back)} held back); the following numbers are for the maximum"
        )
    return f"{_size(plan.warmup_rows, plan.spec.warmup.size)} of {of_train}"


def _policy(plan: RunPlan) -> str:
    phrases = {
        "pooled": ", including {} of other splits",
        "scored": ", and {} of other splits that are only scored",
        "kept": ", and {} of other splits that are not filtered",
    }
    rows = {phrase: plan.entering(policy) for policy, phrase in phrases.items()}
    return "".join(phrase.format(counted(number, "row")) for phrase, number in rows.items() if number)


def _iterations(plan: RunPlan) -> str:
    rate = ", if test rows are removed at the same rate as train rows"
    each = f"{count(plan.most_iterations)} at most{'' if plan.pool_rows == plan.train_pool_rows else rate}"
    runs = plan.spec.filter_seeds
    return each if runs == 1 else f"{each}, in each of {counted(runs, 'run')}"


def _size(rows: int, setting: Count | str) -> str:
    """Return a number of rows with its setting, unless the setting is the number itself."""
    return counted(rows, "row") if isinstance(setting, int) else f"{counted(rows, 'row')} ({setting})"


def _train_sets(plan: RunPlan) -> str:
    named: dict[str, dict[int, None]] = {}
    for train_set in plan.train_sets:
        named.setdefault(train_set.name, {})[train_set.rows] = None
    sizes = ", ".join(f"{name} {listed([count(rows) for rows in each], 10)}" for name, each in named.items())
    if plan.kept:
        return f"{sizes} rows, as many as the filter keeps in the current result"
    return (
        f"{sizes} rows, if the filter reaches its target size; if the threshold stops it earlier, filtered and its "
        f"controls have more, up to {count(plan.train_pool_rows)}"
    )


def _weak_model(name: str, weak: PlannedWeakModel, plan: RunPlan) -> str:
    trained = f"the first training of {weak.evaluator}" if weak.evaluator else counted(weak.trainings, "training")
    share = f"{percent(weak.taken / max(plan.full, 1))} % of full"
    how = "assumed, because no run has counted them" if weak.assumption else "as in the current result"
    return f"{name}: {trained}, {counted(weak.taken, 'row')} taken ({share}, {how})"


def _cells(plan: RunPlan) -> str:
    alone, seeds = len(plan.full_alone), counted(len(plan.spec.seeds), "seed")
    others = counted(len(plan.spec.evaluators) - alone, "evaluator")
    grid = f"{count(plan.cells)} = {others} x {counted(len(plan.train_sets), 'train set')} x {seeds}"
    return f"{grid} + {counted(alone, 'evaluator')} on full alone x {seeds}" if alone else grid
