"""The table of accuracies by class, from planted cells."""

from typing import Any

import numpy as np

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.analysis.scores.accuracy import cell_accuracy
from aflite_assets.reports.tables.class_tables import BY_CLASS


def test_every_class_has_a_row_per_train_set(by_hand: BenchmarkData, values: Any) -> None:
    tables = BY_CLASS.tables(analyse(by_hand))
    assert [(one.name, one.of) for one in tables] == [
        ("by_class_a", "p"), ("by_class_a", "q"), ("by_class_b", "p"), ("by_class_b", "q"),
    ]  # fmt: skip
    odd = by_hand.test_sets[1]
    assert [column.plain for column in tables[0].columns] == ["odd"]
    labels = sorted(odd.label_names[label] for label in set(odd.labels.tolist()))
    assert [shared for shared, _ in tables[0].bodies] == [(label,) for label in labels]
    full = next(one for one in by_hand.cells if (one.evaluator, one.train_set) == ("q", "full"))
    shown = values(tables[1])
    for label in labels:
        assert {name for of, name in shown if of == label} == {"full", "random", "filtered"}
        of_label = np.asarray(odd.labels == odd.label_names.index(label))
        assert shown[label, "full"] == [cell_accuracy(full, odd, of_label)]


def test_sets_without_classes_apart_have_no_table(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    natural = by_hand.test_sets[:1]
    assert BY_CLASS.tables(analyse(make_by_hand(test_sets=natural))) == ()
