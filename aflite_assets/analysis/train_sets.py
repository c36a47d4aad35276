"""Names of the compared train sets, and the order of the names in tables. No rows or results are handled here."""

import re
from collections.abc import Collection, Iterable

TRAIN_SETS = (
    "full", "sampled", "random", "random_matched", "filtered", "single_pass_model", "single_pass_linear", "weighted",
)  # fmt: skip
"""Train sets that every dataset can have, in the tables' order."""

_EARLIER = re.compile(r"(random|filtered)_([a-z0-9][a-z0-9_]*)")


def earlier_name(train_set: str) -> str | None:
    """Return `<name>` for a train set `filtered_<name>` or for its control `random_<name>`.

    The train set `filtered_<name>` holds the rows that were left when the filter reached an earlier size. Return None
    for every other train set, such as `full`, `random` and `random_matched`.
    """
    found = _EARLIER.fullmatch(train_set)
    return None if found is None or found[2] == "matched" else found[2]


def is_filtered_set(name: str) -> bool:
    """Return True if the train set holds rows that a filter kept, at the end or at an earlier size."""
    return name == "filtered" or (earlier_name(name) is not None and name.startswith("filtered_"))


def leaning_set(name: str, candidate: int) -> str:
    """Return the name of a train set for testing whether models rely on a property.

    `name` is the kind of the train set: "tied" or "independent".
    """
    return f"{name}_property_{candidate}"


def control_of(train_set: str, names: Collection[str]) -> str:
    """Return the name of the control of `train_set`, which is `filtered` or `filtered_<name>`.

    The control of `filtered` is `random_matched` (random rows with the same class sizes), or `random` if `names` lacks
    `random_matched`. The control of `filtered_<name>` is a random set of the same size.
    """
    earlier = earlier_name(train_set)
    if earlier is not None:
        return f"random_{earlier}"
    return "random_matched" if "random_matched" in names else "random"


def compared_pairs(names: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of train sets that are compared.

    `filtered` and each filtered set of an earlier size are paired with `full` and with their controls. `filtered` is
    also paired with `random`. `weighted` is paired with the set that has the same rows without weights. A pair is
    returned only if `names` contains both train sets of the pair.
    """
    pairs = []
    for name in names:
        against = []
        if is_filtered_set(name):
            against = ["full", control_of(name, names), "random" if name == "filtered" else "full"]
        elif name == "weighted":
            against = [unweighted(names)]
        pairs += [(name, other) for other in dict.fromkeys(against) if other in names]
    return pairs


def unweighted(names: Collection[str]) -> str:
    """Return the train set that has the same rows as `weighted` but no weights."""
    return "sampled" if "sampled" in names else "full"


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the given names of train sets, each once, in the order of the tables.

    Filtered sets of earlier sizes come directly after `filtered`, in the order of their first appearance. A random set
    comes before the filtered set of the same size.
    """
    given = list(dict.fromkeys(names))
    sizes = [earlier_name(name) for name in given]

    def position(name: str) -> tuple[int, int, bool]:
        earlier = earlier_name(name)
        if earlier is None:
            return TRAIN_SETS.index(name), -1, False
        return TRAIN_SETS.index("filtered"), sizes.index(earlier), name.startswith("filtered")

    return tuple(sorted(given, key=position))
