"""The rows that each of many classifiers is trained on or leaves out, as the passes need them. Drawing is elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TrainingSets:
    """`slots`: ascending slots of each set, one set after the other (int64); set j is slots[bounds[j]:bounds[j + 1]].

    `codes`: the class number, from 0, of every slot (int64). `seen`: sets x classes, which classes a set has.
    `left_out`: slots that a set's classifier does not predict beside those it is trained on; empty for none anywhere.
    """

    slots: np.ndarray
    bounds: np.ndarray
    codes: np.ndarray
    seen: np.ndarray
    left_out: tuple[np.ndarray, ...] = ()

    @classmethod
    def of(
        cls, sets: Sequence[np.ndarray], codes: np.ndarray, *, n_classes: int, left_out: Sequence[np.ndarray] = ()
    ) -> "TrainingSets":
        """From one array of ascending slots per set."""
        seen = np.array([np.bincount(codes[slots], minlength=n_classes) > 0 for slots in sets])
        bounds = np.cumsum([0, *(len(slots) for slots in sets)])
        return cls(np.concatenate(sets).astype(np.int64), bounds, codes, seen, tuple(left_out))

    def __len__(self) -> int:
        """Return the number of sets."""
        return len(self.seen)

    def __getitem__(self, number: int) -> np.ndarray:
        """Return the slots of one set."""
        return self.slots[self.bounds[number] : self.bounds[number + 1]]

    @property
    def sizes(self) -> np.ndarray:
        """Rows per set."""
        return np.diff(self.bounds)

    def part(self, start: int, stop: int) -> "TrainingSets":
        """Return the sets `start` to `stop`."""
        first, last = self.bounds[start], self.bounds[stop]
        return TrainingSets(
            self.slots[first:last],
            self.bounds[start : stop + 1] - first,
            self.codes,
            self.seen[start:stop],
            self.left_out[start:stop],
        )

    def starts(self, edges: np.ndarray) -> np.ndarray:
        """Where in `slots` each set passes each edge: sets x edges."""
        return np.stack([first + np.searchsorted(self[number], edges) for number, first in enumerate(self.bounds[:-1])])

    def unpredicted(self, number: int) -> tuple[np.ndarray, ...]:
        """Arrays of ascending slots that one set's classifier does not predict: its own, and those left out."""
        return (self[number], self.left_out[number]) if self.left_out else (self[number],)

    def unpredicted_bits(self, n_slots: int) -> np.ndarray:
        """Slots x words, uint64: bit j of word w says whether set 64 w + j's classifier does not predict a slot."""
        bits = np.zeros((n_slots, -(-len(self) // 64)), dtype=np.uint64)
        for number in range(len(self)):
            for slots in self.unpredicted(number):
                bits[slots, number // 64] |= np.uint64(1 << (number % 64))
        return bits
