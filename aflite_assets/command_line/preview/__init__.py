"""The preview of `aflite check` before any training: the data, the plan, and its estimated cost."""
