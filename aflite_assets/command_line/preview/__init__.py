"""The preview that `aflite check` prints before any training: the data, the plan, and the estimated cost."""
