"""How often the verdict is false on kinds of data without a shortcut, and right on kinds with one.

    python -m benchmarks.verdict_rates [--draws 200] [--seed 0] [--processes 1] [--kind NAME ...] [--truth null]
                                       [--seconds S] [--output rates.json]

The kinds, what each must give and what would be false stand in `benchmarks.verdict_kinds`, which was frozen before the
rules were tuned. Every draw is filtered (AFLite with logistic regression; at random if its kind asks for that), scores
permuted labels, and trains two evaluators of another make than the filter, an RBF machine and nearest neighbours, on
all rows, on the filtered rows and on three random sets of the same class sizes. They are tested on rows outside the
pool and on the challenge sets, as these are declared. Properties that go with the label are candidates of leaning, as
in a report: the RBF machine is trained on rows without the tie, and on as many others. The code that a report runs
gives the verdict. Printed per kind: the share of false codes with its 95 % upper bound (Clopper and
Pearson), the share of right ones, and how often each code was given. With `--output` more draws are added later.
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.stats import beta
from threadpoolctl import threadpool_limits

from aflite_assets.algorithm import FilterSettings, FilterState, filter_dataset, score_permuted
from aflite_assets.analysis.comparisons.falls import fall_interval
from aflite_assets.analysis.comparisons.natural_contrast import stratum_weights
from aflite_assets.analysis.intervals import (
    CrossedInterval,
    contrast_interval,
    crossed_interval,
    label_mean_interval,
)
from aflite_assets.analysis.rules.bias_excess import BiasExcess, bias_excess
from aflite_assets.analysis.rules.dataset_verdict import Comparison, Skill, VerdictEvidence, dataset_verdict
from aflite_assets.analysis.rules.leaning import (
    FEWEST_CARRIERS,
    LEAST_NAMED,
    BrokenTie,
    Leaning,
    Pointed,
    PropertyLeaning,
    broken_tie,
    constructed_loss,
    leaning,
    property_skill,
)
from aflite_assets.analysis.rules.verdicts import FEWEST_ROWS, Claim, judge
from aflite_assets.diagnostics.bins import bin_edges
from aflite_assets.diagnostics.properties.ties import independent_rows, learn_tie, pointed, random_rows
from aflite_assets.diagnostics.properties.values import Property, Reason
from aflite_assets.p_values import holm
from aflite_assets.stages.evaluation.leaning_sets import TRAININGS, TiedProperty, strongest_ties
from benchmarks.verdict_kinds import KINDS
from benchmarks.verdict_kinds.records import FOUND, HELPS, Challenge, Draw, Kind, Rows
from benchmarks.verdict_models import MAKES, Distances, Logistic, Machine, Model

SEEDS, PARTITIONS, PASSES = 3, 16, 20


def verdict_code(kind: Kind, seed: int) -> str:
    """Return the code of one draw of a kind."""
    rng = np.random.default_rng([seed, *kind.name.encode()])
    draw = kind.draw(rng)
    kept, excess = _filter(kind, draw.train, seed, rng)
    distances = Distances(draw.train)
    models = [Model(make, distances, np.ones(len(draw.train), bool)) for make in MAKES]
    comparisons = _comparisons(draw, kept, models, distances, rng)
    comparisons.sort(key=lambda one: 1.0 if one.verdict.adjusted_p is None else one.verdict.adjusted_p)
    found = _candidates(draw)
    leanings = _leanings(found, draw, models, distances, rng)
    evidence = VerdictEvidence(excess, tuple(comparisons), leanings, _skill(found, draw, models))
    return dataset_verdict(evidence).code


def _filter(kind: Kind, train: Rows, seed: int, rng: np.random.Generator) -> tuple[np.ndarray, BiasExcess]:
    rows = len(train)
    target = round(rows * kind.filter_to)
    settings = FilterSettings(target_size=target, train_size=rows // 10, slice_size=rows // 10, n_partitions=PARTITIONS)
    data: dict[str, Any] = {"settings": settings, "seed": seed, "groups": train.groups}
    first: list[FilterState] = []
    result = filter_dataset(
        train.features,
        train.labels,
        on_iteration=lambda _, state: first.append(state) if not first else None,
        **data,
    )
    chance = score_permuted(train.features, train.labels, passes=PASSES, **data)
    kept = np.zeros(rows, dtype=bool)
    kept[rng.choice(rows, target, replace=False) if kind.random_filter else result.kept_rows] = True
    probability = first[0].label_probability
    excess = bias_excess(first[0].predictability, train.labels, chance, train.groups, label_probability=probability)
    return kept, excess


def _comparisons(
    draw: Draw, kept: np.ndarray, models: Sequence[Model], distances: Distances, rng: np.random.Generator
) -> list[Comparison]:
    train = draw.train
    drawn = [random_rows(train.labels, kept, rng) for _ in range(SEEDS)]
    named, claims = [], []
    # of the filter's make: it may not judge
    alike = Model(Logistic, distances, np.ones(len(train), bool))
    for make, full in zip(MAKES, models, strict=True):
        if not _learnt(full, draw.test):
            continue
        filtered, *matched = (Model(make, distances, chosen) for chosen in (kept, *drawn))
        for name, challenge in draw.challenges.items():
            if challenge.collected != "adversarially":
                claims.append(_claim(challenge, draw.test, (full, alike), [filtered] * SEEDS, matched))
                named.append((full.name, name, len(challenge.rows)))
    verdicts = judge(claims, smallest_effect=1.0)
    found = []
    for (evaluator, name, rows), claim, verdict in zip(named, claims, verdicts, strict=True):
        estimate = claim.estimate
        assert estimate is not None
        numbers = (estimate.difference, estimate.low, estimate.high, verdict, rows, estimate.effective_groups, SEEDS)
        constructed = draw.challenges[name].collected == "constructed"
        found.append(Comparison(evaluator, name, *numbers, constructed=constructed))
    return found


def _claim(
    challenge: Challenge, natural: Rows, models: Sequence[Model], first: Sequence[Model], second: Sequence[Model]
) -> Claim:
    rows = challenge.rows
    weights = np.ones(len(rows)), np.ones(len(natural))
    stratifying: list[tuple[np.ndarray, np.ndarray] | None] = [weights]
    if challenge.collected is None:
        stratifying = [
            stratum_weights(rows.labels, _margins(one, rows), natural.labels, _margins(one, natural)) for one in models
        ]
    sides = [[_right(models, one) for one in (rows, natural)] for models in (first, second)]
    contrasts = []
    for each in stratifying:
        if each is not None:
            weighed = [[[right * w for right in one] for one, w in zip(side, each, strict=True)] for side in sides]
            contrasts.append(contrast_interval(weighed[0], weighed[1], (rows.groups, natural.groups)))
    contrast = min(contrasts, key=lambda one: one.low) if len(contrasts) == len(stratifying) else None
    trained = sides[0][0], sides[1][0]
    by_label = label_mean_interval(*trained, rows.labels, rows.groups, fewest=FEWEST_ROWS)
    interval = crossed_interval(*trained, rows.groups)
    needed = challenge.collected is None
    return Claim(interval, len(rows), "deciding", None, by_label, contrast, needs_contrast=needed)


def _right(models: Sequence[Model], rows: Rows) -> list[np.ndarray]:
    return [one.predict(rows) == rows.labels for one in models]


def _learnt(model: Model, rows: Rows) -> bool:
    """Whether the model surely beats the largest class, as an evaluator must that judges."""
    always = [rows.labels == np.bincount(rows.labels).argmax()]
    return crossed_interval(_right([model], rows), always, rows.groups).low > 0


def _margins(model: Model, rows: Rows) -> np.ndarray:
    """Score of the own class less the highest other one."""
    scores = model.fitted.scores(rows)
    scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else scores
    place = np.searchsorted(model.fitted.classes_, rows.labels)
    others = scores.astype(np.float64)
    own = others[np.arange(len(rows)), place]
    others[np.arange(len(rows)), place] = -np.inf
    return np.asarray(own - others.max(axis=1))


def _candidates(draw: Draw) -> tuple[TiedProperty, ...]:
    """Properties that surely go with the label, chosen as the stage of `leaning_sets` does."""
    tied = []
    for one in draw.train.properties:
        declared, artefact = one.name in draw.irrelevant, one.name in draw.artefacts
        reason: Reason | None = "declared" if declared else "artefact" if artefact else None
        edges = bin_edges(one.values) if one.values.dtype.kind == "f" else None

        def read(rows: Any, of_set: str, name: str = one.name) -> np.ndarray:
            return np.asarray(rows.values(name))

        known = Property("attribute", one.name, read, reason, edges=edges)
        values = _values(known, draw.train)
        tied.append((known, values, learn_tie(values, draw.train.labels, draw.train.groups)))
    return strongest_ties(tied)


def _values(one: Property, rows: Any) -> np.ndarray:
    """Values of rows that are no `Examples`."""
    values = one.values(rows)
    assert values is not None  # all rows of a draw have the same properties
    return values


def _pointed(one: TiedProperty, rows: Rows) -> Pointed:
    return rows.labels, pointed(_values(one.of, rows), one.tie), rows.groups


def _leanings(
    found: Sequence[TiedProperty],
    draw: Draw,
    models: Sequence[Model],
    distances: Distances,
    rng: np.random.Generator,
) -> tuple[PropertyLeaning, ...]:
    tests = [_leaning(one, draw, distances, rng) for one in found]
    broken = [_broken(one, draw, models[0]) for one in found]
    judges = [one for one in models if _learnt(one, draw.test)]
    p_values = [
        _combined(test.p_value, _on_constructed(one, draw, judges) if one.of.reason else [])
        for one, test in zip(found, tests, strict=True)
    ]
    adjusted = iter(holm([p for p in p_values if p is not None]))
    broken_p = iter(holm([each.p_value for ties in broken for each in ties]))
    leanings = []
    for one, test, ties, p_value in zip(found, tests, broken, p_values, strict=True):
        adjusted_p = None if p_value is None else next(adjusted)
        misleads = [tie.test_set for tie in ties if next(broken_p) <= 0.05]
        shown = PropertyLeaning(
            "attribute", one.of.name, "", (), (), one.of.reason, one.tie.overlap, "SVC", test.carriers, p_value=p_value,
            adjusted_p=adjusted_p, broken_on=next(iter(misleads), None),
        )  # fmt: skip
        leanings.append(shown)
    return tuple(sorted(leanings, key=lambda one: (not one.shortcut, not one.leans)))


def _combined(trained: float | None, made: Sequence[float]) -> float | None:
    """p-value of leaning by training, or on a constructed challenge set that breaks the tie of what is declared."""
    found = [*made, *([] if trained is None else [trained])]
    return min(1.0, len(found) * min(found)) if found else None


def _on_constructed(one: TiedProperty, draw: Draw, judges: Sequence[Model]) -> list[float]:
    natural, found = _pointed(one, draw.test), []
    for challenge in draw.challenges.values():
        rows = challenge.rows
        for model in judges if challenge.collected == "constructed" and len(rows) >= FEWEST_ROWS else ():
            fall, right = _fall(model, draw.test, rows), _right([model], rows)
            lost = constructed_loss(natural, _pointed(one, rows), right, (fall.difference, fall.p_value))
            found += [] if lost is None else [lost.p_value]
    return found


def _fall(model: Model, natural: Rows, rows: Rows) -> CrossedInterval:
    here, there = ((_right([model], one), one.labels, one.groups) for one in (natural, rows))
    return fall_interval(here, there)


def _leaning(one: TiedProperty, draw: Draw, distances: Distances, rng: np.random.Generator) -> Leaning:
    train = draw.train
    models: dict[str, list[Model]] = {"tied": [], "independent": []}
    for _ in range(TRAININGS):
        independent = independent_rows(one.values, train.labels, one.tie, rng)
        tied = random_rows(train.labels, independent, rng)
        for name, rows in (("independent", independent), ("tied", tied)):
            models[name].append(Model(Machine, distances, rows))
    found = Leaning(0)
    others = [each.rows for each in draw.challenges.values() if each.collected != "adversarially" and len(each.rows)]
    for tests in ([draw.test], [draw.test, *others]):
        if found.carriers < FEWEST_CARRIERS:
            tied_says, independent_says = (
                [np.concatenate([each.predict(rows) for rows in tests]) for each in models[name]] for name in models
            )
            labels = np.concatenate([each.labels for each in tests])
            points = np.concatenate([_pointed(one, each)[1] for each in tests])
            groups = draw.test.groups if len(tests) == 1 else None
            found = leaning(tied_says, independent_says, labels, points, groups)
    return found


def _broken(one: TiedProperty, draw: Draw, full: Model) -> list[BrokenTie]:
    natural, found = _pointed(one, draw.test), []
    for name, challenge in draw.challenges.items():
        rows = challenge.rows
        if challenge.collected != "adversarially" and len(rows):
            found.append(broken_tie(name, natural, _pointed(one, rows), _right([full], rows)))
    return [each for each in found if each is not None]


def _skill(candidates: Sequence[TiedProperty], draw: Draw, models: Sequence[Model]) -> Skill | None:
    test, classes = draw.test, int(draw.train.labels.max()) + 1
    by_chance = 100 * (1 - 1 / classes)
    found, falls = [], []
    for model in models:
        if not _learnt(model, test):
            continue
        over = label_mean_interval(_right([model], test), [np.full(len(test), 1 / classes)], test.labels, test.groups)
        found.append((over.difference / by_chance, over.low / by_chance, model.name))
        for challenge in draw.challenges.values():
            if challenge.collected != "adversarially" and len(challenge.rows) >= FEWEST_ROWS:
                falls.append(_fall(model, test, challenge.rows))
    if not found:
        return None
    alone = [property_skill(_pointed(one, test)[1], test.labels, classes) for one in candidates]
    holds = None if not falls else not any(one.difference >= LEAST_NAMED and one.low > 0 for one in falls)
    skill, low, name = max(found)
    return Skill(name, skill, low, max(alone, default=0.0), holds)


def _code(work: tuple[str, int]) -> tuple[str, int, str]:
    name, draw = work
    kind = next(one for one in KINDS if one.name == name)
    with threadpool_limits(limits=1):
        return name, draw, verdict_code(kind, draw)


def upper_bound(events: int, draws: int) -> float:
    """Return the upper end of the two-sided 95 % interval of a rate in [0, 1] (Clopper and Pearson 1934)."""
    return 1.0 if events == draws else float(beta.ppf(0.975, events + 1, draws - events))


def _line(kind: Kind, codes: Counter[str]) -> str:
    draws = codes.total()
    false = sum(number for code, number in codes.items() if code in kind.refused & (FOUND | HELPS))
    right = sum(number for code, number in codes.items() if code in kind.expected)
    listed = ", ".join(f"{code} {number}" for code, number in codes.most_common())
    false_text = f"false {false / draws:6.1%} (at most {upper_bound(false, draws):.1%})"
    return f"{kind.name:58s} {kind.truth:8s} {draws:4d} draws  {false_text}  right {right / draws:6.1%}  ({listed})"


def _draw_all(work: Sequence[tuple[str, int]], *, processes: int, seconds: float) -> Iterator[tuple[str, int, str]]:
    """Yield kind, draw and code as they are made, until `seconds` are over; draws begun by then are finished."""
    started, left = perf_counter(), iter(work)
    with ProcessPoolExecutor(processes) as pool:
        running = {pool.submit(_code, one) for one in islice(left, processes)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for one in done:
                yield one.result()
            if perf_counter() - started < seconds:
                running |= {pool.submit(_code, one) for one in islice(left, len(done))}


def _store(path: Path, codes: Mapping[str, Mapping[str, str]]) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(codes, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def main() -> int:
    """Print a line per kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first draw")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no draw afterwards")
    parser.add_argument("--kind", nargs="+", help="only the kinds whose name begins with one of these")
    parser.add_argument("--truth", choices=sorted({one.truth for one in KINDS}), help="only kinds of this truth")
    parser.add_argument("--output", type=Path, help="codes of draws; those that are there are not made again")
    given = parser.parse_args()
    chosen = [
        one
        for one in KINDS
        if given.truth in (None, one.truth) and (not given.kind or one.name.startswith(tuple(given.kind)))
    ]
    codes: dict[str, dict[str, str]] = {}
    if given.output and given.output.is_file():
        codes = json.loads(given.output.read_text("utf-8"))
    # draw by draw over all kinds, so that a run that ends early has as many of each
    draws = range(given.seed, given.seed + given.draws)
    work = [(one.name, draw) for draw in draws for one in chosen if str(draw) not in codes.get(one.name, {})]
    stored = perf_counter()
    for name, draw, code in _draw_all(work, processes=given.processes, seconds=given.seconds):
        codes.setdefault(name, {})[str(draw)] = code
        if given.output is not None and perf_counter() - stored > 10:
            _store(given.output, codes)
            stored = perf_counter()
    if given.output is not None:
        _store(given.output, codes)
    for kind in chosen:
        if codes.get(kind.name):
            sys.stdout.write(f"{_line(kind, Counter(codes[kind.name].values()))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
