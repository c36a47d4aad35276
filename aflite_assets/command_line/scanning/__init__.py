"""The command `aflite scan`: files without a description, and what is printed. What a scan computes is in `scan`."""
