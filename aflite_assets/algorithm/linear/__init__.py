"""Many linear classifiers at once: fitted to their optimum on random parts of one pool, their predictions counted.

Logistic regression and linear SVMs, on the CPU or a GPU, in bounded memory: losses.py (what is minimised) <- solver
(how), kernels (compiled arithmetic on rows) <- engine (a run). Which rows are trained on and which are removed is not
decided here. numba caches compiled code and does not renew it when a file that another one imports changes: see
`paths.kernels_folder`.
"""
