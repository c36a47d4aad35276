"""Numbers and pictures of the README and of `docs`: `python -m benchmarks.front_page --store FOLDER` makes them again.

Of each dataset of `DATASETS` and `FROM_FILES` that has a finished report in the result store,
`docs/measured/<dataset>.json` is written: verdict, accuracies, differences, filter, seconds. Then every block between
`<!-- measured: NAME -->` and `<!-- end -->` in the README and in `docs/*.md` is written from these files. `--run NAME`
makes a dataset in the store first (from nothing `marked_digits` takes minutes; `snli_features` needs
AFLITE_DATASETS=docs/measured, and DATA as its file says); `--pictures` also makes `docs/pictures/report_top.png` and
`lineage.png`, with a Chromium. Without `--store` only the blocks are written.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from aflite_assets.paths import configure_libraries
from aflite_assets.results import PublishedResult, ResultStore
from aflite_assets.specs.registry import load_registry
from aflite_assets.stages.pipeline import STAGES, run_pipeline

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "docs" / "measured"
DATASETS = ("marked_digits", "digits", "template_nli", "circles_1")
FROM_FILES = ("snli_features",)
"""Datasets whose files are in `docs/measured`."""

Measured = Mapping[str, Any]
"""Content of a file of `docs/measured` holds; accuracies and shares in [0, 1], differences in points."""

TRAINED_ON = {
    "full": "all rows",
    "random": "random",
    "random_matched": "random, classes as in filtered (`random_matched`)",
    "filtered": "filtered",
    "single_pass_model": "single pass, warm-up model",
    "single_pass_linear": "single pass, linear",
}
TESTED_ON = {
    "marked_digits": {"test": "test (marked as train)", "clean": "clean (no marks)",
                      "marks_reversed": "marks_reversed (marks mislead)"},
    "digits": {"test": "test", "fresh": "fresh (never filtered)"},
    "template_nli": {"test": "test (cues as train)", "clean": "clean (no cues)",
                     "cues_reversed": "cues_reversed (cues mislead)"},
    "circles_1": {"test": "test (biased as train)", "unbiased": "unbiased (no biases)"},
    "snli_features": {"test": "test", "fresh": "fresh (never filtered)"},
}  # fmt: skip
_BLOCK = re.compile(r"(<!-- measured: ([\w.]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def measure(store: ResultStore, dataset: str) -> Measured:
    """Return what the stored results of a dataset say.

    Raises:
        StoreError: a stage was never made.
    """
    report, analysis = (store.current(stage, dataset) for stage in ("benchmark_report", "analysis"))
    content = json.loads(report.file("report.json").read_text(encoding="utf-8"))
    stages = {stage: store.current(stage, dataset).manifest for stage in STAGES}
    shares = ["precision", "precision_by_chance", "recall", "recall_by_chance"]
    return {
        "dataset": dataset,
        "verdict": {field: content["verdict"][field] for field in ("code", "sentence", "details")},
        "train_rows": {cell["train_set"]: cell["train_rows"] for cell in content["cells"]},
        "accuracy": _accuracies(analysis),
        "differences": _differences(analysis),
        "planted": _rows(analysis, "planted", shares, wanted=lambda row: True),
        "filter": _rounded(stages["filtered_sets"]["summary"]),
        "seconds": {stage: round(manifest["provenance"]["seconds"], 1) for stage, manifest in stages.items()},
        "environment": stages["evaluator_models"]["environment"],
    }


def _accuracies(analysis: PublishedResult) -> list[dict[str, Any]]:
    columns = ["evaluator", "train_set", "test_set", "accuracy", "seeds_deviation", "seeds", "test_rows",
               "interval_low", "interval_high"]  # fmt: skip

    def of(tested_on: str) -> list[dict[str, Any]]:
        def wanted(row: Mapping[str, Any]) -> bool:
            of_filtering = row["representation"] is not None and row["top"] == 1
            return of_filtering and row["tested_on"] == tested_on and _is_whole(row)

        return _rows(analysis, "accuracies", columns, wanted=wanted)

    return [*of("full"), *of("all")]


def _differences(analysis: PublishedResult) -> list[dict[str, Any]]:
    """Return the differences of filtered with its control, on whole test sets whose rows the filter did not choose."""
    columns = ["evaluator", "test_set", "difference", "low", "high", "side", "why", "family", "adjusted_p"]

    def wanted(row: Mapping[str, Any]) -> bool:
        of_filtered = (row["comparison"], row["train_set"], row["against"]) == ("control", "filtered", "random_matched")
        return of_filtered and row["tested_on"] in ("full", "all") and _is_whole(row)

    return _rows(analysis, "differences", columns, wanted=wanted)


def _is_whole(row: Mapping[str, Any]) -> bool:
    """Whether a row of a table is about a whole test set, and no category or gold label of it."""
    return row["category"] is None and row["label"] is None


def _rows(
    analysis: PublishedResult, table: str, columns: list[str], *, wanted: Callable[[Mapping[str, Any]], bool]
) -> list[dict[str, Any]]:
    rows = pq.read_table(analysis.file(f"tables/{table}.parquet")).to_pylist()
    return [_rounded({column: row[column] for column in columns}) for row in rows if wanted(row)]


def _rounded(value: Any) -> Any:
    """Six digits: more would differ from machine to machine where results do not."""
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return round(value, 6) if isinstance(value, float) else value


def read_measured(folder: Path = MEASURED) -> dict[str, Measured]:
    """By dataset, what its file holds."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def block(name: str, measured: Mapping[str, Measured]) -> str:
    """Return the Markdown of a block, such as `marked_digits.accuracy`.

    Raises:
        KeyError: no such block, or its dataset was not measured.
    """
    dataset, _, what = name.rpartition(".")
    lines = _OF_ALL[what](measured) if not dataset else _OF_ONE[what](measured[dataset])
    return "".join(f"{line}\n" for line in lines)


def with_blocks(text: str, measured: Mapping[str, Measured]) -> str:
    """Return a document with every block written anew."""
    return _BLOCK.sub(lambda found: found[1] + block(found[2], measured) + found[3], text)


def documents() -> list[Path]:
    """Return the files that may have blocks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def _front(one: Measured) -> list[str]:
    """Return the verdict, the accuracies of three train sets, and how long it took."""
    return [
        *_verdict(one), "",
        f"Accuracy of {_main(one)} (%, mean and deviation of {_seeds(one)} seeds):", "",
        *_accuracy_table(one, ("full", "random_matched", "filtered")), "",
        f"The stages took {_minutes(one)} on {_machine(one)}.",
    ]  # fmt: skip


def _verdict(one: Measured) -> list[str]:
    return [f"> {one['verdict']['sentence']}"]


def _details(one: Measured) -> list[str]:
    return [f"- {sentence}" for sentence in (one["verdict"]["sentence"], *one["verdict"]["details"])]


def _accuracy(one: Measured) -> list[str]:
    heading = f"Accuracy of `{_main(one)}` (%, mean and deviation of {_seeds(one)} seeds):"
    return [heading, "", *_accuracy_table(one, TRAINED_ON)]


def _accuracy_table(one: Measured, train_sets: Iterable[str]) -> list[str]:
    tests = TESTED_ON[one["dataset"]]
    scores = {(row["train_set"], row["test_set"]): row for row in one["accuracy"] if row["evaluator"] == _main(one)}
    lines = [_line("trained on", "rows", *tests.values()), "|---|--:|" + "--:|" * len(tests)]
    for train_set in train_sets:
        if train_set in one["train_rows"]:
            cells = [_score(scores[train_set, test]) for test in tests]
            lines.append(_line(TRAINED_ON[train_set], f"{one['train_rows'][train_set]:,}", *cells))
    return lines


def _score(row: Mapping[str, Any]) -> str:
    mean = f"{100 * row['accuracy']:.1f}"
    return mean if not row["seeds_deviation"] else f"{mean} ± {100 * row['seeds_deviation']:.1f}"


def _difference_table(one: Measured) -> list[str]:
    tests = TESTED_ON[one["dataset"]]
    lines = ["Filtered minus `random_matched`, in points, with 95 % intervals:", "",
             _line("evaluator", "test set", "difference", "verdict"), "|---|---|--:|---|"]  # fmt: skip
    for row in one["differences"]:
        interval = f"{row['difference']:.1f} [{row['low']:.1f}, {row['high']:.1f}]".replace("-", "\N{MINUS SIGN}")
        said = row["side"] or f"none: {row['why']}"
        lines.append(_line(f"`{row['evaluator']}`", tests[row["test_set"]], interval, said))
    return lines


def _planted(one: Measured) -> list[str]:
    (row,) = one["planted"]
    percent = {name: f"{100 * share:.1f} %" for name, share in row.items()}
    return [
        f"Of the rows removed {percent['precision']} carry the shortcut ({percent['precision_by_chance']} by chance).",
        f"Of all rows that carry it {percent['recall']} went ({percent['recall_by_chance']} by chance).",
    ]


def _verdicts(measured: Mapping[str, Measured]) -> list[str]:
    rows = [_line(f"`{name}`", f"`{measured[name]['verdict']['code']}`", measured[name]["verdict"]["sentence"])
            for name in DATASETS if name in measured]  # fmt: skip
    return [_line("dataset", "code", "sentence"), "|---|---|---|", *rows]


def _times(measured: Mapping[str, Measured]) -> list[str]:
    head = [
        _line("dataset", "all stages", "the filter", "evaluators", "report", "machine"),
        "|---|--:|--:|--:|--:|---|",
    ]
    stages = ("filtered_sets", "evaluator_models", "benchmark_report")
    return head + [
        _line(f"`{name}`", _minutes(one), *(f"{one['seconds'][stage]:.0f} s" for stage in stages), _machine(one))
        for name in DATASETS if (one := measured.get(name))
    ]  # fmt: skip


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _main(one: Measured) -> str:
    """Return the evaluator of the tables: that of the surest deciding comparison, or the first one if none decides."""
    deciding = [row for row in one["differences"] if row["family"] == "deciding" and row["adjusted_p"] is not None]
    surest = min(deciding, key=lambda row: (row["adjusted_p"], -abs(row["difference"])), default=one["accuracy"][0])
    return str(surest["evaluator"])


def _seeds(one: Measured) -> int:
    return int(one["accuracy"][0]["seeds"])


def _minutes(one: Measured) -> str:
    return f"{sum(one['seconds'].values()) / 60:.1f} minutes"


def _machine(one: Measured) -> str:
    return f"{one['environment']['cores']} cores"


_OF_ONE: Mapping[str, Callable[[Measured], list[str]]] = {
    "front": _front,
    "verdict": _verdict,
    "details": _details,
    "accuracy": _accuracy,
    "differences": _difference_table,
    "planted": _planted,
}
_OF_ALL: Mapping[str, Callable[[Mapping[str, Measured]], list[str]]] = {"verdicts": _verdicts, "times": _times}


def main() -> None:
    """Write the files, the blocks and, where asked for, the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path, help="the folder of the results, such as .aflite/results")
    parser.add_argument(
        "--run", nargs="+", default=[], metavar="NAME", choices=(*DATASETS, *FROM_FILES), help="make these first"
    )
    parser.add_argument("--pictures", action="store_true", help="make the pictures, too")
    options = parser.parse_args()
    if options.store is None and (options.run or options.pictures):
        parser.error("--run and --pictures need --store")
    configure_libraries()
    if options.store is not None:
        store = ResultStore(options.store)
        for name in options.run:
            run_pipeline(load_registry()[name], store=store)
        for name in (*DATASETS, *FROM_FILES):
            _write_measured(store, name)
    measured = read_measured()
    for path in documents():
        path.write_text(with_blocks(path.read_text(encoding="utf-8"), measured), encoding="utf-8")
    if options.pictures:
        from benchmarks.pictures import make_pictures

        make_pictures(ResultStore(options.store), folder=ROOT / "docs" / "pictures")


def _write_measured(store: ResultStore, name: str) -> None:
    if store.current_key("benchmark_report", name) is None:
        print(f"{name}: no report in {store.root}; its file stays as it is")
        return
    text = json.dumps(measure(store, name), indent=1, ensure_ascii=False)
    (MEASURED / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{name}: measured")


if __name__ == "__main__":
    main()
