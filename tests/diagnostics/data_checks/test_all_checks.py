import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.data.raw_table.decodable_images import UndecodableImages
from aflite_assets.diagnostics.data_checks.all_checks import (
    DATA_CHECKS,
    blocking_findings,
    data_findings,
)
from aflite_assets.diagnostics.data_checks.context import SourceFacts

BLOCKING = {"row_ids_unique", "labels_known", "features_finite", "no_label_copies"}


def by_name(findings: tuple[CheckOutcome, ...]) -> dict[str, CheckOutcome]:
    return {finding.name: finding for finding in findings}


def failed(findings: tuple[CheckOutcome, ...]) -> set[str]:
    return {finding.name for finding in findings if not finding.passed}


def test_every_check_has_a_name_and_says_what_holds() -> None:
    names = [one.name for one in DATA_CHECKS]
    assert len(set(names)) == len(names) == 20
    assert {one.name for one in DATA_CHECKS if one.blocking} == BLOCKING
    assert all(one.description.endswith(".") and "\n" not in one.description for one in DATA_CHECKS)


def test_every_check_answers_once_in_order(make_examples: Callable[..., Examples]) -> None:
    findings = data_findings(make_examples(["train", "train", "test", "test"], [0, 1, 0, 1], text=list("abcd")))
    assert [(one.name, one.asks, one.blocking) for one in findings] == [
        (one.name, one.description, one.blocking) for one in DATA_CHECKS
    ]
    assert {(one.about, one.subject) for one in findings} == {("data", "")}
    assert failed(findings) == set()
    assert {one.what_to_do for one in findings} == {""}
    assert all(one.applies != one.found.startswith("not applicable: ") and one.found for one in findings)


def test_checks_that_block_are_answered_alone(make_examples: Callable[..., Examples]) -> None:
    rows = [[0.5, 3], [0.1, 7], [0.4, 3], [0.9, 7]] * 4
    examples = make_examples(["train"] * 16, [0, 1, 0, 1] * 4, features=rows)
    findings = blocking_findings(examples, source=SourceFacts())
    assert {one.name for one in findings} == BLOCKING
    assert failed(findings) == {"no_label_copies"}


def test_what_was_dropped_before_is_told(make_examples: Callable[..., Examples]) -> None:
    image = pa.array([{"bytes": bytes([row]), "path": None, "sha256": None} for row in range(4)], IMAGE_TYPE)
    findings = data_findings(
        make_examples(["train", "train", "test", "test"], [0, 1, 0, 1], image=image),
        unlabelled_rows={"train": 3, "test": 0},
        undecodable_images={"test": UndecodableImages(1, 0.2, (7,), ("s7",))},
    )
    assert failed(findings) == {"all_rows_labelled", "images_decode"}
    assert by_name(findings)["images_decode"].numbers["test.row_ids"] == "7"


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("column", [{"text": [""]}, {"features": [[0.0, 0.0]]}])
def test_one_row_is_answered(make_examples: Callable[..., Examples], split: str, column: dict[str, list[str]]) -> None:
    findings = data_findings(make_examples([split], [0], **column))
    empty = {"no_empty_texts"} if "text" in column else set()
    assert failed(findings) == {"labels_known", "classes_balanced"} | empty


def test_nothing_but_empty_texts(make_examples: Callable[..., Examples]) -> None:
    findings = data_findings(
        make_examples(["train"] * 4 + ["test"] * 2, [0, 1] * 3, text=[""] * 6, text_pair=[" "] * 6)
    )
    assert failed(findings) == {
        "no_repeats_across_splits", "few_repeats_in_train", "no_label_conflicts", "no_empty_texts",
    }  # fmt: skip
    assert by_name(findings)["no_empty_texts"].numbers["empty"] == 12


def test_numbers_are_plain_and_print(make_examples: Callable[..., Examples]) -> None:
    hostile = ["<script>alert(1)</script>\x00\x1b[31m" + "x" * 500] * 30 + [f"text {row}" for row in range(70)]
    rows = data_findings(make_examples(["train"] * 100, [0, 1] * 50, ("<i>\n", "b\u202e"), text=hostile))
    vectors = data_findings(make_examples(["train"] * 4, [0, 1, 0, 1], features=np.ones((4, 3))))
    for finding in (*rows, *vectors):
        for value in (*finding.numbers.values(), finding.what_to_do, finding.found):
            assert type(value) in (int, float, str), (finding.name, value)
            assert not isinstance(value, str) or (value.isprintable() and len(value) < 500), (finding.name, value)


def test_findings_leave_the_global_generator_alone(make_examples: Callable[..., Examples]) -> None:
    before = np.random.get_state(legacy=False)["state"]["key"].tolist()
    examples = make_examples(["train"] * 60, [0, 1] * 30, text=[f"t{row // 2}" for row in range(60)])
    assert data_findings(examples) == data_findings(examples)
    assert np.random.get_state(legacy=False)["state"]["key"].tolist() == before


def test_knowing_the_checks_loads_nothing_heavy() -> None:
    script = "import sys, aflite_assets.diagnostics.data_checks.all_checks; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "aflite_assets.diagnostics.data_checks.all_checks" in loaded
    assert loaded.isdisjoint({"sklearn", "scipy", "torch", "transformers", "PIL", "pandas", "dagster"})
