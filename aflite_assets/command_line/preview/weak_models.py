"""Weak models in a run's plan: how many trainings they are, and how many rows their sets have as far as that is known.

What is forgotten is known after the training alone. Nothing is trained here; seconds are in `estimate`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aflite_assets.errors import StoreError
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import NeuralModelSpec
from aflite_assets.specs.recipes import ForgettableRows, recipes_of, set_name

ASSUMED_SHARE = 0.2
"""Share of full that is taken; the paper's weak models take 12 to 31 % (Yaghoobzadeh et al. 2021, Table 1)."""


@dataclass(frozen=True)
class PlannedWeakModel:
    """A model that is forgotten with.

    `evaluator`: whose own training it is, which the grid has anyway; None of a model that is trained for this alone,
    once for each of `seeds`. `set_rows`: at most so many rows of `full` each set has; `assumed`: by `ASSUMED_SHARE`,
    since no result says otherwise. `alone`: whether evaluators are trained on the set itself.
    """

    name: str
    evaluator: str | None
    settings: NeuralModelSpec
    seeds: int
    set_rows: Mapping[str, int]
    assumed: bool
    alone: bool

    @property
    def taken(self) -> int:
        """Rows of the forgettable set, and of as many random ones."""
        return self.set_rows["forgettable"]

    @property
    def trainings(self) -> int:
        """Those that nothing else has."""
        return 0 if self.evaluator is not None else self.seeds


def plan_weak_models(
    spec: DatasetSpec, full_rows: int, known: Mapping[str, Mapping[str, float]]
) -> dict[str, PlannedWeakModel]:
    """By name; `known` are the shares of full of some sets, by weak model, as an earlier result has them."""
    planned, recipes = {}, recipes_of(spec.evaluators).values()
    for name, entry in spec.forgettables.items():
        shares = dict.fromkeys(("forgettable", "random", "never_learnt", "highest_loss"), ASSUMED_SHARE)
        shares |= known.get(name, {})
        shares |= {set_name("highest_loss", share): share for share in entry.highest_loss}
        for cut in (rows for recipe in recipes for rows in recipe.forgettable if rows.weak_model == name):
            if cut.as_many_as is not None:
                other = known.get(cut.as_many_as, {}).get("forgettable", ASSUMED_SHARE)
                shares[cut.set_name] = min(shares["forgettable"], other)
        planned[name] = PlannedWeakModel(
            name,
            entry.evaluator,
            entry.settings(spec.evaluators),
            len(entry.training_seeds(seed=spec.seed, seeds=spec.seeds)),
            {each: round(share * full_rows) for each, share in shares.items()},
            assumed=name not in known,
            alone=entry.alone,
        )
    return planned


def known_shares(spec: DatasetSpec, store: ResultStore) -> dict[str, dict[str, float]]:
    """Shares of full of the current result's sets, by weak model; none where there is no such result."""
    if not spec.forgettables:
        return {}
    try:
        models = store.current("forgettable_sets", spec.name).summary.get("models", {})
    except StoreError:
        return {}
    known = {}
    for name, facts in models.items():
        taken = facts["taken"] / facts["rows"]
        known[name] = dict.fromkeys(("forgettable", "random", "highest_loss"), taken)
        known[name]["never_learnt"] = facts["never_learnt"] / facts["rows"]
    return known


def rows_of(chosen: ForgettableRows, weak_models: Mapping[str, PlannedWeakModel]) -> int:
    """At most so many rows a stage trains on."""
    return weak_models[chosen.weak_model].set_rows[chosen.set_name]
