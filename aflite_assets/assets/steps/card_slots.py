"""Slots of Dagster's pool `gpu`, which a step claims only when it starts to compute a result on a GPU.

A pool that is declared with the asset is claimed before the step begins. In that case, steps with existing results
would wait too, even on machines without a GPU. Later runs would overtake a queued run whose first steps are all in a
full pool.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from filelock import FileLock

from aflite_assets.assets.dagster_internals import InstanceConcurrencyContext, pop_captured_interrupt

GPU_POOL = "gpu"
"""The pool of which a step holds one slot while it works on a card."""

_CLAIMS = ".pool-claims.lock"
_LONGEST_NAP = 0.5
"""Seconds after which a waiting step checks whether its run was cancelled."""


class PatientSlots(InstanceConcurrencyContext):
    """Dagster's claims of slots, with a wait that sleeps and notices a cancellation.

    Dagster 1.13's own wait polls without a pause, which keeps a core busy, and notices a cancellation only once it has
    the slot.
    """

    def claim(self, concurrency_key: str, step_key: str, step_priority: int = 0) -> bool:
        """Claim a slot while no other process of this machine claims a slot; return True on success.

        On SQLite, Dagster 1.13 reads and takes a free slot in two statements, so two processes could take the same
        slot.
        """
        with FileLock(Path(self._instance.root_directory) / _CLAIMS):
            return bool(super().claim(concurrency_key, step_key, step_priority))

    def interval_to_next_pending_claim_check(self) -> float:
        """Return the seconds to sleep before slots are requested again.

        Raises:
            DagsterExecutionInterruptedError: the run was cancelled while it waited.
        """
        if pop_captured_interrupt():
            raise dg.DagsterExecutionInterruptedError
        now = time.time()
        due = min((self._pending_timeouts.get(step, now) for step in self._pending_claims), default=now)
        return min(max(due - now, 0.01), _LONGEST_NAP)


@contextmanager
def card_slot(
    instance: dg.DagsterInstance, run: dg.DagsterRun, step: str, *, log: Callable[[str], object]
) -> Iterator[None]:
    """Hold a slot of the pool for the block; if all slots are taken, log this once and wait."""
    with PatientSlots(instance, run) as slots:
        waiting = False
        while not slots.claim(GPU_POOL, step):
            if not waiting:
                log(f"Waiting for a slot of the pool {GPU_POOL!r}; the other runs that hold one are using a card")
            waiting = True
            time.sleep(slots.interval_to_next_pending_claim_check())
        try:
            yield
        finally:
            slots.free_step(step)


__all__ = ["GPU_POOL", "PatientSlots", "card_slot"]
