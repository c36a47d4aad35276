"""Many linear classifiers at once. They are fitted to the optimum on random parts of one pool, and their predictions
are counted.

Logistic regression and linear SVMs run on the CPU or a GPU, in limited memory. The engine (a whole run) imports the
solver (the minimisation) and the kernels (compiled arithmetic on rows). These two import losses.py (the objective).
Other modules decide which rows are trained on and which rows are removed. The compiled code that numba caches is not
recompiled when an imported file changes; see `paths.kernels_folder`.
"""
