"""Reading of the hub's own splits; the library `datasets` determines their files and column types."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from aflite_assets.data.hub.columns import ColumnForm, plain_table, rows_at_once
from aflite_assets.data.hub.files import HubFile, file_tables, form_of
from aflite_assets.data.hub.repository import HubRepository
from aflite_assets.data.raw_table.value_limits import LARGEST_IMAGE
from aflite_assets.errors import DataError
from aflite_assets.specs.sources import TableFormat
from aflite_assets.wording import did_you_mean

_READERS = frozenset({"arrow", "csv", "imagefolder", "json", "parquet", "text", "webdataset"})
"""Readers of the library `datasets` that open only tables, texts and images."""

_LEFT_TO_US = frozenset({"name", "version", "data_files", "data_dir", "sep", "delimiter"})
"""Options in a dataset card for CSV and JSON files that do not require the reader of `datasets`."""

_CONVERTED = (
    "name its data files in `source.splits`. Or set `revision: refs/convert/parquet`, where the hub stores a copy as "
    "Parquet, and name files of this copy, such as `CONFIG/SPLIT/*.parquet`"
)


@dataclass(frozen=True)
class HubSplits:
    """The splits in one configuration of a dataset.

    The methods raise the libraries' errors, so call the methods through `errors.call_hub`.
    """

    repository: HubRepository
    config: str | None
    class_numbers: bool = False

    def tables(self, split: str, *, rows: int | None) -> Iterator[pa.Table]:
        """Yield the rows of a split, or only its first rows without downloading the rest.

        Raises:
            DataError: the hub has no such split or configuration, or its format is not supported.
        """
        paths = self._paths(split)
        written = self._as_written(paths)
        if written is not None:
            features = self._declared[1] or {}
            yield from (plain_table(table, features, form=self._columns) for table in file_tables(written, rows=rows))
            return
        if rows is None:
            places = [str(path) for path in self.repository.download(paths)]
        else:
            places = [self.repository.address + path for path in paths]
        yield from self._streamed(split, places, rows)

    def row_counts(self) -> Mapping[str, int] | None:
        """Return the number of rows per split from the dataset card, or None if the card lacks these numbers."""
        splits = self._builder.info.splits
        return None if not splits else {str(name): int(split.num_examples) for name, split in splits.items()}

    @cached_property
    def _builder(self) -> Any:
        import datasets

        place = self.repository.place
        script = f"{place.id.split('/')[1]}.py"
        if self.repository.has(script):
            raise DataError(
                f"{place}: the dataset needs a script ({script}), but code from the hub is never run; {_CONVERTED}"
            )
        with TemporaryDirectory() as nowhere:
            arguments = {"path": self.repository.address.split("@")[0], "revision": self.repository.commit}
            try:
                # If a request fails, `datasets` would use another commit from a cache.
                builder = datasets.load_dataset_builder(
                    **arguments, name=self.config, token=place.token, cache_dir=nowhere
                )
            except ValueError:
                self._check_config(datasets.get_dataset_config_names(**arguments, token=place.token))
                raise
        if builder.name not in _READERS:
            raise DataError(
                f"{place}: the files of the dataset are in the format {builder.name!r}, which is not supported "
                f"(supported: {sorted(_READERS)}); {_CONVERTED}"
            )
        return builder

    @cached_property
    def _declared(self) -> tuple[dict[str, list[str]], Any]:
        """Return the files per split and the declared column types, without types inferred by reading a split."""
        named = self._builder.config.data_files or {}
        files = {str(split): [str(file) for file in names] for split, names in named.items()}
        return files, self._builder.info.features

    def _check_config(self, known: list[str]) -> None:
        place = self.repository.place
        if self.config is None and len(known) > 1:
            raise DataError(f"{place}: the dataset has several configurations; set `source.config` to one of {known}")
        if self.config is not None and self.config not in known:
            raise DataError(
                f"{place}: the dataset has no configuration {self.config!r} (the configurations are {known})"
                + (did_you_mean(self.config, known) or "; correct `source.config`")
            )

    def _paths(self, split: str) -> list[str]:
        files, _ = self._declared
        place = self.repository.place
        if split not in files:
            raise DataError(
                f"{place}: the dataset has no split {split!r} at commit {self.repository.commit} (the splits are "
                f"{list(files)})"
                + (did_you_mean(split, files) or "; correct `source.splits` (files and patterns have a dot)")
            )
        root = self.repository.address
        foreign = [name for name in files[split] if not name.startswith(root)]
        if foreign:
            raise DataError(
                f"{place}: split {split!r} contains files outside of the repository ({foreign[0]!r}); name files of "
                "the repository in `source.splits`"
            )
        return [name.removeprefix(root) for name in files[split]]

    def _as_written(self, paths: list[str]) -> list[HubFile] | None:
        """Return the split's files if they are CSV or JSON, because `datasets` would guess types and turn "007" into 7.

        Return None for other formats, if the card describes a special layout, or if rows contain the paths of image
        files.
        """
        from datasets import Image

        config, features = self._builder.config, self._declared[1] or {}
        told = {field.name for field in fields(config) if getattr(config, field.name) != field.default}
        if told - _LEFT_TO_US or any(isinstance(feature, Image) for feature in features.values()):
            return None
        forms = {form_of(path) for path in paths}
        if self._builder.name == "json" and forms == {"jsonl"}:
            form = TableFormat(format="jsonl")
        elif self._builder.name == "csv" and forms <= {"csv", "tsv"} and len(config.sep) == 1:
            form = TableFormat(format="csv", delimiter=config.sep)
        else:
            return None
        return [HubFile(self.repository, path, form, self._columns) for path in paths]

    def _streamed(self, split: str, places: list[str], rows: int | None) -> Iterator[pa.Table]:
        import datasets

        builder = self._builder
        builder.config.data_files, builder.info.features = {split: places}, self._declared[1]
        stream = builder.as_streaming_dataset(split=split)
        in_batches = isinstance(builder, datasets.ArrowBasedBuilder)
        # Rows are read as Python values, because the arrow format fails if rows have columns in different orders.
        stream = stream.with_format("arrow") if in_batches else stream.decode(False)
        stream = stream if rows is None else stream.take(rows)
        schema = None if stream.features is None else stream.features.arrow_schema
        for batch in stream.iter(batch_size=rows_at_once(schema)):
            table = batch if in_batches else pa.table(batch, schema=schema)
            yield plain_table(table, stream.features or {}, form=self._columns)

    @property
    def _columns(self) -> ColumnForm:
        # Class numbers of folders are ignored, because they can differ between splits.
        numbered = self.class_numbers and not (self._builder.name == "imagefolder" and self._declared[1] is None)
        return ColumnForm(class_numbers=numbered, read=self._read)

    def _read(self, address: str) -> bytes | None:
        """Return the bytes of a file, or None if the file is outside of this repository.

        A row of a malicious dataset could name any file.
        """
        if not self.repository.holds(address):
            return None
        from datasets import DownloadConfig
        from datasets.utils.file_utils import xopen

        with xopen(address, "rb", download_config=DownloadConfig(token=self.repository.place.token)) as file:
            # A file in an archive may be much larger than the archive; its size is checked later.
            return bytes(file.read(LARGEST_IMAGE + 1))
