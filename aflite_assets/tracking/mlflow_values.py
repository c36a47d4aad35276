"""Conversion of names and values to forms that MLflow accepts, without importing MLflow.

The limits are those of `mlflow.utils.validation` in MLflow 3.17.
"""

import hashlib
import json
import math
import posixpath
import re
from collections.abc import Mapping

import pyarrow as pa

LONGEST_NAME = 250
LONGEST_PART = 60
LONGEST_PARAMETER = 6000
LONGEST_TAG = 8000
LONGEST_DIGEST = 36
METRICS_PER_BATCH = 1000
PARAMETERS_PER_BATCH = 100

_REFUSED_CHARACTER = re.compile(r"[^\w\-. :/]", re.ASCII)
_REFUSED_IN_PART = re.compile(r"[^\w\- ]", re.ASCII)


def accepted_text(value: object, *, longest: int) -> str:
    """Return `value` as text of at most `longest` characters that any database can store.

    Null characters and lone surrogates are replaced.
    """
    text = str(value).replace("\x00", "\N{REPLACEMENT CHARACTER}")
    return text.encode("utf-8", "replace").decode("utf-8")[:longest]


def accepted_name(name: str) -> str:
    """Return `name` in a form that MLflow accepts for parameters, metrics and tags.

    If MLflow would refuse the name, invalid characters become "_", and the first digits of the name's hash are
    appended. The hash keeps different names distinct.
    """
    cleaned = _REFUSED_CHARACTER.sub("_", name)
    if cleaned.startswith(("/", ".")) or posixpath.normpath(cleaned) != cleaned:
        cleaned = cleaned.replace("/", "_").replace(".", "_")
    if cleaned == name and 0 < len(name) <= LONGEST_NAME:
        return name
    return f"{cleaned[: LONGEST_NAME - 9]}_{digest_of(name)[:8]}"


def accepted_part(text: str) -> str:
    """Return `text` in a form that can be part of a compound name, or be a file name.

    Letters, digits, "_", "-" and inner spaces are kept, up to `LONGEST_PART` characters. If the text is longer or has
    other characters, it is cleaned and cut, and the first digits of its hash are appended. The hash keeps different
    texts distinct.
    """
    cleaned = _REFUSED_IN_PART.sub("_", text).strip()
    if cleaned == text and 0 < len(text) <= LONGEST_PART:
        return text
    return f"{cleaned[: LONGEST_PART - 9]}_{digest_of(text)[:8]}"


def digest_of(*parts: str) -> str:
    """Return the SHA-256, in hexadecimal, of a sequence of texts.

    The lengths of the texts are hashed too, so ("ab", "c") and ("a", "bc") have different digests.
    """
    hashed = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass")
        hashed.update(f"{len(content)}:".encode() + content)
    return hashed.hexdigest()


def flattened(parameters: Mapping[str, object], *, prefix: str = "") -> dict[str, str]:
    """Return nested settings as a flat mapping of accepted names to texts: {"a": {"b": 1}} becomes {"a.b": "1"}."""
    flat: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, Mapping) and value:
            flat.update(flattened(value, prefix=f"{prefix}{name}."))
        else:
            flat[accepted_name(f"{prefix}{name}")] = accepted_text(value, longest=LONGEST_PARAMETER)
    return flat


def split_json(table: pa.Table) -> str:
    """Return a table as JSON text {"columns": [...], "data": [row, ...]}; NaN and infinite values become null."""
    rows = [[_plain(value) for value in row.values()] for row in table.to_pylist()]
    return json.dumps({"columns": table.column_names, "data": rows}, allow_nan=False, default=str)


def _plain(value: object) -> object:
    return None if isinstance(value, float) and not math.isfinite(value) else value
