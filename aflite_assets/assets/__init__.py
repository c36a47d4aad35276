"""The Dagster assets, one file per group; each reads its inputs, calls its stage and describes the result."""
