"""Reading of word vectors from a file in GloVe's text format, limited to the words that are needed. The module
`word_inputs` splits texts into words.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aflite_assets.errors import DataError, MissingDataError, ModelError

HEAD_LINES = 1_000
"""Number of lines at the start of a file. One of these lines must be a word without spaces followed by numbers, which
determines the width of the vectors.
"""

SHOWN_CHARACTERS = 40


@dataclass(frozen=True)
class WordVectors:
    """Word vectors from a file. `values[i]`, float32, is the vector of `words[i]`. Each word occurs once, in the order
    of the file.
    """

    words: tuple[str, ...]
    values: np.ndarray

    @property
    def width(self) -> int:
        """Length of a word vector."""
        return int(self.values.shape[1])


def check_vectors_file(file: str | None) -> None:
    """Raise an error if the path is not a file. If the path is None, no file is needed.

    Raises:
        ModelError: the file does not exist.
    """
    if file is not None and not Path(file).is_file():
        raise ModelError(
            f"`vectors` is {file!r}, which is not a file; give the path of a text file of word vectors such as "
            "GloVe's, or leave `vectors` out to learn the vectors from the train texts"
        )


def read_word_vectors(
    path: Path, wanted: Collection[str], *, most_others: int = 0, is_word: Callable[[str], bool] = bool
) -> WordVectors:
    """Return the vectors of the `wanted` words, and of the first `most_others` other words in the file that `is_word`
    accepts.

    Each line of the file is a word and its numbers, separated by single spaces (Pennington et al., EMNLP 2014). The
    last `width` fields are the numbers, so a word may contain spaces. The first line on which every field after the
    first is a number determines the width: the number of these fields. A first line of two whole numbers (word2vec's
    count and width) is skipped. If a word is on several lines, the first line is used. The fields of every line are
    counted, but numbers are parsed only for the kept lines, one line at a time. The function therefore needs memory
    only for the result.

    Raises:
        MissingDataError: the file does not exist.
        DataError: a line has a wrong number of fields or a number that is not finite, the file is not UTF-8, or the
            file contains no wanted word.
    """
    if not path.is_file():
        raise MissingDataError(
            f"the file of word vectors {str(path)!r} does not exist; correct `vectors` in the settings"
        )
    width = _width(path)
    kept: dict[str, np.ndarray] = {}
    others = 0
    for number, line in _lines(path):
        fields = _Line(path, number, line, width)
        word = fields.word()
        if word in kept:
            continue
        if word not in wanted:
            if others == most_others or not is_word(word):
                continue
            others += 1
        kept[word] = fields.vector()
    if len(kept) == others:
        raise DataError(
            f"the file {path} has no vector for any of the {len(wanted)} words of the train texts; give vectors of "
            "lower-cased words in the language of the texts"
        )
    return WordVectors(tuple(kept), np.stack(list(kept.values())))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the line number (from 1) and the content of each line. Blank lines and word2vec's header are left out."""
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            line = raw.rstrip(b" \r\n")
            if line and not (number == 1 and _is_header(line)):
                yield number, line


def _is_header(line: bytes) -> bool:
    fields = line.split(b" ")
    return len(fields) == 2 and all(field.isdigit() for field in fields)


def _width(path: Path) -> int:
    for number, line in _lines(path):
        if number > HEAD_LINES:
            break
        numbers = line.split(b" ")[1:]
        if numbers and all(map(_is_number, numbers)):
            return len(numbers)
    raise DataError(
        f"none of the first {HEAD_LINES} lines of {path} is a word followed by numbers, separated by spaces; give a "
        "text file in GloVe's format (unpack an archive first)"
    )


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class _Line:
    path: Path
    number: int
    content: bytes
    width: int

    def word(self) -> str:
        """Return the text before the last `width` fields."""
        spaces = self.content.count(b" ")
        if spaces < self.width:
            raise self._ragged(spaces)
        if spaces == self.width:
            start = self.content[: self.content.index(b" ")]
        else:
            start = self.content.rsplit(b" ", self.width)[0]
            extra = 0
            for field in reversed(start.split(b" ")[1:]):
                if not _is_number(field):
                    break
                extra += 1
            if extra:
                raise self._ragged(self.width + extra)
        try:
            return start.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"line {self.number} of {self.path} is not UTF-8 ({error}); "
                "give a text file in GloVe's format (unpack an archive, or convert the file to UTF-8)"
            ) from error

    def vector(self) -> np.ndarray:
        """Return the last `width` fields, float32."""
        numbers = self.content.rsplit(b" ", self.width)[1:]
        try:
            with np.errstate(over="ignore"):
                vector = np.array([float(field) for field in numbers]).astype(np.float32)
        except ValueError as error:
            raise self._broken(f"the line has a field that is not a number ({error})") from error
        if not np.isfinite(vector).all():
            raise self._broken("the line has a number that is not finite in single precision")
        return vector

    def _ragged(self, width: int) -> DataError:
        return self._broken(f"the line has {width} numbers, but the first lines have {self.width}")

    def _broken(self, what: str) -> DataError:
        shown = self.content[:SHOWN_CHARACTERS].decode("utf-8", "replace")
        return DataError(
            f"line {self.number} of {self.path} cannot be read, because {what} ({shown!r}); repair the file, or "
            "download it again"
        )
