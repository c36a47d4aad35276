"""Names of the train sets that are compared, and their order in tables; no rows, no results."""

import re
from collections.abc import Collection, Iterable

TRAIN_SETS = (
    "full", "sampled", "random", "random_matched", "filtered", "single_pass_model", "single_pass_linear", "weighted",
)  # fmt: skip
"""Train sets that every dataset can have, in the tables' order."""

_EARLIER = re.compile(r"(random|filtered)_([a-z0-9][a-z0-9_]*)")


def earlier_name(train_set: str) -> str | None:
    """Return the name of the earlier size whose rows `filtered_<name>` holds; its control is `random_<name>`.

    Return None for the sets of `TRAIN_SETS` and for other names; random_matched is a control of another kind.
    """
    found = _EARLIER.fullmatch(train_set)
    return None if found is None or found[2] == "matched" else found[2]


def is_filtered_set(name: str) -> bool:
    """Return True if a filter kept these rows, at the end or at an earlier size."""
    return name == "filtered" or (earlier_name(name) is not None and name.startswith("filtered_"))


def is_forgettable_set(name: str) -> bool:
    """Return True for rows that a weak model forgets, and for as many random rows; these sets belong to no
    filtering.
    """
    return name.startswith(("forgettable_", "random_forgettable_"))


def leaning_set(name: str, candidate: int) -> str:
    """Return the name of the train set `name` (tied or independent) for a property on which models may lean."""
    return f"{name}_property_{candidate}"


def is_leaning_set(name: str) -> bool:
    """Return True for train sets that test whether models lean on a property; they belong to no filtering."""
    return name.startswith(("tied_property_", "independent_property_"))


def control_of(train_set: str, names: Collection[str]) -> str:
    """Return the control of `train_set`, which is filtered or filtered_<name>.

    The control is random rows with the class sizes of filtered, or any random rows if `names` has no random_matched.
    For an earlier iteration, it is random rows of that size.
    """
    earlier = earlier_name(train_set)
    if earlier is not None:
        return f"random_{earlier}"
    return "random_matched" if "random_matched" in names else "random"


def compared_pairs(names: Collection[str]) -> list[tuple[str, str]]:
    """Pair filtered, and each earlier size of it, with full, with its control and with random rows of its size.

    Weighted is paired with the unweighted set of its rows. Only pairs with both sides in `names` are returned.
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
    """Return the train set that has the rows of weighted, but no weights."""
    return "sampled" if "sampled" in names else "full"


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the given names of train sets, each once, in the tables' order; earlier sizes come right after filtered.

    Earlier iterations are in the order of their first appearance, random before filtered.
    """
    given = list(dict.fromkeys(names))
    sizes = [earlier_name(name) for name in given]

    def position(name: str) -> tuple[int, int, bool]:
        earlier = earlier_name(name)
        if earlier is None:
            return TRAIN_SETS.index(name), -1, False
        return TRAIN_SETS.index("filtered"), sizes.index(earlier), name.startswith("filtered")

    return tuple(sorted(given, key=position))
