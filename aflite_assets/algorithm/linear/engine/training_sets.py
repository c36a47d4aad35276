"""Training sets of many classifiers: the training rows, and the rows that each classifier does not predict. The module
`partitions.py` draws the sets.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class TrainingSets:
    """Training sets of many classifiers. `slots` (int64) holds the ascending slots of all sets, one set after the
    other. Set j is `slots[bounds[j] : bounds[j + 1]]`.

    `codes`: the class number, from 0, of every slot (int64). `seen`: sets x classes, True if the set has rows of the
    class. `left_out`: for each set, further slots that the set's classifier does not predict, besides the training
    slots. `left_out` is empty if there are no further slots.
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
        """Create the object from one array of ascending slots per set."""
        seen = np.array([np.bincount(codes[slots], minlength=n_classes) > 0 for slots in sets])
        bounds = np.cumsum([0, *(len(slots) for slots in sets)])
        return cls(np.concatenate(sets).astype(np.int64), bounds, codes, seen, tuple(left_out))

    @classmethod
    def joined(cls, parts: Sequence["TrainingSets"]) -> "TrainingSets":
        """Join training sets with different classes of the slots. Each of `parts` gets its own copy of all slots: slot
        i becomes slot i + j n in part number j, where n is the number of slots. `left_out` is not joined.
        """
        n_slots = len(parts[0].codes)
        return cls(
            np.concatenate([part.slots + number * n_slots for number, part in enumerate(parts)]),
            np.append(0, np.cumsum(np.concatenate([part.sizes for part in parts]))),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.seen for part in parts]),
        )

    def __len__(self) -> int:
        """Return the number of sets."""
        return len(self.seen)

    def __getitem__(self, number: int) -> np.ndarray:
        """Return the slots of one set."""
        return self.slots[self.bounds[number] : self.bounds[number + 1]]

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows per set."""
        return np.diff(self.bounds)

    def part(self, start: int, stop: int) -> "TrainingSets":
        """Return the sets with numbers from `start` up to, but not including, `stop`."""
        first, last = self.bounds[start], self.bounds[stop]
        return TrainingSets(
            self.slots[first:last],
            self.bounds[start : stop + 1] - first,
            self.codes,
            self.seen[start:stop],
            self.left_out[start:stop],
        )

    def starts(self, edges: np.ndarray) -> np.ndarray:
        """Return an array, sets x edges: the position in `slots` of the set's first slot at or after each edge."""
        return np.stack([first + np.searchsorted(self[number], edges) for number, first in enumerate(self.bounds[:-1])])

    def unpredicted(self, number: int) -> tuple[np.ndarray, ...]:
        """Return, for each set, the ascending slots that its classifier does not predict: the training slots and the
        slots that are left out.
        """
        return (self[number], self.left_out[number]) if self.left_out else (self[number],)

    def unpredicted_bits(self, n_slots: int) -> np.ndarray:
        """Return a bit mask, slots x words, uint64. Bit j of word w is set if the classifier of set 64 w + j does not
        predict the slot.
        """
        bits = np.zeros((n_slots, -(-len(self) // 64)), dtype=np.uint64)
        for number in range(len(self)):
            for slots in self.unpredicted(number):
                bits[slots, number // 64] |= np.uint64(1 << (number % 64))
        return bits
