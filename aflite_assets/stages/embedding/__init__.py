"""The stage of the group `embedding`: features of every row not spent on warm-up."""
