"""Datasets of the Hugging Face hub: commits, downloads, caches, columns. Other sources are in `formats` and
`synthetic`.

Content is read as written. At the pinned commit, the library `datasets` finds the files, column types and row counts of
the hub's own splits (`splits`). `datasets` also reads splits whose files carry their types or have none: it leaves
values, nulls and empty texts of Parquet and plain text unchanged. CSV and JSON are read here (`files`) unless a card
describes a special layout, because `datasets` guesses types for them. In CSV it turns "007" into 7, and "NA", "null"
and empty text into null. In JSON it turns texts into dates and large whole numbers into rounded floats. A value that
does not fit the type of the first rows ends the load. Declaring all columns as text does not help: short rows of CSV
are padded silently, columns of long rows shift, and dates in JSON become texts of another form. Files that a spec names
are also read by `files`, including Parquet: `datasets` refuses files with differing columns or types, which are joined
here, and would save no code.
"""
