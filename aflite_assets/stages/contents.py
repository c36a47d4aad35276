"""What stands behind the files and hub ids that spec fields name, so that a result's key sees content and not names."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from aflite_assets.errors import MissingDataError
from aflite_assets.results.files import file_sha256
from aflite_assets.sources.annotators import why_left_out
from aflite_assets.sources.hub.loading import check_available, model_commit
from aflite_assets.sources.loading import content_fingerprint
from aflite_assets.sources.model_specs import EsimSpec, TextModelSpec
from aflite_assets.sources.source_specs import HubSource
from aflite_assets.sources.specs import AnnotationsSpec, ChallengeSpec, DatasetSpec

MISSING = {"missing": 1}
"""The content of a challenge set or of annotations that need not be there and are not."""


def field_contents(spec: DatasetSpec, fields: Iterable[str]) -> dict[str, Any]:
    """Content hashes of the files, and commits of the hub's datasets and models, that these fields name.

    Raises:
        DataError: a file is missing, or a dataset of the hub cannot be had or does not exist.
        ModelError: a checkpoint is neither a file or folder nor a model that the hub or its cache has.
    """
    contents: dict[str, Any] = {}
    for field in fields:
        match field:
            case "source":
                contents[field] = content_fingerprint(spec.source)
            case "annotations":
                contents[field] = {} if spec.annotations is None else annotations_content(spec.annotations)
            case "challenge_sets":
                contents[field] = {name: challenge_content(c) for name, c in spec.challenge_sets.items()}
            case "representations" | "evaluators":
                models = getattr(spec, field)
                contents[field] = {name: checkpoint_content(settings) for name, settings in models.items()}
            case "distance_encoder" if spec.distance_encoder is not None:
                contents[field] = checkpoint_content(spec.distance_encoder)
    return contents


def annotations_content(annotations: AnnotationsSpec) -> dict[str, str | int]:
    """How many files of single annotators' labels there are, and one sha256 over their contents in their order.

    `MISSING` where they need not be there and a file is not.

    Raises:
        MissingDataError: a required file is missing.
    """
    if why_left_out(annotations) is not None:
        return dict(MISSING)
    paths = annotations.paths()
    for path in paths:
        if not path.is_file():
            raise MissingDataError(f"annotations: file {str(path)!r} does not exist; correct the path in the spec")
    hashes = "\n".join(file_sha256(path) for path in paths)
    return {"files": len(paths), "sha256": hashlib.sha256(hashes.encode()).hexdigest()}


def challenge_content(challenge: ChallengeSpec) -> dict[str, str | int]:
    """The content of a challenge set's source; `MISSING` where it need not be there and is not.

    Raises:
        MissingDataError: a required set's file is missing, or its dataset cannot be had from the hub.
        DataError: the hub knows no such dataset or revision.
    """
    try:
        if isinstance(challenge.source, HubSource) and not challenge.required:
            # A pinned commit is known without the hub, and would be the same content when the set is there at last.
            check_available(challenge.source)
        return content_fingerprint(challenge.source)
    except MissingDataError:
        if challenge.required:
            raise
        return dict(MISSING)


def checkpoint_content(settings: Any) -> dict[str, str]:
    """sha256 of the files of a model's local checkpoint, or the commit of a hub id; empty for models from scratch.

    Raises:
        ModelError: a hub id that neither the hub nor its cache has.
    """
    contents: dict[str, str] = {}
    for field in ("checkpoint", "contextual", "vectors"):
        if (named := getattr(settings, field, None)) is not None:
            contents |= _named_content(named, settings)
    return contents


def _named_content(named: str, settings: Any) -> dict[str, str]:
    place = Path(named)
    of_the_hub = isinstance(settings, TextModelSpec | EsimSpec) and named != getattr(settings, "vectors", None)
    if of_the_hub and not place.exists() and not named.startswith(("/", ".", "~")):
        return {"commit": model_commit(named, settings.revision)}
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    root = place.parent if place.is_file() else place
    return {
        path.relative_to(root).as_posix(): _hash(path, path.stat().st_size, path.stat().st_mtime_ns) for path in files
    }


@lru_cache(maxsize=4096)
def _hash(path: Path, size: int, changed: int) -> str:
    return file_sha256(path)
