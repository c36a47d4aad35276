"""Rules of the form "rows with this property have this class", chosen on one half of the rows.

Rules are tested in `testing`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from aflite_assets.scan.properties.records import MISSING_BIN, Categories, Number, Properties, PropertyInfo
from aflite_assets.scan.rows import NO_CLASS
from aflite_assets.wording import counted

LEAST_CHOSEN = 0.08
"""A rule is tested if the shares of the class and of the rest that meet the rule differ by at least this much."""

MOST_CHOSEN = 1_500
"""Maximum number of rules per family tested on the other half of the rows; the strongest rules are chosen."""

PAIRED = 20
"""Number of rules that are combined in pairs; the strongest rules are chosen."""

PAIR_GAIN = 0.10
"""Minimum gain in the difference of shares of a pair over each of its rules: 5 points of balanced accuracy."""


VALUES_GAIN = 0.04
"""Minimum gain in the difference of shares of several values over one value: 2 points of balanced accuracy."""

VALUE_STANDS_OUT = 2.0
"""A value is chosen if its share of the class exceeds the overall share by this many standard deviations."""

MOST_NAMED = 5
"""Maximum number of values listed in the name of a rule."""


@dataclass(frozen=True)
class Condition:
    """One condition of a rule: that a flag is present or absent, that a number is in bins `low` to `high`, or that a
    column has one of `values`.

    `values`: positions in `Categories.values`. The most predictive values come first.
    """

    form: Literal["flag", "number", "values"]
    index: int
    has: bool = True
    low: int = 0
    high: int = 0
    values: tuple[int, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A rule: rows that meet all `parts` have the class `label` more often than other rows.

    `strength`: share of the class that meets the rule minus share of the rest, on the rows on which the rule was
    chosen.
    """

    label: int
    parts: tuple[Condition, ...]
    strength: float

    @property
    def key(self) -> tuple[object, ...]:
        """Key that is equal for all rules of one property and class, even if their ranges differ."""
        return (self.label, *((part.form, part.index, part.has) for part in self.parts))


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Classes that are tested, in ascending order, and the class of each row, int64."""

    labels: np.ndarray
    tested: np.ndarray
    classes: int

    @property
    def is_binary(self) -> bool:
        """Whether there are only two classes. With two classes, a test of one class is also a test of the other
        class. Rows without a class do not count.
        """
        return len(np.unique(self.labels[self.labels != NO_CLASS])) == 2


def choose_rules(properties: Properties, rows: np.ndarray, counts: ClassCounts) -> list[Rule]:
    """Return the rules whose strength is at least `LEAST_CHOSEN`, and pairs of the strongest rules.

    `rows`: positions, int64. Each number gives one rule per class: the range with the largest strength. Each column of
    unordered values also gives one rule per class: the values that predict the class.
    """
    labels = counts.labels[rows]
    single = [*_flag_rules(properties, rows, labels, counts), *_number_rules(properties, rows, labels, counts)]
    single += _value_rules(single, properties, rows, labels, counts)
    artefacts = [rule for rule in single if is_artefact(rule, properties)]
    others = [rule for rule in single if not is_artefact(rule, properties)]
    kept = [*_strongest(artefacts), *_strongest(others)]
    return [*kept, *_pairs(kept, properties, rows, labels)]


def _strongest(rules: Sequence[Rule]) -> list[Rule]:
    return sorted(rules, key=lambda rule: -rule.strength)[:MOST_CHOSEN]


def _flag_rules(properties: Properties, rows: np.ndarray, labels: np.ndarray, counts: ClassCounts) -> list[Rule]:
    apart = share_differences(properties.flags.present[rows], labels, counts.classes)
    rules = []
    for label in counts.tested.tolist():
        for index in np.flatnonzero(apart[:, label] >= LEAST_CHOSEN).tolist():
            rules.append(Rule(label, (Condition("flag", index),), float(apart[index, label])))
        if counts.is_binary:
            continue  # the negation would be a rule for the other class with the same test
        for index in np.flatnonzero(apart[:, label] <= -LEAST_CHOSEN).tolist():
            rules.append(Rule(label, (Condition("flag", index, has=False),), -float(apart[index, label])))
    return rules


def share_differences(present: Any, labels: np.ndarray, classes: int) -> np.ndarray:
    """Return, for each property and class, the share of the class that has the property minus the share of the rest.

    `present`: sparse, shape (rows, properties). Returns float64 of shape (properties, classes). The value is 0 if no
    row or every row has the class.
    """
    from scipy.sparse import csr_array

    rows = len(labels)
    one_hot = csr_array((np.ones(rows), (np.arange(rows), labels)), shape=(rows, classes))
    inside = np.asarray((present.T.astype(np.float64) @ one_hot).toarray())
    sizes = np.bincount(labels, minlength=classes).astype(np.float64)
    total = inside.sum(axis=1, keepdims=True)
    apart = inside / np.maximum(sizes, 1) - (total - inside) / np.maximum(rows - sizes, 1)
    return np.where((sizes > 0) & (sizes < rows), apart, 0.0)


def _number_rules(properties: Properties, rows: np.ndarray, labels: np.ndarray, counts: ClassCounts) -> list[Rule]:
    rules = []
    for index, number in enumerate(properties.numbers):
        for label, low, high, strength in best_ranges(number, rows, labels, counts):
            if strength >= LEAST_CHOSEN:
                rules.append(Rule(label, (Condition("number", index, low=low, high=high),), strength))
    return rules


NEARLY_ALL = 0.95
"""A range or a set of values is discarded if it covers more than this share of the rows with a value."""


def best_ranges(
    number: Number, rows: np.ndarray, labels: np.ndarray, counts: ClassCounts
) -> list[tuple[int, int, int, float]]:
    """Return, for each tested class, the range of bins (first, last) with the largest difference between the share of
    the class and the share of the rest.

    Kadane's algorithm finds the run of bins with the largest sum of differences. Rows in which the number is missing
    are outside of every range. A class has no range if the range would contain nearly all rows.
    """
    codes = number.codes[rows]
    known = codes >= 0
    flat = np.bincount(labels[known] * number.bins + codes[known], minlength=counts.classes * number.bins)
    inside = flat.reshape(counts.classes, number.bins).astype(np.float64)
    sizes = np.bincount(labels, minlength=counts.classes).astype(np.float64)[:, None]
    apart = inside / np.maximum(sizes, 1) - (inside.sum(axis=0) - inside) / np.maximum(len(rows) - sizes, 1)
    sums = np.concatenate([np.zeros((counts.classes, 1)), np.cumsum(apart, axis=1)], axis=1)
    lowest = np.minimum.accumulate(sums[:, :-1], axis=1)
    gains = sums[:, 1:] - lowest
    highs = gains.argmax(axis=1)
    found = []
    for label in counts.tested.tolist():
        high = int(highs[label])
        low = int(sums[label, : high + 1].argmin())
        if inside[:, low : high + 1].sum() > NEARLY_ALL * known.sum():
            continue
        found.append((label, low, high, float(gains[label, high])))
    return found


def most_significant(number: Number, rows: np.ndarray, is_class: np.ndarray, low: int, high: int) -> tuple[int, int]:
    """Return the range within the bins `low` to `high` whose share of the class differs most from the share of the
    rest, in standard deviations of chance.

    The range with the largest difference is often too wide if the class is rare, because bins beside a cue add to the
    difference by chance. One edge is moved at a time, until neither can be moved to a larger value.
    """
    inside = np.bincount(number.codes[rows][is_class] + 1, minlength=number.bins + 1).cumsum()
    total = np.bincount(number.codes[rows] + 1, minlength=number.bins + 1).cumsum()
    own, everyone = int(is_class.sum()), len(rows)

    def deviations(lows: np.ndarray | int, highs: np.ndarray | int) -> np.ndarray:
        has, of_class = total[highs] - total[lows], inside[highs] - inside[lows]
        chance = has * (everyone - has) / everyone
        return np.asarray((of_class - has * own / everyone) / np.sqrt(np.maximum(chance, 0.5)))

    best, end = -np.inf, high + 1
    while True:
        highs = np.arange(low + 1, end + 1)
        end = int(highs[deviations(low, highs).argmax()])
        lows = np.arange(low, end)
        found = deviations(lows, end)
        low = int(lows[found.argmax()])
        if found.max() <= best:
            return low, end - 1
        best = float(found.max())


def _value_rules(
    others: Sequence[Rule], properties: Properties, rows: np.ndarray, labels: np.ndarray, counts: ClassCounts
) -> list[Rule]:
    """Return rules that combine several values of a column, and are stronger than any single value or range of the
    column.
    """
    alone: dict[tuple[str, int], float] = {}
    for rule in others:
        key = info_of_part(rule.parts[0], properties).source, rule.label
        alone[key] = max(alone.get(key, 0.0), rule.strength)
    rules = []
    for index, column in enumerate(properties.categories):
        for label, values, strength in best_values(column, rows, labels, counts):
            if strength >= max(LEAST_CHOSEN, alone.get((column.info.source, label), 0.0) + VALUES_GAIN):
                rules.append(Rule(label, (Condition("values", index, values=values),), strength))
    return rules


def best_values(
    column: Categories, rows: np.ndarray, labels: np.ndarray, counts: ClassCounts
) -> list[tuple[int, tuple[int, ...], float]]:
    """Return, for each tested class, the values that predict the class, and the strength of these values. The strength
    is the sum, over the values, of the share of the class minus the share of the rest.

    Each class has at least two values, the most predictive value first. A class has no values if nearly all rows would
    have one of its values.
    """
    codes = column.codes[rows]
    known = codes != MISSING_BIN
    flat = np.bincount(labels[known] * len(column.values) + codes[known], minlength=counts.classes * len(column.values))
    inside = flat.reshape(counts.classes, len(column.values)).astype(np.float64)
    sizes = np.bincount(labels, minlength=counts.classes).astype(np.float64)
    total = inside.sum(axis=0)
    found = []
    for label in counts.tested.tolist():
        base = sizes[label] / len(rows)
        deviation = np.sqrt(np.maximum(total * base * (1 - base), 1e-9))
        stands_out = inside[label] - total * base >= VALUE_STANDS_OUT * deviation
        apart = inside[label] / max(sizes[label], 1) - (total - inside[label]) / max(len(rows) - sizes[label], 1)
        values = [place for place in np.argsort(-apart, kind="stable").tolist() if stands_out[place] and total[place]]
        if len(values) > 1 and total[values].sum() <= NEARLY_ALL * known.sum():
            found.append((label, tuple(values), float(apart[values].sum())))
    return found


def _pairs(rules: Sequence[Rule], properties: Properties, rows: np.ndarray, labels: np.ndarray) -> list[Rule]:
    """Return pairs of strong rules for one class, if the pair is stronger by at least `PAIR_GAIN` than each of its two
    rules.
    """
    found = []
    for label in sorted({rule.label for rule in rules}):
        own = [rule for rule in _strongest(rules) if rule.label == label][:PAIRED]
        if len(own) < 2:
            continue
        has = np.column_stack([carriers(rule, properties)[rows] for rule in own]).astype(np.float64)
        inside = labels == label
        both = has[inside].T @ has[inside] / max(inside.sum(), 1) - has[~inside].T @ has[~inside] / max(
            (~inside).sum(), 1
        )
        single = np.diag(both)
        gain = both - np.maximum(single[:, None], single[None, :])
        for first, second in np.argwhere(np.triu(gain, 1) >= PAIR_GAIN).tolist():
            parts = sorted(own[first].parts + own[second].parts, key=lambda part: (part.form, part.index, part.has))
            found.append(Rule(label, tuple(parts), float(both[first, second])))
    return found


def carriers(rule: Rule, properties: Properties) -> np.ndarray:
    """Return a bool mask of the rows that meet all conditions of the rule, of shape (rows,)."""
    inside = np.ones(properties.flags.present.shape[0], dtype=bool)
    for part in rule.parts:
        if part.form == "number":
            codes = properties.numbers[part.index].codes
            inside &= (codes >= part.low) & (codes <= part.high)
        elif part.form == "values":
            inside &= np.isin(properties.categories[part.index].codes, part.values)
        else:
            inside &= _has_flag(properties, part.index) == part.has
    return inside


def _has_flag(properties: Properties, index: int) -> np.ndarray:
    present = properties.flags.present
    has = np.zeros(present.shape[0], dtype=bool)
    has[present.indices[present.indptr[index] : present.indptr[index + 1]]] = True
    return has


def info_of_part(part: Condition, properties: Properties) -> PropertyInfo:
    """Return the record of the property in a condition."""
    if part.form == "values":
        return properties.categories[part.index].info
    return properties.flags.infos[part.index] if part.form == "flag" else properties.numbers[part.index].info


def is_artefact(rule: Rule, properties: Properties) -> bool:
    """Return True if the property of every condition of the rule is an artefact."""
    return all(info_of_part(part, properties).is_artefact for part in rule.parts)


def fitted(rule: Rule, properties: Properties, rows: np.ndarray, counts: ClassCounts) -> Rule:
    """Return the rule for the report, with a range or values that are chosen again on all given rows."""
    if len(rule.parts) > 1 or rule.parts[0].form == "flag":
        return rule
    (part,) = rule.parts
    if part.form == "values":
        found = best_values(properties.categories[part.index], rows, counts.labels[rows], counts)
        values = next((values for label, values, _ in found if label == rule.label), part.values)
        return replace(rule, parts=(replace(part, values=values),))
    number = properties.numbers[part.index]
    ranges = best_ranges(number, rows, counts.labels[rows], counts)
    low, high = next(((low, high) for label, low, high, _ in ranges if label == rule.label), (part.low, part.high))
    low, high = most_significant(number, rows, counts.labels[rows] == rule.label, low, high)
    return replace(rule, parts=(replace(part, low=low, high=high),))


def name_of(rule: Rule, properties: Properties) -> str:
    """Return a readable name that lists the rule's conditions."""
    return " and ".join(_part_name(part, properties) for part in rule.parts)


def _part_name(part: Condition, properties: Properties) -> str:
    info = info_of_part(part, properties)
    if part.form == "flag":
        return info.name if part.has else info.absent
    if part.form == "values":
        return _values_name(info.name, [properties.categories[part.index].values[value] for value in part.values])
    number = properties.numbers[part.index]
    if info.compares and (longer := _longer_text(info.compares, part, number)):
        return longer
    low, high = _written(number.lows[part.low], number), _written(number.highs[part.high], number)
    if low == high:
        return f"{info.name} = {low}"
    if part.low == 0:
        return f"{info.name} at most {high}"
    if part.high == number.bins - 1:
        return f"{info.name} at least {low}"
    return f"{info.name} from {low} to {high}"


def _longer_text(compares: tuple[str, ...], part: Condition, number: Number) -> str:
    """Describe which of two texts is longer, and by how much. Return "" if either text may be the longer one."""
    first, second = compares
    if part.high == number.bins - 1 and number.lows[part.low] >= 1:
        return f"{first} is longer than {second} by at least {counted(int(number.lows[part.low]), 'word')}"
    if part.low == 0 and number.highs[part.high] <= -1:
        return f"{second} is longer than {first} by at least {counted(int(-number.highs[part.high]), 'word')}"
    return ""


def _values_name(name: str, values: Sequence[str]) -> str:
    if len(values) > MOST_NAMED:
        return f"{name} is one of {len(values)} values: {', '.join(values[:MOST_NAMED])} …"
    return f"{name} is {', '.join(values[:-1])} or {values[-1]}"


def _written(value: float, number: Number) -> str:
    if number.is_date:
        return str(np.datetime64("1970-01-01") + np.timedelta64(int(value // 1), "D"))
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e15 else f"{value:.4g}"
