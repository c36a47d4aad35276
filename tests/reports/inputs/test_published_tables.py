from typing import get_args

import pytest

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.inputs.published_tables import PUBLISHED, PublishedTable, published_tables
from aflite_assets.specs.report_settings import ReportSpec

TABLES = [(name, table) for name, tables in PUBLISHED.items() for table in tables]


def value(name: str, source: str, row: str, column: str) -> float | None:
    table = next(one for one in published_tables(name) if one.source.startswith(source))
    return dict(table.rows)[row][table.columns.index(column)]


def test_specs_may_name_them_all() -> None:
    (literal, _) = get_args(ReportSpec.model_fields["published"].annotation)
    assert set(get_args(literal)) == set(PUBLISHED)


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_rows_are_as_long_as_the_heading(name: str, table: PublishedTable) -> None:
    assert all(len(values) == len(table.columns) for _, values in table.rows)
    assert table.deviations is None or [len(one) for one in table.deviations] == [len(table.columns)] * len(table.rows)
    assert all(one is None or -100 <= one <= 100 for _, values in table.rows for one in values)


@pytest.mark.parametrize(("name", "table"), [(n, t) for n, t in TABLES if t.kind == "in_distribution"])
def test_differences_are_filtered_minus_full(name: str, table: PublishedTable) -> None:
    for row, values in table.rows:
        full, filtered, difference = values[0], values[-2], values[-1]
        if full is not None and filtered is not None and difference is not None:
            assert filtered - full == pytest.approx(difference, abs=0.051), row


@pytest.mark.parametrize(
    ("name", "source", "row", "column", "expected"),
    [
        ("snli", "ICML 2020, Table 3", "RoBERTa", "filtered (RoBERTa), 92k", 62.6),
        ("snli", "ICML 2020, Table 3", "ESIM+ELMo", "filtered (BERT), 109k", 54.2),
        ("snli", "ICML 2020, Table 3", "human", "filtered (ESIM+GloVe), 138k", 82.3),
        ("snli", "ICML 2020, Table 3", "RoBERTa, single pass", "filtered (RoBERTa), 92k", 72.1),
        ("snli", "ICML 2020, Table 1", "filtered (RoBERTa), 182k", "HANS constituent", 38.5),
        ("snli", "ICML 2020, Table 1", "random, 182k", "HANS lexical overlap", 56.6),
        ("snli", "ICML 2020, Table 2", "filtered (RoBERTa), 182k", "round 3", 52.8),
        ("multi_nli", "ICML 2020, Table 4", "RoBERTa", "filtered (RoBERTa)", 66.2),
        ("qnli", "ICML 2020, Table 4", "RoBERTa", "filtered (RoBERTa)", 77.7),
        ("imagenet", "ICML 2020, Table 5", "filtered (EfficientNet-B7), 40 %", "EfficientNet-B7", 10.4),
        ("imagenet", "ICML 2020, Table 6", "EfficientNet-B7", "filtered (EfficientNet-B7)", 63.5),
        ("imagenet", "ICLR 2020", "EfficientNet-B7", "filtered, top-5", 60.6),
    ],
)
def test_spot_checks(name: str, source: str, row: str, column: str, expected: float) -> None:
    assert value(name, source, row, column) == expected


def test_other_datasets_have_none() -> None:
    assert published_tables(None) == ()
    with pytest.raises(InvalidInputError, match=r"no published figures of 'qqp'; there are those of \['imagenet'"):
        published_tables("qqp")
