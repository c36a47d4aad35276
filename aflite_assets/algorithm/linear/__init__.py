"""Many linear classifiers at once: they are fitted to the optimum on random parts of one pool, and their predictions
counted.

Logistic regression and linear SVMs run on the CPU or a GPU, in bounded memory. Imports go from losses.py (what is
minimised) to solver (how) and kernels (compiled arithmetic on rows), and from these to engine (a run). Which rows are
trained on and which are removed is not decided here. The compiled code that numba caches is not renewed when an
imported file changes: see `paths.kernels_folder`.
"""
