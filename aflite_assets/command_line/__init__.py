"""The command `aflite`: arguments and printed text. Numbers come from `stages`, `refresh` and `results`."""
