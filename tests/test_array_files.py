"""Array files whose headers promise what is not there: one error, no crash, and nothing unpickled."""

import io
import pickle
import re
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aflite_assets.array_files import ArrayFileError, open_array, read_arrays


def npy(shape: object, *, kind: str = "'<f4'", fortran: bool = False, body: bytes = b"", header: str = "") -> bytes:
    """A `.npy` file with any header."""
    text = header or f"{{'descr': {kind}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    padded = text.encode() + b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(padded)) + padded + body


class Trap:
    """Raises when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.fail, ("unpickled",))


def _objects() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([Trap()] * 2, dtype=object), allow_pickle=True)
    return stream.getvalue()


HOSTILE = {
    "negative": npy((-1, 2), body=bytes(16)),
    "all negative": npy((-2, -2), body=bytes(16)),
    "one negative": npy((3, -2), body=bytes(24)),
    "negative and zero": npy((0, -2)),
    "too many numbers": npy((2**62, 2)),
    "a product of 0": npy((2**62, 4)),
    "a product of 4": npy((2**62 + 1, 4), body=bytes(16)),
    "more rows than the file": npy((2**40, 2), body=bytes(16)),
    "a huge number": npy("(" + "9" * 4000 + ",)"),
    "no number": npy((True, 2), body=bytes(16)),
    "many dimensions": npy("(" + "1," * 70 + ")", body=bytes(4)),
    "objects": _objects(),
    "objects by the header": npy((2, 2), kind="'|O'", body=pickle.dumps(Trap())),
    "a pickle": pickle.dumps(Trap()),
    "cut short": npy((3, 2), body=bytes(10)),
    "no header": b"\x93NUMPY\x01\x00\xff\xff{",
    "no version": npy((3, 2)).replace(b"\x01\x00", b"\x09\x09", 1),
    "nested": npy((), header="{'descr':" + "(" * 3000 + ")" * 3000 + "}"),
    "no shape": npy((), header="{'descr': '<f4'}"),
    "code": npy((), header="{'descr': '<f4', 'fortran_order': False, 'shape': (exit(),)}"),
    "long": npy((), header="{'x': '" + "y" * 20_000 + "'}"),
    "wide": npy((1, 2), kind="'<U2147483647'"),
    "empty": b"",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_array_is_one_kind_of_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.npy").write_bytes(HOSTILE[name])
    with pytest.raises(ArrayFileError, match=r"^[^\n]{5,200}$") as refused:
        open_array(tmp_path / "a.npy")
    assert "allow_pickle" not in str(refused.value)


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "more rows than the file"])
def test_a_hostile_array_in_an_archive_is_one_kind_of_error(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", HOSTILE[name])
    with pytest.raises(ArrayFileError, match=r"^[^\n]{5,200}$") as refused:
        read_arrays(tmp_path / "a.npz")
    assert "allow_pickle" not in str(refused.value)


@pytest.mark.parametrize("cut", [0, 1, 40, 150, -1])
def test_an_archive_that_is_cut_short_is_one_kind_of_error(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(9))
    assert {name: array.tolist() for name, array in read_arrays(path).items()} == {"a": list(range(9))}
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ArrayFileError, match=r"^[^\n]{5,200}$"):
        read_arrays(path)
    np.save(tmp_path / "b.npy", np.arange(3))
    with pytest.raises(ArrayFileError, match="a single array, not an archive"):
        read_arrays(tmp_path / "b.npy")


def test_arrays_in_the_order_of_columns_have_the_same_values(tmp_path: Path) -> None:
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    np.save(tmp_path / "a.npy", np.asfortranarray(values))
    assert open_array(tmp_path / "a.npy", shape=(3, 2)).tolist() == values.tolist()
    with pytest.raises(ArrayFileError, match=re.escape("the array has the shape (3, 2) instead of (2, 3)")):
        open_array(tmp_path / "a.npy", shape=(2, 3))
