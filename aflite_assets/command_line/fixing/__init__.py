"""The command `aflite fix`: origin of the scanned rows, and printed text. Changes are planned in `fixing`."""
