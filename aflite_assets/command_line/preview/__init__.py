"""What `aflite check` computes and prints before anything is trained: the data, the plan, what it costs."""
