import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from aflite_assets.data.hub.cache import (
    cache_root,
    joined,
    part_folder,
    read_cache,
    remember_commit,
    remembered_commit,
    write_cache,
)
from aflite_assets.errors import DataError


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "datasets"))
    return cache_root()


def test_rows_are_kept_and_mapped_into_memory(cache: Path) -> None:
    folder = part_folder("me/data", "a" * 40, name="train", config=None, class_numbers=False)
    assert read_cache(folder) is None
    write_cache(folder, lambda: [pa.table({"n": [0] * 500_000}), pa.table({"n": [1] * 500_000})])
    before = pa.total_allocated_bytes()
    table = read_cache(folder)
    assert table is not None
    assert (table.num_rows, table["n"][500_000].as_py()) == (1_000_000, 1)
    assert pa.total_allocated_bytes() - before < 100_000
    assert cache in folder.parents


def test_rows_of_growing_types_are_kept_and_joined(cache: Path) -> None:
    parts = [pa.table({"n": [1]}), pa.table({"n": pa.nulls(1)}), pa.table({"n": [0.5], "m": ["x"]})]
    write_cache(cache / "part", lambda: parts)
    table = read_cache(cache / "part")
    assert table is not None
    assert table.to_pydict() == {"n": [1.0, None, 0.5], "m": [None, None, "x"]}


def test_nothing_is_kept_of_what_broke_off_and_what_is_there_is_not_made_again(cache: Path) -> None:
    def broken() -> Iterator[pa.Table]:
        yield pa.table({"n": [1]})
        raise OSError("the network went away")

    with pytest.raises(OSError, match="the network went away"):
        write_cache(cache / "part", broken)
    assert read_cache(cache / "part") is None
    write_cache(cache / "part", lambda: [pa.table({"n": [2]})])
    write_cache(cache / "part", broken)
    table = read_cache(cache / "part")
    assert table is not None
    assert table["n"].to_pylist() == [2]


def test_damaged_and_empty_parts(cache: Path) -> None:
    write_cache(cache / "empty", lambda: [])
    table = read_cache(cache / "empty")
    assert table is not None
    assert table.num_rows == 0
    write_cache(cache / "damaged", lambda: [pa.table({"n": [1]})])
    next((cache / "damaged").glob("*.arrow")).write_bytes(b"\0" * 10)
    with pytest.raises(DataError, match=r"damaged' is damaged \(.*\); delete it, and the next run writes it again"):
        read_cache(cache / "damaged")


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(
        DataError, match=r"split 'dev' have incompatible columns.*name files with the same columns in `source.splits`"
    ):
        joined([pa.table({"n": [1]}), pa.table({"n": ["x"]})], what="split 'dev'")


def test_parts_have_folders_of_their_own() -> None:
    variants = [("train", None, False), ("train", "c", False), ("c.train", None, False), ("train", None, True)]
    folders = {
        part_folder("me/data", "a" * 40, name=name, config=config, class_numbers=numbers)
        for name, config, numbers in variants
    }
    assert len(folders) == len(variants)
    odd = part_folder("me/data", "a" * 40, name="../../x/*.csv", config=None, class_numbers=False)
    assert odd.parent == next(iter(folders)).parent
    assert re.fullmatch(r"[\w.-]+-[0-9a-f]{16}", odd.name)


def test_what_a_branch_stood_for_is_remembered(cache: Path) -> None:
    assert remembered_commit("me/data", "refs/convert/parquet") is None
    for commit in ("a" * 40, "b" * 40):
        remember_commit("me/data", "refs/convert/parquet", commit)
        assert remembered_commit("me/data", "refs/convert/parquet") == commit
    assert remembered_commit("me/data", "main") is None
    assert [path.name for path in (cache / "me--data" / "refs").iterdir()] == ["refs%2Fconvert%2Fparquet"]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_file_cut_short_is_no_shorter_dataset(cache: Path, share: float) -> None:
    write_cache(
        cache / "part", lambda: [pa.table({"n": range(start, start + 1000)}) for start in range(0, 20_000, 1000)]
    )
    (path,) = (cache / "part").iterdir()
    whole = path.read_bytes()
    for damaged in (
        whole[: int(share * len(whole))],
        whole[: int(share * len(whole))] + bytes(len(whole) - int(share * len(whole))),
    ):
        path.write_bytes(damaged)
        with pytest.raises(DataError, match=r"part' is damaged \(.*\); delete it, and the next run writes it again"):
            read_cache(cache / "part")


def test_parts_with_different_dictionaries_are_kept(cache: Path) -> None:
    parts = [pa.table({"n": pa.array(values).dictionary_encode()}) for values in (["a", "b"], ["c"])]
    write_cache(cache / "part", lambda: parts)
    table = read_cache(cache / "part")
    assert table is not None
    assert table["n"].to_pylist() == ["a", "b", "c"]
