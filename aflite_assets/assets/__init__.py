"""The Dagster assets, one file per group; each reads, calls its stage and describes what came out."""
