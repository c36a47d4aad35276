"""Many linear classifiers are fitted at once, each to the optimum on a random part of one pool. Their predictions are
counted.

Logistic regression and linear SVMs run on the CPU or a GPU, in limited memory. The engine (a whole run) imports the
solver (the minimisation) and the kernels (compiled arithmetic on rows). The solver and the kernels import `losses.py`
(the objective). This package does not choose which rows are trained on or removed. Numba does not recompile its cached
code when an imported file changes; see `paths.kernels_folder`.
"""
