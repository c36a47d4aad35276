"""Rules on numbers: when a difference is called one, what is enough to tell, and the verdict on a dataset."""
