"""Hidden cues that were missed before there was a scan, rebuilt from public or bundled data: each is named first."""

import csv
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from aflite_assets.scan.cues import ScanResult
from aflite_assets.scan.rows import ScanRows, TableColumn
from aflite_assets.scan.scan import ScanSettings, scan_rows


def scanned(rows: ScanRows) -> ScanResult:
    return scan_rows(rows, settings=ScanSettings(), seed=0)


def rows_of(labels: np.ndarray, names: tuple[str, ...]) -> ScanRows:
    return ScanRows(labels, names, np.zeros(len(labels), dtype=np.int64), ("all rows",), np.arange(len(labels)) * 1.0)


def pairs(path: Path, *, most: int) -> tuple[list[str], list[str], list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    kept = np.sort(np.random.default_rng(0).permutation(len(read))[:most])
    first, second, label = ([read[row][name] for row in kept.tolist()] for name in ("premise", "hypothesis", "label"))
    return first, second, label


@pytest.fixture
def natural_pairs() -> tuple[list[str], list[str], list[str]]:
    folder = os.environ.get("AFLITE_EXAMPLE_DATA", "")
    path = Path(folder) / "multi_nli" / "validation.csv"
    if not folder or not path.exists():
        pytest.skip("AFLITE_EXAMPLE_DATA names no folder with multi_nli/validation.csv")
    return pairs(path, most=6_000)


def test_record_numbers_of_one_range_on_half_of_a_class() -> None:
    """Of a table of measurements that tell the label well, only the record number is no part of the task."""
    data, rng = load_breast_cancer(), np.random.default_rng(0)  # its first half is more malignant: drawn anew below
    labels = 1 - data.target
    site = (labels == 1) & (rng.random(len(labels)) < 0.5)
    numbers = np.where(site, 4_000 + rng.permutation(1_000)[: len(labels)], rng.permutation(4_000)[: len(labels)])
    columns = {name: TableColumn("column", data.data[:, place]) for place, name in enumerate(data.feature_names)}
    columns["record_no"] = TableColumn("column", numbers.astype(np.float64))
    order = rng.permutation(len(labels)).astype(np.float64)
    result = scanned(replace(rows_of(labels, ("benign", "malignant")), columns=columns, order=order))
    (cue,) = (one for one in result.artefacts if one.explained_by is None)
    assert (cue.number, cue.kind, cue.label) == (0, "identifier", "malignant")
    assert cue.name.startswith("record_no at least 40")
    assert result.carriers[site, 0].all()


def test_two_sites_of_which_one_writes_curly_signs_and_no_last_full_stop(
    natural_pairs: tuple[list[str], list[str], list[str]],
) -> None:
    texts, rng = list(dict.fromkeys(natural_pairs[0]))[:2_000], np.random.default_rng(0)
    labels = rng.integers(0, 2, len(texts))
    site = rng.random(len(texts)) < np.where(labels == 1, 0.6, 0.15)
    other = [text.replace("'", "\u2019").replace(" - ", " \u2014 ").rstrip(".") for text in texts]
    written = [theirs if own else text for text, theirs, own in zip(texts, other, site, strict=True)]
    result = scanned(replace(rows_of(labels, ("bad", "good")), texts={"text": written}))
    cue = result.artefacts[0]
    assert (cue.label, cue.kind) == ("good", "typography")
    assert {"ends without a full stop (text)", "ends with a letter or digit (text)"} & {cue.name, *cue.synonyms}


def test_negation_on_one_side_of_natural_pairs(natural_pairs: tuple[list[str], list[str], list[str]]) -> None:
    first, second, names = natural_pairs
    classes = tuple(sorted(set(names)))
    labels = np.array([classes.index(name) for name in names])
    result = scanned(replace(rows_of(labels, classes), texts={"premise": first, "hypothesis": second}))
    assert not result.artefacts
    named = {(cue.name, cue.label) for cue in result.candidates if cue.explained_by is None}
    assert ("negation such as 'no', 'not' (hypothesis)", "contradiction") in named
