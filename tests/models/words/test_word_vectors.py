import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from aflite_assets.errors import DataError, MissingDataError
from aflite_assets.models.words.word_vectors import WordVectors, read_word_vectors


def _file(folder: Path, content: str | bytes) -> Path:
    path = folder / "vectors.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def _read(folder: Path, content: str | bytes, wanted: set[str], most_others: int = 0) -> WordVectors:
    return read_word_vectors(_file(folder, content), wanted, most_others=most_others)


def test_only_wanted_words_are_kept_in_the_files_order(tmp_path: Path) -> None:
    found = _read(tmp_path, "the 1 2 3\ndog 0.5 -1e-2 7\ncat 4 5 6\n", {"cat", "the", "zebra"})
    assert found.words == ("the", "cat")
    assert found.values.dtype == np.float32
    assert found.values.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert found.width == 3


def test_others_are_taken_until_there_are_enough(tmp_path: Path) -> None:
    lines = "Big 0 0\none 1 1\ntwo 2 2\nthree 3 3\ndog 4 4\n"
    path = _file(tmp_path, lines)
    found = read_word_vectors(path, {"dog"}, most_others=2, is_word=str.islower)
    assert found.words == ("one", "two", "dog")


def test_the_first_of_repeated_words_counts(tmp_path: Path) -> None:
    assert _read(tmp_path, "dog 1 2\ndog 3 4\n", {"dog"}).values.tolist() == [[1, 2]]


def test_a_header_is_no_word(tmp_path: Path) -> None:
    found = _read(tmp_path, "2 3\n2 1 2 3\ndog 4 5 6\n", {"2", "dog"})
    assert found.words == ("2", "dog")
    assert found.values.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize("content", [". . . 1 2\r\ndog 3 4 \r\n\r\n", ". . . 1 2\ndog 3 4", "dog 3 4\n. . . 1 2\n\n"])
def test_words_may_have_spaces_and_lines_any_end(tmp_path: Path, content: str) -> None:
    found = _read(tmp_path, content, {". . .", "dog"})
    assert dict(zip(found.words, found.values.tolist(), strict=True)) == {". . .": [1, 2], "dog": [3, 4]}


def test_other_white_space_is_part_of_a_word(tmp_path: Path) -> None:
    assert _read(tmp_path, "a\u00a0b 1 2\nc\u2028d 3 4\ne 5 6\n", {"a\u00a0b", "c\u2028d"}).width == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "dog 1 2 3\ncat 1 2\n",
            r"line 2 of .*vectors.txt cannot be read, .* has 2 numbers, but the first lines have 3 \('cat 1 2'",
        ),
        ("dog 1 2 3\n\ncat 1 2 3 4\n", r"line 3 of .* has 4 numbers, but the first lines have 3"),
        ("dog 1 2 3\ncat\n", r"line 2 of .* has 0 numbers, but the first lines have 3"),
        ("dog 1 2 3\ncat\t1\t2\t3\n", r"line 2 of .* has 0 numbers"),
        ("2 3\ncat 1 2 3\ndog 1 x 3\n", r"line 3 of .* has a field that is not a number \(.*'x'\)"),
        ("cat 1 2\ndog 1 nan\n", r"line 2 of .* has a number that is not finite"),
        ("cat 1 2\ndog 1 1e39\n", r"line 2 of .* has a number that is not finite in single precision"),
        (b"cat 1 2\n\xff\xfe 1 2\n", r"line 2 of .* is not UTF-8 .*unpack an archive"),
        (
            "cat 1 2\nmouse 3 4\n",
            r"has no vector for any of the 1 words of the train texts; give vectors of lower-cased "
            r"words in the language",
        ),
        ("", r"none of the first 1000 lines of .* is a word followed by numbers"),
        (b"PK\x03\x04\x00\x01\n\x80\x81\n", r"give a text file in GloVe's format \(unpack an archive first\)"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        _read(tmp_path, content, {"dog"})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"gone.txt' does not exist; correct `vectors`"):
        read_word_vectors(tmp_path / "gone.txt", {"dog"})
    with pytest.raises(MissingDataError, match=r"does not exist"):
        read_word_vectors(tmp_path, {"dog"})


def test_a_large_file_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "large.txt").open("w") as stream:
        for number in range(20_000):
            stream.write(f"word{number} " + " ".join(["0.123"] * 50) + "\n")
    tracemalloc.start()
    try:
        found = read_word_vectors(tmp_path / "large.txt", {"word7", "word19999"})
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.words == ("word7", "word19999")
    assert peak < (tmp_path / "large.txt").stat().st_size / 10
