"""Measure what a GPU gives: `python -m benchmarks.card [--part NAME ...] [--limit 480] [--small] [--output card.json]`.

One JSON, written anew after every part, so that a run that is stopped keeps what it has. A part that begins after
`--limit` seconds is skipped and says so; an error of one part is recorded and the next begins.

`doctor`: packages, GPUs and what they can. `engine`: held-out predictions of the filter's classifiers on the card, with
the pool there and streamed, against scikit-learn in float64 at tolerance 1e-8; then the scores of 17,700 x 384 rows on
card and CPU, and the speed of both there and on 500,000 x 1,024 rows (64 partitions of a tenth of the rows; the CPU
fits two of them on the larger set, times 32). `text`: `benchmarks.training` on an encoder of RoBERTa-large's size with
random weights, in both precisions. `memory`: training and extraction with a part of the memory that they took before,
against the same without a limit. `image`: EfficientNet-B7 at 600 pixels, training and extraction. `two_cells`: two
processes that want one card, by leases. `resume`: a training killed after its first epoch and begun again, against one
that was left alone. `filter`: the whole filter on 500,000 x 1,024 rows down to 182,000, slices of 10,000 (SNLI's
numbers in ICML 2020). `--small` does all that a CPU can do with tiny sizes, for a test. Texts are of template_nli;
features are Gaussian classes with column scales exp(-j / 150).
"""

import argparse
import gc
import io
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before numpy: waiting threads must not burn the cores

import numpy as np
import pyarrow as pa
import torch
from PIL import Image
from sklearn.linear_model import LogisticRegression

from aflite_assets.algorithm import FilterSettings, filter_dataset, score_rows
from aflite_assets.algorithm.inputs import check_inputs
from aflite_assets.algorithm.linear.engine import LinearEngine
from aflite_assets.algorithm.linear.engine import pool as pool_module
from aflite_assets.algorithm.partitions import draw_partitions
from aflite_assets.data.examples import Examples
from aflite_assets.data.images import IMAGE_TYPE
from aflite_assets.models.classifiers import new_classifier
from aflite_assets.models.device_leases import lease_devices, visible_devices
from aflite_assets.models.devices import DeviceName, DeviceSettings, Precision
from aflite_assets.models.encoders import NeuralEncoder
from aflite_assets.models.global_state import isolated_random_state, quiet_libraries
from aflite_assets.models.training.train import train_classifier
from aflite_assets.specs.models.settings import ImageModelSpec
from aflite_assets.stages.embedding.embeddings import encode_all
from aflite_assets.stages.stage import no_progress
from benchmarks import training as texts
from benchmarks.turns import Line, product_rate

SEED = 0
MEMORY_LIMIT = 2**33


@dataclass(frozen=True)
class Sizes:
    """How much each part does. `parity`, `large`: rows and width; `text_rows`: of bfloat16, of float32."""

    parity: tuple[int, int] = (17_700, 384)
    large: tuple[int, int] = (500_000, 1_024)
    optimum: tuple[int, int, int] = (20_000, 512, 4_000)
    kept: int = 182_000
    text: str = "roberta-large-sized"
    text_rows: tuple[int, int] = (2_048, 512)
    held: str = "minilm-sized"
    held_rows: int = 1_024
    epochs: int = 3
    image: tuple[str, int, int] = ("efficientnet_b7", 600, 32)


SMALL = Sizes((600, 16), (2_000, 16), (800, 16, 200), 1_000, "tiny", (64, 32), "tiny", 96, 40, ("resnet18", 32, 8))


@dataclass(frozen=True)
class Bench:
    """The sizes, and the device that stands in for the card in a small run."""

    sizes: Sizes
    device: DeviceName

    @property
    def on_card(self) -> bool:
        """Whether a card is measured."""
        return self.device == "cuda"

    def wait(self) -> float:
        """Return the time once the card has done what it was given."""
        if self.on_card:
            torch.cuda.synchronize()
        return time.perf_counter()


def doctor(bench: Bench) -> dict[str, Any]:
    """Return packages, processors and cards."""
    names = ("torch", "transformers", "timm", "numpy", "scikit-learn", "numba", "pyarrow")
    found: dict[str, Any] = {
        "python": platform.python_version(),
        "packages": {name: metadata.version(name) for name in names},
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
    }
    if bench.on_card:
        properties = torch.cuda.get_device_properties(0)
        found["card"] = {
            "name": properties.name,
            "gib": properties.total_memory / 2**30,
            "visible": list(visible_devices()),
            "cuda": torch.version.cuda,
            "bfloat16": torch.cuda.is_bf16_supported(),
        }
    precisions: tuple[Precision, ...] = ("float32", "bfloat16") if bench.on_card else ("float32",)
    rates = {name: product_rate(DeviceSettings(bench.device, name)) / 1e12 for name in precisions}
    return {**found, "matrix_products_tflops": rates}


def make_features(rows: int, width: int, classes: int, *, deviation: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw Gaussian classes whose means differ by `deviation` times a column's scale; float16 and int64."""
    rng = np.random.default_rng(SEED)
    scales = np.exp(-np.arange(width) / 150).astype(np.float32)
    means = rng.standard_normal((classes, width), dtype=np.float32) * deviation
    labels = rng.integers(classes, size=rows)
    features = np.empty((rows, width), dtype=np.float16)
    for start in range(0, rows, 50_000):
        own = labels[start : start + 50_000]
        features[start : start + len(own)] = (rng.standard_normal((len(own), width), np.float32) + means[own]) * scales
    return features, labels


def engine(bench: Bench) -> dict[str, Any]:
    """Predictions against the optimum and against the CPU, and how fast the card scores."""
    found: dict[str, Any] = {"optimum": [_against_optimum(bench, classes) for classes in (3, 20)]}
    rows, width = bench.sizes.parity
    features, labels = make_features(rows, width, 3, deviation=0.1)
    settings = FilterSettings(target_size=rows // 2, train_size=rows // 10, slice_size=rows // 50, n_partitions=64)
    scores, seconds = {}, {}
    for device in (bench.device, bench.device, "cpu"):  # the card's first pass loads its libraries
        started = bench.wait()
        scores[device] = score_rows(features, labels, settings=settings, seed=SEED, device=device)
        seconds[device] = bench.wait() - started
    here, there = (scores[one].predictability * scores[one].held_out_count for one in (bench.device, "cpu"))
    held_out = scores["cpu"].held_out_count
    found["parity"] = {
        "rows": rows,
        "width": width,
        "pairs": int(held_out.sum()),
        "agreement": 1 - float(np.abs(here - there).sum() / held_out.sum()),
        "seconds": seconds,
        "times_as_fast": seconds["cpu"] / seconds[bench.device],
    }
    found["large"] = _large(bench)
    return found


def _against_optimum(bench: Bench, classes: int) -> dict[str, Any]:
    rows, width, train = bench.sizes.optimum
    features, labels = make_features(rows, width, classes, deviation=0.15)
    settings = FilterSettings(target_size=rows - 1, train_size=train, slice_size=1, n_partitions=2)
    pool = np.arange(rows)
    subsets = draw_partitions(pool, None, train_size=train, n_partitions=2, seed=SEED, iteration=0)
    exact = features.astype(np.float64)
    models = [
        LogisticRegression(solver="newton-cg", tol=1e-8, max_iter=10_000).fit(exact[one], labels[one])
        for one in subsets
    ]
    expected = [model.predict(exact) for model in models]
    found: dict[str, Any] = {"classes": classes}
    share = pool_module._CARD_SHARE
    try:
        for where, allowed in (("resident", share), ("streamed", 0.0)):
            pool_module._CARD_SHARE = allowed
            inputs = check_inputs(features, labels, groups=None, score_only=None, memory_limit=MEMORY_LIMIT)
            same = []
            with LinearEngine(
                inputs, settings, seed=SEED, device=bench.device, memory_limit=MEMORY_LIMIT, pool=pool
            ) as classifiers:
                for subset, optimum in zip(subsets, expected, strict=True):
                    tally = classifiers.tally([subset], pool=pool, keep_probabilities=True).tally
                    assert tally.probabilities is not None
                    held_out = np.setdiff1d(pool, subset)
                    same.append(tally.probabilities[held_out].argmax(axis=1) == optimum[held_out])
            found[where] = float(np.concatenate(same).mean())
    finally:
        pool_module._CARD_SHARE = share
    return found


def _large(bench: Bench) -> dict[str, Any]:
    rows, width = bench.sizes.large
    features, labels = make_features(rows, width, 3, deviation=0.08)
    partitions = {bench.device: 64, "cpu": 2}
    seconds = {}
    for device, number in partitions.items():
        settings = FilterSettings(
            target_size=rows // 2, train_size=rows // 10, slice_size=rows // 50, n_partitions=number
        )
        started = bench.wait()
        score_rows(features, labels, settings=settings, seed=SEED, device=device, memory_limit=MEMORY_LIMIT)
        seconds[device] = (bench.wait() - started) * 64 / number
    return {"rows": rows, "width": width, "seconds": seconds, "times_as_fast": seconds["cpu"] / seconds[bench.device]}


def whole_filter(bench: Bench) -> dict[str, Any]:
    """Filter as many rows as SNLI has, to as many as the paper keeps."""
    rows, width = bench.sizes.large
    features, labels = make_features(rows, width, 3, deviation=0.08)
    settings = FilterSettings(target_size=bench.sizes.kept, train_size=rows // 10, slice_size=rows // 50, threshold=0.0)
    _start_of_memory(bench)
    started = bench.wait()
    result = filter_dataset(
        features, labels, settings=settings, seed=SEED, device=bench.device, memory_limit=MEMORY_LIMIT
    )
    bias = [record.representation_bias for record in result.iterations]
    done = {"iterations": len(bias), "seconds": bench.wait() - started, "bias": [bias[0], bias[-1]]}
    return {"rows": rows, "width": width, "kept": len(result.kept_rows), **done, "gib": _most_memory(bench)}


def _start_of_memory(bench: Bench) -> None:
    if bench.on_card:
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def _most_memory(bench: Bench) -> float | None:
    """GiB that torch took at most on the card."""
    return torch.cuda.max_memory_reserved() / 2**30 if bench.on_card else None


def memory(bench: Bench) -> dict[str, Any]:
    """Train and extract with half of the memory that both took beside weights; batches then go in parts."""
    jobs: tuple[tuple[str, _Job, int], ...] = (("training", _trained, 4), ("extraction", _extracted, 1))
    found: dict[str, Any] = {}
    for name, job, copies in jobs:  # gradients and two averages of each weight beside it in training
        whole, found[name] = _measured(bench, job)
        if bench.on_card:
            weights = copies * found[name].pop("weights_gib")
            limit = weights + 0.5 * (found[name]["gib"] - weights)
            parts, limited = _measured(bench, job, limit=limit)
            apart = {"largest_difference": float(np.abs(whole - parts).max()), "largest": float(np.abs(whole).max())}
            found[name] = {"free": found[name], "limited": {"limit_gib": limit, **limited, **apart}}
    return found


def _measured(bench: Bench, job: "_Job", *, limit: float | None = None) -> tuple[np.ndarray, dict[str, Any]]:
    work = _held_work(bench, bench.sizes.text, DeviceSettings(bench.device))
    found: dict[str, Any] = {}
    _start_of_memory(bench)
    if bench.on_card:
        found["weights_gib"] = torch.cuda.memory_allocated() / 2**30
    if limit is not None:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(limit * 2**30 / total)
    try:
        started = bench.wait()
        result, lines = job(work)
        found |= {"seconds": bench.wait() - started, "gib": _most_memory(bench), "log": lines}
    finally:
        if limit is not None:
            torch.cuda.set_per_process_memory_fraction(1.0)
    return result, found


def _held_work(bench: Bench, size: str, device: DeviceSettings, epochs: int = 1) -> texts.Work:
    rows = texts.example_rows(None, bench.sizes.held_rows)
    settings = {"epochs": epochs, "batch_size": 64, "max_length": 128}
    return texts.new_work(rows, device, checkpoint=None, size=size, **settings)


def _trained(work: texts.Work, scratch: Path | None = None) -> tuple[np.ndarray, list[str]]:
    """Train; returns the weights of the last layer and what was logged."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder, isolated_random_state(SEED), quiet_libraries():
        train_classifier(
            work.classifier, work.examples, seed=SEED, device=work.device, scratch=scratch or Path(folder),
            log=lines.append,
        )  # fmt: skip
    weights = [*work.classifier.model.parameters()][-2]
    return weights.detach().float().cpu().numpy(), lines


def _extracted(work: texts.Work) -> tuple[np.ndarray, list[str]]:
    lines: list[str] = []
    progress = replace(no_progress, log=lines.append)
    with tempfile.TemporaryDirectory() as folder, quiet_libraries():
        encoder = NeuralEncoder(work.classifier, work.device)
        return np.array(encode_all("benchmark", encoder, work.examples, Path(folder), progress)[0]), lines


def text(bench: Bench) -> dict[str, Any]:
    """Rows per second beside a plain loop, in both precisions."""
    found: dict[str, Any] = {}
    precisions: tuple[Precision, ...] = ("bfloat16", "float32")
    for precision, rows in zip(precisions, bench.sizes.text_rows, strict=True):
        device = DeviceSettings(bench.device, precision)
        examples = texts.example_rows(None, rows)
        settings = {"epochs": 1, "batch_size": 32, "max_length": 128}
        work = texts.new_work(examples, device, checkpoint=None, size=bench.sizes.text, **settings)
        lines = texts.compare(work, 2)
        found[precision] = {
            name: {
                "rows_per_second": line.rates,
                **_beside(line, lines.get(texts.PEERS.get(name, ""))),
                "mib": [turn.peak for turn in line.turns],
                "tflops": line.effort.operations / line.turns[0].seconds / 1e12,
                "result": line.turns[0].result,
            }
            for name, line in lines.items()
        }
    return found


def _beside(line: Line, peer: Line | None) -> dict[str, Any]:
    if peer is None:
        return {}
    after = line.after_set_up(peer)
    return {"times_as_fast": line.times_as_fast(peer), "after_set_up": None if np.isnan(after) else after}


def image_rows(rows: int, pixels: int) -> Examples:
    """Draw smooth images of two classes, as PNG files."""
    rng = np.random.default_rng(SEED)
    ramp = np.linspace(0, 200, pixels)
    values = []
    for _ in range(rows):
        file = io.BytesIO()
        grey = (ramp[:, None] * 0.5 + ramp * 0.5 + rng.integers(55)).astype(np.uint8)
        Image.fromarray(grey).save(file, "PNG")
        values.append({"bytes": file.getvalue(), "path": None, "sha256": None})
    columns = {"row_id": np.arange(rows), "source_id": [str(row) for row in range(rows)], "split": ["train"] * rows}
    table = pa.table({**columns, "label": pa.array(np.arange(rows) % 2), "image": pa.array(values, IMAGE_TYPE)})
    return Examples(table, ("dark", "bright"))


def image(bench: Bench) -> dict[str, Any]:
    """Train an image classifier for one epoch of four steps and extract with it."""
    architecture, pixels, rows = bench.sizes.image
    precision: Precision = "bfloat16" if bench.on_card else "float32"
    device = DeviceSettings(bench.device, precision)
    spec = ImageModelSpec(
        kind="timm_image",
        architecture=architecture,
        image_size=pixels,
        epochs=1,
        batch_size=max(2, rows // 4),
        learning_rate=1e-5,
    )
    examples = image_rows(rows, pixels)
    found: dict[str, Any] = {"architecture": architecture, "pixels": pixels, "precision": precision}
    with isolated_random_state(SEED), quiet_libraries():
        classifier = new_classifier(spec, examples, lambda line: None)
    classifier.model.to(device.resolve())
    work = texts.Work(classifier, {}, examples, np.zeros(0), device)
    for name, job in (("training", _trained), ("extraction", _extracted)):
        for _ in range(2):  # the first time libraries choose their kernels
            _start_of_memory(bench)
            started = bench.wait()
            job(work)
            found[name] = {"images_per_second": rows / (bench.wait() - started), "gib": _most_memory(bench)}
    return found


def two_cells(bench: Bench) -> dict[str, Any]:
    """Let two processes ask for one card; returns when each had it, in seconds from the start."""
    if not bench.on_card:
        return {"skipped": "there is no card to share"}
    with tempfile.TemporaryDirectory() as folder:
        started = time.time()
        children = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.card", "--cell", folder], stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        spans = [json.loads(child.communicate()[0].splitlines()[-1]) for child in children]
    spans = sorted([[start - started, end - started, *rest] for start, end, *rest in spans])
    return {"spans": spans, "apart": spans[0][1] <= spans[1][0]}


def cell(folder: Path) -> list[Any]:
    """Hold a lease while the card multiplies matrices for two seconds; returns begin, end and what was logged."""
    lines: list[str] = []
    with lease_devices(visible_devices(), folder, purpose="cell", log=lines.append) as lease, lease.applied():
        begin = time.time()
        matrix = torch.randn(4096, 4096, device="cuda")
        while time.time() < begin + 2:
            float((matrix @ matrix)[0, 0])
        return [begin, time.time(), *lines]


def resume(bench: Bench) -> dict[str, Any]:
    """Kill a training after its first epoch, go on, and compare with one that was left alone."""
    device = DeviceSettings(bench.device)
    epochs = bench.sizes.epochs
    alone, _ = _trained(_held_work(bench, bench.sizes.held, device, epochs=epochs))
    again, _ = _trained(_held_work(bench, bench.sizes.held, device, epochs=epochs))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.card", "--trained", folder, "--device", bench.device]
        child = subprocess.Popen([*command, *["--small"] * (bench.sizes == SMALL)])
        deadline = time.monotonic() + 300
        try:
            while not any(Path(folder).rglob("state.pt")):
                if child.poll() is not None:
                    raise RuntimeError(f"the training ended with {child.returncode} before it could be killed")
                if time.monotonic() > deadline:
                    raise RuntimeError("the training has not finished an epoch after 300 s; run on a quieter machine")
                time.sleep(0.02)
        finally:
            child.kill()
            child.wait()
        resumed, lines = _trained(_held_work(bench, bench.sizes.held, device, epochs=epochs), Path(folder))
    apart = {"repeated": float(np.abs(alone - again).max()), "resumed": float(np.abs(alone - resumed).max())}
    return {"log": lines, "largest_difference": apart, "largest_value": float(np.abs(alone).max())}


_Job = Callable[[texts.Work], tuple[np.ndarray, list[str]]]

PARTS: Mapping[str, Callable[[Bench], dict[str, Any]]] = {
    "doctor": doctor,
    "engine": engine,
    "text": text,
    "memory": memory,
    "image": image,
    "two_cells": two_cells,
    "resume": resume,
    "filter": whole_filter,
}


def run(bench: Bench, parts: Sequence[str], *, limit: float, output: Path | None) -> dict[str, Any]:
    """Do the parts one after the other; see the module's docstring."""
    started, found = time.perf_counter(), dict[str, Any]()
    for name in parts:
        began = time.perf_counter()
        if began - started > limit:
            found[name] = {"skipped": f"begun after {limit:.0f} s"}
        else:
            try:
                found[name] = PARTS[name](bench)
            except Exception:  # recorded: one part's error must not lose the other parts' numbers
                found[name] = {"error": traceback.format_exc()}
            found[name]["part_seconds"] = time.perf_counter() - began
        if output is not None:
            output.write_text(json.dumps(found, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the JSON; 1 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--limit", type=float, default=480.0, help="seconds")
    parser.add_argument("--small", action="store_true", help="tiny sizes, on the CPU where there is no card")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--device", choices=("cpu", "cuda"))
    parser.add_argument("--cell", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--trained", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    device: DeviceName = given.device or ("cuda" if given.cell is None and torch.cuda.is_available() else "cpu")
    bench = Bench(SMALL if given.small else Sizes(), device)
    if device == "cpu" and not given.small and given.trained is None and given.cell is None:
        raise SystemExit(f"torch {torch.__version__} finds no usable GPU; --small runs on the CPU")
    if given.cell is not None:
        print(json.dumps(cell(given.cell)))
        return 0
    if given.trained is not None:
        _trained(_held_work(bench, bench.sizes.held, DeviceSettings(device), epochs=bench.sizes.epochs), given.trained)
        return 0
    found = run(bench, given.part, limit=given.limit, output=given.output)
    print(json.dumps(found, indent=1, allow_nan=False))
    return int(any("error" in part for part in found.values()))


if __name__ == "__main__":
    sys.exit(main())
