"""The stage `analysis`: it reads published results into records of `aflite_assets.analysis` and trains nothing."""
