"""The scan, which finds properties of rows that predict the label by themselves.

The functions to call are `scan_examples` and `scan_rows`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.raw_table.standardise import Scale
from aflite_assets.diagnostics.properties.artefacts import CONVERSION
from aflite_assets.errors import InvalidInputError
from aflite_assets.scan.blind.scoring import blind_scores
from aflite_assets.scan.cues import ClassSize, Cue, CueProperty, ScanResult
from aflite_assets.scan.elsewhere import measure_elsewhere
from aflite_assets.scan.merging import Found, in_order, is_value_of, merged
from aflite_assets.scan.properties.anywhere import is_sorted_by_label
from aflite_assets.scan.properties.extraction import Extracted, extract
from aflite_assets.scan.properties.records import Properties
from aflite_assets.scan.properties.texts import has_parts
from aflite_assets.scan.rows import ScanRows, rows_of_examples
from aflite_assets.scan.rules import (
    ClassCounts,
    Rule,
    carriers,
    choose_rules,
    fitted,
    info_of_part,
    is_artefact,
    name_of,
)
from aflite_assets.scan.statistics.cuts import RowHalves, draw_cut
from aflite_assets.scan.statistics.effects import Effects, measure_effects
from aflite_assets.scan.statistics.reach import NOT_FOUND, Bounds, measure_reach
from aflite_assets.scan.statistics.testing import (
    false_discovery_set,
    harmonic_sum,
    over_cuts,
    permutation_p_values,
    score_p_values,
)
from aflite_assets.scan.surface import SurfaceAccuracy, surface_accuracy

MOST_ROWS = 60_000
"""Default for the maximum number of scanned rows per set; larger sets are sampled at random."""

CUTS = 5
FAMILY_ERROR = 0.01
"""Family-wise error rate of the artefacts: probability of at least one false artefact."""

FALSE_CANDIDATES = 0.05
"""False discovery rate of the candidates: expected share of false cues among the candidates."""

LEAST_BALANCED = 0.55
"""Minimum lower bound of the balanced accuracy of a cue."""

NAMED_BY_LACK = 2 / 3
"""With two classes, a cue is named by its negation if more than this share of the rows have the property."""

FEWEST_CARRIERS = 30
"""Minimum number of rows of the tested half that have a cue."""

FEWEST_ROWS = 60
"""Minimum number of rows of a class, and of all other rows; the minimum number of units is half as large."""


FEW_GROUPS = 0.02
"""Groups limit the scan if they raise the strength from which on cues are found by this much."""


@dataclass(frozen=True, kw_only=True)
class ScanSettings:
    """Settings of a scan.

    `irrelevant`: texts and columns declared as not part of the task. `threads`: number of threads that decode images.
    `most_rows`: maximum number of rows per set; larger sets are sampled at random.
    """

    irrelevant: tuple[str, ...] = ()
    threads: int = 2
    most_rows: int = MOST_ROWS


@dataclass(eq=False)
class _Tally:
    """P-values and effects of one rule, from each cut in which the rule was chosen."""

    rule: Rule
    p_values: list[float] = field(default_factory=list)
    effects: list[tuple[float, ...]] = field(default_factory=list)


def scan_examples(
    examples: Examples,
    *,
    settings: ScanSettings,
    seed: int,
    others: Mapping[str, Examples] | None = None,
    feature_names: Sequence[str] = (),
    scale: Scale | None = None,
    text_names: Mapping[str, str] | None = None,
    subset: str | None = None,
) -> ScanResult:
    """Scan the train split of a dataset; the other splits and `others` show whether cues hold elsewhere.

    Args:
        examples: the rows, with one kind of input.
        settings: settings of the scan.
        seed: seed for the random cuts into halves, and for the permutations.
        others: challenge sets by name.
        feature_names: names of the feature columns, in order.
        scale: the scale by which the features were standardised, or None.
        text_names: the source's names of the columns `text` and `text_pair`.
        subset: the attribute with the data subset of each question.

    Raises:
        InvalidInputError: there is no row with a label.
        MissingDataError: an image file is missing.
    """
    rows = rows_of_examples(
        examples, others=others, feature_names=feature_names, scale=scale, text_names=text_names, subset=subset
    )
    return scan_rows(rows, settings=settings, seed=seed)


def scan_rows(rows: ScanRows, *, settings: ScanSettings, seed: int) -> ScanResult:
    """Scan rows of any columns; see `scan_examples`.

    Raises:
        InvalidInputError: there is no row with a label.
        MissingDataError: an image file is missing.
    """
    scanned = np.flatnonzero(rows.scanned)
    if not len(scanned):
        raise InvalidInputError("the scan received no row with a label; give at least one set with labels")
    whole, rows = rows, sampled_rows(rows, settings.most_rows, np.random.default_rng([seed, 2]))
    scanned = np.flatnonzero(rows.scanned)
    declared = frozenset(settings.irrelevant)
    extracted = extract(rows, declared=declared, fewest=FEWEST_CARRIERS, threads=settings.threads)
    classes = _class_sizes(rows, scanned, extracted.units)
    tested = np.array([number for number, one in enumerate(classes) if one.is_tested], dtype=np.int64)
    counts = ClassCounts(rows.labels, tested, len(rows.label_names))
    empty = ScanResult(
        (), None, classes, len(scanned), len(np.unique(extracted.units[scanned])), len(extracted.properties),
        _notes(rows, classes, len(whole)), np.zeros((len(rows), 0), dtype=bool), _set_names(rows), _row_ids(rows),
        extracted.units, blind=blind_scores(rows, extracted, seed=seed), kinds=extracted.properties.kinds,
    )  # fmt: skip
    if not len(tested):
        return empty
    cuts = _cuts(rows, extracted.units, scanned, seed)
    rules = [choose_rules(extracted.properties, cut.chosen_on, counts) for cut in cuts]
    found = _tested_rules(extracted, counts, cuts, rules, seed)
    surface = _surface(rows, extracted, cuts, rules)
    cues, carried = _cues(rows, extracted, found, counts)
    bounds, labels = _bounds(rules, extracted.properties, len(tested)), rows.labels[scanned]
    classes = _with_reach(classes, labels, extracted.units[scanned], bounds)
    by_rows = _with_reach(classes, labels, np.arange(len(scanned)), bounds)
    few_groups = any(one.reach >= other.reach + FEW_GROUPS for one, other in zip(classes, by_rows, strict=True))
    return replace(empty, cues=cues, surface=surface, carriers=carried, classes=classes, few_groups=few_groups)


def _set_names(rows: ScanRows) -> np.ndarray:
    return np.array(rows.set_names, dtype=object)[rows.sets]


def _row_ids(rows: ScanRows) -> np.ndarray:
    return rows.order.astype(np.int64) if rows.row_ids is None else rows.row_ids


def _class_sizes(rows: ScanRows, scanned: np.ndarray, units: np.ndarray) -> tuple[ClassSize, ...]:
    labels = rows.labels[scanned]
    sizes = []
    for number, name in enumerate(rows.label_names):
        own = labels == number
        count = int(own.sum())
        smallest = min(count, len(labels) - count)
        n_units = min(len(np.unique(units[scanned][side])) for side in (own, ~own)) if smallest else 0
        enough = smallest >= FEWEST_ROWS and n_units >= FEWEST_ROWS // 2
        sizes.append(ClassSize(name, count, NOT_FOUND if enough else None))
    return tuple(sizes)


def _bounds(rules: Sequence[Sequence[Rule]], properties: Properties, classes: int) -> Bounds:
    """Return the conditions that a single rule must meet, given the number of rules of its family in a usual cut."""
    of_artefacts = [sum(is_artefact(rule, properties) for rule in own) for own in rules]
    of_candidates = [len(own) - count for own, count in zip(rules, of_artefacts, strict=True)]
    artefacts, candidates = (max(float(np.median(counts)), 1.0) for counts in (of_artefacts, of_candidates))
    return Bounds(
        balanced=LEAST_BALANCED,
        carriers=FEWEST_CARRIERS,
        artefact_p=FAMILY_ERROR / 2 / artefacts,
        candidate_p=FALSE_CANDIDATES / 2 / candidates / harmonic_sum(max(len(properties) * classes, 1)),
    )


def _with_reach(
    classes: Sequence[ClassSize], labels: np.ndarray, units: np.ndarray, bounds: Bounds
) -> tuple[ClassSize, ...]:
    """Return the classes; those that are tested get the strength of the weakest cues that are found."""
    return tuple(
        replace(one, **vars(measure_reach(labels == number, units, bounds))) if one.is_tested else one
        for number, one in enumerate(classes)
    )


def sampled_rows(rows: ScanRows, most_rows: int, rng: np.random.Generator) -> ScanRows:
    """Return at most `most_rows` random rows of each set; groups are kept whole if possible."""
    kept = []
    for number in range(len(rows.set_names)):
        own = np.flatnonzero(rows.sets == number)
        if len(own) > most_rows:
            groups = np.arange(len(own)) if rows.groups is None else np.unique(rows.groups[own], return_inverse=True)[1]
            order = rng.permutation(int(groups.max()) + 1)[groups]
            own = np.sort(own[np.argsort(order, kind="stable")[:most_rows]])
        kept.append(own)
    positions = np.concatenate(kept)
    return rows if len(positions) == len(rows) else rows.taken(positions)


def _notes(rows: ScanRows, classes: Sequence[ClassSize], all_rows: int) -> tuple[str, ...]:
    notes = []
    if len(rows) < all_rows:
        notes.append(f"Of {all_rows:,} rows a random sample of {len(rows):,} was scanned.")
    small = [one.name for one in classes if not one.is_tested]
    if small:
        shown = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
        notes.append(
            f"Not tested, with fewer than {FEWEST_ROWS} rows, or rows of fewer than {FEWEST_ROWS // 2} groups, in the "
            f"class or outside of it: {shown}."
        )
    if not rows.ordered_by_reader and is_sorted_by_label(rows) and len(classes) > 1:
        notes.append("The file is sorted by label, so the order of the rows was not tested.")
    notes += [_parts_note(name) for name, texts in rows.texts.items() if len(rows.texts) == 1 and has_parts(texts)]
    return tuple(notes)


def _parts_note(name: str) -> str:
    return (
        f"Texts of {name!r} have several sentences. Of their order only the lengths of the first and the last were "
        "tested: if a text holds two parts, put each into a column of its own."
    )


def _cuts(rows: ScanRows, units: np.ndarray, scanned: np.ndarray, seed: int) -> list[RowHalves]:
    return [
        draw_cut(scanned, rows.labels[scanned], units[scanned], np.random.default_rng([seed, 0, cut]))
        for cut in range(CUTS)
    ]


def _surface(
    rows: ScanRows, extracted: Extracted, cuts: Sequence[RowHalves], rules: Sequence[Sequence[Rule]]
) -> SurfaceAccuracy | None:
    properties = extracted.properties
    artefacts = [
        [rule for rule in own if is_artefact(rule, properties) and _kind(rule, properties) != CONVERSION]
        for own in rules
    ]
    return surface_accuracy(extracted.properties, rows.labels, extracted.units, cuts, artefacts, fewest=FEWEST_CARRIERS)


def _tested_rules(
    extracted: Extracted, counts: ClassCounts, cuts: Sequence[RowHalves], rules: Sequence[Sequence[Rule]], seed: int
) -> list[Found]:
    """Test the rules that were chosen in each cut. Return the rules that pass when all cuts are combined."""
    properties = extracted.properties
    tallies: dict[bool, dict[tuple[object, ...], _Tally]] = {True: {}, False: {}}
    for number, (cut, chosen) in enumerate(zip(cuts, rules, strict=True)):
        rng = np.random.default_rng([seed, 1, number])
        by_family: dict[bool, list[Rule]] = defaultdict(list)
        for rule in chosen:
            by_family[is_artefact(rule, properties)].append(rule)
        for artefact, own in by_family.items():
            _test(own, extracted, counts, cut, tallies[artefact], rng=rng, artefact=artefact)
    everything = np.sort(np.concatenate([cuts[0].chosen_on, cuts[0].tested_on]))
    return [
        *_passed(tallies[True], extracted, counts, everything, artefact=True),
        *_passed(tallies[False], extracted, counts, everything, artefact=False),
    ]


def _test(
    rules: Sequence[Rule],
    extracted: Extracted,
    counts: ClassCounts,
    cut: RowHalves,
    tallies: dict[tuple[object, ...], _Tally],
    *,
    rng: np.random.Generator,
    artefact: bool,
) -> None:
    """Add the p-values and effects of one cut to the tallies.

    P-values are adjusted for the number of rules in the family. There are two families, artefacts and candidates.
    """
    rows = cut.tested_on
    labels, units = counts.labels[rows], extracted.units[rows]
    present = _carried(rules, extracted.properties, rows)
    rule_labels = np.array([rule.label for rule in rules], dtype=np.int64)
    if artefact:
        dense = present.toarray().astype(np.float32)
        p_values = _artefact_p_values(dense, rule_labels, _of_copies(rules, extracted.properties), labels, units, rng)
    else:
        p_values = np.minimum(1.0, len(rules) * score_p_values(present, rule_labels, labels, units))
    effects = np.zeros((6, len(rules)))
    for label in np.unique(rule_labels):
        own = np.flatnonzero(rule_labels == label)
        effects[:, own] = _as_array(measure_effects(present[:, own], labels == label, units))
    for place, rule in enumerate(rules):
        tally = tallies.setdefault(rule.key, _Tally(rule))
        tally.p_values.append(float(p_values[place]))
        tally.effects.append(tuple(effects[:, place].tolist()))


def _of_copies(rules: Sequence[Rule], properties: Properties) -> np.ndarray:
    return np.array([_kind(rule, properties) == "copies" for rule in rules], dtype=bool)


def _artefact_p_values(
    present: np.ndarray,
    rule_labels: np.ndarray,
    of_copies: np.ndarray,
    labels: np.ndarray,
    units: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return p-values adjusted for all artefacts.

    Near copies form a separate family with half of the error rate. A unit contains the near copies of its rows, so if
    near copies are correlated with a class, the sizes of units are too.
    """
    p_values = np.ones(len(rule_labels))
    for own, by_size, families in ((~of_copies, True, 1), (of_copies, False, 2)):
        if own.any():
            found = permutation_p_values(present[:, own], rule_labels[own], labels, units, rng, by_size=by_size)
            p_values[own] = np.minimum(1.0, families * found)
    return p_values


def _as_array(effects: Effects) -> np.ndarray:
    return np.stack([getattr(effects, one.name) for one in fields(Effects)])


def _carried(rules: Sequence[Rule], properties: Properties, rows: np.ndarray) -> Any:
    """Return a csc_array of shape (rows, rules) that marks the rows that meet each rule."""
    from scipy.sparse import csc_array

    where = [np.flatnonzero(carriers(rule, properties)[rows]) for rule in rules]
    ends = np.append(0, np.cumsum([len(one) for one in where]))
    flat = np.concatenate(where) if where else np.zeros(0, dtype=np.int64)
    return csc_array((np.ones(len(flat)), flat, ends), shape=(len(rows), len(rules)))


def _passed(
    tallies: Mapping[tuple[object, ...], _Tally],
    extracted: Extracted,
    counts: ClassCounts,
    rows: np.ndarray,
    *,
    artefact: bool,
) -> list[Found]:
    p_values = {key: over_cuts(tally.p_values, CUTS) for key, tally in tallies.items()}
    if artefact:
        sure = {key for key, p in p_values.items() if p <= FAMILY_ERROR}
    else:
        tests = len(extracted.properties) * len(counts.tested)
        sure = false_discovery_set(p_values, FALSE_CANDIDATES, tests=tests)
    found = []
    for key, tally in tallies.items():
        balanced, low, high, carried, *precisions = np.median(np.array(tally.effects), axis=0).tolist()
        if key not in sure or low < LEAST_BALANCED or carried < FEWEST_CARRIERS:
            continue
        rule = fitted(tally.rule, extracted.properties, rows, counts)
        has = carriers(rule, extracted.properties)
        if _is_opposite_shorter(rule, has[rows], counts):
            rule = _opposite(rule, counts.labels[rows])
            has, carried = ~has, len(rows) / 2 - carried
            precisions.reverse()
        found.append(
            Found(
                rule,
                name_of(rule, extracted.properties),
                _kind(rule, extracted.properties),
                has,
                artefact,
                balanced,
                low,
                high,
                p_values[key],
                source=info_of_part(rule.parts[0], extracted.properties).source if len(rule.parts) == 1 else "",
                tested_rows=int(carried),
                precision=precisions[0],
            )
        )
    return found


def _kind(rule: Rule, properties: Properties) -> str:
    return " and ".join(dict.fromkeys(info_of_part(part, properties).kind for part in rule.parts))


def _is_opposite_shorter(rule: Rule, has: np.ndarray, counts: ClassCounts) -> bool:
    """Return True if there are two classes and most rows have the cue's property, so that the negated property is the
    better name.

    The negation names the cue only if more than `NAMED_BY_LACK` of the rows have the property.
    """
    flag = len(rule.parts) == 1 and rule.parts[0].form == "flag"
    return counts.is_binary and flag and bool(has.mean() > NAMED_BY_LACK)


def _opposite(rule: Rule, labels: np.ndarray) -> Rule:
    (other,) = set(np.unique(labels).tolist()) - {rule.label}
    return replace(rule, label=other, parts=(replace(rule.parts[0], has=False),))


def _cues(
    rows: ScanRows, extracted: Extracted, found: Sequence[Found], counts: ClassCounts
) -> tuple[tuple[Cue, ...], np.ndarray]:
    """Return the cues with their synonyms, and a mask of the rows with each cue, bool of shape (rows, cues)."""
    scanned = rows.scanned
    inside = [replace(one, carriers=one.carriers[scanned]) for one in found]
    whole = {id(own): one.carriers for own, one in zip(inside, found, strict=True)}
    ordered, by = in_order(merged(inside, is_binary=counts.is_binary), rows.labels[scanned], extracted.units[scanned])
    leads = [lead for lead, _ in ordered]
    carried = [whole[id(lead)] for lead in leads]
    cues = []
    for place, (lead, same) in enumerate(ordered):
        cue = _cue(place, lead, same, rows.labels[scanned], rows.label_names, extracted.properties)
        beside = [*same, *([] if (stronger := by[place]) is None else [ordered[stronger][0]])]
        if cue.reason == "artefact" and lead.kind == CONVERSION and any(map(_is_range, beside)):
            cue = replace(cue, reason=None)  # these numbers may be common sizes instead of conversions
        elsewhere = measure_elsewhere(carried[place], lead.rule.label, lead.balanced, rows, extracted.units)
        cues.append(replace(cue, explained_by=by[place], elsewhere=elsewhere))
    return tuple(cues), np.column_stack(carried) if carried else np.zeros((len(rows), 0), dtype=bool)


def _is_range(one: Found) -> bool:
    return any(part.form == "number" for part in one.rule.parts)


def _cue(
    number: int,
    lead: Found,
    same: Sequence[Found],
    labels: np.ndarray,
    names: tuple[str, ...],
    properties: Properties,
) -> Cue:
    is_class, has = labels == lead.rule.label, lead.carriers
    infos = [info_of_part(part, properties) for part in lead.rule.parts]
    return Cue(
        number=number,
        name=lead.name,
        kind=lead.kind,
        reason=infos[0].reason if lead.is_artefact else None,
        label=names[lead.rule.label],
        rows=int(has.sum()),
        share_of_class=float(has[is_class].mean()),
        share_of_rest=float(has[~is_class].mean()),
        precision=float(is_class[has].mean()) if has.any() else 0.0,
        base_rate=float(is_class.mean()),
        balanced=lead.balanced,
        low=lead.low,
        high=lead.high,
        p_value=lead.p_value,
        tested_rows=lead.tested_rows,
        tested_precision=lead.precision,
        synonyms=_synonyms(lead, same),
        properties=_properties_of([lead], properties),
        same_properties=_properties_of([one for one in same if len(one.rule.parts) == 1], properties),
    )


def _properties_of(found: Sequence[Found], properties: Properties) -> tuple[CueProperty, ...]:
    infos = [info_of_part(part, properties) for one in found for part in one.rule.parts]
    return tuple(dict.fromkeys(CueProperty(info.kind, info.name, info.source) for info in infos))


def _synonyms(lead: Found, same: Sequence[Found]) -> tuple[str, ...]:
    """Return the names of properties, other than the cue's own, that nearly the same rows have. Negations are
    left out.
    """
    own = [one for one in same if one.rule.label == lead.rule.label and one.rule.key != lead.rule.key]
    own = [one for one in own if not is_value_of(one, lead)]  # the name of the cue lists these values
    if all(part.has for part in lead.rule.parts):
        own = [one for one in own if all(part.has for part in one.rule.parts)]
    return tuple(dict.fromkeys(one.name for one in own if one.name != lead.name))
