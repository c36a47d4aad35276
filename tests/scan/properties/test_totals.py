"""Totals of columns: constant totals, totals in another column, multiples, and tables whose totals say nothing."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from aflite_assets.scan.properties.totals import total_flags
from aflite_assets.scan.rows import TableColumn
from aflite_assets.scan.scan import ScanSettings, scan_rows
from benchmarks.detection_kinds import build_rows

ROWS = 1_000


def _found(**columns: np.ndarray) -> dict[str, np.ndarray]:
    rows = len(next(iter(columns.values())))
    flags = total_flags(columns, declared=frozenset(), fewest=30, rows=rows)
    return {info.name: flags.present[:, [place]].toarray()[:, 0] > 0 for place, info in enumerate(flags.infos)}


def _shares(rng: np.random.Generator, totals: np.ndarray, columns: int, decimals: int) -> dict[str, np.ndarray]:
    shares = rng.dirichlet(np.full(columns, 2.0), len(totals)) * totals[:, None]
    return {f"{letter}": np.round(shares[:, place], decimals) for place, letter in enumerate("ABCDEFGHIJ"[:columns])}


def _half_at(rng: np.random.Generator, total: float) -> tuple[np.ndarray, np.ndarray]:
    has = rng.random(ROWS) < 0.4
    return has, np.where(has, total, rng.normal(0.99 * total, 0.02 * total, ROWS))


@pytest.mark.parametrize("decimals", [1, 2, 3])
@pytest.mark.parametrize("columns", [3, 10])
def test_rounded_columns_that_add_up_to_100(columns: int, decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    has, totals = _half_at(rng, 100.0)
    others = {name: np.round(rng.normal(50, 9, ROWS), decimals) for name in ("before", "behind")}
    shares = _shares(rng, totals, columns, decimals)
    found = _found(before=others["before"], **shares, behind=others["behind"])
    last = "ABCDEFGHIJ"[columns - 1]
    shown = "columns A, B and C" if columns == 3 else f"columns A to {last}"
    (on_total,) = (own for name, own in found.items() if name.startswith(f"{shown} add up to 100"))
    assert on_total[has].mean() >= 0.93
    assert on_total[~has].mean() <= 0.12 if decimals > 1 else 0.3


def test_columns_with_many_decimals_and_with_missing_values() -> None:
    rng = np.random.default_rng(0)
    has, totals = _half_at(rng, 1.0)
    shares = _shares(rng, totals, 4, 12)
    without = np.nan_to_num(shares["D"]) < 0.05
    left = {**shares, "D": np.where(without, np.nan, shares["D"])}
    found = _found(**left)["columns A to D add up to 1"]
    np.testing.assert_array_equal(found, has & ~without)


def test_a_column_of_totals_beside_its_parts() -> None:
    rng = np.random.default_rng(1)
    parts = {name: np.round(rng.lognormal(3, 1, ROWS), 2) for name in ("net", "tax", "freight")}
    exact = np.round(np.sum([*parts.values()], axis=0), 2)
    has = rng.random(ROWS) < 0.5
    total = np.where(has, exact, np.round(exact + rng.normal(0, 9, ROWS), 2))
    for columns in ({**parts, "total": total}, {"total": total, **parts}):
        found = _found(**columns)
        assert [*found] == ["columns net, tax and freight add up to total"]
        np.testing.assert_array_equal(found["columns net, tax and freight add up to total"][has], True)
        assert found["columns net, tax and freight add up to total"][~has].mean() < 0.02


def test_parts_of_a_total_that_are_apart_are_found_by_their_names_or_decimals() -> None:
    rng = np.random.default_rng(2)
    _, totals = _half_at(rng, 100.0)
    shares = _shares(rng, totals, 4, 1)
    mixed = {}
    for name, values in shares.items():
        mixed[f"share_{name}"] = values
        mixed[f"count {name}"] = rng.integers(-500, 500, ROWS).astype(np.float64)
    found = _found(**mixed)
    assert "columns share_A, share_B, share_C … share_D (4 columns) add up to 100 (apart from rounding)" in found


def test_a_total_of_more_columns_with_the_same_rows_is_left_out() -> None:
    rng = np.random.default_rng(3)
    _, totals = _half_at(rng, 100.0)
    shares = _shares(rng, totals, 5, 2)
    rare = np.where(rng.random(ROWS) < 0.1, np.round(rng.uniform(0, 1, ROWS), 2), 0.0)
    assert [*_found(**shares, rare=rare)] == ["columns A to E add up to 100 (apart from rounding)"]


def test_totals_that_are_multiples_more_often_than_their_parts() -> None:
    rng = np.random.default_rng(4)
    parts = rng.integers(100, 900, (5, ROWS)).astype(np.float64)
    has = rng.random(ROWS) < 0.5
    parts[4, has] += -parts[:, has].sum(axis=0) % 10
    found = _found(**{f"x{place}": part for place, part in enumerate(parts)})
    assert [*found] == [f"columns x0 to x4 add up to a multiple of {multiple}" for multiple in (5, 10, 100)]
    assert found["columns x0 to x4 add up to a multiple of 10"][has].all()
    assert found["columns x0 to x4 add up to a multiple of 10"][~has].mean() == pytest.approx(0.1, abs=0.04)


def test_values_with_a_common_end_have_no_total() -> None:
    rng = np.random.default_rng(5)
    prices = {f"p{place}": np.floor(rng.lognormal(2, 1, 3_000)) + 0.99 for place in range(12)}
    assert _found(**prices) == {}


@pytest.mark.parametrize("load", [load_digits, load_breast_cancer, load_wine])
def test_real_tables_without_totals(load) -> None:  # type: ignore[no-untyped-def]
    data = load()
    assert _found(**{str(name): data.data[:, place] for place, name in enumerate(data.feature_names)}) == {}


@pytest.mark.parametrize("shape", ["normal", "answers from 1 to 5", "counts", "nearly all 0", "half rounded to 5"])
def test_random_columns_have_no_total(shape: str) -> None:
    rng = np.random.default_rng(6)
    drawn = {
        "normal": lambda: rng.normal(size=2_000),
        "answers from 1 to 5": lambda: rng.integers(1, 6, 2_000),
        "counts": lambda: rng.negative_binomial(0.3, 0.2, 2_000),
        "nearly all 0": lambda: rng.integers(1, 250, 2_000) * (rng.random(2_000) < 0.1),
        "half rounded to 5": lambda: np.where(rng.random(2_000) < 0.5, 5, 1) * rng.integers(0, 20, 2_000),
    }[shape]
    assert _found(**{f"x{place}": np.asarray(drawn(), dtype=np.float64) for place in range(20)}) == {}


def test_a_total_is_a_candidate_unless_all_its_columns_are_declared() -> None:
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, ROWS)
    totals = np.where(rng.random(ROWS) < np.where(labels == 1, 0.7, 0.05), 100.0, rng.normal(99, 1.0, ROWS))
    columns = {name: TableColumn("column", one) for name, one in _shares(rng, totals, 6, 2).items()}
    rows = build_rows(labels, columns=columns)
    for declared, reason in (((*"ABCDE",), None), ((*"ABCDEF",), "declared")):
        result = scan_rows(rows, settings=ScanSettings(irrelevant=declared), seed=0)
        first = next(cue for cue in result.cues if cue.kind == "total")
        assert first.name == "columns A to F add up to 100 (apart from rounding)"
        assert (first.label, first.reason) == ("b", reason)
        assert first.share_of_class == pytest.approx(0.7, abs=0.06)
