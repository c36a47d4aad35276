"""Many linear classifiers at once: fitted to their optimum on random parts of one pool, and their predictions counted.

Logistic regression and linear SVMs, on the CPU or a GPU, in bounded memory. Which rows are trained on and which are
removed is decided outside.
"""
