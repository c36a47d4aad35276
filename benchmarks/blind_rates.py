"""How often a planted cue in pairs is named without the question, and how often one is named that is not there.

`python -m benchmarks.blind_rates FILE KIND --draws 60` reads a file of pairs as `aflite scan` does. In each draw
every pair gets a new right answer by the toss of a coin, and one cue is planted. It prints one line of JSON: the draws,
those in which the cue's rule is surely above chance (listed) and by 5 points (named), and those in which any rule or
model is named, and any artefact, each with its exact 95 % interval. `--rules` leaves out the models. The kind `all`
makes draws of every kind in turn until `--seconds` are over.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from aflite_assets.command_line.scanning.bare_files import Roles, read_bare
from aflite_assets.scan.blind.exact import exact_interval
from aflite_assets.scan.blind.records import ALL_SUBSETS
from aflite_assets.scan.blind.scoring import blind_scores
from aflite_assets.scan.properties.extraction import extract
from aflite_assets.scan.rows import ScanRows

Plant = Callable[[ScanRows, np.random.Generator], ScanRows]


def _answers(rows: ScanRows) -> list[str]:
    return [text or "" for text in [*rows.texts.values()][1]]


def _labelled(rows: ScanRows, first: np.ndarray) -> ScanRows:
    """Return the pairs with the first answer right where `first`, bool of shape (pairs,), says so."""
    right = np.column_stack([first, ~first]).reshape(-1)
    names = rows.label_names
    return replace(rows, labels=np.where(right, names.index("right"), names.index("wrong")))


def at_random(rows: ScanRows, rng: np.random.Generator) -> ScanRows:
    """Return the pairs with a right answer by the toss of a coin."""
    return _labelled(rows, rng.random(len(rows) // 2) < 0.5)


def longer(share: float) -> Plant:
    """Return what makes the longer answer right in this share of the pairs."""

    def plant(rows: ScanRows, rng: np.random.Generator) -> ScanRows:
        lengths = np.array([len(text) for text in _answers(rows)]).reshape(-1, 2)
        told = rng.random(len(lengths)) < share
        return _labelled(rows, (lengths[:, 0] > lengths[:, 1]) == told)

    return plant


def carried(mark: str, *, carriers: float, right: float) -> Plant:
    """Return what writes a mark before one answer of a share of the pairs, `carriers`, right in a share of these."""

    def plant(rows: ScanRows, rng: np.random.Generator) -> ScanRows:
        rows = at_random(rows, rng)
        name = [*rows.texts][1]
        is_right = rows.labels.reshape(-1, 2) == rows.label_names.index("right")
        on_right = rng.random(len(is_right)) < right
        has = ((is_right == on_right[:, None]) & (rng.random(len(is_right)) < carriers)[:, None]).reshape(-1)
        texts = [f"{mark}{text}" if own else text for text, own in zip(_answers(rows), has, strict=True)]
        return replace(rows, texts={**rows.texts, name: texts})

    return plant


def first_right(share: float) -> Plant:
    """Return what puts the right answer first in this share of the pairs, in a source that lists answers."""

    def plant(rows: ScanRows, rng: np.random.Generator) -> ScanRows:
        return replace(_labelled(rows, rng.random(len(rows) // 2) < share), answers_listed=True)

    return plant


_MARKUP, _BLANK = "**Answer** ", " "
_LONGEST, _MOST_MARKUP, _BLANKS = "the longest answer", "the most markup", "the most blanks at its ends"

KINDS: Mapping[str, tuple[str, Plant]] = {
    "nothing": ("", at_random),
    "longer_55": (_LONGEST, longer(0.55)),
    "longer_60": (_LONGEST, longer(0.60)),
    "longer_75": (_LONGEST, longer(0.75)),
    "markup_10": (_MOST_MARKUP, carried(_MARKUP, carriers=0.10, right=1)),
    "markup_30": (_MOST_MARKUP, carried(_MARKUP, carriers=0.30, right=1)),
    "source_60": (_MOST_MARKUP, carried(_MARKUP, carriers=1, right=0.60)),
    "source_75": (_MOST_MARKUP, carried(_MARKUP, carriers=1, right=0.75)),
    "blank_10": (_BLANKS, carried(_BLANK, carriers=0.10, right=1)),
    "blank_30": (_BLANKS, carried(_BLANK, carriers=0.30, right=1)),
    "first_60": ("the first answer", first_right(0.60)),
    "balanced_markup": ("", carried(_MARKUP, carriers=0.30, right=0.5)),
    "balanced_source": ("", carried(_MARKUP, carriers=1, right=0.5)),
    "balanced_blank": ("", carried(_BLANK, carriers=0.30, right=0.5)),
    "balanced_first": ("", first_right(0.50)),
}
"""By kind the name of the rule that should be named, and what plants the cue. `source_...`: one of two sources writes
markup into all its answers, and is right so often. `balanced_...`: what carries the mark is right in half of the pairs.
"""


def pairs_of(path: Path) -> ScanRows:
    """Return the pairs of a file, those of exactly two answers.

    Raises:
        DataError: the file is no file of pairs.
    """
    rows = read_bare(path, Roles()).rows
    codes = rows.question_codes
    assert codes is not None, f"{path} holds no questions; give a file of preferences or of questions with two answers"
    known = rows.labels >= 0
    pairs = np.bincount(codes[known], minlength=int(codes.max()) + 1) == 2
    return rows.taken(np.flatnonzero(known & pairs[codes]))


class Rates:
    """Draws of one kind, and what was found in them."""

    def __init__(self, rows: ScanRows, kind: str, *, with_models: bool) -> None:
        self._rows, self.kind, self._with_models = rows, kind, with_models
        self._of_file = extract(rows, fewest=30, threads=1)
        self._found: list[tuple[bool, bool, bool, bool]] = []

    def draw(self) -> None:
        """Make the next draw, which its number decides."""
        (rule, plant), number = KINDS[self.kind], len(self._found)
        drawn = plant(self._rows, np.random.default_rng([number, len(self._rows)]))
        # The rules need nothing but the near copies, and those of the file are enough.
        extracted = extract(drawn, fewest=30, threads=1) if self._with_models else self._of_file
        scores = blind_scores(drawn, extracted, seed=number, with_models=self._with_models)
        assert scores is not None
        named = {one.name for one in scores.named if one.subset == ALL_SUBSETS}
        listed = {one.name for one in scores.sure if one.subset == ALL_SUBSETS}
        planted = rule in listed if rule else bool(listed)
        self._found.append((planted, rule in named, bool(scores.named), scores.has_artefact))

    def record(self) -> dict[str, object]:
        """Return the counts, each with its exact 95 % interval in [0, 1]."""
        draws, names = len(self._found), ("rule_listed", "rule_named", "any_named", "artefact_named")
        counts = dict(zip(names, np.sum(self._found, axis=0).tolist(), strict=True))
        bounds = {
            f"{name}_95": [round(one, 4) for one in exact_interval(n / draws, draws)] for name, n in counts.items()
        }
        return {"kind": self.kind, "pairs": len(self._rows) // 2, "draws": draws, **counts, **bounds}


def rates(rows: ScanRows, kind: str, draws: int, *, with_models: bool = True) -> dict[str, object]:
    """Return how often the planted rule was listed and named, and any rule or model, and any artefact, was named."""
    found = Rates(rows, kind, with_models=with_models)
    for _ in range(draws):
        found.draw()
    return found.record()


def rates_within(
    rows: ScanRows, kinds: Sequence[str], draws: int, *, seconds: float, with_models: bool = True
) -> list[dict[str, object]]:
    """Return the rates of several kinds, of as many draws each, until `seconds` are over."""
    found, start = [Rates(rows, kind, with_models=with_models) for kind in kinds], time.monotonic()
    for number in range(draws):
        if number and time.monotonic() - start > seconds:
            break
        for one in found:
            one.draw()
    return [one.record() for one in found]


def main() -> None:
    """Print the rates of one kind, or of all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--rules", action="store_true", help="leave out the models, many times as fast")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after which no draw begins")
    options = parser.parse_args()
    kinds = [*KINDS] if options.kind == "all" else [options.kind]
    given = {"seconds": options.seconds, "with_models": not options.rules}
    for found in rates_within(pairs_of(options.file), kinds, options.draws, **given):
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
