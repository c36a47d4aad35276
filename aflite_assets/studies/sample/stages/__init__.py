"""Stage of the study without Dagster, and what other stages read of its result."""
