"""How long `aflite scan` takes on the sizes that its limit of a minute is about: `python -m benchmarks.scan_times`.

Writes 20,000 texts of 200 words on average, 50,000 rows of 50 numbers and 5,000 JPEG files of 224 pixels into a folder
and runs the command on each: on random labels, and on labels that a cue or the columns tell. Prints seconds.
"""

import argparse
import csv
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.detection_kinds import draw_labels, draw_pixels, draw_texts, encode

TEXTS, ROWS, COLUMNS, IMAGES = 20_000, 50_000, 50, 5_000


def write_texts(folder: Path, rng: np.random.Generator) -> Iterator[Path]:
    """Write texts with random labels, with a cue for one of two classes, and with twenty classes."""
    texts = draw_texts(rng, TEXTS, longest=400)
    labels = draw_labels(rng, TEXTS)
    yield _write(folder / "texts.csv", zip(texts, labels.tolist(), strict=True))
    short = rng.random(TEXTS) < np.where(labels == 1, 0.7, 0.2)
    halved = [text[: len(text) // 2] if own else text for text, own in zip(texts, short, strict=True)]
    yield _write(folder / "texts_with_cue.csv", zip(halved, labels.tolist(), strict=True))
    classes = draw_labels(rng, TEXTS, [0.05] * 20).tolist()
    topics = [f"topic{label}word{number}" for label, number in zip(classes, rng.integers(0, 5, TEXTS), strict=True)]
    told = [f"{text} {topic}" for text, topic in zip(texts, topics, strict=True)]
    yield _write(folder / "texts_20_classes.csv", zip(told, classes, strict=True))


def _write(path: Path, rows: Iterator[tuple[str, int]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label"])
        writer.writerows(rows)
    return path


def write_features(folder: Path, rng: np.random.Generator) -> Iterator[Path]:
    """Write numbers with random labels, and with labels that half of the columns tell."""
    numbers = rng.normal(size=(ROWS, COLUMNS))
    numbers[:, 5:25] += numbers[:, :5].repeat(4, axis=1)
    told = (numbers[:, :5].sum(axis=1) + rng.normal(size=ROWS) > 0).astype(int)
    for name, labels in (("features", draw_labels(rng, ROWS)), ("features_with_cues", told)):
        path = folder / f"{name}.csv"
        header = ",".join([*(f"x{place}" for place in range(COLUMNS)), "label"])
        np.savetxt(
            path,
            np.column_stack([numbers, labels]),
            fmt=["%.6g"] * COLUMNS + ["%d"],
            header=header,
            delimiter=",",
            comments="",
        )
        yield path


def write_images(folder: Path, rng: np.random.Generator) -> Iterator[Path]:
    """Write smooth random pictures of two classes."""
    for number in range(IMAGES):
        place = folder / "images" / ("cat", "dog")[number % 2]
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:05d}.jpg").write_bytes(encode(draw_pixels(rng, 224), quality=90))
    yield folder / "images"


def main() -> None:
    """Write the data and print the seconds of each command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the data are written, about 250 MB")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for write in (write_texts, write_features, write_images):
        for path in write(folder, rng):
            started = time.perf_counter()
            command = [sys.executable, "-m", "aflite_assets.command_line.main", "scan", str(path)]
            done = subprocess.run(command, capture_output=True, text=True)
            print(
                f"{path.name:24s} {time.perf_counter() - started:5.1f} s  {done.stdout.splitlines()[0][:80]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
