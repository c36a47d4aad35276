"""The tables that compare train sets, as Markdown: in-distribution, top-5, zero-shot, paired, and the papers' own."""

from collections.abc import Sequence

from aflite_assets.reports.groups import Compared
from aflite_assets.reports.in_distribution import InDistributionTable
from aflite_assets.reports.markdown import escape_markdown, markdown_table, score_markdown
from aflite_assets.reports.paired import PairedDifference
from aflite_assets.reports.published_tables import PublishedTable
from aflite_assets.reports.text import DASH, count, signed_points
from aflite_assets.reports.top_k import TopTable
from aflite_assets.reports.transfer import TransferColumn, TransferTable
from aflite_assets.reports.wording import (
    column_text,
    compared_text,
    human_text,
    interval_points,
    paired_text,
    published_text,
    score_text,
    sizes_text,
)
from aflite_assets.reports.zero_shot import ZeroShotTable


def in_distribution_markdown(tables: Sequence[InDistributionTable]) -> str:
    """One table per natural test set, each under its name."""
    return "\n".join(_titled(table.test_set, _in_distribution(table)) for table in tables)


def _in_distribution(table: InDistributionTable) -> str:
    header = ["evaluator", *_compared_headings(table.columns, table.test_rows)]
    header += [f"full minus filtered ({name}), points" for name in table.representations]
    body = [[row.evaluator, *map(score_markdown, row.scores), *map(_points, row.differences)] for row in table.rows]
    if table.human is not None:
        body.append(["human", *map(human_text, table.human.agreements), *map(_points, table.human.differences)])
    body.append(["train rows", *map(sizes_text, table.train_rows), *[DASH] * len(table.representations)])
    return markdown_table(header, body)


def top_k_markdown(tables: Sequence[TopTable]) -> str:
    """One table per test set, each under its name; two columns per train set."""
    return "\n".join(_titled(table.test_set, _top_k(table)) for table in tables)


def _top_k(table: TopTable) -> str:
    headings = _compared_headings(table.columns, table.test_rows)
    header = ["evaluator", *(f"{heading}, {top}" for heading in headings for top in ("top-1", "top-5"))]
    body = [
        [row.evaluator, *(score_markdown(one) for each in row.scores for one in (each.top_1, each.top_5))]
        for row in table.rows
    ]
    return markdown_table(header, body)


def zero_shot_markdown(tables: Sequence[ZeroShotTable]) -> str:
    """One table per evaluator, each under its name; mean and deviation over seeds."""
    return "\n".join(_titled(table.evaluator, _zero_shot(table)) for table in tables)


def _zero_shot(table: ZeroShotTable) -> str:
    header = ["trained on", "train rows"]
    header += [f"{one.test_set}: {column_text(one)} (n = {count(one.test_rows)})" for one in table.columns]
    body = []
    for row in table.rows:
        words = [score_text(score) for score in row.scores]
        shown = [one.main if one.seeds is None else f"{one.main}, {one.seeds}" for one in words]
        body.append([row.train_set, sizes_text(row.train_rows), *shown])
    return markdown_table(header, body)


def transfer_markdown(tables: Sequence[TransferTable]) -> str:
    """One table per evaluator that others were fine-tuned from, each under its name; differences in the last rows."""
    return "\n".join(_titled(f"{table.evaluator}, fine-tuned", _transfer(table)) for table in tables)


def _transfer(table: TransferTable) -> str:
    header = ["trained on", "train rows", *(text for one in table.columns for text in _transfer_headings(one))]
    body = [
        [row.train_set, sizes_text(row.train_rows)]
        + [score_markdown(score) for one in row.scores for score in (one.fine_tuned, one.zero_shot)]
        for row in table.rows
    ]
    body += [
        [f"{one.train_set} minus {one.against}, points", ""]
        + [interval_points(each) for gain in one.gains for each in (gain.fine_tuned, gain.zero_shot)]
        for one in table.differences
    ]
    return markdown_table(header, body)


def _transfer_headings(column: TransferColumn) -> tuple[str, str]:
    where = f"{column.test_set} (n = {count(column.test_rows)})"
    return f"{where} after {', then '.join(column.stages)} ({column.evaluator})", f"{where} zero-shot"


def paired_markdown(differences: Sequence[PairedDifference]) -> str:
    """One row per evaluator and rows tested on."""
    header = ["evaluator", "tested on", "rows", "filtered minus random, points", "seeds of filtered", "seeds of random"]
    body = [
        [
            one.evaluator,
            f"{one.test_set}, {one.tested_on} rows",
            count(one.test_rows),
            "not run" if one.interval is None else paired_text(one.interval),
            str(one.filtered_seeds),
            str(one.random_seeds),
        ]
        for one in differences
    ]
    return markdown_table(header, body, numbers_from=2)


def published_markdown(tables: Sequence[PublishedTable]) -> str:
    """The papers' tables, each under its source and caption, with its note."""
    blocks = []
    for table in tables:
        body = [
            [name, *(published_text(table, row, column) for column in range(len(table.columns)))]
            for row, (name, _) in enumerate(table.rows)
        ]
        note = f"{escape_markdown(table.note)}\n\n" if table.note else ""
        blocks.append(_titled(f"{table.source}: {table.caption}", note + markdown_table(["", *table.columns], body)))
    return "\n".join(blocks)


def _compared_headings(columns: Sequence[Compared], test_rows: Sequence[int]) -> list[str]:
    return [f"{', '.join(compared_text(one))} (n = {count(n)})" for one, n in zip(columns, test_rows, strict=True)]


def _points(difference: float | None) -> str:
    return DASH if difference is None else signed_points(difference)


def _titled(title: str, text: str) -> str:
    return f"**{escape_markdown(title)}**\n\n{text}"
