"""Parts that several stages need: readers of published results, content hashes, sizes, train sets. No stage is here."""
