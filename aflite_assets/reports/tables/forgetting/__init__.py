"""Tables of forgettable rows: which these are, and what training on them changes. Other tables: the folder above."""
