"""The command `aflite fix`: where scanned rows come from, and what is printed. What is changed is decided in `fixing`."""
