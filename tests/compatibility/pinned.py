"""Runs whose reports have every table, made below a folder of the reader, and the stages that are run anew on them."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from aflite_assets.errors import InvalidInputError
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.registry import BUNDLED, load_spec, parse_spec
from aflite_assets.specs.yaml.paths import absolute_paths
from aflite_assets.stages.pipeline import STAGES, run_pipeline, run_stage
from aflite_assets.tracking import Tracker
from tests.compatibility.kept import HERE, small_specs
from tests.compatibility.pinned_files import write_files

BUNDLED_RUNS = ("circles_1", "marked_digits", "template_nli")
"""Bundled datasets that are pinned too; the last takes the longest, about 20 minutes on two cores."""

STORED = (
    "raw_dataset", "challenge_sets", "cue_scan", "train_sample", "warmup_split", "warmup_models", "embeddings",
    "filtered_sets", "control_sets", "published_dataset", "forgettable_sets", "leaning_sets", "evaluator_models",
    "bias_evidence",
)  # fmt: skip
"""Stages whose results are read as they were stored; every other one is run anew, by the present code."""


def pinned_specs(folder: Path) -> dict[str, DatasetSpec]:
    """Return every pinned dataset by name, the small ones first; files are below `folder`."""
    contents = yaml.safe_load((HERE / "pinned_specs.yaml").read_text(encoding="utf-8"))
    small = [parse_spec(absolute_paths(content, folder)) for content in contents]
    bundled = [load_spec(BUNDLED / f"{name}.yaml") for name in BUNDLED_RUNS]
    return {spec.name: spec for spec in (*small_specs("kept_specs.yaml"), *small, *bundled)}


def chosen_specs(folder: Path, names: Iterable[str]) -> list[DatasetSpec]:
    """Return the named pinned datasets, or all of them if no name is given.

    Raises:
        InvalidInputError: a name is none of a pinned dataset.
    """
    specs = pinned_specs(folder)
    wanted = list(names) or list(specs)
    unknown = [name for name in wanted if name not in specs]
    if unknown:
        raise InvalidInputError(f"no pinned dataset is named {unknown}; name some of {list(specs)}, or none for all")
    return [specs[name] for name in wanted]


def make_runs(folder: Path, names: Iterable[str], log: Callable[[str], None]) -> None:
    """Run the pinned datasets with results in `folder`/results; what was made before is found again.

    Raises:
        AfliteError: a name is unknown, or a stage refuses its input.
    """
    write_files(folder / "files")
    store = ResultStore(folder / "results")
    for spec in chosen_specs(folder, names):
        results = run_pipeline(spec, store=store)
        made = [stage for stage, obtained in results.items() if not obtained.cached]
        log(f"{spec.name}: made {', '.join(made) or 'nothing, all was found'}")


@contextmanager
def rendered(spec: DatasetSpec, store: ResultStore, tracker: Tracker) -> Iterator[Mapping[str, PublishedResult]]:
    """Run the stages after the stored ones anew, and give their results by stage; they are deleted afterwards.

    Stored results are those that are current in `store`, whatever key the present code would give them. Nothing is
    written there but records of when files were last seen whole.

    Raises:
        StoreError: a stored result is missing or damaged.
    """
    with tempfile.TemporaryDirectory() as folder:
        scratch = ResultStore(Path(folder) / "results")
        for stage in STORED:
            home = store.root / stage / spec.name
            if home.is_dir():
                (scratch.root / stage).mkdir(parents=True)
                (scratch.root / stage / spec.name).symlink_to(home.resolve(), target_is_directory=True)
        fresh = [stage for stage in STAGES if stage not in STORED]
        yield {stage: run_stage(stage, spec, store=scratch, tracker=tracker).result for stage in fresh}
