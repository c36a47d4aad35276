"""Which papers' tables stand beside a dataset's, by the names that a spec may have; no numbers."""

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.papers import aflite, forgettable_examples, small_sample
from aflite_assets.reports.papers.record import PublishedTable

PUBLISHED = {
    "snli": (
        aflite.SNLI_IN_DISTRIBUTION,
        aflite.SNLI_ZERO_SHOT,
        aflite.SNLI_FINE_TUNED,
        *small_sample.SNLI_SMALL_SAMPLE,
    ),
    "multi_nli": (aflite.MULTI_NLI, *forgettable_examples.MULTI_NLI_FORGETTABLES),
    "qqp": forgettable_examples.QQP_FORGETTABLES,
    "fever_nli": forgettable_examples.FEVER_FORGETTABLES,
    "qnli": (aflite.QNLI,),
    "imagenet": (aflite.IMAGENET, aflite.IMAGENET_TOP_5, aflite.IMAGENET_A),
}
"""The papers' tables by the names that a spec's `report.published` may have, those of one dataset by paper."""


def published_tables(name: str | None) -> tuple[PublishedTable, ...]:
    """The papers' tables of one dataset; none for None.

    Raises:
        InvalidInputError: the papers have no such dataset.
    """
    if name is None:
        return ()
    if name not in PUBLISHED:
        raise InvalidInputError(f"no published figures of {name!r}; there are those of {sorted(PUBLISHED)}")
    return PUBLISHED[name]
