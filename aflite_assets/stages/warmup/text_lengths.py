"""Token counts of texts by a model's tokenizer, without truncation."""

from collections.abc import Mapping

import numpy as np

from aflite_assets.data.examples import Examples
from aflite_assets.data.rows import rows_at
from aflite_assets.specs.models.settings import TextModelSpec

MOST_ROWS = 20_000


def measure_text_lengths(
    models: Mapping[str, TextModelSpec], examples: Examples, *, seed: int, most_rows: int = MOST_ROWS
) -> dict[str, dict[str, float]]:
    """Return the token counts, including special tokens, for each model, compared with the model's `max_length`.

    `rows`: number of counted rows. `over` and `share`: the number and the share of rows that have more than
    `max_length` tokens. The longest row has `longest` tokens, and 99 % of the rows have at most `fits_99` tokens.
    Models with the same tokenizer share one count.

    If there are more than `most_rows` rows, a random sample of `most_rows` rows is measured, drawn with `seed`. Before
    this function is called, `check_model` must have accepted every model.
    """
    rows = np.arange(len(examples))
    if len(rows) > most_rows:
        rows = np.sort(np.random.default_rng([seed, 1]).choice(rows, most_rows, replace=False))
    some = Examples(rows_at(examples.table, rows), examples.label_names)
    counted: dict[tuple[object, ...], np.ndarray] = {}
    lengths = {}
    for name, settings in models.items():
        key = (settings.checkpoint, settings.revision, settings.inputs)
        if key not in counted:
            counted[key] = token_counts(settings, some)
        lengths[name] = _against(counted[key], settings.max_length)
    return lengths


def token_counts(settings: TextModelSpec, examples: Examples) -> np.ndarray:
    """Return the number of tokens per row (int64), by the model's tokenizer on the columns that the model reads.

    Texts are not truncated. Before this function is called, `check_model` must have accepted the model.
    """
    from aflite_assets.models.global_state import quiet_libraries
    from aflite_assets.models.text.inputs import TOKENIZED_AT_ONCE, text_columns
    from aflite_assets.models.text.pretrained import load_tokenizer

    with quiet_libraries():
        tokenizer = load_tokenizer(settings.checkpoint, revision=settings.revision)
    columns = [examples.texts(column) for column in text_columns(examples, settings.inputs)]
    counts: list[int] = []
    for start in range(0, len(examples), TOKENIZED_AT_ONCE):
        texts = [column[start : start + TOKENIZED_AT_ONCE] for column in columns]
        # `verbose=False` suppresses the tokenizer's warning about long texts, because their lengths are measured here.
        encoded = tokenizer(*texts, truncation=False, return_attention_mask=False, verbose=False)
        counts += [len(row) for row in encoded["input_ids"]]
    return np.array(counts, np.int64)


def _against(counts: np.ndarray, max_length: int) -> dict[str, float]:
    over = int((counts > max_length).sum())
    longest, fits = int(counts.max()), int(np.quantile(counts, 0.99, method="inverted_cdf"))
    known = {"rows": len(counts), "max_length": max_length, "over": over, "share": over / len(counts)}
    return {**known, "longest": longest, "fits_99": fits}
