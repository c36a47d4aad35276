"""The stage `challenge_sets`: loads out-of-distribution test sets in the same form as the raw dataset."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.answers import LINKS_VERSION
from aflite_assets.data.loading import at_content, load_source
from aflite_assets.data.raw_table.columns import NO_VALUE
from aflite_assets.data.raw_table.decodable_images import DecodableExamples, drop_undecodable
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.data.raw_table.storage import load_examples, save_examples
from aflite_assets.data.raw_table.table import RawTable, build_raw_table, implied_columns, refuse_own_columns
from aflite_assets.data.rows import rows_at
from aflite_assets.errors import DataError, MissingDataError
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.results.files import write_json
from aflite_assets.scan.blind.few_questions import few_questions
from aflite_assets.scan.blind.selection import chosen_questions
from aflite_assets.specs.core import ChallengeSpec
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.sources import CHOICE_FORMATS, as_tuple
from aflite_assets.stages.data.fine_tune_rows import (
    build_fine_tune,
    in_dataset_classes,
    naming,
    repeated_rows,
    without_test_rows,
)
from aflite_assets.stages.shared.label_mapping import class_map, is_identity
from aflite_assets.stages.shared.published import (
    CHALLENGE_SETS_FILE,
    FINE_TUNE,
    ChallengeFacts,
    FineTuneFacts,
    category_column,
    category_columns,
    read_challenge_sets,
)
from aflite_assets.stages.stage import Stage, StageChecks, StageContext, StageInputs, StageSettings

MOST_CATEGORIES = 200
"""Largest number of categories of a challenge set, because reports show results separately per category."""


def _versions(spec: DatasetSpec) -> dict[str, object]:
    linked = any(one.source.format in CHOICE_FORMATS for one in spec.challenge_sets.values())
    return {"links": LINKS_VERSION} if linked else {}


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Load each challenge set, with its category columns and its own labels, into a folder named after the set.

    If the files of a set with `required: false` are missing, the set is skipped and the reason is recorded. The next
    run looks for missing files again. Rows of a set on which evaluators may train are saved in a subfolder of the set's
    folder.
    """
    raw, scale = load_examples(inputs.raw_dataset.path), Scale.load(inputs.raw_dataset.path)
    sets: dict[str, ChallengeFacts] = {}
    missing: dict[str, str] = {}
    to_train_on: dict[str, tuple[ChallengeSpec, RawTable]] = {}
    keyed = draft.key.fields["contents"]["challenge_sets"]
    for name, challenge in settings.challenge_sets.items():
        challenge = challenge.model_copy(update={"source": at_content(challenge.source, keyed[name])})
        try:
            tables = load_challenge(name, challenge)
        except MissingDataError as error:
            if challenge.required:
                raise
            missing[name] = str(error)
            context.progress.log(f"challenge set {name} is left out: {error}")
            continue
        built = build_challenge(name, challenge, tables, raw, seed=settings.seed, scale=scale)
        decodable = decodable_challenge(
            name, built, largest_share=settings.undecodable_images, log=context.progress.log
        )
        built = replace(built, examples=decodable.examples)
        (draft.path / name).mkdir()
        save_examples(built.examples, draft.path / name)
        broken = sum(images.rows for images in decodable.dropped.values())
        sets[name] = _describe(name, challenge, built, raw, undecodable_images=broken)
        context.progress.log(f"challenge set {name}: {len(built.examples)} rows")
        if few := few_chosen(challenge, built.examples):
            context.progress.log(f"warning: challenge set {name} has {few}")
        if challenge.fine_tune is not None:
            to_train_on[name] = challenge, build_fine_tune(name, challenge, tables, seed=settings.seed, scale=scale)
    for name, (challenge, built) in to_train_on.items():
        fine_tune = _save_fine_tune(settings, name, challenge, built, raw, draft, list(sets), context)
        sets[name] = replace(sets[name], fine_tune=fine_tune)
    # Reports print these facts, so a change in them must change the data version. The reasons for missing sets contain
    # paths, and paths must not change the data version: so the reasons are in the summary only.
    published = {name: facts.as_json() for name, facts in sets.items()}
    write_json(draft.path / CHALLENGE_SETS_FILE, {"sets": published, "missing": sorted(missing)})
    rows = {name: facts.rows for name, facts in sets.items()}
    # If a set appeared or disappeared after the key was computed, the result contradicts its key and is not reused.
    contradicted = any((name in missing) != ("missing" in keyed[name]) for name in keyed)
    trained_on = {name: facts["fine_tune"] for name, facts in published.items() if "fine_tune" in facts}
    summary: dict[str, object] = {"sets": len(sets), "rows": rows, "missing": missing, "incomplete": contradicted}
    return summary | ({"fine_tune": trained_on} if trained_on else {})


def _save_fine_tune(
    settings: DatasetSpec,
    name: str,
    challenge: ChallengeSpec,
    built: RawTable,
    raw: Examples,
    draft: Draft,
    tested: list[str],
    context: StageContext,
) -> FineTuneFacts:
    """Save a challenge set's rows for training evaluators, without rows that also occur in a test set.

    The test sets are the dataset's splits other than train, and the challenge sets in `tested`.
    """
    _check_inputs(name, built.examples, raw)
    decodable = decodable_challenge(name, built, largest_share=settings.undecodable_images, log=context.progress.log)
    rows = in_dataset_classes(name, challenge, decodable.examples, raw.label_names)
    splits = dict.fromkeys(raw.table["split"].to_pylist())
    tests = [raw.in_split(split) for split in splits if split != "train"]
    unrepeated = without_test_rows(name, rows, [*tests, *(load_examples(draft.path / test_set) for test_set in tested)])
    repeats = len(rows) - len(unrepeated)
    (draft.path / name / FINE_TUNE).mkdir()
    save_examples(unrepeated, draft.path / name / FINE_TUNE)
    context.progress.log(
        f"challenge set {name}: {len(unrepeated)} rows to fine-tune on, {repeats} dropped because a test set has the "
        "same input"
    )
    assert challenge.fine_tune is not None
    return FineTuneFacts(
        split=challenge.fine_tune,
        rows=len(unrepeated),
        source_rows=sum(built.source_rows.values()),
        unlabelled_rows=sum(built.unlabelled_rows.values()),
        undecodable_images=sum(images.rows for images in decodable.dropped.values()),
        repeats_dropped=repeats,
    )


def load_challenge(name: str, challenge: ChallengeSpec, *, first_rows: int | None = None) -> dict[str, pa.Table]:
    """Return the tables of one challenge set's source, by split.

    If `first_rows` is set, only about `first_rows` rows of a large source are read.

    Raises:
        MissingDataError: the files do not exist.
        DataError: the files do not match the spec.
    """
    with naming(f"challenge set {name!r}"):
        tables = load_source(challenge.source, rows=first_rows)
    if challenge.split not in tables:
        raise DataError(
            f"challenge set {name!r} has no split {challenge.split!r}, only {sorted(tables)}; correct `split`"
        )
    return tables


def build_challenge(
    name: str,
    challenge: ChallengeSpec,
    tables: Mapping[str, pa.Table],
    raw: Examples,
    *,
    seed: int,
    scale: Scale | None = None,
    complete: bool = True,
) -> RawTable:
    """Return one challenge set in the raw dataset's form, with its category columns and its own labels.

    `scale`: the scale by which the dataset's features were standardised. `complete`: False if `tables` hold only the
    first rows.

    Raises:
        DataError: the rows do not match the spec, or their kind of input differs from that of the dataset.
    """
    columns, categories = (
        implied_columns(challenge.source, challenge.columns, tables),
        as_tuple(challenge.category or ()),
    )
    with naming(f"challenge set {name!r}"):
        refuse_own_columns(challenge.source, categories)
        built = build_raw_table(
            {challenge.split: tables[challenge.split]},
            columns=columns.model_copy(update={"attributes": (*columns.attributes, *categories)}),
            label_names=challenge.labels,
            unlabelled=challenge.unlabelled,
            limit=None if challenge.limit is None else {challenge.split: challenge.limit},
            seed=seed,
            complete=complete,
        )
    rows = built.examples
    if complete and (challenge.balanced_by or challenge.against):
        rows = _chosen(name, challenge, rows, raw, seed=seed)
    rows = _with_categories(name, categories, rows, kept=challenge.columns.attributes)
    _check_inputs(name, rows, raw)
    return replace(built, examples=rows if scale is None else scale.applied(rows))


def _chosen(name: str, challenge: ChallengeSpec, examples: Examples, raw: Examples, *, seed: int) -> Examples:
    """Drop questions that the train rows contain, and select questions by the set's settings `balanced_by` and
    `against`. A question is dropped if a train row contains the same question with an identical answer.
    """
    _check_inputs(name, examples, raw)
    rows = examples
    if examples.questions is not None:
        seen = repeated_rows(examples, [raw.in_split("train")])
        unseen = np.flatnonzero(~np.isin(examples.questions, examples.questions[seen]))
        if not len(unseen):
            raise DataError(
                f"challenge set {name!r}: the train rows contain all of its questions; name another file or split"
            )
        rows = Examples(rows_at(examples.table, unseen), examples.label_names)
    with naming(f"challenge set {name!r}"):
        places = chosen_questions(rows, balanced_by=challenge.balanced_by, against=challenge.against, seed=seed)
    return Examples(rows_at(rows.table, places), rows.label_names)


def few_chosen(challenge: ChallengeSpec, examples: Examples) -> str:
    """Return a warning if `balanced_by` or `against` leave too few questions in the set; otherwise, return ""."""
    if not (challenge.balanced_by or challenge.against) or examples.questions is None:
        return ""
    return few_questions(len(np.unique(examples.questions)))


def decodable_challenge(
    name: str,
    built: RawTable,
    *,
    largest_share: float,
    complete: bool = True,
    log: Callable[[str], None] = lambda line: None,
) -> DecodableExamples:
    """Return the rows of a set without images that cannot be decoded; rows of text or features are unchanged.

    Raises:
        DataError: more than `largest_share` of the images cannot be decoded.
    """
    with naming(f"challenge set {name!r}"):
        return drop_undecodable(built.examples, largest_share=largest_share, complete=complete, log=log)


def _describe(
    name: str, challenge: ChallengeSpec, built: RawTable, raw: Examples, *, undecodable_images: int
) -> ChallengeFacts:
    """Return the summary of a challenge set, without `map` and `collapse`, which do not affect stored predictions."""
    own = built.examples.label_names
    classes = class_map(name, challenge, built.examples, raw.label_names)
    return ChallengeFacts(
        rows=len(built.examples),
        source_rows=built.source_rows[challenge.split],
        unlabelled_rows=built.unlabelled_rows[challenge.split],
        label_names=list(own),
        dataset_classes=is_identity(classes, own, raw.label_names),
        undecodable_images=undecodable_images,
    )


def _with_categories(name: str, categories: tuple[str, ...], examples: Examples, *, kept: tuple[str, ...]) -> Examples:
    """Return the examples with category columns under the names that reports use; missing values become null.

    `kept`: columns that stay attributes too, so that cues and leaning are tested on them.
    """
    table = examples.table
    for category in categories:
        place = table.column_names.index(f"attribute.{category}")
        texts = table.column(place)
        texts = pc.if_else(pc.equal(texts, NO_VALUE), pa.scalar(None, texts.type), texts)
        add = table.add_column if category in kept else table.set_column
        table = add(place, category_column(category), texts)
    categorised = Examples(table, examples.label_names)
    for category, texts in category_columns(categorised).items():
        values = len(set(texts.tolist()) - {None, ""})
        if values > MOST_CATEGORIES:
            raise DataError(
                f"category column {category!r} of challenge set {name!r} has {values} different values in "
                f"{len(categorised)} rows, too many for a table; name a column of at most {MOST_CATEGORIES} values, or "
                "list the column in `columns.attributes`"
            )
    return categorised


def _check_inputs(name: str, examples: Examples, raw: Examples) -> None:
    if examples.modality != raw.modality:
        raise DataError(
            f"challenge set {name!r} holds {examples.modality}, but the dataset holds {raw.modality}; a model reads "
            "one kind of input, so correct the `columns` of the set"
        )
    if raw.modality == "text":
        for column in ("text", "text_pair"):
            if (column in raw.table.column_names) != (column in examples.table.column_names):
                raise DataError(
                    f"challenge set {name!r} and the dataset do not both have `columns.{column}`; set it in both"
                )
    if raw.modality == "features" and examples.features.shape[1] != raw.features.shape[1]:
        raise DataError(
            f"challenge set {name!r} has {examples.features.shape[1]} features, but the dataset has "
            f"{raw.features.shape[1]}; both need the same columns"
        )


AVAILABLE = {"challenge_sets_available": "Every challenge set in the dataset's YAML file could be loaded."}


def check_available(result: PublishedResult, *_: object) -> Iterator[CheckOutcome]:
    """Yield the outcome of the check that all challenge sets could be loaded."""
    named = read_challenge_sets(result)
    found = "; ".join(f"{name}: {reason}" for name, reason in named.missing.items())
    what_to_do, applies = "get the missing files and materialise again", bool(named.missing or named.sets)
    for name, asks in AVAILABLE.items():
        yield CheckOutcome("data", name, asks, not found, found, what_to_do, applies=applies)


CHALLENGE_CHECKS = StageChecks(AVAILABLE, check_available)
_SETTINGS = StageSettings("challenge_sets undecodable_images seed", _versions)
CHALLENGE_SETS = Stage("challenge_sets", "5", _SETTINGS, "raw_dataset", run, checks=CHALLENGE_CHECKS)
