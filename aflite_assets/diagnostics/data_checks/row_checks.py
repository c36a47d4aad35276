"""Checks on rows that apply to any kind of input: ids, labels, dropped rows, repeats, balance and annotators."""

import numpy as np

from aflite_assets.checks import CheckOutcome
from aflite_assets.diagnostics.data_checks.annotators import annotator_agreement, majority_against_label
from aflite_assets.diagnostics.data_checks.context import (
    CheckContext,
    by_split_text,
    listed,
    not_applicable,
    outcome,
    quoted_text,
    rows_of,
    share_text,
)
from aflite_assets.diagnostics.data_checks.repeats import RepeatCount, repeats_across_splits
from aflite_assets.diagnostics.record_tables import class_shares_moved, split_masks
from aflite_assets.wording import counted

LARGEST_REPEATED_SHARE = 0.01
"""Largest allowed share of repeated train rows; every large dataset contains some short texts twice."""

LARGEST_CLASS_RATIO = 3.0
"""Largest allowed ratio of the numbers of rows in a split's largest and smallest class."""

LARGEST_SHARE_DIFFERENCE = 5.0
"""Largest allowed difference, in percentage points, between a class's shares in train and in another split."""

LARGEST_OUTVOTED_SHARE = 0.01
"""Largest allowed share of rows whose label most annotators contradict, among rows with annotators' labels."""

LARGEST_DROPPED_SHARE = 0.1
"""Largest share of the train rows for which `between_splits: drop` is advised; otherwise groups are split instead."""

_MOST_SPLITS = 4


def row_ids_unique(data: CheckContext) -> CheckOutcome:
    """No two rows have the same id."""
    unique = len(np.unique(data.examples.row_ids))
    return outcome(
        unique == len(data.examples),
        {"rows": len(data.examples), "ids": unique},
        "delete the result's folder and materialise `raw_dataset` again",
        f"{counted(len(data.examples))} with {counted(unique, 'id')}",
    )


def labels_known(data: CheckContext) -> CheckOutcome:
    """Every label is a class number, and train has at least two classes."""
    labels, classes = data.examples.labels, len(data.examples.label_names)
    unknown = int(((labels < 0) | (labels >= classes)).sum())
    in_train = len(np.unique(labels[data.in_train]))
    numbers = {"unknown_labels": unknown, "classes": classes, "classes_in_train": in_train}
    passed = not unknown and in_train > 1
    return outcome(
        passed,
        numbers,
        "correct the labels and the train split in the dataset's YAML file; filtering needs two classes",
        f"train has {in_train} of {classes} classes"
        + ("" if passed else f"; {counted(unknown)} with a label that is no class number"),
    )


def all_rows_labelled(data: CheckContext) -> CheckOutcome:
    """No row was dropped because its label is missing."""
    dropped = {f"{split}.dropped": rows for split, rows in data.unlabelled_rows.items()}
    if not any(dropped.values()):
        return outcome(True, {"dropped": 0}, found="no row was dropped")
    return outcome(
        False,
        {"dropped": sum(dropped.values()), **dropped},
        "add labels to these rows in the source; otherwise no result includes these rows",
        f"{counted(sum(dropped.values()))} dropped: {by_split_text(data.unlabelled_rows)}",
    )


def images_decode(data: CheckContext) -> CheckOutcome:
    """No row was dropped because its image cannot be decoded."""
    if data.examples.modality != "image":
        return not_applicable("images only")
    numbers: dict[str, int | float | str] = {"dropped": sum(image.rows for image in data.undecodable_images.values())}
    for split, image in data.undecodable_images.items():
        numbers |= {
            f"{split}.dropped": image.rows,
            f"{split}.share": image.share,
            f"{split}.row_ids": listed(image.row_ids),
            f"{split}.source_ids": listed(image.source_ids),
        }
    if not data.undecodable_images:
        return outcome(True, numbers, found="all images can be decoded")
    named = [row_id for image in data.undecodable_images.values() for row_id in image.row_ids]
    rows = sum(image.rows for image in data.undecodable_images.values())
    shares = [f"{rows_of(image.rows, image.share)} of {split}" for split, image in data.undecodable_images.items()]
    return outcome(
        False,
        numbers,
        "repair these images or remove them from the source; their rows were dropped",
        f"{', '.join(shares)}: {data.source.rows_text(named, rows)}",
    )


def no_repeats_across_splits(data: CheckContext) -> CheckOutcome:
    """No row outside the train split also occurs in the train split."""
    if data.in_train.all():
        return not_applicable("only for datasets with other splits than train")
    across = repeats_across_splits(data.examples, data.codes)
    by_split = {f"{split}.rows": rows for split, rows in across.by_split.items()}
    numbers = {"rows": across.rows, "share": across.share, **by_split}
    if not across.rows:
        return outcome(True, numbers, found=f"none of {counted(int((~data.in_train).sum()))} outside train")
    return outcome(
        False,
        {**numbers, "row_ids": listed(across.row_ids)},
        _repeats_advice(data, across),
        f"{rows_of(across.rows, across.share)} outside train, {by_split_text(across.by_split)}: "
        f"{data.source.rows_text(across.row_ids, across.rows)}",
    )


def _repeats_advice(data: CheckContext, across: RepeatCount) -> str:
    """Return advice to set the option that drops the repeats; if the option is set already, return other advice.

    Copies within the train split matter only if another split is drawn from the train split.
    """
    source, repeated = data.source, {split for split, rows in across.by_split.items() if rows}
    drawn = sorted(repeated & source.drawn_splits)
    steps = []
    if repeated - source.drawn_splits and not source.drop_between_splits:
        steps.append(f"set `between_splits: drop`, which drops {_dropped_text(data)}")
    if drawn and not source.drop_duplicates:
        steps.append(
            f"set `drop_duplicates: true` (`holdout` draws {listed(drawn)} from train, so one of two copies was drawn)"
        )
    elif drawn:
        steps.append(
            f"correct the labels of the copies in the source: `holdout` draws {listed(drawn)} from train, and "
            "`drop_duplicates` keeps copies with different labels"
        )
    return "; ".join(
        [*steps, "or remove the repeats from the test split, or expect its accuracy to be too high"]
    ).removeprefix("or ")


def no_groups_across_splits(data: CheckContext) -> CheckOutcome:
    """No group has rows both in the train split and in another split."""
    groups = data.examples.groups
    if groups is None:
        return not_applicable("rows with groups only")
    if data.in_train.all():
        return not_applicable("only for datasets with other splits than train")
    shared = repeats_across_splits(data.examples, groups)
    numbers = {"groups": shared.codes, "train_rows": shared.train_rows}
    numbers |= {f"{split}.rows": rows for split, rows in shared.by_split.items()}
    if not shared.codes:
        return outcome(True, numbers, found="no group is in train and in another split")
    return outcome(
        False,
        numbers,
        f"{_groups_advice(data)}. Otherwise a model is tested on groups on which it was trained",
        f"{counted(shared.codes, 'group')} with {by_split_text({'train': shared.train_rows, **shared.by_split})}",
    )


def _groups_advice(data: CheckContext) -> str:
    """Return advice to drop the train rows that share a group with another split, or, if they are many, to split by
    group.
    """
    draw = "draw the test split from train with `holdout`, which draws whole groups"
    if data.source.drop_between_splits:
        return draw
    if data.dropped_between_splits <= LARGEST_DROPPED_SHARE * data.in_train.sum():
        return f"set `between_splits: drop`, which drops {_dropped_text(data)}, or {draw}"
    return f"split by group: {draw}. `between_splits: drop` would drop {_dropped_text(data)}"


def _dropped_text(data: CheckContext) -> str:
    """Return how many train rows `between_splits: drop` drops, such as "12 of 5,200 train rows"."""
    return f"{data.dropped_between_splits:,} of {counted(int(data.in_train.sum()), 'train row')}"


def few_repeats_in_train(data: CheckContext) -> CheckOutcome:
    """At most 1 % of the train rows have the same input and label as a train row of another group."""
    if data.questions:
        return not_applicable("several questions may have the same answer")
    repeats = data.train_repeats
    share = repeats.same_label / max(repeats.train_rows, 1)
    numbers: dict[str, int | float | str] = {
        "rows": repeats.same_label,
        "share": share,
        "largest_share": LARGEST_REPEATED_SHARE,
    }
    found = f"{rows_of(repeats.same_label, share)} of train"
    if repeats.same_label:
        numbers["row_ids"] = listed(repeats.same_label_ids)
        found += f": {data.source.rows_text(repeats.same_label_ids, repeats.same_label)}"
    drop = "" if data.source.drop_duplicates else "set `drop_duplicates: true`, which keeps one of several copies, or "
    return outcome(
        share <= LARGEST_REPEATED_SHARE,
        numbers,
        f"{drop}set `columns.group` to a column that is equal for all copies of a row. A row is easy to predict if the "
        "model was trained on its copy, so it would be removed",
        found,
    )


def no_label_conflicts(data: CheckContext) -> CheckOutcome:
    """No input occurs in the train split with two different labels."""
    repeats = data.train_repeats
    share = repeats.conflicting / max(repeats.train_rows, 1)
    numbers = {"rows": repeats.conflicting, "share": share, "inputs": repeats.conflicting_inputs}
    if not repeats.conflicting:
        return outcome(True, numbers, found="no input of train has two labels")
    examples = "; ".join(" = ".join(map(str, row_ids)) for row_ids in repeats.conflicts)
    return outcome(
        False,
        {**numbers, "row_ids_by_input": examples},
        "correct the labels or drop these rows in the source, because no model can be right on all of them, and "
        "filtering keeps them as hard rows",
        f"{rows_of(repeats.conflicting, share)} of train with {counted(repeats.conflicting_inputs, 'input')}; the "
        f"same input is at {'. And at '.join(data.source.rows_text(row_ids) for row_ids in repeats.conflicts)}",
    )


def classes_balanced(data: CheckContext) -> CheckOutcome:
    """In every split, each class has rows, and the largest class has at most three times as many rows as the
    smallest.
    """
    names = data.examples.label_names
    numbers: dict[str, int | float | str] = {"largest_ratio": LARGEST_CLASS_RATIO}
    advice, found, largest_ratio = [], [], 0.0
    for split, inside in split_masks(data.examples.table):
        rows = np.bincount(data.examples.labels[inside], minlength=len(names)).tolist()
        present = sorted(np.flatnonzero(rows).tolist(), key=lambda label: -rows[label])
        ends = [(quoted_text(names[label]), rows[label] / sum(rows)) for label in (present[0], present[-1])]
        found.append(f"{split}: {', '.join(f'{name} {share_text(share)}' for name, share in ends)}")
        numbers[f"{split}.ratio"] = ratio = rows[present[0]] / rows[present[-1]]
        for side, (name, share) in zip(("largest", "smallest"), ends, strict=True):
            numbers[f"{split}.{side}"] = f"{name} {share:.4f}"
        largest_ratio = max(largest_ratio, ratio)
        if absent := [name for name, number in zip(names, rows, strict=True) if not number]:
            numbers[f"{split}.absent"] = listed(absent)
            advice.append(f"{split} has no rows of {listed(absent)}: add rows, or remove the class")
    if largest_ratio > LARGEST_CLASS_RATIO:
        advice.append(
            "compare accuracies with the share of the largest class, which a model reaches without any input, and "
            "compare them by class; or keep fewer rows of the large classes in the source"
        )
    shown = f"largest and smallest class of {'; '.join(found[:_MOST_SPLITS])}"
    return outcome(not advice, numbers, "; ".join(advice), shown)


def class_shares_alike(data: CheckContext) -> CheckOutcome:
    """In every split, each class's share of the rows is within five percentage points of its share in train."""
    if data.in_train.all() or not data.in_train.any():
        return not_applicable("only for datasets with train and another split")
    labels, names = data.examples.labels, data.examples.label_names
    numbers: dict[str, int | float | str] = {"largest_points": LARGEST_SHARE_DIFFERENCE}
    differing, found = [], []
    for split, inside in split_masks(data.examples.table):
        if split == "train":
            continue
        # Rounding prevents that a difference of exactly five points exceeds the limit because of float errors.
        moved = class_shares_moved(labels[data.in_train], labels[inside], classes=len(names)).round(9)
        most = int(np.abs(moved).argmax())
        numbers |= {f"{split}.points": float(moved[most]), f"{split}.class": quoted_text(names[most])}
        found.append(f"{quoted_text(names[most])} {moved[most]:+.1f} points on {split}")
        differing += [split] if abs(moved[most]) > LARGEST_SHARE_DIFFERENCE else []
    return outcome(
        not differing,
        numbers,
        f"compare accuracies on {', '.join(differing)} by class, or draw the splits from one source. A model that "
        "learned the class frequencies of train has a lower accuracy on splits with other frequencies",
        f"the class whose share differs most: {', '.join(found[:_MOST_SPLITS])}",
    )


def annotators_agree(data: CheckContext) -> CheckOutcome:
    """In at most 1 % of the rows with annotators' labels, most annotators agree on a label other than the row's."""
    agreement = annotator_agreement(data.examples)
    if agreement is None:
        return not_applicable("only for rows with annotators' labels")
    outvoted = majority_against_label(data.examples)
    share = len(outvoted) / agreement.rows
    numbers: dict[str, int | float | str] = {
        "rows": agreement.rows,
        "mean_accuracy": agreement.mean_accuracy,
        "outvoted_rows": len(outvoted),
        "outvoted_share": share,
    }
    if agreement.unanimous_share is not None:
        numbers["unanimous_share"] = agreement.unanimous_share
    found = f"{rows_of(len(outvoted), share)} of {agreement.rows:,} with annotators' labels"
    if len(outvoted):
        numbers["outvoted_row_ids"] = listed(outvoted.tolist())
        found += f": {data.source.rows_text(outvoted.tolist())}"
    return outcome(
        share <= LARGEST_OUTVOTED_SHARE,
        numbers,
        "check that annotators and labels use the same class names, and check these rows, which may have wrong labels",
        found,
    )
