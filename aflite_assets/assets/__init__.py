"""The Dagster assets, one file per group; each asset runs its stage and describes the result in metadata."""
