"""Checks of feature columns or of texts. A check passes if the dataset has inputs of another kind."""

import numpy as np
import pyarrow.compute as pc

from aflite_assets.checks import CheckOutcome
from aflite_assets.data.raw_table.swapped import seem_swapped
from aflite_assets.diagnostics.data_checks.context import (
    CheckContext,
    listed,
    not_applicable,
    outcome,
    quoted_text,
    share_text,
)
from aflite_assets.diagnostics.data_checks.partial_input import FOLDS, TextOnlyAccuracy, text_only_accuracy
from aflite_assets.diagnostics.data_checks.texts import (
    HUGE_BYTES,
    OddCells,
    SharedText,
    empty_texts,
    odd_cells,
    shared_texts,
)
from aflite_assets.diagnostics.record_tables import text_codes
from aflite_assets.wording import counted

LARGEST_SHARED_SHARE = 0.05
"""Largest allowed share of train rows that share a text with a row of another group."""

LEAKING_ACCURACY = 0.05
"""Largest allowed difference between a text column's accuracy with random folds and with grouped folds."""

LARGEST_SCALE_RATIO = 1e4
"""Largest allowed ratio of the feature columns' standard deviations."""

SEED = 0
"""Seed of the sample and of the folds for these accuracies."""

_SHOWN_SETS = 5


def features_finite(data: CheckContext) -> CheckOutcome:
    """No feature is NaN or infinite."""
    if data.examples.modality != "features":
        return not_applicable("features only")
    width = data.examples.features.shape[1]
    return outcome(
        data.features_finite,
        {"rows": len(data.examples), "columns": width},
        "replace or drop NaN and infinite values in the source",
        f"{counted(len(data.examples))} x {counted(width, 'column')}"
        + ("" if data.features_finite else ", with values that are NaN or infinite"),
    )


def no_label_copies(data: CheckContext) -> CheckOutcome:
    """No feature column and no text column is a copy of the label: equal in all train rows of a class, different
    between classes.
    """
    if data.examples.modality == "image":
        return not_applicable("features and texts only")
    if data.examples.modality == "features" and not data.features_finite:
        return not_applicable("finite features only")
    copies, source = data.label_copies, data.source
    train_rows, other_rows = int(data.in_train.sum()), int((~data.in_train).sum())
    named = {column: _copy_name(data, column) for column in copies}
    refused = {column: name for column, name in named.items() if column not in source.allowed_label_copies}
    numbers = {"train_rows": train_rows, "copies": len(named), "allowed": len(named) - len(refused)}
    if not refused:
        found = f"{listed(named.values())}, allowed by `columns.allow_label_copies`" if named else "no copy was found"
        return outcome(True, numbers, found=found)
    told = [
        f"{_column_text(data, column)} in all {counted(train_rows, 'train row')}"
        + (f" and in {copies[column]:,} of {counted(other_rows, 'other row')}" if other_rows else "")
        for column in list(refused)[:_SHOWN_SETS]
    ]
    more = f"; and {counted(len(refused) - len(told), 'more column')}" if len(refused) > len(told) else ""
    return outcome(
        False,
        {**numbers, "columns": listed(refused.values())},
        "leave the column out of the input, because it gives the label away and filtering would find nothing else. If "
        "its values are known before the label, set `columns: {allow_label_copies: "
        f"[{listed(refused.values())}]}}`",
        f"copies of the label: {'; '.join(told)}{more}",
    )


def _copy_name(data: CheckContext, column: int | str) -> int | str:
    """Return a column's name in the dataset's YAML file, or its number if it has no name."""
    if isinstance(column, str):
        return data.source.named(column)
    return column if data.source.feature_names is None else data.source.feature_names[column]


def _column_text(data: CheckContext, column: int | str) -> str:
    if isinstance(column, str):
        return f"texts of {quoted_text(data.source.named(column))}"
    named = data.source.columns_text([column])
    return named if data.source.feature_names is None else f"column {named}"


def no_constant_features(data: CheckContext) -> CheckOutcome:
    """No feature column is constant in the train rows."""
    if reason := _no_feature_columns(data):
        return not_applicable(reason)
    constant, all_zero = data.feature_columns.constant, data.feature_columns.all_zero
    numbers = {"columns": len(data.feature_columns.deviations), "constant": len(constant), "all_zero": all_zero}
    if not constant:
        return outcome(True, numbers, found=f"none of {counted(numbers['columns'], 'column')}")
    return outcome(
        False,
        {**numbers, "first_constant": listed(constant)},
        "leave these columns out, because they contain no information, or find out why the encoder returns the same "
        "value for every row",
        f"{len(constant):,} of {counted(numbers['columns'], 'column')}: {data.source.columns_text(constant)}",
    )


def no_repeated_features(data: CheckContext) -> CheckOutcome:
    """No two feature columns are equal in all train rows; constant columns are ignored."""
    if reason := _no_feature_columns(data):
        return not_applicable(reason)
    sets = data.feature_columns.repeated
    surplus = sum(len(same) - 1 for same in sets)
    numbers = {"columns": len(data.feature_columns.deviations), "surplus": surplus, "sets": len(sets)}
    if not sets:
        return outcome(True, numbers, found=f"none of {counted(numbers['columns'], 'column')}")
    shown = "; ".join(listed(same) for same in sets[:_SHOWN_SETS])
    return outcome(
        False,
        {**numbers, "equal_columns": shown},
        "keep one column of each set, because logistic regression penalises a duplicated column only half as much",
        f"equal to each other: {'; '.join(data.source.columns_text(same) for same in sets[:_SHOWN_SETS])}",
    )


def features_on_one_scale(data: CheckContext) -> CheckOutcome:
    """The standard deviations of all feature columns are within a factor of 10,000; constant columns are ignored."""
    if reason := _no_feature_columns(data):
        return not_applicable(reason)
    deviations = data.feature_columns.deviations
    varying = np.flatnonzero(deviations > 0)
    if not len(varying):
        return not_applicable("all columns are constant")
    smallest, largest = (int(varying[end(deviations[varying])]) for end in (np.argmin, np.argmax))
    ratio = float(deviations[largest] / deviations[smallest])
    numbers = {
        "ratio": ratio,
        "largest_ratio": LARGEST_SCALE_RATIO,
        "smallest_deviation": float(deviations[smallest]),
        "smallest_column": smallest,
        "largest_deviation": float(deviations[largest]),
        "largest_column": largest,
    }
    return outcome(
        ratio <= LARGEST_SCALE_RATIO,
        numbers,
        "set `standardise: true`, because logistic regression does not rescale features: its penalty suppresses small "
        "columns, and large columns slow it down",
        f"standard deviations from {deviations[smallest]:.3g} ({data.source.columns_text([smallest])}) to "
        f"{deviations[largest]:.3g} ({data.source.columns_text([largest])})",
    )


def _no_feature_columns(data: CheckContext) -> str | None:
    """Return the reason why a check on feature columns does not apply, or None if it applies."""
    if data.examples.modality != "features":
        return "features only"
    if not data.features_finite:
        return "finite features only"
    return "fewer than 2 train rows" if data.in_train.sum() < 2 else None


def no_empty_texts(data: CheckContext) -> CheckOutcome:
    """No text is empty or only white space."""
    if data.examples.modality != "text":
        return not_applicable("texts only")
    empty = empty_texts(data.examples)
    numbers: dict[str, int | float | str] = {"empty": sum(column.rows for column in empty)}
    for column in empty:
        numbers |= {
            f"{column.column}.{column.split}.empty": column.rows,
            f"{column.column}.{column.split}.row_ids": listed(column.row_ids),
        }
    if not empty:
        return outcome(True, numbers, found="no text is empty")
    found = [
        f"{counted(one.rows, 'empty text')} of {data.source.named(one.column)} in {one.split}: "
        f"{data.source.rows_text(one.row_ids, one.rows)}"
        for one in empty[:_SHOWN_SETS]
    ]
    return outcome(
        False,
        numbers,
        "add the missing texts or drop their rows in the source, because a model gets no input from empty texts",
        ". ".join(found),
    )


def no_nul_or_huge_cells(data: CheckContext) -> CheckOutcome:
    """No text contains a NUL byte or is 2 MB or longer."""
    nul = odd_cells(data.examples, lambda texts: pc.match_substring(texts, "\0"))
    huge = odd_cells(data.examples, lambda texts: pc.greater_equal(pc.binary_length(texts), HUGE_BYTES))
    numbers: dict[str, int | float | str] = {
        "nul": sum(cells.rows for cells in nul),
        "huge": sum(cells.rows for cells in huge),
    }
    if not nul and not huge:
        return outcome(True, numbers, found="no such text was found")
    numbers |= {f"{cells.column}.nul_row_ids": listed(cells.row_ids) for cells in nul}
    numbers |= {f"{cells.column}.huge_row_ids": listed(cells.row_ids) for cells in huge}
    told = [_cells_text(data, cells, "contains", "contain", "a NUL byte") for cells in nul]
    told += [
        _cells_text(data, cells, "has", "have", f"2 MB or more (the largest: {cells.largest / 1e6:,.1f} MB)")
        for cells in huge
    ]
    advice = ["remove the NUL bytes in the source; the file is damaged or has another encoding"] if nul else []
    advice += ["check these rows: in a csv file, an unclosed quote joins many rows into one cell"] if huge else []
    return outcome(False, numbers, "; ".join(advice), ". ".join(told[:_SHOWN_SETS]))


def _cells_text(data: CheckContext, cells: OddCells, one: str, several: str, what: str) -> str:
    name = "columns.id" if cells.column == "source_id" else data.source.named(cells.column.removeprefix("attribute."))
    verb, rows = one if cells.rows == 1 else several, data.source.rows_text(cells.row_ids, cells.rows)
    return f"{counted(cells.rows, 'cell')} of {quoted_text(name)} {verb} {what}: {rows}"


def labels_are_not_texts(data: CheckContext) -> CheckOutcome:
    """The label column and a text column are not swapped: the labels are not mostly distinct texts."""
    if data.examples.modality != "text":
        return not_applicable("texts only")
    rows, labels = len(data.examples), len(np.unique(data.examples.labels))
    numbers: dict[str, int | float | str] = {"rows": rows, "distinct_labels": labels}
    suspects = []
    for column in [name for name in ("text", "text_pair") if name in data.examples.table.column_names]:
        texts = len(np.unique(text_codes(data.examples.table[column])))
        numbers[f"{column}.distinct"] = texts
        suspects += [column] if seem_swapped(rows, labels=labels, texts=texts) else []
    texts_found = ", ".join(
        f"{counted(int(number), 'text')} of {data.source.named(name.removesuffix('.distinct'))}"
        for name, number in numbers.items()
        if name.endswith(".distinct")
    )
    return outcome(
        not suspects,
        numbers,
        f"swap the column names in `columns.{next(iter(suspects), '')}` and `columns.label`, which seem to be "
        "exchanged, unless nearly every row should have a class of its own",
        f"{counted(labels, 'label')} and {texts_found} in {counted(rows)}",
    )


def repeated_texts_grouped(data: CheckContext) -> CheckOutcome:
    """At most 5 % of the train rows share a text with a row of another group."""
    if data.examples.modality != "text":
        return not_applicable("texts only")
    if data.questions:
        return not_applicable("answers to one question share its text and are one group already")
    columns = shared_texts(data.train)
    numbers: dict[str, int | float | str] = {"largest_share": LARGEST_SHARED_SHARE}
    for shared in columns:
        numbers |= {
            f"{shared.column}.share": shared.share,
            f"{shared.column}.share_across_groups": shared.ungrouped_share,
        }
    suspects = [column for column in columns if column.ungrouped_share > LARGEST_SHARED_SHARE and column.texts >= FOLDS]
    accuracies = {suspect.column: text_only_accuracy(data.train, suspect.column, seed=SEED) for suspect in suspects}
    # With groups by premise, some hypotheses still occur in several groups. Apart from the column with the most shared
    # texts, a column therefore counts only if its shared texts change the accuracy.
    required = suspects if data.examples.groups is None else [suspect for suspect in suspects if suspect is columns[0]]
    leaking = [suspect for suspect in suspects if suspect in required or _leaks(accuracies[suspect.column])]
    shares = [f"{share_text(shared.ungrouped_share)} ({data.source.named(shared.column)})" for shared in columns]
    found = f"train rows that share a text with a row of another group: {', '.join(shares)}"
    if not leaking:
        return outcome(True, numbers, found=found if shares else "no train row shares a text")
    for shared in leaking:
        numbers |= _why_it_leaks(shared, accuracies[shared.column])
    told = [_told(data.source.named(shared.column), shared, accuracies[shared.column]) for shared in leaking]
    advice = _group_advice(data, [shared.column for shared in leaking])
    return outcome(False, numbers, advice, ". ".join([found, *told]))


def _told(name: str, shared: SharedText, accuracy: TextOnlyAccuracy | None) -> str:
    """Describe a column by its most frequent text and by the accuracy of predicting the label from the column alone."""
    text = f"The most frequent text is {quoted_text(shared.example)}, in {counted(shared.example_rows)}"
    if accuracy is None:
        return text
    return (
        f"{text}. {name} alone predicts {share_text(accuracy.random)} of the labels if single rows are held out, and "
        f"{share_text(accuracy.grouped)} if all rows of a text are held out"
    )


def _leaks(accuracy: TextOnlyAccuracy | None) -> bool:
    return accuracy is not None and abs(accuracy.random - accuracy.grouped) > LEAKING_ACCURACY


def _why_it_leaks(shared: SharedText, accuracy: TextOnlyAccuracy | None) -> dict[str, int | float | str]:
    column = shared.column
    numbers: dict[str, int | float | str] = {
        f"{column}.most_frequent": f"{quoted_text(shared.example)} in {shared.example_rows} rows"
    }
    if accuracy is None:
        return numbers
    return numbers | {
        f"{column}.accuracy_rows_held_out": accuracy.random,
        f"{column}.accuracy_texts_held_out": accuracy.grouped,
        f"{column}.majority_share": accuracy.majority,
        f"{column}.accuracy_sample_rows": accuracy.rows,
    }


def _group_advice(data: CheckContext, columns: list[str]) -> str:
    source = f"the column in `columns.{columns[0]}`"
    if data.examples.groups is None:
        return (
            f"set `columns.group` to {source}, so that rows with the same text are never split between training and "
            "held-out rows. If the two accuracies differ, scores without groups are misleading"
        )
    return (
        f"add {source} to the list in `columns.group`, so that rows that share either value are one group. With the "
        "current groups, rows with the same text are in both parts of a partition"
    )
