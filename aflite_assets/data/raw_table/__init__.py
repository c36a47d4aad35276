"""From a source's tables to the raw table of the contract: labels, columns, groups, annotators. Reads no source."""
