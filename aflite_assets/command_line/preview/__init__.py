"""The preview of `aflite check`, before anything is trained: the data, the plan, what it costs."""
