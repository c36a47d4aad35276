"""The command `aflite fix`: where scanned rows come from, and what is printed. Changes are decided in `fixing`."""
