import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from aflite_assets.data.examples import Examples
from aflite_assets.diagnostics.data_checks.context import CheckContext, SourceFacts
from aflite_assets.diagnostics.data_checks.input_checks import no_label_copies
from aflite_assets.diagnostics.data_checks.label_copies import label_copies

Data = Callable[..., CheckContext]
NAMES = ("no", "yes", "maybe")


def _labels(rows: int, *, classes: int = 3) -> np.ndarray:
    return np.random.default_rng(1).integers(classes, size=rows)


def _copies(data: Data, columns: Sequence[Any], labels: np.ndarray, *, train: int | None = None) -> dict[Any, int]:
    """Found copies of a table of feature columns, of which the first `train` rows are train."""
    train = len(labels) if train is None else train
    splits = ["train"] * train + ["test"] * (len(labels) - train)
    context = data(splits, labels.tolist(), NAMES, features=np.column_stack(columns))
    return dict(label_copies(context.examples, context.in_train))


def test_label_itself_a_permutation_and_any_recoding_are_copies(data: Data) -> None:
    labels = _labels(60)
    noise = np.random.default_rng(2).normal(size=60)
    columns = [noise, labels, np.array([2, 0, 1])[labels], np.array([-0.5, 1e6, 3.25])[labels], np.round(noise)]
    assert _copies(data, columns, labels) == {1: 0, 2: 0, 3: 0}


def test_only_one_to_one_is_a_copy(data: Data) -> None:
    labels = _labels(60)
    one_class, constant, own_values = labels == 1, np.zeros(60), np.arange(60)
    nearly, several = labels.copy(), labels * 10 + np.arange(60) % 2
    nearly[7] = (nearly[7] + 1) % 3
    assert _copies(data, [one_class, constant, own_values, nearly, several], labels) == {}


def test_two_classes_in_a_few_rows_are_asked_about(data: Data) -> None:
    labels = np.array([0, 1] * 10)
    assert _copies(data, [1 - labels, np.arange(20)], labels) == {0: 0}


@pytest.mark.parametrize("labels", [[0, 1, 2], [0, 0, 0, 1], [0, 0]])
def test_classes_of_one_row_each_show_nothing(data: Data, labels: list[int]) -> None:
    assert _copies(data, [np.array(labels)], np.array(labels)) == {}


def test_train_rows_decide_and_others_are_counted(data: Data) -> None:
    labels = _labels(60)
    column = labels + 5
    column[45:50] = 99
    assert _copies(data, [column], labels, train=40) == {0: 15}
    column[3] = 99
    assert _copies(data, [column], labels, train=40) == {}


@pytest.mark.parametrize(("rows", "rare", "columns"), [(60, 4, 3_000), (60, 2, 5_000), (200, 2, 5_000), (12, 6, 400)])
def test_columns_that_agree_by_chance_are_no_copies(data: Data, rows: int, rare: int, columns: int) -> None:
    """Words that few texts have, beside a class of few rows: some agree with it in all train rows."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        labels = rng.permutation(np.arange(rows) < rare).astype(int)
        noise = (rng.random((rows, columns)) < rare / rows).astype(float)
        assert _copies(data, [noise], labels, train=int(0.6 * rows)) == {}


def test_negative_zero_is_zero(data: Data) -> None:
    labels = np.array([0, 1] * 8)
    assert _copies(data, [np.where(labels == 0, [0.0, 0.0, -0.0, -0.0] * 4, 1.0)], labels) == {0: 0}


def test_copies_are_found_across_blocks_of_rows(data: Data) -> None:
    labels = _labels(20_000)
    late = labels.copy()
    late[19_999] += 1
    assert _copies(data, [labels, late], labels) == {0: 0}


def test_copies_are_named_with_both_remedies(data: Data) -> None:
    labels = _labels(30)
    context = data(
        ["train"] * 20 + ["test"] * 10, labels.tolist(), NAMES, features=np.column_stack([np.arange(30), labels])
    )
    outcome = no_label_copies(replace(context, source=SourceFacts(feature_names=("age", "outcome"))))
    assert not outcome.passed
    assert outcome.found == "copies of the label: column 'outcome' in all 20 train rows and in 10 of 10 other rows"
    assert outcome.what_to_do == (
        "leave the column out of the input, because it gives the label away and filtering would find nothing else. If "
        "its values are known before the label, set `columns: {allow_label_copies: ['outcome']}`"
    )
    assert outcome.numbers == {"train_rows": 20, "copies": 1, "allowed": 0, "columns": "'outcome'"}
    nameless = no_label_copies(context)
    assert nameless.found.startswith("copies of the label: column 1 (from 0) in all 20 train rows")
    assert nameless.what_to_do.endswith("set `columns: {allow_label_copies: [1]}`")


def test_copies_that_the_file_allows_pass(data: Data) -> None:
    labels = _labels(30)
    context = data(["train"] * 30, labels.tolist(), NAMES, features=np.column_stack([labels, labels + 1]))
    one = no_label_copies(replace(context, source=SourceFacts(allowed_label_copies=frozenset({0}))))
    assert (one.passed, one.numbers["columns"], one.numbers["allowed"]) == (False, "1", 1)
    both = no_label_copies(replace(context, source=SourceFacts(allowed_label_copies=frozenset({0, 1}))))
    assert both.passed
    assert both.found == "0, 1, allowed by `columns.allow_label_copies`"


def test_texts_that_are_the_label_are_copies(data: Data) -> None:
    labels = [0, 1, 2] * 5
    texts = [("nope", "yep", "perhaps")[label] for label in labels]
    hypotheses = [f"so {row % 3}" if row < 14 else "other" for row in range(15)]
    source = SourceFacts(column_names={"text": "premise", "text_pair": "answer"})
    context = replace(data(["train"] * 15, labels, NAMES, text=hypotheses, text_pair=texts), source=source)
    outcome = no_label_copies(context)
    assert outcome.found == "copies of the label: texts of 'answer' in all 15 train rows"
    assert outcome.what_to_do.endswith("set `columns: {allow_label_copies: ['answer']}`")
    allowed = replace(source, allowed_label_copies=frozenset({"text_pair"}))
    assert no_label_copies(replace(context, source=allowed)).passed


def test_features_that_are_not_finite_are_not_looked_at(data: Data, make_examples: Callable[..., Examples]) -> None:
    broken = data(["train"] * 4, [0, 1, 0, 1], features=[[0, np.nan], [1, 0], [0, 0], [1, 0]])
    assert no_label_copies(broken).found == "not applicable: finite features only"


def test_fifty_thousand_rows_of_fifty_columns_take_under_a_second(data: Data) -> None:
    import pyarrow as pa

    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=50_000)
    features = rng.normal(size=(50_000, 50)).astype(np.float32)
    features[:, 7] = features[:, 9] = labels
    values = pa.FixedSizeListArray.from_arrays(pa.array(features.reshape(-1)), 50)
    table = pa.table(
        {
            "row_id": np.arange(50_000),
            "split": ["train"] * 50_000,
            "label": labels,
            "features": values.cast(pa.list_(pa.float32())),
        }
    )
    examples = Examples(table, NAMES)
    assert examples.features.shape == (50_000, 50)
    started = time.process_time()
    assert list(label_copies(examples, np.ones(50_000, bool))) == [7, 9]
    assert time.process_time() - started < 1
