"""Slots of Dagster's pool `gpu`; a step claims a slot only when it starts to compute a result on a GPU.

No asset declares the pool, because Dagster would claim a slot before the asset's step begins. If an asset declared the
pool, a step that only reuses a result would wait for a slot, even on a machine without a GPU. Later runs could also
overtake a queued run whose first steps all wait for a slot.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
from filelock import FileLock

from aflite_assets.assets.dagster_internals import InstanceConcurrencyContext, pop_captured_interrupt

GPU_POOL = "gpu"
"""Name of the pool; a step holds one of its slots while it uses a GPU."""

_CLAIMS = ".pool-claims.lock"
_LONGEST_NAP = 0.5
"""Largest number of seconds after which a waiting step checks again whether its run was cancelled."""


class PatientSlots(InstanceConcurrencyContext):
    """Claims of slots in Dagster's pools; a waiting claim sleeps between attempts and notices a cancelled run.

    While Dagster 1.13 itself waits for a slot, it asks again without a pause, which keeps a CPU core busy. Dagster
    notices a cancellation only after it gets the slot.
    """

    def claim(self, concurrency_key: str, step_key: str, step_priority: int = 0) -> bool:
        """Claim a slot under a lock of this machine; return True on success.

        The lock is needed because Dagster 1.13 reads and takes a free slot in two SQLite statements, between which
        another process could take the slot.
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
    """Hold a slot of the pool `gpu` during a `with` block; if all slots are taken, log one line and wait."""
    with PatientSlots(instance, run) as slots:
        waiting = False
        while not slots.claim(GPU_POOL, step):
            if not waiting:
                log(f"Waiting for a slot of the pool {GPU_POOL!r}, because other runs that use GPUs hold all slots")
            waiting = True
            time.sleep(slots.interval_to_next_pending_claim_check())
        try:
            yield
        finally:
            slots.free_step(step)


__all__ = ["GPU_POOL", "PatientSlots", "card_slot"]
