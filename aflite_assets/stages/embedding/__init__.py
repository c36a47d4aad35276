"""The stage of the group `embedding`: features of every row that was not used for warm-up."""
