"""Where datasets come from: specs, their registry, loading into the raw table, synthetic data. Trains nothing."""
