"""Two collections of numbers side by side: what is equal, renamed, gone, new or different."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import yaml

from aflite_assets.errors import InvalidInputError
from tests.compatibility.collected import Collected, is_missing
from tests.compatibility.flat import Leaf, Leaves

MOST_SHOWN = 50
_PLACEHOLDER = re.compile(r"\{(\*|[a-z][a-z_]*)\}")
_ANY, _WITHIN = ".*", r"[^.,=\[\]]+"
_NEAR_ZERO = 1e-3
_NUMERAL = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True)
class Pattern:
    """A path with placeholders: `{*}` is any text, `{name}` is any text within one key or one field of a row."""

    text: str

    @cached_property
    def expression(self) -> re.Pattern[str]:
        """The regular expression of the whole path, with a group per placeholder, `_0`, `_1`, ... for `{*}`.

        Raises:
            InvalidInputError: a name stands twice.
        """
        names = [_group(number, name) for number, name in enumerate(_PLACEHOLDER.findall(self.text))]
        if len(set(names)) < len(names):
            raise InvalidInputError(f"{self.text!r} names a placeholder twice; give each a name of its own")
        between = [re.escape(part) for part in _PLACEHOLDER.split(self.text)[::2]]
        groups = [f"(?P<{name}>{_ANY if name.startswith('_') else _WITHIN})" for name in names]
        return re.compile("".join(part + group for part, group in zip(between, [*groups, ""], strict=True)), re.DOTALL)

    def filled(self, found: re.Match[str]) -> str:
        """Return the path with the text that another pattern's placeholders had; `{*}` are filled in their order.

        Raises:
            InvalidInputError: the other pattern lacks a placeholder.
        """
        groups = found.groupdict()
        free = iter([value for name, value in groups.items() if name.startswith("_")])

        def value(placeholder: re.Match[str]) -> str:
            filled = next(free, None) if placeholder[1] == "*" else groups.get(placeholder[1])
            if filled is None:
                raise InvalidInputError(
                    f"{self.text!r} has {placeholder[0]}, which the pattern {found.re.pattern!r} before it lacks; "
                    "use its placeholders"
                )
            return filled

        return _PLACEHOLDER.sub(value, self.text)


def _group(number: int, name: str) -> str:
    return f"_{number}" if name == "*" else name


@dataclass(frozen=True)
class Changes:
    """What is meant to change: paths with another name, paths that go and that come, each with the reason."""

    renamed: tuple[tuple[Pattern, Pattern], ...] = ()
    gone: Mapping[Pattern, str] = field(default_factory=dict)
    new: Mapping[Pattern, str] = field(default_factory=dict)


def read_changes(path: Path) -> Changes:
    """Read the file of intended changes.

    Raises:
        InvalidInputError: it has another form than its first lines describe, or an entry has no reason.
    """
    content = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    form = f"{path}: write renamed as a list of from and to, and gone and new as mappings of patterns to reasons"
    if not isinstance(content, Mapping) or content.keys() - {"renamed", "gone", "new"}:
        raise InvalidInputError(f"{form}; received {content!r:.200}")
    pairs, lists = content.get("renamed") or [], [content.get(name) or {} for name in ("gone", "new")]
    if not all(isinstance(pair, Mapping) and pair.keys() == {"from", "to"} for pair in pairs):
        raise InvalidInputError(f"{form}; received renamed {pairs!r:.200}")
    for one in lists:
        if not isinstance(one, Mapping) or not all(isinstance(reason, str) and reason for reason in one.values()):
            raise InvalidInputError(f"{form}; received {one!r:.200}")
    gone, new = ({Pattern(text): reason for text, reason in one.items()} for one in lists)
    return Changes(tuple((Pattern(pair["from"]), Pattern(pair["to"])) for pair in pairs), gone, new)


@dataclass(frozen=True)
class Comparison:
    """The outcome: counts of paths, and a line for each failure.

    `numerals`: texts in which other numerals stand than before, `words`: other texts that differ. `stale`: intended
    changes that no path has.
    """

    compared: int
    equal: int
    renamed: int
    gone: int
    new: int
    lost: tuple[str, ...]
    unlisted: tuple[str, ...]
    different: tuple[str, ...]
    numerals: tuple[str, ...]
    words: tuple[str, ...]
    stale: tuple[str, ...]

    def failures(self, *, words: bool, numerals: bool) -> list[str]:
        """Return the lines that make the comparison fail; texts count if they are asked for."""
        texts = (*(self.numerals if words or numerals else ()), *(self.words if words else ()))
        return [*self.stale, *self.different, *self.lost, *self.unlisted, *texts]

    def text(self, *, words: bool, numerals: bool) -> str:
        """Return the counts, then the first failures, then the first texts that differ and are no failure."""
        counts = {
            "paths compared": self.compared, "equal": self.equal, "renamed": self.renamed, "gone as listed": self.gone,
            "new as listed": self.new, "gone": len(self.lost), "new": len(self.unlisted),
            "different": len(self.different), "texts with other numbers": len(self.numerals),
            "texts with other words": len(self.words), "listed changes that no path has": len(self.stale),
        }  # fmt: skip
        failures = self.failures(words=words, numerals=numerals)
        told = [one for one in (*self.numerals, *self.words) if one not in set(failures)]
        lines = [f"{count:>9,}  {name}" for name, count in counts.items()]
        return "\n".join([*lines, *_shown("failures", failures), *_shown("texts", told)]) + "\n"


def _shown(title: str, lines: list[str]) -> list[str]:
    more = [f"and {len(lines) - MOST_SHOWN:,} more"] if len(lines) > MOST_SHOWN else []
    return [f"{title}:", *lines[:MOST_SHOWN], *more] if lines else []


def compare(before: Collected, after: Collected, changes: Changes, *, tolerance: float = 0.0) -> Comparison:
    """Compare the values of every dataset path by path.

    `tolerance`: see `difference`.

    Raises:
        InvalidInputError: one side lacks a dataset, or two paths are renamed to one.
    """
    others = sorted(before.datasets.keys() ^ after.datasets.keys())
    if others:
        raise InvalidInputError(f"only one side has {others}; collect the same datasets on both")
    tally = _Tally(changes, tolerance)
    for name, leaves in before.datasets.items():
        tally.add(name, leaves, after.datasets[name])
    return tally.outcome()


@dataclass
class _Tally:
    """What is found so far, over datasets."""

    changes: Changes
    tolerance: float
    compared: int = 0
    renamed: int = 0
    listed: dict[str, int] = field(default_factory=lambda: {"gone": 0, "new": 0})
    found: dict[str, list[str]] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)

    def add(self, dataset: str, before: Leaves, after: Leaves) -> None:
        """Compare one dataset."""
        names = dict(self._names(before))
        twice = sorted(name for name, count in Counter(names.values()).items() if count > 1)
        if twice:
            raise InvalidInputError(f"{dataset}: two paths have the name {twice[0]!r} now; correct the patterns")
        for old, new in names.items():
            self.renamed += old != new
            if new in after:
                self.compared += 1
                kind = difference(before[old], after[new], self.tolerance)
                if kind is not None:
                    self._note(kind, f"{dataset}: {new}: {before[old]!r} became {after[new]!r}")
            elif not self._is_listed("gone", old):
                self._note("lost", f"{dataset}: {new} is gone; it was {before[old]!r}")
        for path in after.keys() - set(names.values()):
            if not self._is_listed("new", path):
                self._note("unlisted", f"{dataset}: {path} is new: {after[path]!r}")

    def outcome(self) -> Comparison:
        """Return the counts and lines, with the changes that no path had."""
        listed = [
            *(f"renamed from {pattern.text}" for pattern, _ in self.changes.renamed),
            *(f"gone: {pattern.text}" for pattern in self.changes.gone),
            *(f"new: {pattern.text}" for pattern in self.changes.new),
        ]
        stale = tuple(f"no path is {name!r}; delete the entry" for name in listed if name not in self.used)
        texts = [self._lines("numerals"), self._lines("words")]
        different = self._lines("different")
        return Comparison(
            compared=self.compared,
            equal=self.compared - len(different) - sum(map(len, texts)),
            renamed=self.renamed,
            gone=self.listed["gone"],
            new=self.listed["new"],
            lost=self._lines("lost"),
            unlisted=self._lines("unlisted"),
            different=different,
            numerals=texts[0],
            words=texts[1],
            stale=stale,
        )

    def _lines(self, kind: str) -> tuple[str, ...]:
        return tuple(sorted(self.found.get(kind, ())))

    def _names(self, before: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Give each path with what it is called now, by the first pattern that it fits."""
        for path in before:
            for pattern, to in self.changes.renamed:
                fits = pattern.expression.fullmatch(path)
                if fits is not None:
                    self.used.add(f"renamed from {pattern.text}")
                    yield path, to.filled(fits)
                    break
            else:
                yield path, path

    def _is_listed(self, kind: str, path: str) -> bool:
        patterns = self.changes.gone if kind == "gone" else self.changes.new
        fits = [pattern.text for pattern in patterns if pattern.expression.fullmatch(path)]
        self.used |= {f"{kind}: {text}" for text in fits}
        self.listed[kind] += bool(fits)
        return bool(fits)

    def _note(self, kind: str, line: str) -> None:
        self.found.setdefault(kind, []).append(line)


def difference(before: Leaf, after: Leaf, tolerance: float = 0.0) -> str | None:
    """Return how two values differ: "different", "numerals" or "words" of texts; None if they are equal.

    Numbers are equal to the last bit, or within `tolerance` relative to the larger one, which counts as 0.001 if it is
    nearer to zero. 0.0 is not -0.0; 1 is 1.0, as JSON does not tell them apart, and NaN is equal to NaN and to null.
    """
    if is_missing(before) or is_missing(after):
        return None if is_missing(before) and is_missing(after) else "different"
    if type(before) is not type(after) and {type(before), type(after)} != {int, float}:
        return "different"
    if isinstance(before, str) and isinstance(after, str):
        if before == after:
            return None
        return "numerals" if sorted(_NUMERAL.findall(before)) != sorted(_NUMERAL.findall(after)) else "words"
    if isinstance(before, float) and isinstance(after, float) and before.hex() != after.hex():
        near = abs(before - after) <= tolerance * max(abs(before), abs(after), _NEAR_ZERO)
        return None if tolerance and near else "different"
    return None if before == after else "different"
