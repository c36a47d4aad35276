"""Labels are changed where they are said to be, and those rows are the ones that a weak model forgets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import load_registry
from aflite_assets.specs.sources import TemplateNliSource


@pytest.fixture
def benchmark() -> Any:
    from benchmarks import forgotten_labels

    return forgotten_labels


@pytest.fixture(scope="module")
def spec() -> DatasetSpec:
    """The bundled dataset with fewer rows."""
    whole = load_registry()["template_nli"]
    assert isinstance(whole.source, TemplateNliSource)
    return whole.model_copy(
        update={
            "source": whole.source.model_copy(update={"splits": {"train": 3_000, "test": 60}}),
            "challenge_sets": {},
        }
    )


def test_only_the_said_share_of_the_train_labels_is_changed(benchmark: Any, spec: DatasetSpec) -> None:
    right, wrong = benchmark.made(spec, 0.0), benchmark.made(spec, 0.04)
    assert not right.changed.any()
    assert wrong.changed.mean() == pytest.approx(0.04, abs=0.01)
    assert np.array_equal(right.train.labels != wrong.train.labels, wrong.changed)
    assert right.tests["test"].table.equals(wrong.tests["test"].table)
    assert wrong.cued.mean() == pytest.approx(0.6, abs=0.001)


def test_wrong_labels_are_forgotten_more_often_than_right_ones(
    benchmark: Any, spec: DatasetSpec, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = benchmark.made(spec, 0.04)
    rows = benchmark.forgotten(data, tmp_path)
    wrong, right = rows[data.changed].mean(), rows[~data.changed].mean()
    assert wrong > right + 0.3
    printed = capsys.readouterr().out
    assert printed.startswith(f"forgettable: {rows.sum():,} of 3,000 rows")
    assert f"of the changed labels {100 * wrong:.1f} %, of the others {100 * right:.1f} %" in printed
