"""Text encodings that are allowed in a dataset's YAML file, and a function that finds the encodings that fit given
bytes.

The package `data` reads the data files.
"""

import codecs
from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import Annotated

from pydantic import AfterValidator

from aflite_assets.wording import did_you_mean, truncate

UTF_8 = "utf-8"
"""The default encoding. A byte order mark (BOM) at the start of the file is skipped."""

ENCODINGS = (
    UTF_8,
    *("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be", "ascii", "latin-1"),
    *(f"iso8859-{part}" for part in (*range(2, 12), *range(13, 17))),
    *(
        f"cp{page}"
        for page in (*range(1250, 1259), 437, 850, 852, 855, 857, 858, 860, 861, 862, 863, 865, 866, 869, 874)
    ),
    *("mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-turkish", "koi8-r", "koi8-u", "tis-620"),
    *("shift-jis", "cp932", "euc-jp", "iso2022-jp", "gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp950"),
    *("euc-kr", "cp949"),
)
"""Encodings that are used for tables, by Python's names with hyphens. Some codecs of Python are not included: codecs
that are not text encodings (`rot13`, `zip`), read escapes (`unicode_escape`) or depend on the machine (`mbcs`).
"""

_COMMON = "common encodings are utf-8, utf-16, cp1252 (called ANSI by Windows in western countries) and latin-1"
_LONGEST = 60


def known_encoding(name: str) -> str:
    """Return the encoding's name as spelled in `ENCODINGS`. `name` may be any usual spelling of the encoding.

    Raises:
        ValueError: `name` is not a text encoding. The message suggests the most similar name.
    """
    plain = normalize_encoding(name.strip().lower()[:_LONGEST]) if name.isascii() else ""
    module = aliases.get(plain.replace(".", "_"), plain).removesuffix("_sig")
    known = module.replace("_", "-")
    if known not in ENCODINGS:
        near = (
            did_you_mean(name.strip().lower()[:_LONGEST], ENCODINGS)
            or "; name the encoding in which the file was saved:"
        )
        raise ValueError(f"{truncate(name, _LONGEST)!r} is not a supported text encoding{near} {_COMMON}")
    return known


Encoding = Annotated[str, AfterValidator(known_encoding)]
"""A text encoding, given by its name in `ENCODINGS`."""

MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks (BOM) at the start of a file and their encodings. UTF-32's mark begins with UTF-16's."""

ONE_BYTE = ("cp1252", "latin-1")
_SEVERAL_BYTES = ("gb18030", "shift-jis", "euc-kr")
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")


def marked_encoding(start: bytes) -> str | None:
    """Return the encoding of the byte order mark (BOM) at the start of a file. Return None if there is no mark, or if
    the encoding is UTF-8.
    """
    return next((encoding for mark, encoding in MARKS.items() if start.startswith(mark)), None)


def fitting_encodings(start: bytes) -> tuple[str, ...]:
    """Return the encodings in which the first bytes of a file are valid text, most likely first. Return an empty tuple
    if the bytes do not look like text.

    A fitting encoding may still be wrong, because most bytes are valid text in several encodings.
    """
    marked = marked_encoding(start)
    if marked is not None:
        return (marked,)
    wide = max(_WIDE, key=lambda encoding: _letters_if_wide(start, encoding))
    if _letters_if_wide(start, wide):
        return (wide,)
    if sum(byte < 32 and byte not in b"\t\n\r\x0c\x1b" for byte in start) > len(start) / 50:
        return ()
    return tuple(encoding for encoding in (UTF_8, *ONE_BYTE, *_SEVERAL_BYTES) if fits(start, encoding))


def fits(start: bytes, encoding: str) -> bool:
    """Return True if the bytes are valid text in the encoding. The last character may be incomplete."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _letters_if_wide(start: bytes, encoding: str) -> int:
    """Return the number of ASCII characters if the bytes look like UTF-16 or UTF-32 without a byte order mark.
    Otherwise, return 0.

    In these encodings, ASCII characters have NUL bytes next to them. If the encoding is right, the decoded text has as
    many line ends as the bytes have, and it contains no NUL character.
    """
    text = start[: len(start) - len(start) % 4].decode(encoding, errors="replace") if start.count(0) else "\0"
    if "\0" in text or "\ufffd" in text or 2 * text.count("\n") < start.count(b"\n"):
        return 0
    if not start.count(b"\n") and 4 * start.count(0) < len(start):
        return 0
    return len(text.encode("ascii", "ignore"))
