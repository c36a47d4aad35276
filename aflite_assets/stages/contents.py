"""Hashes of the files that spec fields name, so that a result's key sees content and not only paths."""

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from aflite_assets.results.files import file_sha256
from aflite_assets.sources.loading import content_fingerprint
from aflite_assets.sources.model_specs import ImageModelSpec, TextModelSpec
from aflite_assets.sources.specs import DatasetSpec


def field_contents(spec: DatasetSpec, fields: Iterable[str]) -> dict[str, Any]:
    """Content hashes of the sources and local checkpoints that these fields name.

    Raises:
        DataError: a source's file is missing.
    """
    contents: dict[str, Any] = {}
    for field in fields:
        match field:
            case "source":
                contents[field] = content_fingerprint(spec.source)
            case "challenge_sets":
                contents[field] = {name: content_fingerprint(c.source) for name, c in spec.challenge_sets.items()}
            case "representations" | "evaluators":
                models = getattr(spec, field)
                contents[field] = {name: checkpoint_content(settings) for name, settings in models.items()}
    return contents


def checkpoint_content(settings: Any) -> dict[str, str]:
    """sha256 of the files of a model's local checkpoint; empty for hub ids and models trained from scratch."""
    if not isinstance(settings, TextModelSpec | ImageModelSpec) or settings.checkpoint is None:
        return {}
    place = Path(settings.checkpoint)
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    root = place.parent if place.is_file() else place
    return {
        path.relative_to(root).as_posix(): _hash(path, path.stat().st_size, path.stat().st_mtime_ns) for path in files
    }


@lru_cache(maxsize=4096)
def _hash(path: Path, size: int, changed: int) -> str:
    return file_sha256(path)
