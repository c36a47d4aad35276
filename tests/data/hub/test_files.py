from collections.abc import Iterable

import pytest

from aflite_assets.data.hub.files import _first_records, form_of


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("a/b.parquet", "parquet"),
        ("b.CSV", "csv"),
        ("b.tsv.gz", "tsv"),
        ("snli_1.0_test.txt", "tsv"),
        ("b.json", "jsonl"),
        ("b.ndjson", "jsonl"),
        ("b.jsonl.zst", None),
        ("b.pkl", None),
        ("csv", None),
    ],
)
def test_format_follows_from_the_name(path: str, form: str | None) -> None:
    assert form_of(path) == form


@pytest.mark.parametrize(
    ("lines", "quoted", "taken"),
    [
        ([b"h\n", b"1\n", b"2\n"], True, 2),
        ([b"h\n", b'"1\n', b'1""\n', b'1"\n', b"2\n"], True, 4),
        ([b"h\n", b'"1\n', b"2\n"], False, 2),
        ([b"\n", b"h\n", b" \n", b"1\n", b"2\n"], True, 4),
        ([b"h\n"], True, 1),
    ],
)
def test_first_records_end_where_a_record_ends(lines: Iterable[bytes], quoted: bool, taken: int) -> None:
    assert len(list(_first_records(lines, 2, quoted=quoted))) == taken
