"""The study in the preview that `aflite check` prints."""
