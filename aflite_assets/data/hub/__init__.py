"""Reading of datasets from the Hugging Face hub: commits, downloads, caches and columns.

The packages `formats` and `synthetic` read sources that are not on the hub. The values of columns are kept as written.
The module `splits` reads the splits that the hub itself defines. The library `datasets` finds their files, column types
and row counts at the pinned commit. Splits in Parquet and plain text are also read with `datasets`, which does not
change their values.

The module `files` reads CSV and JSON unless the dataset card describes a special layout. The library `datasets` is not
used for CSV and JSON, because it guesses column types. In CSV, `datasets` turns "007" into 7, and "NA", "null" and
empty text into null. In JSON, `datasets` turns texts into dates and large whole numbers into rounded floats. If a later
value does not fit the type of the first rows, `datasets` raises an error.

Even if all columns are declared as text, `datasets` changes values. In CSV, it pads short rows silently and shifts the
values of long rows. In JSON, it reformats dates. If a spec names files, the module `files` reads them, including
Parquet, because `datasets` refuses files with different columns or types.
"""
