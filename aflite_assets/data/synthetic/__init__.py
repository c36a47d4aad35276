"""Generation of datasets with planted shortcuts from a seed."""
