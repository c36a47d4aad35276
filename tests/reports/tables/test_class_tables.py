"""The table of accuracies by class, from planted cells."""

from dataclasses import replace
from typing import Any

import numpy as np

from aflite_assets.analysis.analysis import analyse
from aflite_assets.analysis.inputs.records import BenchmarkData
from aflite_assets.reports.tables.accuracy_tables import BY_CLASS
from tests.planted_comparisons import cell_accuracy


def test_every_class_has_a_row_per_train_set(by_hand: BenchmarkData, values: Any) -> None:
    tables = BY_CLASS.tables(analyse(by_hand))
    assert [(one.name, one.of) for one in tables] == [
        ("by_class_a", "p"), ("by_class_a", "q"), ("by_class_b", "p"), ("by_class_b", "q"),
    ]  # fmt: skip
    assert [column.plain for column in tables[0].columns] == ["test", "odd"]
    full = next(one for one in by_hand.cells if (one.evaluator, one.train_set) == ("q", "full"))
    shown = values(tables[1])
    of_class: dict[str, list[float | None]] = {}
    for test_set in by_hand.test_sets[:2]:
        for number in set(test_set.labels.tolist()):
            name = test_set.label_names[number]
            of_class.setdefault(name, []).append(cell_accuracy(full, test_set, np.asarray(test_set.labels == number)))
    assert [shared for shared, _ in tables[0].bodies] == [(label,) for label in sorted(of_class)]
    for label, accuracies in of_class.items():
        assert {name for of, name in shown if of == label} == {"full", "random", "filtered"}
        assert shown[label, "full"] == accuracies


def test_sets_without_classes_apart_have_no_table(by_hand: BenchmarkData, make_by_hand: Any) -> None:
    one_class = replace(by_hand.test_sets[0], labels=np.zeros(len(by_hand.test_sets[0].row_ids), np.int64))
    assert BY_CLASS.tables(analyse(make_by_hand(test_sets=(one_class,)))) == ()
