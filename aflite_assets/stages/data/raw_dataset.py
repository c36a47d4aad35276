"""The stage `raw_dataset`: loads the source as one checked table, and draws the held-out splits from the train rows."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field

from aflite_assets.checks import CheckOutcome
from aflite_assets.data.examples import Examples
from aflite_assets.data.formats.answers import EQUAL, LINKS_VERSION, TIE
from aflite_assets.data.formats.preferences import how_read
from aflite_assets.data.loading import at_content, load_source
from aflite_assets.data.raw_table.annotators import why_left_out
from aflite_assets.data.raw_table.decodable_images import UndecodableImages, drop_undecodable
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.data.raw_table.storage import load_examples, save_examples
from aflite_assets.data.raw_table.table import RawTable, build_raw_table, implied_columns
from aflite_assets.diagnostics.data_checks.all_checks import DATA_CHECKS, data_findings
from aflite_assets.errors import DataError
from aflite_assets.results import Draft, PublishedResult
from aflite_assets.results.files import write_json
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.sources import SourceSpec
from aflite_assets.stages.shared.source_places import source_facts
from aflite_assets.stages.stage import Stage, StageChecks, StageContext, StageInputs, StageSettings, of_choices
from aflite_assets.wording import counted, quoted_list


@dataclass(frozen=True)
class LoadedTable(RawTable):
    """The raw table as published, without rows whose images cannot be decoded, and counts of those rows by split.

    `how_read`: a sentence about columns that were recognised by their names, or "". `scale`: the scale by which
    features were standardised, or None. `annotations_left_out`: the reason why the labels of single annotators are
    missing although the spec names files of annotations, or None.
    """

    undecodable_images: Mapping[str, UndecodableImages] = field(default_factory=dict)
    annotations_left_out: str | None = None
    scale: Scale | None = None
    how_read: str = ""


def run(settings: DatasetSpec, inputs: StageInputs, draft: Draft, context: StageContext) -> dict[str, object]:
    """Read the source, check it against the spec and publish the rows as Parquet shards."""
    source = at_content(settings.source, draft.key.fields["contents"]["source"])
    raw = read_raw(settings, source=source, log=context.progress.log)
    save_examples(raw.examples, draft.path)
    summary = describe(raw.examples)
    dropped = raw.undecodable_images
    rows = split_rows(raw.examples)
    limited = {split: number + (dropped[split].rows if split in dropped else 0) for split, number in rows.items()}
    summary |= {
        "source_rows": dict(raw.source_rows),
        "unlabelled_rows": dict(raw.unlabelled_rows),
        "labelled_rows": dict(raw.labelled_rows),
        "undecodable_images": {split: asdict(images) for split, images in raw.undecodable_images.items()},
        "trial_run": limited != raw.labelled_rows,
    }
    summary |= _what_was_changed(settings, raw)
    if raw.scale is not None:
        raw.scale.save(draft.path)
    # Reports print these numbers, so a change in them must change the data version.
    write_json(draft.path / "summary.json", summary)
    if raw.annotations_left_out is not None:
        context.progress.log(raw.annotations_left_out)
        summary["annotations_left_out"] = raw.annotations_left_out
    for line in changes(raw):
        context.progress.log(line)
    context.progress.log(f"raw dataset: {rows}")
    return summary


def _what_was_changed(settings: DatasetSpec, raw: LoadedTable) -> dict[str, object]:
    """Return counts of the rows that settings changed; settings with default values are left out.

    With default settings, the dict is empty, so the data version of earlier results stays the same.
    """
    copies = raw.dropped_copies
    told: dict[str, object] = {}
    if settings.drop_duplicates:
        told["duplicates"] = {"dropped": dict(copies.duplicates), "same_input_other_label": dict(copies.conflicting)}
    if settings.between_splits == "drop":
        told["between_splits"] = {"shared_group": copies.shared_group, "shared_input": copies.shared_input}
    if any(raw.dropped_answers.values()):
        told["dropped_answers"] = {split: dict(answers) for split, answers in raw.dropped_answers.items()}
    if raw.scale is not None:
        told["standardised"] = {"columns": len(raw.scale.mean), "constant": list(raw.scale.constant)}
    return told


_WHY_DROPPED = {TIE: "of ties", EQUAL: "equal to a right answer, or the only answer left of its question"}


def changes(raw: LoadedTable) -> list[str]:
    """Return the log lines about columns recognised by their names, and about rows that were dropped or changed."""
    copies = raw.dropped_copies
    lines = [raw.how_read] if raw.how_read else []
    lines += [
        f"`drop_duplicates` dropped {counted(rows)} of {split} because an earlier row has the same input and label"
        for split, rows in copies.duplicates.items()
    ]
    lines += [
        f"`drop_duplicates` kept {counted(rows)} of {split} although the same input also occurs with another label"
        for split, rows in copies.conflicting.items()
    ]
    if copies.shared_group or copies.shared_input:
        dropped = counted(copies.shared_group + copies.shared_input, "train row")
        lines.append(
            f"`between_splits` dropped {dropped}: {copies.shared_group} because another split has their group, and "
            f"{copies.shared_input} because another split has their input"
        )
    for split, answers in raw.dropped_answers.items():
        named = [f"{counted(rows, 'answer')} {_WHY_DROPPED[why]}" for why, rows in answers.items()]
        lines += [f"{split}: {' and '.join(named)} dropped"] if named else []
    if raw.scale is not None:
        constant = quoted_list(raw.scale.constant, most=20, length=20)
        lines.append(
            f"`standardise` scaled {len(raw.scale.mean)} feature columns to mean 0 and standard deviation 1 in train"
            + (
                f"; these columns are constant in train and become 0: {constant} (counted from 0)"
                if raw.scale.constant
                else ""
            )
        )
    return lines


def read_raw(
    settings: DatasetSpec,
    *,
    source: SourceSpec | None = None,
    first_rows: int | None = None,
    log: Callable[[str], None] = lambda line: None,
) -> LoadedTable:
    """Read the source and convert it to the raw dataset's form.

    The conversion applies columns, labels, held-out splits and limits, and drops images that cannot be decoded. If
    `source` is given, `source` is read in place of the source in the settings, for example to pin a commit. If
    `first_rows` is given, only about `first_rows` rows per split are read from sources that are slow to read. With
    `first_rows`, classes may be missing, held-out splits get equal parts of the train rows, and any share of the images
    may be broken.

    Raises:
        DataError: the source does not match the spec, a split cannot be drawn, or too many images cannot be decoded.
    """
    complete, source = first_rows is None, source or settings.source
    left_out = None if settings.annotations is None else why_left_out(settings.annotations)
    tables = load_source(source, rows=first_rows)
    for split, least in settings.least_rows.items():
        if complete and tables[split].num_rows < least:
            raise DataError(
                f"split {split!r} has {counted(tables[split].num_rows)}, but `least_rows` is {least:,}; check that the "
                "files of the split are complete, or lower `least_rows`"
            )
    raw = build_raw_table(
        tables,
        columns=implied_columns(source, settings.columns, tables),
        label_names=settings.labels,
        unlabelled=settings.unlabelled,
        limit=settings.limit,
        seed=settings.seed,
        holdout=settings.holdout,
        annotations=settings.annotations if left_out is None else None,
        drop_duplicates=settings.drop_duplicates,
        drop_between_splits=settings.between_splits == "drop",
        complete=complete,
    )
    decodable = drop_undecodable(raw.examples, largest_share=settings.undecodable_images, complete=complete, log=log)
    scale = Scale.of(decodable.examples) if settings.standardise else None
    examples = decodable.examples if scale is None else scale.applied(decodable.examples)
    return LoadedTable(
        **{**vars(raw), "examples": examples},
        undecodable_images=decodable.dropped,
        annotations_left_out=left_out,
        scale=scale,
        how_read=how_read(tables),
    )


def split_rows(examples: Examples) -> dict[str, int]:
    """Count the rows per split."""
    return dict(Counter(examples.table["split"].to_pylist()))


def describe(examples: Examples) -> dict[str, object]:
    """Return the row counts per split and class, the label names, the kind of input, and the number of groups."""
    splits = examples.table["split"].to_pylist()
    classes = Counter(zip(splits, examples.labels.tolist(), strict=True))
    return {
        "rows": split_rows(examples),
        "rows_per_class": {
            split: {name: classes[split, number] for number, name in enumerate(examples.label_names)}
            for split in dict.fromkeys(splits)
        },
        "label_names": list(examples.label_names),
        "modality": examples.modality,
        "groups": None if examples.groups is None else len(set(examples.groups.tolist())),
    }


def check_rows(result: PublishedResult, *_: object) -> Iterable[CheckOutcome]:
    """Return the findings of `diagnostics.data_checks` on a published raw dataset."""
    undecodable = result.summary["undecodable_images"]
    return data_findings(
        load_examples(result.path),
        unlabelled_rows=result.summary["unlabelled_rows"],
        undecodable_images={split: UndecodableImages(**images) for split, images in undecodable.items()},
        source=source_facts(result),
    )


ROW_CHECKS = StageChecks(
    {one.name: one.description for one in DATA_CHECKS},
    check_rows,
    blocking=frozenset(one.name for one in DATA_CHECKS if one.blocking),
)
_SETTINGS = StageSettings(
    "source columns annotations labels unlabelled undecodable_images holdout limit least_rows drop_duplicates "
    "between_splits standardise seed",
    of_choices(links=LINKS_VERSION),
)
RAW_DATASET = Stage("raw_dataset", "3", _SETTINGS, "", run, checks=ROW_CHECKS)
