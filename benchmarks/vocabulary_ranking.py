"""What ranking by vocabulary costs: `python -m benchmarks.vocabulary_ranking`.

Pairs: those of SNLI's test and validation splits in AFLITE_EXAMPLE_DATA (19,655), over and over; in each copy the
words that one pair alone has are other words, so that the vocabulary grows with the rows. Measured: splitting 550,340
pairs into words, and the memory that this adds; counting and removing half of 20,000 to 320,000 rows at once, and the
slope of its seconds in log-log scale, of which 1 is linear; every iteration of a run from 550,000 rows down to 182,000
in slices of 10,000, all rows candidates; and the ranking's share of one warm iteration of the filter on the SNLI
features of AFLITE_EXAMPLE_DATA (17,700 x 384, 64 partitions, 10 % trained on). The ranking has one thread: its seconds
are the processor's. Compilation is left out: it happens once per machine.
"""

import os
import resource
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # before numpy: waiting threads must not burn the cores

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.algorithm import RowWords
from aflite_assets.algorithm.vocabulary import LowestUnits, count_vocabulary, remove_lowest
from aflite_assets.data.words import DistinctWords, distinct_words
from benchmarks.filtering import example, measure_ours

COPIES = 28
SIZES = (20_000, 40_000, 80_000, 160_000, 320_000)
FROM, TO, SLICE = 550_000, 182_000, 10_000


def pairs() -> pa.Table:
    """The pairs of SNLI's two small splits."""
    folder = Path(os.environ["AFLITE_EXAMPLE_DATA"]) / "snli"
    files = [folder / f"{split}.parquet" for split in ("test", "validation")]
    return pa.concat_tables([pq.read_table(file, columns=["premise", "hypothesis"]) for file in files])


def many_words(found: DistinctWords, copies: int) -> RowWords:
    """The words of so many copies of the rows; a word of one row alone is another in each."""
    words = int(found.numbers.max()) + 1
    alone = np.bincount(found.numbers, minlength=words)[found.numbers] == 1
    numbers = [np.where(alone, found.numbers + copy * words, found.numbers) for copy in range(copies)]
    lengths = np.tile(np.diff(found.offsets), copies)
    dense = np.unique(np.concatenate(numbers), return_inverse=True)[1]
    return RowWords(np.concatenate([[0], np.cumsum(lengths)]), dense.astype(np.int32))


def ranked(words: RowWords, pool: np.ndarray, allowed: int) -> LowestUnits:
    """One iteration's ranking, with every row of the pool a candidate."""
    rows = len(pool)
    ones, ties = np.ones(rows, dtype=np.int64), np.random.default_rng(0).permutation(rows)
    vocabulary = count_vocabulary(words, pool, np.arange(rows), rows)
    return remove_lowest(
        vocabulary, np.arange(rows), ties=ties, sizes=ones, counted=ones, allowed=allowed, room=allowed
    )


def seconds_of(words: RowWords, rows: int, allowed: int, *, times: int = 5) -> float:
    """The best of some times: what else the machine does only adds to it."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        ranked(words, np.arange(rows), allowed)
        taken.append(time.process_time() - started)
    return min(taken)


def splitting() -> DistinctWords:
    """Print what splitting the pairs into words takes; returns those of one copy."""
    small = pairs()
    columns = [pa.chunked_array(column.chunks * COPIES) for column in small.columns]
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    found = distinct_words(columns)
    seconds = time.perf_counter() - started
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    occurrences = len(found.numbers)
    print(f"words of {len(columns[0]):,} pairs: {seconds:.1f} s, {occurrences:,} occurrences, ", end="")
    kept = (found.numbers.nbytes + found.offsets.nbytes) / occurrences
    print(f"{kept:.1f} bytes kept for each, at most {more / occurrences:.1f} while they are made")
    return distinct_words(small.columns)


def main() -> None:
    """Print every measurement."""
    found = splitting()
    words = many_words(found, COPIES)
    ranked(words, np.arange(100), 50)  # compiles
    seconds = [seconds_of(words, rows, rows // 2) for rows in SIZES]
    for rows, taken in zip(SIZES, seconds, strict=True):
        print(f"half of {rows:,} rows: {1000 * taken:.1f} ms")
    print(f"slope of time over rows: {np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]:.2f}")
    pool, iterations, started = np.arange(FROM), 0, time.process_time()
    while len(pool) > TO:
        gone = ranked(words, pool, min(SLICE, len(pool) - TO)).units
        pool, iterations = np.delete(pool, gone), iterations + 1
    print(f"{FROM:,} to {TO:,} rows, {iterations} iterations: {time.process_time() - started:.1f} s")
    problem = example(0.10)
    rows, width = problem.features.shape
    own = seconds_of(many_words(found, 1), rows, rows // 50)
    iteration = measure_ours(problem).warm
    print(f"iteration of {rows:,} x {width}: {iteration:.2f} s, the ranking {1000 * own:.1f} ms: ", end="")
    print(f"{100 * own / (own + iteration):.2f} %")


if __name__ == "__main__":
    main()
