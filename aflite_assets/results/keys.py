"""Keys of results. A key contains everything that a result is computed from. A short hash of the key is the name of the
result's folder.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

DIGEST = re.compile(r"[0-9a-f]{20}")
"""Pattern of the digest that is the name of a result's folder."""


@dataclass(frozen=True)
class ResultKey:
    """Everything that decides whether a stored result can be used again.

    `code_version` changes when the code computes a different result. `fields`: the settings that the stage reads, as
    JSON values. `inputs`: the data version of each result that the stage reads, by the result's name. Library versions
    and the device are not part of the key; they are in the manifest.
    """

    code_version: str
    fields: Mapping[str, Any]
    inputs: Mapping[str, str]

    @property
    def digest(self) -> str:
        """Hash of the key, 20 hexadecimal digits. The order of names in mappings affects the hash, because rows are in
        the order of splits.
        """
        material = json.dumps(self.as_json(), separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(material.encode()).hexdigest()[:20]

    def as_json(self) -> dict[str, Any]:
        """Return the key in the form in which a manifest contains it."""
        return {"code_version": self.code_version, "fields": dict(self.fields), "inputs": dict(self.inputs)}


def is_digest(value: object) -> bool:
    """Return True if a value has the form of a key's digest, so that it may be used as the name of a folder. The value
    may come from a damaged or manipulated file.
    """
    return isinstance(value, str) and DIGEST.fullmatch(value) is not None


def current_digest(fields: object) -> str:
    """Return the digest in the content of a `current.json`, which anyone may have written.

    Raises:
        ValueError: the content has no digest.
    """
    if not isinstance(fields, dict):
        raise ValueError("the content is not a JSON object")
    if not is_digest(fields.get("key")):
        raise ValueError(f"{fields.get('key')!r:.100} is not a key")
    return str(fields["key"])
