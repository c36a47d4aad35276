"""The command `aflite`: arguments, and how what was found is written. What is found is computed in `stages`."""
