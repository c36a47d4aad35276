"""Every table of the report as plain texts, in the layout of the papers. Markdown and escapes are in `markdown`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aflite_assets.reports.inputs.published_tables import PublishedTable, published_tables
from aflite_assets.reports.inputs.records import BenchmarkData
from aflite_assets.reports.scores.accuracy import Score
from aflite_assets.reports.scores.groups import Compared
from aflite_assets.reports.sentences.wording import (
    column_text,
    compared_text,
    human_text,
    interval_points,
    paired_note,
    paired_text,
    part_text,
    published_text,
    score_text,
    set_notes,
    sizes_text,
    verdict_text,
)
from aflite_assets.reports.tables.in_distribution import InDistributionTable, in_distribution_tables
from aflite_assets.reports.tables.main_tables import (
    ChallengeRow,
    accuracy_tables,
    challenge_blocks,
    challenge_table,
)
from aflite_assets.reports.tables.paired import PairedDifference, PairedParts, paired_differences, part_tables
from aflite_assets.reports.tables.table import Table
from aflite_assets.reports.tables.top_k import TopTable, top_k_tables
from aflite_assets.reports.tables.transfer import TransferColumn, TransferTable, transfer_tables
from aflite_assets.reports.tables.zero_shot import ZeroShotTable, zero_shot_tables
from aflite_assets.reports.text import DASH, count, signed_points


@dataclass(frozen=True)
class TextTable:
    """One table in literal texts, dataset text as it came.

    `columns`: their headings; from number `numbers_from` on they hold numbers. `notes` stand above the table. Without
    columns there is no table, and the notes say why.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    numbers_from: int = 1


def report_text_tables(data: BenchmarkData) -> dict[str, tuple[TextTable, ...]]:
    """The report's tables by name; those with nothing to show are left out."""
    notes = {test.name: set_notes(test, data.label_names) for test in data.test_sets}
    tables_by_name: dict[str, tuple[TextTable, ...]] = {}
    for table in accuracy_tables(data):
        tables_by_name[table.name] = (plain_table(table),)
    tables_by_name["in_distribution"] = in_distribution_text_tables(in_distribution_tables(data))
    for one in data.representations:
        tables_by_name[f"zero_shot_{one}"] = zero_shot_text_tables(zero_shot_tables(data, one))
        tables_by_name[f"transfer_{one}"] = transfer_text_tables(transfer_tables(data, one))
        tables_by_name[f"paired_{one}"] = paired_text_tables(paired_differences(data, one))
    tables_by_name["top_5"] = top_k_text_tables(top_k_tables(data))
    tables_by_name["published"] = published_text_tables(published_tables(data.published))
    for one in data.representations:
        challenged = challenge_table(data, one)
        tables_by_name[f"challenge_sets_{one}"] = challenge_layouts(challenged, notes=notes, missing=data.missing_sets)
    return {name: text_tables for name, text_tables in tables_by_name.items() if text_tables}


def plain_table(table: Table) -> TextTable:
    """A table in literal texts, headings of rows in columns of their own."""
    body = [[*row.headings, *(cell.plain for cell in row.cells)] for row in table.rows]
    columns = [*table.headings, *(column.plain for column in table.columns)]
    return _text_table(table.of, columns, body, notes=table.notes, numbers_from=len(table.headings))


def challenge_layouts(
    rows: Sequence[ChallengeRow], *, notes: Mapping[str, Sequence[str]], missing: Mapping[str, str]
) -> tuple[TextTable, ...]:
    """One per challenge set and category column, with the set's notes; then which sets are missing, and why."""
    names = dict.fromkeys(row.test_set for row in rows)
    tables = [
        _challenge(name, column, shown, notes.get(name, ()) if column is None else ())
        for name in names
        for column, shown in challenge_blocks([row for row in rows if row.test_set == name])
    ]
    return (*tables, *(TextTable(name, (), (), (f"not available: {why}",)) for name, why in missing.items()))


def _challenge(name: str, column: str | None, rows: Sequence[ChallengeRow], notes: Sequence[str]) -> TextTable:
    parts = [f"{part_text(part)} (n = {count(part.score.test_rows)})" for part in rows[0].parts]
    columns = ["evaluator", "trained on", "train rows", f"overall (n = {count(rows[0].overall.test_rows)})", *parts]
    body = [
        [row.evaluator, row.train_set, sizes_text(row.train_rows)]
        + [one_line_score(score) for score in (row.overall, *(part.score for part in row.parts))]
        for row in rows
    ]
    title = name if column is None else f"{name}, by {column}"
    return _text_table(title, columns, body, notes=notes, numbers_from=2)


def in_distribution_text_tables(tables: Sequence[InDistributionTable]) -> tuple[TextTable, ...]:
    """One per natural test set."""
    return tuple(map(_in_distribution, tables))


def _in_distribution(table: InDistributionTable) -> TextTable:
    columns = ["evaluator", *_compared_headings(table.columns, table.test_rows)]
    columns += [f"full minus filtered ({name}), points" for name in table.representations]
    body = [[row.evaluator, *map(one_line_score, row.scores), *map(_points, row.differences)] for row in table.rows]
    if table.human is not None:
        body.append(["human", *map(human_text, table.human.agreements), *map(_points, table.human.differences)])
    body.append(["train rows", *map(sizes_text, table.train_rows), *[DASH] * len(table.representations)])
    return _text_table(table.test_set, columns, body)


def top_k_text_tables(tables: Sequence[TopTable]) -> tuple[TextTable, ...]:
    """One per test set; two columns per train set and per difference."""
    return tuple(map(_top_k, tables))


def _top_k(table: TopTable) -> TextTable:
    headings = _compared_headings(table.columns, table.test_rows)
    columns = ["evaluator", *(f"{heading}, {top}" for heading in headings for top in ("top-1", "top-5"))]
    columns += [
        f"full minus filtered ({name}), {top}, points" for name in table.representations for top in ("top-1", "top-5")
    ]
    body = [
        [row.evaluator]
        + [one_line_score(one) for each in row.scores for one in (each.top_1, each.top_5)]
        + [_points(one) for each in row.differences for one in (each.top_1, each.top_5)]
        for row in table.rows
    ]
    return _text_table(table.test_set, columns, body)


def zero_shot_text_tables(tables: Sequence[ZeroShotTable]) -> tuple[TextTable, ...]:
    """One per evaluator; differences of the means in the last rows."""
    return tuple(map(_zero_shot, tables))


def _zero_shot(table: ZeroShotTable) -> TextTable:
    columns = ["trained on", "train rows"]
    columns += [f"{column.test_set}: {column_text(column)} (n = {count(column.test_rows)})" for column in table.columns]
    body = [[row.train_set, sizes_text(row.train_rows), *map(one_line_score, row.scores)] for row in table.rows]
    body += [
        [f"{difference.train_set} minus {difference.against}, points", "", *map(_points, difference.points)]
        for difference in table.differences
    ]
    return _text_table(table.evaluator, columns, body)


def transfer_text_tables(tables: Sequence[TransferTable]) -> tuple[TextTable, ...]:
    """One per evaluator that others were fine-tuned from; differences in the last rows."""
    return tuple(map(_transfer, tables))


def _transfer(table: TransferTable) -> TextTable:
    columns = ["trained on", "train rows", *(text for column in table.columns for text in _transfer_headings(column))]
    body = [
        [row.train_set, sizes_text(row.train_rows)]
        + [one_line_score(score) for one in row.scores for score in (one.fine_tuned, one.zero_shot)]
        for row in table.rows
    ]
    body += [
        [f"{difference.train_set} minus {difference.against}, points", ""]
        + [interval_points(each) for gain in difference.gains for each in (gain.fine_tuned, gain.zero_shot)]
        for difference in table.differences
    ]
    return _text_table(f"{table.evaluator}, fine-tuned", columns, body)


def _transfer_headings(column: TransferColumn) -> tuple[str, str]:
    where = f"{column.test_set} (n = {count(column.test_rows)})"
    return f"{where} after {', then '.join(column.stages)} ({column.evaluator})", f"{where} zero-shot"


def paired_text_tables(differences: Sequence[PairedDifference]) -> tuple[TextTable, ...]:
    """Whole test sets, then one per challenge set by its parts, a column per evaluator; no table without any row."""
    if not differences:
        return ()
    columns = (
        "evaluator",
        "trained on",
        "tested on",
        "rows",
        "difference, points",
        "verdict",
        "seeds",
        "seeds of random",
    )
    body = [
        [
            difference.evaluator,
            _pair_text(difference),
            f"{difference.test_set}, {difference.tested_on} rows",
            count(difference.test_rows),
            "not run" if difference.interval is None else paired_text(difference.interval),
            ("primary: " if difference.primary else "") + verdict_text(difference.verdict),
            str(difference.filtered_seeds),
            str(difference.random_seeds),
        ]
        for difference in differences
        if difference.whole
    ]
    notes = (paired_note(differences),)
    return (_text_table("", columns, body, notes=notes, numbers_from=3), *map(_paired_parts, part_tables(differences)))


def _paired_parts(table: PairedParts) -> TextTable:
    columns = ["part", "rows", *(f"{name}, points" for name in table.evaluators)]
    body = [[part_text(row[0]), count(row[0].test_rows), *map(_part_points, row)] for row in table.rows]
    return _text_table(f"{table.test_set}, {_pair_text(table)}", columns, body)


def _part_points(one: PairedDifference) -> str:
    """The difference of one part; what was found is written beside it."""
    return f"{interval_points(one.interval)}{f', {one.verdict.side}' if one.verdict.found else ''}"


def _pair_text(pair: PairedDifference | PairedParts) -> str:
    return f"{pair.train_set} minus {pair.against}"


def published_text_tables(tables: Sequence[PublishedTable]) -> tuple[TextTable, ...]:
    """The papers' tables, each under its source and caption, with its note."""
    return tuple(map(_published, tables))


def _published(table: PublishedTable) -> TextTable:
    body = [
        [name, *(published_text(table, row, column) for column in range(len(table.columns)))]
        for row, (name, _) in enumerate(table.rows)
    ]
    notes = (table.note,) if table.note else ()
    return _text_table(f"{table.source}: {table.caption}", ("", *table.columns), body, notes=notes)


def one_line_score(score: Score) -> str:
    """One score on one line: accuracy in per cent, deviation over seeds, interval."""
    words = score_text(score)
    if words.interval is None:
        return words.main
    return f"{words.main}, {words.seeds}, interval {words.interval}"


def _text_table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    notes: Sequence[str] = (),
    numbers_from: int = 1,
) -> TextTable:
    return TextTable(title, tuple(columns), tuple(map(tuple, rows)), tuple(notes), numbers_from)


def _compared_headings(columns: Sequence[Compared], test_rows: Sequence[int]) -> list[str]:
    return [f"{', '.join(compared_text(one))} (n = {count(n)})" for one, n in zip(columns, test_rows, strict=True)]


def _points(difference: float | None) -> str:
    return DASH if difference is None else signed_points(difference)
