"""Check of a text file against an encoding: the first invalid position, and other encodings that fit the file.

An encoding that fits is not always the right one, because most bytes are valid in several encodings. Error messages
show the file's text in each encoding that fits.
"""

import codecs
import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from aflite_assets.specs.encodings import ONE_BYTE, UTF_8, fits, fitting_encodings, marked_encoding
from aflite_assets.wording import quoted

_BLOCK = 2**16
_SHOWN = 60
_AROUND = 30
_MOST_FITS = 3

_NO_TEXT = {
    b"\x1f\x8b": "it is compressed with gzip; unpack it",
    b"PK\x03\x04": "it is a zip archive, like the files of Excel (.xlsx); save the sheet as CSV in UTF-8, or unpack it",
    b"\xd0\xcf\x11\xe0": "it is a file of Excel or Word (.xls, .doc); save the sheet as CSV in UTF-8",
    b"PAR1": "it is a Parquet file; set `format: parquet`",
    b"BZh": "it is compressed with bzip2; unpack it",
    b"\xfd7zXZ": "it is compressed with xz; unpack it",
    b"\x28\xb5\x2f\xfd": "it is compressed with Zstandard; unpack it",
    b"SQLite format 3": "it is a SQLite database; export the table as CSV",
    b"%PDF": "it is a PDF; save the table as CSV",
    b"\x93NUMPY": "it is a .npy file of NumPy; set `format: features`",
}
"""First bytes of files that are not text, each with the kind of file and advice."""


@dataclass(frozen=True)
class Misfit:
    """The reason why a file cannot be read in its encoding, and a remedy."""

    found: str
    remedy: str


def codec_of(path: Path, encoding: str) -> str:
    """Return the codec for reading a file in an encoding; it skips a byte order mark (BOM) at the start."""
    if encoding == UTF_8:
        return "utf-8-sig"
    mark = marked_encoding(_start(path))
    return mark if mark is not None and encoding.removesuffix("-le").removesuffix("-be") == mark else encoding


def starts_as(path: Path, encoding: str, *, size: int) -> bool:
    """Return True if the first `size` bytes of a file are valid text in an encoding.

    Raises:
        OSError: the file cannot be read.
    """
    decoder, left = codecs.getincrementaldecoder(encoding)(), size
    for block in _blocks(path):
        if left == size and _no_text(block) is not None:
            return False
        try:
            decoder.decode(block)
        except UnicodeDecodeError:
            return False
        left -= len(block)
        if left <= 0:
            break
    return True


def misfit(path: Path, encoding: str) -> Misfit | None:
    """Return the reason why a file is not valid text in an encoding, or None if the file is valid.

    A file in UTF-16 without a byte order mark is not accepted as UTF-8. The bytes of such a file are valid UTF-8, with
    a NUL next to each ASCII letter.

    Raises:
        OSError: the file cannot be read.
    """
    start = _start(path)
    binary = _no_text(start)
    if binary is not None:
        return binary
    if encoding in ("utf-16", "utf-32") and marked_encoding(start) is None:
        return Misfit(
            f"it lacks the byte order mark (BOM) of {encoding}",
            _remedy(_fitting(path, start, encoding), path, None),
        )
    bad = _first_undecodable(path, encoding)
    if bad is None:
        wide = [] if encoding != UTF_8 or not start.count(0) else _fitting(path, start, encoding)
        if not wide or not wide[0].startswith("utf"):
            return None
        return Misfit("nearly every second byte is NUL", _remedy(wide, path, None))
    found = f"line {bad.line} is not valid {_shown(encoding)} ({bad.what})"
    if encoding == UTF_8 and bad.others_fit:
        found += f", although other lines have letters in {_shown(UTF_8)}"
        return Misfit(
            found, f"correct that line, which reads {bad.excerpt('cp1252')} in cp1252, and save the whole file as UTF-8"
        )
    return Misfit(found, _remedy(_fitting(path, start, encoding), path, bad))


def _no_text(start: bytes) -> Misfit | None:
    """Return the format of a file that is, according to its first bytes, not a text file."""
    known = next((what for magic, what in _NO_TEXT.items() if start.startswith(magic)), None)
    if known is None or (fits(start, UTF_8) and not start.count(0)):
        return None
    what, remedy = known.split("; ", 1)
    return Misfit(f"{what}, not a text", remedy)


def _remedy(fitting: list[str], path: Path, bad: "_Undecodable | None") -> str:
    if not fitting:
        return "no tested encoding fits; the file may be damaged or not a text: export it again as UTF-8"
    reads = [
        f"{fit}, in which it reads {_first_line(path, fit) if bad is None or bad.is_wide else bad.excerpt(fit)}"
        for fit in fitting
    ]
    fits_text = f"the file fits {', or '.join(reads)}"
    if fitting == [UTF_8]:
        return f"{fits_text}; leave out `encoding`"
    if len(fitting) > 1:
        return f"{fits_text}; set `encoding` to the one with the right text, or save the file as UTF-8"
    return f"{fits_text}; if this text is right, set `encoding: {fitting[0]}`, or save the file as UTF-8"


@dataclass(frozen=True)
class _Undecodable:
    """The first position in a file that is not text in an encoding.

    `line` is counted from 1; `what` names the byte; `around` contains the neighbouring bytes in the same line.
    `others_fit`: whether the file, read as UTF-8, has at least as many valid non-ASCII letters as invalid bytes.
    """

    line: int
    what: str
    around: bytes
    others_fit: bool

    @property
    def is_wide(self) -> bool:
        """True if the bytes around the error may be in an encoding with two or four bytes per letter."""
        return 0 in self.around or not self.around

    def excerpt(self, encoding: str) -> str:
        """Return the bytes around the error, decoded in another encoding, in quotes."""
        return quoted(self.around.decode(encoding, errors="replace").strip(), _SHOWN)


def open_text(path: Path, codec: str, *, newline: str | None, errors: str = "strict") -> TextIO:
    """Open a text file for reading, decompressed if its name ends in .gz; the arguments are those of `open`."""
    if path.suffix.lower() == ".gz":
        return gzip.open(path, "rt", encoding=codec, newline=newline, errors=errors)
    return path.open(encoding=codec, newline=newline, errors=errors)


def _blocks(path: Path) -> Iterator[bytes]:
    with pa.input_stream(
        str(path)
    ) as stream:  # decompresses .gz and similar files by their name, as the csv reader does
        while block := stream.read(_BLOCK):
            yield block


def _start(path: Path) -> bytes:
    return next(_blocks(path), b"")


def _first_undecodable(path: Path, encoding: str) -> _Undecodable | None:
    decoder = codecs.getincrementaldecoder(codec_of(path, encoding))()
    line, read, before = 1, 0, b""
    blocks = _blocks(path)
    for block in blocks:
        state = decoder.getstate()
        try:
            line += decoder.decode(block).count("\n")
        except UnicodeDecodeError:
            decoder.setstate(state)
            newlines, place = _bad_place(decoder, block)
            near = before + block + next(blocks, b"")
            around = _line_around(near, len(before) + place)
            what = f"byte {near[len(before) + place]:#04x} at {read + place:,}"
            return _Undecodable(line + newlines, what, around, _has_other_letters(path))
        read, before = read + len(block), block
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return _Undecodable(
            line, "the file ends in the middle of a character", before[-_AROUND:].rsplit(b"\n", 1)[-1], False
        )
    return None


def _bad_place(decoder: codecs.IncrementalDecoder, block: bytes) -> tuple[int, int]:
    """Return the number of line ends before the first undecodable byte of a block, and the byte's position.

    The position is negative if the byte is in the previous block.
    """
    newlines = 0
    for place in range(len(block)):
        try:
            newlines += decoder.decode(block[place : place + 1]).count("\n")
        except UnicodeDecodeError as error:
            return newlines, place + 1 - (len(error.object) - error.start)
    return newlines, len(block) - 1


def _line_around(near: bytes, place: int) -> bytes:
    """Return the part of a line that surrounds one of the line's bytes."""
    before, after = near[max(place - _AROUND, 0) : place], near[place : place + _AROUND]
    return before.rsplit(b"\n", 1)[-1] + after.split(b"\n", 1)[0]


def _has_other_letters(path: Path) -> bool:
    """Return True if the file, read as UTF-8, has at least as many valid non-ASCII letters as invalid bytes."""
    decoder = codecs.getincrementaldecoder(UTF_8)(errors="surrogateescape")
    letters = bad = 0
    for block in _blocks(path):
        text = decoder.decode(block)
        fitting = len(text.encode(UTF_8, "ignore").decode(UTF_8))
        bad += len(text) - fitting
        letters += fitting - len(text.encode("ascii", "ignore"))
    return letters >= bad > 0


def _fitting(path: Path, start: bytes, encoding: str) -> list[str]:
    """Return the other encodings that fit the whole file, the most likely first.

    At most one of the returned encodings is a single-byte encoding.
    """
    fitting = [fit for fit in fitting_encodings(start) if fit != encoding and _first_undecodable(path, fit) is None]
    if UTF_8 in fitting:
        return [UTF_8]
    surplus = [fit for fit in fitting if fit in ONE_BYTE][1:]
    return [fit for fit in fitting if fit not in surplus][:_MOST_FITS]


def _first_line(path: Path, encoding: str) -> str:
    text = codecs.getincrementaldecoder(codec_of(path, encoding))().decode(_start(path))
    return quoted(text.split("\n", 1)[0].strip(), _SHOWN)


def _shown(encoding: str) -> str:
    return encoding.upper() if encoding.startswith("utf") else encoding
