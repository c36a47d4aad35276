"""Text of the sections of `aflite check`. The module `check_text` only formats records and computes nothing.

Text from the dataset is truncated and escaped before it is printed.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aflite_assets.algorithm.settings import FilterSettings
from aflite_assets.checks import CheckOutcome
from aflite_assets.command_line.preview.data_preview import ChallengePreview, ChallengePreviews, DataPreview
from aflite_assets.command_line.preview.estimate import CostEstimate
from aflite_assets.command_line.preview.planned import PlannedWeakModel, RunPlan
from aflite_assets.command_line.preview.study import StudyPreview
from aflite_assets.command_line.terminal import duration, escaped, indented, table, truncate_escaped
from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.row_places import line_of_row
from aflite_assets.data.images import open_encoded
from aflite_assets.data.questions import right_answers, separate_questions
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.filter import Count, FilterChanges, advised_threshold
from aflite_assets.specs.sources import ChoiceSource, SourceSpec, TableSource, as_tuple
from aflite_assets.stages.data.raw_dataset import LoadedTable, changes
from aflite_assets.stages.shared.published import category_columns
from aflite_assets.studies import parts
from aflite_assets.text import count, listed, percent
from aflite_assets.wording import counted, quoted

MOST_CLASSES = 20
MOST_CATEGORIES = 6
MOST_NAME_SIGNS = 40
MOST_TEXT_SIGNS = 100
MOST_NUMBERS = 6

_ROUNDING = 1e-9


def data_section(spec: DatasetSpec, data: DataPreview) -> Iterator[str]:
    """Yield the section on the data: name, source, rows per split and class, kind of input, and first rows."""
    yield f"{spec.name}: {escaped(spec.title)}" if spec.title else spec.name
    yield f"source: {spec.source.format}{_content(data.content)}"
    yield f"read: {_how_read(data)} in {duration(data.seconds)}"
    raw = data.raw
    yield ""
    rows = _split_rows(data)
    yield from table(rows, numbers=range(1, len(rows[0])))
    yield ""
    yield from _class_table(_class_counts(raw.examples), raw.examples.label_names)
    yield ""
    yield f"input: {_input(raw.examples)}"
    yield from (escaped(line) for line in changes(raw))
    if raw.annotations_left_out is not None:
        yield escaped(raw.annotations_left_out)
    yield ""
    yield from _first_rows(spec, raw)


def challenge_section(challenges: ChallengePreviews) -> Iterator[str]:
    """Yield every challenge set with its rows, its categories and the mapping of labels."""
    if not challenges.read and not challenges.missing:
        yield "challenge sets: none"
    for challenge in challenges.read:
        yield from _challenge(challenge)
    for name, reason in challenges.missing.items():
        yield f"challenge set {name} is left out: {escaped(reason)}"


def plan_section(spec: DatasetSpec, data: DataPreview, plan: RunPlan) -> Iterator[str]:
    """Yield the sizes of a planned run: the numbers of rows, iterations, train sets and cells (trained evaluators)."""
    settings = plan.settings
    yield f"plan{_basis(data)}"
    lines = [
        *(line for one in parts("command_line.preview", StudyPreview) for line in one.lines(plan)),
        ("warm-up", _warmup(spec, plan)),
        ("pool", f"{counted(plan.pool_rows, 'row')} to filter{_policy(spec, plan)}"),
        ("target_size", f"{_size(settings.target_size, spec.filter.target_size)} of train are kept at least"),
        ("train_size", f"{_train_size(spec, plan)} per classifier"),
        ("slice_size", f"{_size(settings.slice_size, spec.filter.slice_size)} at most are removed per iteration"),
        ("partitions", f"{count(settings.n_partitions)} per iteration"),
        ("threshold", _threshold(settings)),
        *((f"of {name}", _changes(changes)) for name, changes in spec.filter.representations.items()),
        ("iterations", _iterations(plan)),
        *(("weak model", _weak_model(weak_model, plan)) for weak_model in plan.weak_models.values()),
        ("train sets", _train_sets(plan)),
        ("test sets", ", ".join(f"{name} {count(rows)}" for name, rows in plan.test_rows.items()) + " rows"),
        ("cells", _cells(plan)),
    ]
    yield from (f"  {line}" for line in table(lines))


def _threshold(settings: FilterSettings) -> str:
    less = "no more often" if settings.comparison == "greater" else "less often"
    return f"{settings.threshold:g}: rows that are predicted {less} are kept"


def _changes(changes: FilterChanges) -> str:
    """Return the filter settings that one representation changes, as text."""
    given = changes.model_dump(exclude_none=True)
    return ", ".join(f"{name} {count(value) if isinstance(value, int) else value}" for name, value in given.items())


WORST_CASE_ROWS = 1_537
"""Smallest number of rows with which the 95 % interval of any initial bias is at most 5 points wide."""


def verdict_section(spec: DatasetSpec, data: DataPreview, plan: RunPlan) -> Iterator[str]:
    """Yield warnings about questions that the report cannot answer, and about the settings to change."""
    if plan.seeds == 1:
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
    columns = data.raw.examples.table
    for attribute, values in spec.planted.items():
        present = set(columns[f"attribute.{attribute}"].unique().to_pylist())
        missing = [value for value in as_tuple(values) if value not in present]
        if missing:
            yield (
                f"warning: planted names {escaped(attribute)} {escaped(', '.join(missing))}, which no row has; it has "
                f"{escaped(listed(sorted(map(str, present)), 10))}"
            )


def threshold_section(spec: DatasetSpec, data: DataPreview) -> Iterator[str]:
    """Yield a warning if always predicting the largest class reaches the filter's threshold."""
    train = data.raw.examples.in_split("train")
    labels = train.labels
    of_questions = right_answers(train, partly=isinstance(spec.source, ChoiceSource)) is not None
    largest = int(np.bincount(labels).argmax())
    guessed, threshold = float((labels == largest).mean()), spec.filter.threshold
    if threshold > guessed + _ROUNDING:
        return
    enough = advised_threshold(guessed)
    share, name = percent(guessed), escaped(_name(data.raw.examples.label_names[largest]))
    what = (
        f"always predicting {name} is right for {share} % of the answers, so guessing alone would remove answers"
        if of_questions
        else f"{share} % of the train rows are {name}, so these rows count as predictable for a classifier "
        f"that always predicts {name}"
    )
    yield f"warning: filter.threshold is {threshold:g}, and {what}; set filter: {{threshold: {enough:g}}}"


def lengths_section(lengths: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield the share of rows that each text model truncates at `max_length`. Models that build their tokenizer during
    training are skipped.
    """
    for name, length in lengths.items():
        if "not_measured" not in length:
            share, rows = percent(length["share"]), counted(length["rows"], "row")
            yield (
                f"{name}: {share} % of {rows} have over {length['max_length']} tokens and are truncated; 99 % have "
                f"at most {length['fits_99']}, the longest has {length['longest']}"
            )


def findings_section(findings: Iterable[CheckOutcome]) -> Iterator[str]:
    """Yield the failed data checks, each with a finding and advice."""
    for result in findings:
        if result.passed:
            continue
        numbers = ", ".join(f"{escaped(name)} {_number(value)}" for name, value in result.numbers.items())
        yield f"{'error' if result.blocking else 'warning'}: {result.name}"
        yield from indented(escaped(result.found) or numbers)
        yield from indented(escaped(result.what_to_do))


def estimate_section(estimate: CostEstimate) -> Iterator[str]:
    """Yield the estimated cost per stage and model, the total cost, and a remark on how reliable the estimate is."""
    yield f"estimated cost on this machine ({estimate.device}, {os.cpu_count()} CPU cores)"
    head = ("stage", "what", "work", "estimate")
    rows = [(line.stage, line.what, _work(line.counts), _seconds(line.seconds)) for line in estimate.lines]
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
    if estimate.last:
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


def _number(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else escaped(str(value))


def _how_read(data: DataPreview) -> str:
    if data.complete:
        return "all rows"
    return f"the first {count(data.reading.first_rows or 0)} rows of each split, or a few of each class"


def _split_rows(data: DataPreview) -> list[tuple[str, ...]]:
    """Return a table with one line per split, and a column for undecodable images if there are any."""
    raw, used = data.raw, data.rows or {}
    broken = {split: images.rows for split, images in raw.undecodable_images.items()}
    rows: list[tuple[str, ...]] = [("split", "rows read", "unlabelled", *(["undecodable"] if broken else []), "to use")]
    for split in dict.fromkeys([*raw.source_rows, *_class_counts(raw.examples), *used]):
        read = [count(raw.source_rows[split]), count(raw.unlabelled_rows[split])] if split in raw.source_rows else None
        rows.append(
            (
                split,
                *(read or ["from train", ""]),
                *([count(broken.get(split, 0))] if broken else []),
                count(used[split]) if split in used else "unknown",
            )
        )
    return rows


def _class_counts(examples: Examples) -> dict[str, np.ndarray]:
    splits = examples.table["split"].to_numpy(zero_copy_only=False)
    classes = len(examples.label_names)
    return {split: np.bincount(examples.labels[splits == split], minlength=classes) for split in dict.fromkeys(splits)}


def _class_table(counts: Mapping[str, np.ndarray], names: tuple[str, ...]) -> Iterator[str]:
    rows = [("class", *counts)]
    for number, name in enumerate(names[:MOST_CLASSES]):
        rows.append((_name(name), *(count(int(column[number])) for column in counts.values())))
    yield from table(rows, numbers=range(1, len(rows[0])))
    if len(names) > MOST_CLASSES:
        yield f"… and {count(len(names) - MOST_CLASSES)} more classes"


def _name(name: str) -> str:
    return truncate_escaped(name, MOST_NAME_SIGNS)


def _input(examples: Examples) -> str:
    kind = {
        "text": "sentence pairs" if "text_pair" in examples.table.column_names else "texts",
        "image": "images",
        "features": "feature vectors",
    }[examples.modality]
    if examples.modality == "features":
        kind += f" of width {count(examples.features.shape[1])}"
    groups, questions = examples.groups, examples.questions
    if groups is None or questions is None:
        return kind
    in_groups = f" in {counted(len(np.unique(groups)), 'group')}"
    if right_answers(examples, partly=separate_questions(examples) is not None) is not None:
        grouped = "" if separate_questions(examples) is None else in_groups
        return f"{kind}, the answers of {counted(len(np.unique(questions)), 'question')}{grouped}"
    return f"{kind}{in_groups}"


def _first_rows(spec: DatasetSpec, raw: LoadedTable) -> Iterator[str]:
    """Yield lines that show the first rows of the dataset. Each row takes several lines: position and label, input,
    group, annotators, and attributes.
    """
    examples = raw.examples
    for position, ordinal in zip(range(len(examples)), _ORDINALS, strict=False):
        row = Examples(examples.table.slice(position, 1), examples.label_names)
        split = row.table["split"][0].as_py()
        place = _file_place(spec.source, raw.source_rows, int(row.row_ids[0]))
        yield from _row_lines(row, f"{ordinal} row of {split}{place and f' ({place})'}")


_ORDINALS = ("first", "second", "third")


def _file_place(source: SourceSpec, source_rows: Mapping[str, int], row_id: int) -> str:
    """Return the position of a row in its source, such as `line 2 of 'train.csv'`.

    In a file without lines, such as Parquet, the position is the row number. If the position is unknown, the text is
    empty.
    """
    if not isinstance(source, TableSource):
        return ""
    for split, rows in source_rows.items():
        files = as_tuple(source.splits.get(split, ()))
        if row_id < rows:
            if len(files) != 1:
                return ""
            line = line_of_row(source, Path(files[0]), row_id)
            return f"{f'row {row_id + 1}' if line is None else f'line {line}'} of {quoted(Path(files[0]).name, 60)}"
        row_id -= rows
    return ""


def _row_lines(row: Examples, place: str) -> Iterator[str]:
    label = escaped(row.label_names[int(row.labels[0])])
    yield f"{place}: label {label}"
    yield from (f"  {name}: {value}" for name, value in _row_input(row))
    if row.groups is not None:
        yield f"  group: {row.groups[0]}"
    if "annotator_labels" in row.table.column_names:
        given = row.table["annotator_labels"][0].as_py() or ()
        yield f"  annotators: {', '.join(escaped(row.label_names[number]) for number in given) or 'none'}"
    for name in row.table.column_names:
        if name.startswith("attribute."):
            value = row.table[name][0].as_py()
            yield f"  {escaped(name)}: {'none' if value is None else truncate_escaped(str(value), MOST_TEXT_SIGNS)}"


def _row_input(row: Examples) -> Iterator[tuple[str, str]]:
    if row.modality == "text":
        for name in ("text", "text_pair"):
            if name in row.table.column_names:
                yield name, truncate_escaped(row.table[name][0].as_py(), MOST_TEXT_SIGNS)
    elif row.modality == "features":
        values = row.features[0].tolist()
        first = ", ".join(f"{value:.3g}" for value in values[:MOST_NUMBERS])
        yield "features", f"{len(values)} numbers: {first}" + (", …" if len(values) > MOST_NUMBERS else "")
    else:
        yield "image", _image(row)


def _image(row: Examples) -> str:
    try:
        image = open_encoded(row.image_bytes(0))
    except MemoryError:
        raise
    except Exception as error:  # of hostile bytes, readers raise anything; each says that this is no image
        return f"cannot be read: {truncate_escaped(str(error), MOST_TEXT_SIGNS)}"
    size = f"{image.width} x {image.height} pixels, {image.format} {image.mode}"
    path = row.table["image"][0].as_py()["path"]
    return size if path is None else f"{size}, {escaped(path)}"


def _challenge(challenge: ChallengePreview) -> Iterator[str]:
    raw = challenge.raw
    read = "" if challenge.complete else ", of which the first were read"
    dropped = sum(raw.unlabelled_rows.values())
    yield f"challenge set {challenge.name}: {counted(challenge.rows, 'row')}{_questions(raw.examples)}{read}" + (
        f", {count(dropped)} without a label dropped" if dropped else ""
    )
    if challenge.fine_tune_rows is not None:
        yield f"  {counted(challenge.fine_tune_rows, 'row')} for fine-tuning, without rows that are in a test set"
    for label, own in challenge.label_mapping.items():
        if label != own:
            yield f"  {_name(label)} counts as {'none' if own is None else _name(own)}"
    yield from (f"  {line}" for line in _class_table(_by_category(raw.examples), raw.examples.label_names))


def _questions(examples: Examples) -> str:
    if right_answers(examples, partly=separate_questions(examples) is not None) is None or examples.questions is None:
        return ""
    return f", the answers of {counted(len(np.unique(examples.questions)), 'question')}"


def _by_category(examples: Examples) -> dict[str, np.ndarray]:
    """Return the number of rows per class and, if there are few categories, also per category."""
    classes = len(examples.label_names)
    columns = {"rows": np.bincount(examples.labels, minlength=classes)}
    by_column = category_columns(examples)
    for column, texts in by_column.items():
        values = np.array([value or "none" for value in texts.tolist()])
        categories = np.unique(values).tolist()
        for category in categories if len(categories) <= MOST_CATEGORIES else ():
            heading = _name(category if len(by_column) == 1 else f"{column}: {category}")
            columns[heading] = np.bincount(examples.labels[values == category], minlength=classes)
    return columns


def _basis(data: DataPreview) -> str:
    if data.complete:
        return ""
    if data.rows is None:
        return " only for the rows that were read, because the total number is unknown"
    return " according to the source, including rows that may be dropped"


def _warmup(spec: DatasetSpec, plan: RunPlan) -> str:
    of_train = f"{count(plan.filtered_from)} {'train' if plan.sample is None else 'sampled'} rows"
    if not plan.warmup_rows:
        return "none, no encoder is trained"
    if plan.curve is not None:
        samples = ", ".join(map(count, plan.curve.samples))
        return (
            f"at most {counted(plan.warmup_rows, 'row')} of {of_train} (auto: a sample of "
            f"{samples}, and {count(plan.curve.held_back)} held back); the following numbers are for the maximum"
        )
    return f"{_size(plan.warmup_rows, spec.warmup.size)} of {of_train}"


def _policy(spec: DatasetSpec, plan: RunPlan) -> str:
    rows = dict.fromkeys(("pooled", "scored", "kept"), 0)
    for split, number in plan.rows.items():
        if split != "train":
            rows[spec.filter.evaluation_rows_of(split)] += number
    phrases = {
        "pooled": ", including {} of other splits",
        "scored": ", and {} of other splits that are only scored",
        "kept": ", and {} of other splits that are not filtered",
    }
    return "".join(phrases[policy].format(counted(number, "row")) for policy, number in rows.items() if number)


def _iterations(plan: RunPlan) -> str:
    at_most = (
        "at most"
        if plan.pool_rows == plan.train_pool_rows
        else "at most, if test rows are removed at the same rate as train rows"
    )
    each = f"{count(plan.most_iterations)} {at_most}"
    return each if plan.filter_runs == 1 else f"{each}, in each of {counted(plan.filter_runs, 'run')}"


def _size(rows: int, setting: Count | str | None) -> str:
    return f"{counted(rows, 'row')} ({setting})" if isinstance(setting, float) else counted(rows, "row")


def _train_size(spec: DatasetSpec, plan: RunPlan) -> str:
    if spec.filter.train_size is not None:
        return _size(plan.settings.train_size, spec.filter.train_size)
    return f"{counted(plan.settings.train_size, 'row')} ({'as warm-up' if plan.warmup_rows else 'a tenth of the pool'})"


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


def _weak_model(weak_model: PlannedWeakModel, plan: RunPlan) -> str:
    (full,) = (train_set.rows for train_set in plan.train_sets if train_set.name == "full")
    trained = f"the first training of {weak_model.evaluator}"
    if weak_model.evaluator is None:
        trained = counted(weak_model.trainings, "training")
    share = f"{percent(weak_model.taken / max(full, 1))} % of full"
    how = "assumed, because no run has counted them" if weak_model.assumption else "as in the current result"
    return f"{weak_model.name}: {trained}, {counted(weak_model.taken, 'row')} taken ({share}, {how})"


def _cells(plan: RunPlan) -> str:
    others, seeds = plan.evaluators - len(plan.full_alone), counted(plan.seeds, "seed")
    grid = f"{counted(others, 'evaluator')} x {counted(len(plan.train_sets), 'train set')} x {seeds}"
    alone = f"{counted(len(plan.full_alone), 'evaluator')} on full alone x {seeds}"
    return f"{count(plan.cells)} = {' + '.join([grid, *([alone] if plan.full_alone else [])])}"


def _work(counts: Mapping[str, int]) -> str:
    return " + ".join(counted(number, unit) for unit, number in counts.items())


def _seconds(seconds: float | None) -> str:
    return "not measured" if seconds is None else duration(seconds)
