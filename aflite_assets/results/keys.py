"""What a result was made from, and the short hash of it that names the result's folder."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ResultKey:
    """Everything that decides whether a stored result can be used again.

    `code_version` changes when the code gives another answer; `fields` are the settings that were read
    (JSON values); `inputs` maps the names of the results read to their data versions. Library versions and the
    device are not part of it: they stand in the manifest.
    """

    code_version: str
    fields: Mapping[str, Any]
    inputs: Mapping[str, str]

    @property
    def digest(self) -> str:
        """20 hexadecimal digits. The order of mappings counts, since rows follow the order of splits."""
        material = json.dumps(self.as_json(), separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(material.encode()).hexdigest()[:20]

    def as_json(self) -> dict[str, Any]:
        """The key as it stands in a manifest."""
        return {"code_version": self.code_version, "fields": dict(self.fields), "inputs": dict(self.inputs)}
