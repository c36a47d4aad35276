"""Reading of datasets from the Hugging Face hub: commits, downloads, caches and columns.

`formats` and `synthetic` read the other sources. Values are kept as written. At the pinned commit, the library
`datasets` finds the files, column types and row counts of the hub's own splits (`splits`). `datasets` also reads splits
in Parquet and plain text, because it does not change their values.

CSV and JSON are read by `files` unless a dataset card describes a special layout, because `datasets` guesses types for
them. In CSV, `datasets` turns "007" into 7, and "NA", "null" and empty text into null. In JSON, `datasets` turns texts
into dates and large whole numbers into rounded floats. A value that does not fit the type of the first rows is an
error.

Declaring all columns as text does not help: short rows of CSV are padded silently, values of long rows are shifted, and
dates in JSON are reformatted. If a spec names files, `files` reads them, including Parquet, because `datasets` refuses
files with different columns or types.
"""
