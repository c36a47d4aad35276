"""State of a run of one dataset: its lock, the results of its steps, and the final record.

The executor opens a scope for the run and takes the dataset's lock before any step requests a slot of a pool. Taking
the lock first prevents a deadlock between a run that holds the lock and a run that holds the slot.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aflite_assets.errors import DatasetBusyError
from aflite_assets.results import ResultStore, StoredResult
from aflite_assets.results.refresh_records import Refresh
from aflite_assets.stages.child_process import StageWorker
from aflite_assets.stages.pipeline import STAGES, record_if_whole

_open: dict[str, "RunScope"] = {}


@dataclass
class RunScope:
    """A run of one dataset: the results of its finished steps, by stage, and the child process that runs stages."""

    run_id: str
    store: ResultStore
    partition: str
    obtained: dict[str, StoredResult] = field(default_factory=dict)
    worker: StageWorker = field(default_factory=StageWorker)

    @property
    def what(self) -> str:
        """Name of the run in the messages of processes that wait for the run to end."""
        return f"Dagster run {self.run_id}"

    def record(self, steps: Iterable[str]) -> Refresh | None:
        """Record the results as a refresh if all `steps` have results and all stages' results match each other.

        Raises:
            StoreError: the record cannot be written.
        """
        wanted = [step for step in steps if step in STAGES]
        if not wanted or any(step not in self.obtained for step in wanted):
            return None
        made = [name for name, stored in self.obtained.items() if not stored.cached]
        return record_if_whole(self.store, self.partition, made=made, what=self.what)


@contextmanager
def run_scope(scope: RunScope) -> Iterator[RunScope]:
    """Open the scope of a run for a `with` block; the scope's child process ends with the block.

    Steps of the run find the scope by the run's id.
    """
    _open[scope.run_id] = scope
    try:
        with scope.worker:
            yield scope
    finally:
        del _open[scope.run_id]


@contextmanager
def dataset_held(
    run_id: str, store: ResultStore, partition: str, *, log: Callable[[str], object]
) -> Iterator[RunScope]:
    """Hold the dataset's lock for one step, unless the run already holds it.

    Yield the scope of the run or, if the executor opened no scope, a scope for the step alone. If the executor opens no
    scope, runs of the same dataset may alternate step by step.
    """
    scope = _open.get(run_id)
    if scope is not None and scope.partition == partition:
        yield scope
        return
    what = f"a step of Dagster run {run_id}"
    lock = store.dataset_lock(partition, what=what, wait=0)
    try:
        lock.__enter__()
    except DatasetBusyError as error:
        log(f"Waiting: {error}")
        lock = store.dataset_lock(partition, what=what)
        lock.__enter__()
    try:
        alone = RunScope(run_id, store, partition)
        with alone.worker:
            yield alone
    finally:
        lock.__exit__(None, None, None)


__all__ = ["RunScope", "dataset_held", "run_scope"]
