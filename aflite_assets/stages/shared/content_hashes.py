"""Content hashes of the files, and commits of the hub ids, that the fields of a spec name.

A result's key contains the hashes and commits, so the key depends on file contents instead of file names.
"""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from pydantic import BaseModel

from aflite_assets.data.hub.datasets import check_available, model_commit
from aflite_assets.data.loading import content_fingerprint
from aflite_assets.data.raw_table.annotators import why_left_out
from aflite_assets.errors import AfliteError, MissingDataError, UnsettledDataError
from aflite_assets.results.file_hashes import FileHashes, HashedFile, check_unchanged
from aflite_assets.specs.core import AnnotationsSpec, ChallengeSpec
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import INSTALLED
from aflite_assets.specs.models.studies import study_models, with_models
from aflite_assets.specs.sources import hub_of

MISSING = {"missing": 1}
"""Content hash of an optional challenge set or annotation file that does not exist."""

CONTENT_FIELDS = (
    "source", "annotations", "challenge_sets", "representations", "evaluators", "distance_encoder",
    *with_models(),
)  # fmt: skip
"""Fields of a spec that name files, or datasets and models on the hub."""

_MAY_BE_UNSET = ("distance_encoder", *with_models())


class FieldContents:
    """Content hashes of the files that one spec names, computed once per field.

    If hashing a field raised an error, every later request for the field raises the same error again.

    `hashes` looks up or computes the files' hashes. By default, hashes are cached below `AFLITE_HOME`.
    """

    def __init__(self, spec: DatasetSpec, *, hashes: FileHashes | None = None) -> None:
        self._spec = spec
        self._hashes = hashes or FileHashes()
        self._contents: dict[str, object] = {}
        self._files: dict[str, tuple[HashedFile, ...]] = {}
        self._refusals: dict[str, AfliteError] = {}

    def of(self, fields: Iterable[str]) -> dict[str, object]:
        """Return the hashes of the files, and the commits of the hub datasets and models, that `fields` name.

        Raises:
            DataError: a file is missing, or a dataset of the hub is unavailable or does not exist.
            UnsettledDataError: a file is still being written, or is not completely hashed yet.
            ModelError: a checkpoint is not a file, a folder, or a model that is on the hub or in the hub's cache.
        """
        contents = {}
        for field in fields:
            unset = field in _MAY_BE_UNSET and not getattr(self._spec, field)
            if field in CONTENT_FIELDS and not unset:
                contents[field] = self._look(field)
        return contents

    def files(self, fields: Iterable[str]) -> dict[str, tuple[HashedFile, ...]]:
        """Return the hashed files of each field in `fields`; before this call, `of` must have hashed the fields."""
        return {field: self._files[field] for field in fields if self._files.get(field)}

    def check_unchanged(self, fields: Iterable[str]) -> None:
        """Raise an error if a file was changed after `of` hashed it, or if a file that `of` found missing exists now.

        Raises:
            UnsettledDataError, DataError: the message names the changed file.
        """
        named = list(fields)
        for files in self.files(named).values():
            check_unchanged(files)
        annotations = self._spec.annotations
        was_missing = "annotations" in named and self._contents["annotations"] == MISSING
        if was_missing and annotations is not None and why_left_out(annotations) is None:
            raise UnsettledDataError("a missing file of `annotations` appeared while the dataset was read; try again")

    def _look(self, field: str) -> object:
        if field in self._refusals:
            raise self._refusals[field]
        if field not in self._contents:
            before = len(self._hashes.noted)
            try:
                self._contents[field] = _content(self._spec, field, self._hashes)
            except AfliteError as error:
                self._refusals[field] = error
                raise
            self._files[field] = tuple(self._hashes.noted[before:])
        return self._contents[field]


def content_hashes(spec: DatasetSpec, fields: Iterable[str]) -> dict[str, object]:
    """Return the content hashes and commits for some fields of a spec; see `FieldContents.of`."""
    return FieldContents(spec).of(fields)


def _content(spec: DatasetSpec, field: str, hashes: FileHashes) -> object:
    match field:
        case "source":
            return content_fingerprint(spec.source, hashes=hashes)
        case "annotations":
            return {} if spec.annotations is None else _annotations_content(spec.annotations, hashes)
        case "challenge_sets":
            return {name: _challenge_content(one, hashes) for name, one in spec.challenge_sets.items()}
    models: object = study_models(spec)[field] if field in with_models() else getattr(spec, field)
    if isinstance(models, Mapping):
        return {name: {} if one is None else checkpoint_content(one, hashes=hashes) for name, one in models.items()}
    assert isinstance(models, BaseModel)
    return checkpoint_content(models, hashes=hashes)


def _annotations_content(annotations: AnnotationsSpec, hashes: FileHashes) -> dict[str, str | int]:
    """Return the number of annotation files (labels by single annotators) and one SHA-256 over their contents.

    Return `MISSING` if the files are optional and at least one is missing.

    Raises:
        MissingDataError: a required file is missing.
    """
    if why_left_out(annotations) is not None:
        return dict(MISSING)
    paths = annotations.paths()
    for path in paths:
        if not path.is_file():
            raise MissingDataError(f"file {str(path)!r} of `annotations` does not exist; correct the path in the spec")
    digests = "\n".join(hashes.of(paths))
    return {"files": len(paths), "sha256": hashlib.sha256(digests.encode()).hexdigest()}


def _challenge_content(challenge: ChallengeSpec, hashes: FileHashes) -> dict[str, str | int]:
    """Return the content hash or commit of a challenge set's source.

    Return `MISSING` if the challenge set is optional and its source does not exist.

    Raises:
        MissingDataError: the set is required, and its file is missing or its dataset is not available on the hub.
        DataError: the hub has no such dataset or revision.
    """
    try:
        hub = hub_of(challenge.source)
        if hub is not None and not challenge.required:
            # Without this check, a pinned commit would be the same content before and after the set is available.
            check_available(hub)
        return content_fingerprint(challenge.source, hashes=hashes)
    except MissingDataError:
        if challenge.required:
            raise
        return dict(MISSING)


def checkpoint_content(settings: BaseModel, *, hashes: FileHashes | None = None) -> dict[str, str]:
    """Return the SHA-256 of each file of a model's local checkpoint, or the commit of the model's hub id.

    The result is empty for models that are trained from scratch. If an installed package adds the kind of model, the
    result contains the package's name and version.

    Raises:
        ModelError: a hub id is neither on the hub nor in the hub's cache.
    """
    installed = INSTALLED.get(getattr(settings, "kind", ""))
    contents = {} if installed is None else {"package": installed.package}
    for named in named_models(settings):
        contents |= _named_content(named, settings, hashes or FileHashes())
    return contents


def named_models(settings: BaseModel) -> list[str]:
    """Return the checkpoints and the files of word vectors that a model's settings name, as paths or hub ids."""
    named = (getattr(settings, field, None) for field in ("checkpoint", "contextual", "vectors"))
    return [name for name in named if name is not None]


def is_hub_id(named: str, settings: BaseModel) -> bool:
    """Return True if `named` is the id of a model on the hub and not a path."""
    of_the_hub = hasattr(settings, "revision") and named != getattr(settings, "vectors", None)
    return of_the_hub and not Path(named).exists() and not named.startswith(("/", ".", "~"))


def _named_content(named: str, settings: BaseModel, hashes: FileHashes) -> dict[str, str]:
    if is_hub_id(named, settings):
        return {"commit": model_commit(named, getattr(settings, "revision", None))}
    place = Path(named)
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    root = place.parent if place.is_file() else place
    names = [path.relative_to(root).as_posix() for path in files]
    return dict(zip(names, hashes.of(files), strict=True))
