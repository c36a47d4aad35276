"""Tables of how small a train set may be: samples and filtered sets by size. Other tables: the folder above."""
