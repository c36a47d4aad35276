"""Measure what ranking by vocabulary costs: `python -m benchmarks.vocabulary_ranking`.

Pairs: those of SNLI's test and validation splits in AFLITE_EXAMPLE_DATA (19,655), then again with other hypotheses
drawn to the premises, 28 times in all; the words that one pair alone of these has are other words each time, so that
the vocabulary grows with the rows. Measured: splitting 550,340 pairs into words, and the memory that this adds;
counting and removing 2 % of 20,000 to 320,000 rows, as an iteration does, or half of them at once, and the slopes of
the seconds in log-log scale, of which 1 is linear; every iteration of a run from 550,000 rows down to 182,000 in slices
of 10,000, all rows candidates; and the ranking's share of one warm iteration of the filter on the SNLI features of
AFLITE_EXAMPLE_DATA (17,700 x 384, 64 partitions, 10 % trained on). The ranking has one thread: its seconds are the
processor's. Compilation is left out: it happens once per machine.
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
    """Premises and hypotheses of SNLI's two small splits, then the same ones in other pairs."""
    folder = Path(os.environ["AFLITE_EXAMPLE_DATA"]) / "snli"
    files = [folder / f"{split}.parquet" for split in ("test", "validation")]
    once = pa.concat_tables([pq.read_table(file, columns=["premise", "hypothesis"]) for file in files])
    rng = np.random.default_rng(0)
    orders = [np.arange(once.num_rows), *(rng.permutation(once.num_rows) for _ in range(COPIES - 1))]
    hypotheses = [chunk for order in orders for chunk in once["hypothesis"].take(order).chunks]
    return pa.table(
        {"premise": pa.chunked_array(once["premise"].chunks * COPIES), "hypothesis": pa.chunked_array(hypotheses)}
    )


def with_rare_words(found: DistinctWords) -> RowWords:
    """Return the words of the rows; one that a single row of a copy has is another word in each copy."""
    words, copy = int(found.numbers.max()) + 1, (len(found.offsets) - 1) // COPIES
    numbers = found.numbers.astype(np.int64)
    for number in range(COPIES):
        inside = numbers[found.offsets[number * copy] : found.offsets[(number + 1) * copy]]
        inside += number * words * (np.bincount(inside, minlength=words)[inside] == 1)
    return RowWords(found.offsets, np.unique(numbers, return_inverse=True)[1].astype(np.int32))


def ranked(words: RowWords, pool: np.ndarray, allowed: int) -> LowestUnits:
    """One iteration's ranking, with every row of the pool a candidate."""
    rows = len(pool)
    ones, ties = np.ones(rows, dtype=np.int64), np.random.default_rng(0).permutation(rows)
    vocabulary = count_vocabulary(words, pool, np.arange(rows), rows)
    return remove_lowest(
        vocabulary, np.arange(rows), ties=ties, sizes=ones, counted=ones, allowed=allowed, room=allowed
    )


def seconds_of(words: RowWords, rows: int, allowed: int, *, times: int = 5) -> float:
    """Return the best of some times: what else the machine does only adds to it."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        ranked(words, np.arange(rows), allowed)
        taken.append(time.process_time() - started)
    return min(taken)


def splitting() -> DistinctWords:
    """Return the words of the pairs; prints what splitting them takes."""
    texts = pairs()
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    found = distinct_words(texts.columns)
    seconds = time.perf_counter() - started
    more = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    occurrences = len(found.numbers)
    print(f"words of {texts.num_rows:,} pairs: {seconds:.1f} s, {occurrences:,} occurrences, ", end="")
    kept = (found.numbers.nbytes + found.offsets.nbytes) / occurrences
    print(f"{kept:.1f} bytes kept for each, at most {more / occurrences:.1f} while they are made")
    return found


def growth(words: RowWords, name: str, share: float) -> None:
    """Print the seconds of removing a share of the rows, and their slope."""
    seconds = [seconds_of(words, rows, int(share * rows)) for rows in SIZES]
    told = ", ".join(f"{rows:,}: {1000 * taken:.1f} ms" for rows, taken in zip(SIZES, seconds, strict=True))
    print(f"{name} of {told}; slope {np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]:.2f}")


def main() -> None:
    """Print every measurement."""
    words = with_rare_words(splitting())
    ranked(words, np.arange(100), 50)  # compiles
    growth(words, "2 %", 0.02)
    growth(words, "half", 0.5)
    pool, iterations, started = np.arange(FROM), 0, time.process_time()
    while len(pool) > TO:
        gone = ranked(words, pool, min(SLICE, len(pool) - TO)).units
        pool, iterations = np.delete(pool, gone), iterations + 1
    print(f"{FROM:,} to {TO:,} rows, {iterations} iterations: {time.process_time() - started:.1f} s")
    problem = example(0.10)
    rows, width = problem.features.shape
    own = seconds_of(words, rows, rows // 50)
    iteration = measure_ours(problem).warm
    print(f"iteration of {rows:,} x {width}: {iteration:.2f} s, the ranking {1000 * own:.1f} ms: ", end="")
    print(f"{100 * own / (own + iteration):.2f} %")


if __name__ == "__main__":
    main()
