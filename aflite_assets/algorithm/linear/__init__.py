"""Fit many linear classifiers at once, each to the optimum on a random part of the same pool, and count their
predictions.

Logistic regression and linear SVMs run on the CPU or a GPU, in limited memory. The engine manages a whole run. The
engine imports the solver, which minimises the objective, and the kernels, which contain the compiled arithmetic on
rows. The solver and the kernels import `losses.py` (the objective). This package does not choose which rows are trained
on or removed. Numba does not recompile its cached code when an imported file changes; see `paths.kernels_folder`.
"""
