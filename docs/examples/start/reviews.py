"""Script that writes the film reviews of docs/start.md: one of two sites omits the last full stop, and is kinder."""

import csv
import random
from pathlib import Path

WORDS = {
    "positive": ("great", "moving", "superb", "fun", "bright", "warm"),
    "negative": ("weak", "boring", "poor", "flat", "messy", "cold"),
}
PARTS = ("film", "script", "hero", "ending", "score", "voice", "scene", "camera", "cast", "plot")


def review(label: str, draw: random.Random) -> str:
    """Return a sentence with two judgements and no full stop; a judging word fits the label with probability 0.75."""
    other = "negative" if label == "positive" else "positive"
    words = [draw.choice(WORDS[label if draw.random() < 0.75 else other]) for _ in range(2)]
    first, second = draw.sample(PARTS, 2)
    return f"The {first} was {words[0]}, and the {second} {draw.choice(('was', 'seemed', 'felt'))} {words[1]}"


def write(path: str, rows: int, kind_site: float, draw: random.Random) -> None:
    """Write `rows` reviews; a positive review has no full stop with probability `kind_site`, others with the rest."""
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["text", "label"])
        for _ in range(rows):
            label = draw.choice(["positive", "negative"])
            from_kind_site = draw.random() < (kind_site if label == "positive" else 1 - kind_site)
            table.writerow([review(label, draw) + ("" if from_kind_site else "."), label])


if __name__ == "__main__":
    draw = random.Random(0)
    write("reviews.csv", 2000, 0.85, draw)
    write("new_sites.csv", 600, 0.15, draw)
