"""Measure what each setting of the filter does to what is removed: `python -m benchmarks.filter_settings` writes the
tables of `docs/filter_settings.md`.

Parameter grid: 2,000 planted rows of two classes in 8 features (`planted`), filtered with `BASE` and with one setting
changed at a time; means over three draws of the data (seeds 0 to 2; the filter's seed is that of the data, and `alike`
compares with another seed on the same data). About five minutes on a quiet core. Names of tables (`class`) as
arguments make these alone.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aflite_assets.algorithm import FilterResult, FilterSettings, filter_dataset

ROWS = 2_000
DRAWS = 3
GROUP = 4
BASE: Mapping[str, Any] = {
    "target_size": 1_000, "train_size": 200, "slice_size": 40, "n_partitions": 64, "threshold": 0.75,
}  # fmt: skip
SHARES = {"cue": 0.4, "plain": 0.5, "random": 0.1}
"""Kinds of rows: one feature tells the class; the class follows from the other features, with overlap; nothing does."""

Column = Callable[["Run"], float]


@dataclass(frozen=True)
class Planted:
    """Features float32, labels and groups int64, and which kind each row is."""

    features: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    kind: np.ndarray


@dataclass(frozen=True)
class Run:
    """One draw of the data and what a filter made of it."""

    data: Planted
    result: FilterResult

    @property
    def kept(self) -> np.ndarray:
        """Which rows stayed, bool."""
        kept = np.zeros(len(self.data.labels), bool)
        kept[self.result.kept_rows] = True
        return kept


def planted(seed: int, *, minority: float = 0.5, cue: bool = True) -> Planted:
    """Rows of class 1 with the share `minority`; without `cue`, rows of that kind are as the plain ones.

    Groups are of four rows each, of any kind and class.
    """
    rng = np.random.default_rng(seed)
    kind = rng.permutation(np.repeat(list(SHARES), [round(ROWS * share) for share in SHARES.values()]))
    kind = np.where((kind == "cue") & (not cue), "plain", kind)
    labels = (rng.random(ROWS) < minority).astype(np.int64)
    sign = 2 * labels - 1
    features = rng.normal(size=(ROWS, 8))
    features[:, 0] = np.where(kind == "cue", 3 * sign, 0.3 * features[:, 0])
    features[:, 1:3] += np.where(kind == "plain", 0.8 * sign, 0)[:, None]
    return Planted(features.astype(np.float32), labels, np.arange(ROWS) // GROUP, kind)


def run(seed: int, settings: Mapping[str, Any], *, grouped: bool = False, **data: Any) -> Run:
    """Filter one draw with `BASE` and these settings in place of its own."""
    drawn = planted(seed, **data)
    made = FilterSettings(**{**BASE, **settings})
    groups = drawn.groups if grouped else None
    result = filter_dataset(drawn.features, drawn.labels, settings=made, seed=seed, groups=groups, device="cpu")
    return Run(drawn, result)


COLUMNS: Mapping[str, Column] = {
    "passes": lambda one: len(one.result.iterations),
    "kept": lambda one: one.kept.sum(),
    "of cue rows": lambda one: _share(one, "cue"),
    "of plain rows": lambda one: _share(one, "plain"),
    "of random rows": lambda one: _share(one, "random"),
    "bias before": lambda one: 100 * one.result.iterations[0].representation_bias,
    "bias after": lambda one: 100 * one.result.iterations[-1].representation_bias,
    "kept at or over the threshold": lambda one: (
        100 * np.mean(one.result.predictability[one.result.kept_rows] >= one.result.settings.threshold)
    ),
    "passes with ties": lambda one: sum(
        record.tied_at_cutoff > one.result.settings.slice_size for record in one.result.iterations
    ),
}


def _share(one: Run, kind: str) -> float:
    inside = one.data.kind == kind
    return 100 * float(one.kept[inside].mean()) if inside.any() else float("nan")


def table(title: str, variants: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Markdown, a row per variant: settings of the filter, and `grouped`, `minority` and `cue` of the data."""
    yield f"| {title} | {' | '.join(COLUMNS)} | alike |"
    yield f"|---|{'--:|' * (len(COLUMNS) + 1)}"
    for name, changes in variants.items():
        data = {key: value for key, value in changes.items() if key in ("grouped", "minority", "cue")}
        settings = {key: value for key, value in changes.items() if key not in data}
        runs = [run(seed, settings, **data) for seed in range(DRAWS)]
        again = [_other(seed, settings, data) for seed in range(DRAWS)]
        values = [float(np.mean([column(one) for one in runs])) for column in COLUMNS.values()]
        alike = 100 * float(np.mean([_jaccard(one.kept, other) for one, other in zip(runs, again, strict=True)]))
        shown = [f"{value:,.0f}" if value >= 100 else f"{value:.1f}" for value in [*values, alike]]
        yield f"| {name} | {' | '.join(shown)} |"


def _other(seed: int, settings: Mapping[str, Any], data: Mapping[str, Any]) -> np.ndarray:
    """Return the rows that another seed of the filter keeps of the same data."""
    own = {key: value for key, value in data.items() if key != "grouped"}
    drawn, made = planted(seed, **own), FilterSettings(**{**BASE, **settings})
    groups = drawn.groups if data.get("grouped") else None
    result = filter_dataset(drawn.features, drawn.labels, settings=made, seed=1_000 + seed, groups=groups, device="cpu")
    return Run(drawn, result).kept


def _jaccard(one: np.ndarray, other: np.ndarray) -> float:
    return float((one & other).sum() / (one | other).sum())


def class_table(variants: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Markdown about the rarer class: its share before and after, and its rows' part of what was removed."""
    head = ("data", "setting", "rarer class before", "after", "of the removed rows", "bias before", "other class")
    yield f"| {' | '.join(head)} |"
    yield "|---|---|--:|--:|--:|--:|--:|"
    for minority, (name, changes) in ((share, one) for share in (0.5, 0.3, 0.1) for one in variants.items()):
        runs = [run(seed, changes, minority=minority, cue=False) for seed in range(DRAWS)]
        labels = [(one.data.labels == 1, one.kept) for one in runs]
        before, after, gone = (
            100 * float(np.mean([part(rare, kept) for rare, kept in labels]))
            for part in (
                lambda rare, kept: rare.mean(),
                lambda rare, kept: rare[kept].mean(),
                lambda rare, kept: rare[~kept].mean(),
            )
        )
        bias = 100 * float(np.mean([one.result.iterations[0].representation_bias for one in runs]))
        yield (
            f"| {100 * (1 - minority):.0f} : {100 * minority:.0f} | {name} | {before:.1f} | {after:.1f} | {gone:.1f} | "
            f"{bias:.1f} | {100 - before:.1f} |"
        )


TABLES: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "target_size": {f"{size:,}": {"target_size": size} for size in (1_600, 1_000, 400)},
    "threshold": {f"{tau}": {"threshold": tau, "target_size": 300} for tau in (0.6, 0.75, 0.9, 0.99)},
    "slice_size": {f"{size:,}": {"slice_size": size} for size in (20, 40, 200, 1_000)},
    "n_partitions": {f"{count}": {"n_partitions": count} for count in (4, 16, 64)},
    "train_size": {f"{size:,}": {"train_size": size} for size in (20, 200, 400)},
    "selection": {name: {"selection": name} for name in ("greedy", "gumbel", "gumbel_over_threshold")},
    "remove": {
        "rows, no groups": {},
        "rows, groups of 4": {"grouped": True},
        "groups of 4": {"grouped": True, "remove": "groups"},
    },
}


def main() -> None:
    """Print every table, or those that are named."""
    wanted = sys.argv[1:] or [*TABLES, "class"]
    for title, variants in TABLES.items():
        if title not in wanted:
            continue
        sys.stdout.write("\n".join(table(title, variants)) + "\n\n")
        sys.stdout.flush()
    if "class" not in wanted:
        return
    settings: dict[str, dict[str, Any]] = {
        "target 1,000": {},
        "threshold 0.9, target 300": {"threshold": 0.9, "target_size": 300},
    }
    sys.stdout.write("\n".join(class_table(settings)) + "\n")


if __name__ == "__main__":
    main()
