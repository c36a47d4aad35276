"""Numbers of the study: the learning curve of the sample, and what filtering the sample costs."""
