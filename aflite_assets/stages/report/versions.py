"""Earlier results that a report is compared with, and the settings and data of each result."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from aflite_assets.analysis.analysis import FILES
from aflite_assets.analysis.comparisons.versions import Version, VersionComparison, compare_versions
from aflite_assets.errors import DataError, StoreError
from aflite_assets.fixing.spec_file import FIXED
from aflite_assets.results.damage import own_damage
from aflite_assets.results.records import PublishedResult
from aflite_assets.results.store import ResultStore
from aflite_assets.scan.cues import ScanFacts

Read = TypeVar("Read")

ANALYSIS_RESULT = "analysis"
_DATA_VERSION = "data version of "


class _Filtering(BaseModel):
    representation: str
    settings: dict[str, object]


class _TestSet(BaseModel):
    name: str
    rows: int


class _Facts(BaseModel):
    """Facts in a result of `analysis` that are compared with the facts in another result.

    Other fields are ignored, so that results of other versions of this project can be read.
    """

    filterings: list[_Filtering]
    provenance: dict[str, str]
    test_sets: list[_TestSet]
    split_rows: dict[str, int]
    label_names: list[str]
    smallest_effect: float


def compare_results(old: PublishedResult, new: PublishedResult) -> VersionComparison:
    """Compare two results of `analysis`, from the same dataset or from two datasets.

    Raises:
        DataError: a result is damaged, or lacks a file that the comparison needs.
    """
    for one in (old, new):
        damage = own_damage(one)
        if damage:
            raise DataError(
                f"{one.path} was changed after publication ({'; '.join(damage)}); refresh dataset {one.partition!r}"
            )
    return compare_versions(version_of(old), version_of(new), smallest_effect=_facts(new).smallest_effect)


def version_of(result: PublishedResult) -> Version:
    """Return the settings, data and software of a result of `analysis`, from its manifest and facts.

    Raises:
        DataError: another version of this project wrote the facts.
    """
    made_from, facts = result.manifest["made_from"], _facts(result)
    filters = {one.representation: one.settings for one in facts.filterings}
    provenance = facts.provenance
    rows = {one.name: one.rows for one in facts.test_sets}
    data: dict[str, object] = {
        "rows by split": facts.split_rows,
        "classes": ", ".join(facts.label_names),
        "rows tested on": rows,
    }
    contents: dict[str, object] = {
        f"content of {name}": provenance.get(_DATA_VERSION + name) for name in ("raw_dataset", "challenge_sets")
    }
    software = {name: value for name, value in provenance.items() if name in result.manifest["environment"]}
    return Version(
        f"{result.partition} of {result.manifest['published'][:16].replace('T', ' ')}",
        result.path,
        _settings(made_from["fields"]) | {"filter": filters},
        data | contents,
        {"code of the analysis": made_from["code_version"]} | software,
        _read(result, "scan", TypeAdapter(ScanFacts | None)),
    )


def _settings(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the settings of a dataset's YAML file, without file paths; the files' content counts as data."""
    sets = fields.get("challenge_sets")
    given = sets.items() if isinstance(sets, Mapping) else ()
    challenges = {name: {key: one[key] for key in one if key != "source"} for name, one in given}
    return {name: value for name, value in fields.items() if name != "contents"} | {"challenge_sets": challenges}


def earlier_result(store: ResultStore, of: PublishedResult) -> PublishedResult | None:
    """Return the newest earlier result of the asset and dataset of `of` with different content, or None."""
    others = (one for one in store.results(of.asset, of.partition) if one.key != of.key and not own_damage(one))
    before = [one for one in others if _time(one) <= _time(of) and one.data_version != of.data_version]
    return max(before, key=_time, default=None)


def comparisons(
    store: ResultStore, analysis: PublishedResult, *, log: Callable[[str], None]
) -> tuple[VersionComparison, ...]:
    """Compare a result with the previous result and, for a mended dataset, with the result of the original dataset.

    If a result cannot be compared, the result is left out, and the reason is logged. Results that differ only in
    software are also left out.
    """
    found: list[VersionComparison] = []
    for old in _compared_with(store, analysis, log):
        try:
            compared = compare_results(old, analysis)
        except (DataError, StoreError) as error:
            log(f"the report does not compare this result with {old.partition} of {old.key}: {error}")
            continue
        if compared.says_something:
            found.append(compared)
    return tuple(found)


def _compared_with(
    store: ResultStore, analysis: PublishedResult, log: Callable[[str], None]
) -> Iterator[PublishedResult]:
    earlier = earlier_result(store, analysis)
    if earlier is not None:
        yield earlier
    original = analysis.partition.removesuffix(FIXED)
    if original and original != analysis.partition and original in store.datasets():
        try:
            if store.current_key(ANALYSIS_RESULT, original) is not None:
                yield store.current(ANALYSIS_RESULT, original)
        except StoreError as error:
            log(f"the report does not compare this result with {original}: {error}")


def _time(result: PublishedResult) -> str:
    return str(result.manifest["published"])


def _facts(result: PublishedResult) -> _Facts:
    return _read(result, "facts", TypeAdapter(_Facts))


def _read(result: PublishedResult, name: str, kind: TypeAdapter[Read]) -> Read:
    try:
        return kind.validate_json(result.file(FILES[name]).read_bytes())
    except ValidationError as error:
        raise DataError(
            f"{result.path} was written by another version of this project ({str(error).splitlines()[0]}); refresh "
            f"dataset {result.partition!r}"
        ) from error
