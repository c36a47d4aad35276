"""How many rows a second the quality terms take: `python -m benchmarks.quality_terms FILE.parquet [copies ...]`.

FILE has the columns premise, hypothesis and label (from 0), as SNLI's rows do. It is taken once, 10 and 28 times unless
told otherwise; in every copy each tenth row has a word that no other copy has, so that the vocabulary grows. Timed are
the numbering of words, bigrams, trigrams and sentences (one pass over the texts), and the whole: that, the terms of all
rows, of a random third as the kept ones, and of ten random sets of their number. Times are of a processor; a minute or
two on one core.
"""

import resource
import sys
from time import process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from aflite_assets.data.examples import Examples
from aflite_assets.studies.sample.diagnostics.quality_terms.compared import quality_terms
from aflite_assets.studies.sample.diagnostics.quality_terms.items import text_items

COPIES = (1, 10, 28)
EVERY, KEPT, SEED = 10, 1 / 3, 0


def main(file: str, copies: tuple[int, ...] = COPIES) -> None:
    """Time each number of copies and print a line for it."""
    source = pq.read_table(file, columns=["premise", "hypothesis", "label"])
    print(
        "| rows | words | distinct | numbered, rows/s | with all terms, rows/s | processor seconds | peak memory, MB |"
    )
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for times in copies:
        print(_line(_rows(source, times)))


def _rows(source: pa.Table, times: int) -> Examples:
    premises = source["premise"].to_pylist()
    texts = [
        text if row % EVERY else f"{text} copy{copy}of{row}"
        for copy in range(times)
        for row, text in enumerate(premises)
    ]
    table = pa.table(
        {
            "row_id": np.arange(len(texts)),
            "label": pa.concat_tables([source.select(["label"])] * times)["label"].cast(pa.int64()),
            "text": texts,
            "text_pair": pa.concat_tables([source.select(["hypothesis"])] * times)["hypothesis"],
        }
    )
    classes = 1 + int(np.max(table["label"].to_numpy()))
    return Examples(table, tuple(f"class {label}" for label in range(classes)))


def _line(examples: Examples) -> str:
    rows = len(examples)
    started = process_time()
    items = text_items([examples.table["text"], examples.table["text_pair"]])
    numbered = process_time() - started
    kept = np.random.default_rng(SEED).choice(rows, int(KEPT * rows), replace=False)
    started = process_time()
    quality_terms(examples, kept, seed=SEED)
    whole = process_time() - started
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"| {rows:,} | {len(items.words.numbers):,} | {items.words.distinct:,} | {rows / numbered:,.0f} "
        f"| {rows / whole:,.0f} | {whole:.1f} | {memory:,.0f} |"
    )


if __name__ == "__main__":
    main(sys.argv[1], tuple(map(int, sys.argv[2:])) or COPIES)
