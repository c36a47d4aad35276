"""Which papers' tables stand beside a dataset's, by the names that a spec may have; no numbers."""

from aflite_assets.errors import InvalidInputError
from aflite_assets.reports.papers.aflite import (
    IMAGENET,
    IMAGENET_A,
    IMAGENET_TOP_5,
    MULTI_NLI,
    QNLI,
    SNLI_FINE_TUNED,
    SNLI_IN_DISTRIBUTION,
    SNLI_ZERO_SHOT,
)
from aflite_assets.reports.papers.forgettable_examples import (
    FEVER_FORGETTABLES,
    MULTI_NLI_FORGETTABLES,
    QQP_FORGETTABLES,
)
from aflite_assets.reports.papers.record import PublishedTable
from aflite_assets.reports.papers.small_sample import SNLI_SMALL_SAMPLE

PUBLISHED = {
    "snli": (SNLI_IN_DISTRIBUTION, SNLI_ZERO_SHOT, SNLI_FINE_TUNED, *SNLI_SMALL_SAMPLE),
    "multi_nli": (MULTI_NLI, *MULTI_NLI_FORGETTABLES),
    "qqp": QQP_FORGETTABLES,
    "fever_nli": FEVER_FORGETTABLES,
    "qnli": (QNLI,),
    "imagenet": (IMAGENET, IMAGENET_TOP_5, IMAGENET_A),
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
