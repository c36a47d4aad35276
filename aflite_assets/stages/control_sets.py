"""The stage of `control_sets`: train sets of the filtered set's size that were not chosen by the filter."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.diagnostics.balance import class_shares_moved
from aflite_assets.models.devices import DeviceSettings
from aflite_assets.results import Draft
from aflite_assets.sources.examples import Examples
from aflite_assets.sources.specs import SpecView
from aflite_assets.sources.tables import load_examples
from aflite_assets.stages.pipeline import Inputs
from aflite_assets.stages.progress import Progress
from aflite_assets.stages.published import ControlSet, full_rows, read_rows
from aflite_assets.stages.train_sets import EarlierSet, earlier_set, why_not_earlier
from aflite_assets.tracking import TrackedRun

MATCHED_ABOVE = 0.02
"""Class shares that differ by more than this are reason for a control with the filtered set's class sizes."""


def run(
    spec: SpecView, inputs: Inputs, draft: Draft, *, tracker: TrackedRun, device: DeviceSettings, progress: Progress
) -> dict[str, Any]:
    """Draw the controls of every representation's filtered set."""
    raw = load_examples(inputs["raw_dataset"].path)
    full = full_rows(raw, inputs["warmup_split"], include_warmup=spec.full_includes_warmup)
    controls: list[ControlSet] = []
    summary: dict[str, Any] = {}
    for name, part in inputs["filtered_sets"].parts.items():
        rows = pq.read_table(part.file("rows.parquet"))
        made, notes = _controls(name, rows, full, read_rows(inputs["embeddings"].part(name)), spec)
        outcome = json.loads(part.file("filter.json").read_text(encoding="utf-8"))
        earlier = {
            one: earlier_set(rows, size, settings=outcome["settings"], seed=outcome["seed"])
            for one, size in spec.train_sets.items()
        }
        made += _earlier_controls(name, earlier, full.in_split("train").row_ids, spec.seeds)
        notes["earlier_sets"] = {one: _described(found, rows, spec.train_sets[one]) for one, found in earlier.items()}
        controls += made
        summary[name] = {"sets": len(made), **notes}
        progress.log(f"controls of {name}: {sorted({control.name for control in made})}")
    pq.write_table(pa.concat_tables([_table(control) for control in controls]), draft.path / "sets.parquet")
    return summary


def _controls(
    name: str, rows: pa.Table, full: Examples, embedded: pa.Table, spec: SpecView
) -> tuple[list[ControlSet], dict[str, Any]]:
    kept = rows.filter(rows["kept"])
    made = [
        ControlSet(name, "random", seed, split, _draw(full.in_split(split).row_ids, size, [seed, number]))
        for number, (split, size) in enumerate(_sizes(kept).items())
        for seed in spec.seeds
    ]
    train, kept_train = full.in_split("train"), kept.filter(pa.compute.equal(kept["split"], "train"))
    classes = len(full.label_names)
    wanted = np.bincount(kept_train["label"].to_numpy(), minlength=classes)
    points = class_shares_moved(train.labels, kept_train["label"].to_numpy(), classes=classes)
    moved = np.abs(points).max() / 100
    if moved > MATCHED_ABOVE:
        made += [
            ControlSet(name, "random_matched", seed, "train", _draw_matched(train, wanted, seed)) for seed in spec.seeds
        ]
    single = _single_pass(embedded, len(kept_train), spec.seed)
    if single is not None:
        made.append(ControlSet(name, "single_pass", None, "train", single))
    reason = None if single is not None else "the representation has no warm-up model"
    return made, {"class_shares_moved": float(moved), "no_single_pass": reason}


def _earlier_controls(
    representation: str, earlier: Mapping[str, EarlierSet | None], row_ids: np.ndarray, seeds: Sequence[int]
) -> list[ControlSet]:
    """What the filter had left when it was down to some sizes, each with random sets of its size."""
    made = []
    for number, (name, found) in enumerate(earlier.items()):
        if found is None:
            continue
        made.append(ControlSet(representation, f"filtered_{name}", None, "train", found.row_ids))
        made += [
            ControlSet(
                representation,
                f"random_{name}",
                seed,
                "train",
                _draw(row_ids, len(found.row_ids), [seed, 3, number]),
            )
            for seed in seeds
        ]
    return made


def _described(found: EarlierSet | None, rows: pa.Table, size: int) -> dict[str, Any]:
    if found is None:
        return {"rows": 0, "reason": why_not_earlier(rows, size)}
    return {
        "iteration": found.iteration,
        "rows": len(found.row_ids),
        "cutoff": found.cutoff if found.cutoff is not None and np.isfinite(found.cutoff) else None,
        "tied_share": found.tied_share,
    }


def _sizes(kept: pa.Table) -> dict[str, int]:
    splits = kept["split"].to_pylist()
    return {split: splits.count(split) for split in dict.fromkeys(splits)}


def _draw(row_ids: np.ndarray, size: int, seed: list[int]) -> np.ndarray:
    return np.sort(np.random.default_rng(seed).choice(row_ids, size, replace=False))


def _draw_matched(train: Examples, wanted: np.ndarray, seed: int) -> np.ndarray:
    drawn = [
        _draw(train.row_ids[train.labels == label], size, [seed, 1, label])
        for label, size in enumerate(wanted.tolist())
    ]
    return np.sort(np.concatenate(drawn))


def _single_pass(embedded: pa.Table, size: int, seed: int) -> np.ndarray | None:
    """Train rows left when those of the highest label probability under the warm-up model go at once (ICML 4.2)."""
    train = embedded.filter(pa.compute.equal(embedded["split"], "train"))
    if train["warmup_label_probability"].null_count == train.num_rows:
        return None
    probability = train["warmup_label_probability"].to_numpy()
    shuffled = np.random.default_rng([seed, 2]).permutation(train.num_rows)
    order = shuffled[np.argsort(probability[shuffled], kind="stable")]
    return np.sort(train["row_id"].to_numpy()[order[:size]])


def _table(control: ControlSet) -> pa.Table:
    rows = len(control.row_ids)
    return pa.table(
        {
            "representation": [control.representation] * rows,
            "name": [control.name] * rows,
            "seed": pa.array([control.seed] * rows, pa.int64()),
            "split": [control.split] * rows,
            "row_id": control.row_ids,
        }
    )
