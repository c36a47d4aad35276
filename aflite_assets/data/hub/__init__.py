"""Datasets of the Hugging Face hub: commits, downloads, caches, columns. Other sources: `formats`, `synthetic`.

Content is read as it is written. The library `datasets`, at the pinned commit, finds the files, column types and row
counts of the hub's own splits (`splits`). It also reads those splits whose files carry their types or have none: it
leaves values, nulls and empty texts of Parquet and plain text as they are. CSV and JSON are read here (`files`), unless
a card describes another layout of them, because `datasets` guesses types there. It makes 7 of "007" in CSV and null of
"NA", "null" and empty text, and in JSON dates of texts and rounded floats of large whole numbers; a value that does not
fit the type of the first rows ends the load. To declare all columns as text does not help: short rows of CSV are filled
up in silence, columns of long ones shift, and dates in JSON become texts of another form. Files that a spec names are
read by `files` too, Parquet as well: `datasets` refuses files whose columns or types differ, which are joined here, and
would save no lines.
"""
