"""Weak models in the plan of a run: the number of training runs, and the expected sizes of forgettable sets.

The actual sizes of forgettable sets are known only after training.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from aflite_assets.errors import StoreError
from aflite_assets.results import ResultStore
from aflite_assets.specs.dataset import DatasetSpec
from aflite_assets.specs.models.kinds import NeuralModelSpec
from aflite_assets.specs.recipes import ForgettableRows, recipes_of, set_name

ASSUMED_SHARE = 0.2
"""Assumed share of `full` in a forgettable set. In the paper, the share is 12 to 31 % (Yaghoobzadeh et al. 2021, Table
1).
"""


@dataclass(frozen=True)
class PlannedWeakModel:
    """A weak model that a run would train to find forgettable rows.

    `evaluator`: the evaluator whose training runs are used, or None if the weak model is trained separately. `seeds`:
    number of seeds with which the weak model is trained. `set_rows`: maximum number of rows of each set of forgettable
    rows. `assumed`: whether `set_rows` is computed with `ASSUMED_SHARE`, because there is no earlier result. `alone`:
    whether evaluators are also trained on forgettable rows alone.
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
        """Number of rows of the forgettable set and of its random control."""
        return self.set_rows["forgettable"]

    @property
    def trainings(self) -> int:
        """Number of training runs of the weak model that are not training runs of an evaluator."""
        return 0 if self.evaluator is not None else self.seeds


def plan_weak_models(
    spec: DatasetSpec, full_rows: int, known: Mapping[str, Mapping[str, float]]
) -> dict[str, PlannedWeakModel]:
    """Return the planned weak models by name.

    `known`: for each weak model, the sizes of its sets of forgettable rows in an earlier result, as shares of `full`.
    """
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
    """Return the sizes of each weak model's sets of forgettable rows in the current result, as shares of `full`.

    If the dataset has no current result, the mapping is empty.
    """
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
    """Return the maximum number of rows in a set of forgettable rows."""
    return weak_models[chosen.weak_model].set_rows[chosen.set_name]
