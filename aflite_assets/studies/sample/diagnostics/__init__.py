"""Statistics of the study about kept and removed rows."""
