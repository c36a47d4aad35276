"""Which cells are one row of a table, and which train set and test set comparisons are about. No scores."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from aflite_assets.analysis.inputs.records import BenchmarkData, Cell, TestSet
from aflite_assets.analysis.train_sets import control_of, in_order


def train_sets_of(data: BenchmarkData, representation: str) -> tuple[str, ...]:
    """Return the train sets that tables of one filtering show, in their order."""
    own = (cell.train_set for cell in data.cells if cell.representation in (None, representation))
    return in_order(["full", "random", "filtered", *own])


def cells_of(data: BenchmarkData, evaluator: str, train_set: str, representation: str | None) -> list[Cell]:
    """Return the cells of one evaluator and train set, that of a filtering or full, over the seeds."""
    cells = (cell for cell in data.cells if (cell.evaluator, cell.train_set) == (evaluator, train_set))
    return [cell for cell in cells if cell.representation in (None, representation)]


def cell_groups(data: BenchmarkData, representation: str) -> Iterator[tuple[str, str, list[Cell]]]:
    """Yield evaluator, train set and its cells over the seeds, by evaluator and then in the train sets' order."""
    for evaluator, train_set in product(data.evaluators, train_sets_of(data, representation)):
        yield evaluator, train_set, cells_of(data, evaluator, train_set, representation)


def control(data: BenchmarkData, representation: str) -> str:
    """Return the train set that filtered is judged against: random_matched if there is a cell of it, else random."""
    return control_of("filtered", {cell.train_set for cell in data.cells if cell.representation == representation})


def headline_split(names: list[str]) -> str | None:
    """Return the natural test set that sentences are about: test, else validation, else the first of `names`."""
    return next((name for name in ("test", "validation", *names) if name in names), None)


def headline_set(test_sets: Iterable[TestSet]) -> TestSet | None:
    """Return the natural test set that sentences are about, or None if there is none."""
    natural = {one.name: one for one in test_sets if not one.challenge}
    name = headline_split(list(natural))
    return None if name is None else natural[name]


def train_rows(cells: Sequence[Cell]) -> tuple[int, ...]:
    """Return each distinct number of train rows over finished seeds, ascending."""
    return tuple(sorted({cell.train_rows for cell in cells if cell.status == "done"}))
